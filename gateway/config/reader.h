/* gateway/config/reader.h - what all readers share: the settings being made, and complaints.
 * A reader never stops at a mistake. What it could not read it leaves as it was, and since there
 * is an error then, nobody will see it. */
#pragma once
#include "gateway/config/config_errors.h"
#include "gateway/config/key_table.h"
#include "gateway/config/settings.h"
#include "gateway/config/sources.h"

/* What the policies and networks of the file ask of credentials and policies. Parallel to the
 * arrays of the settings. */
struct gw_reader_item {
    const struct gw_yaml_node *name;
    bool whole; /* was read without a mistake; references to others are left alone */
    bool used;
};

struct gw_reader {
    struct gw_settings *settings;
    struct gw_config_errors *errors;
    const struct gw_config_sources *sources;
    const struct gw_yaml_node *root;
    struct gw_reader_item *credentials, *policies;
    const struct gw_yaml_node *last_complaint;
    size_t complaints;
};

/* The text names the thing and the remedy; the position is the node's. */
void gw_complain(struct gw_reader *reader, const struct gw_yaml_node *node, const char *format, ...)
    GW_PRINTF(3, 4);

/* One line that an operator should hear about at start. */
void gw_reader_warn(struct gw_reader *reader, const char *format, ...) GW_PRINTF(2, 3);

/* Reads a mapping by its table. `what` is how complaints call it, NULL
 * for the whole file. Returns whether there was no
 * mistake in it. */
bool gw_reader_map(struct gw_reader *reader, const char *what, const struct gw_key *keys,
                   const struct gw_yaml_node *node, void *into);

/* Is it a list, of as many members as the key's shape says? Complains if not. */
bool gw_reader_list(struct gw_reader *reader, const struct gw_key *key,
                    const struct gw_yaml_node *node);

/* Is it text with at least one byte? Complains if not. `what` is the key's name. */
bool gw_reader_text(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node);

/* A name that the operator chose, of a policy, a network or a credential. */
bool gw_reader_name(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node);

/* calloc() and strdup() that complain when there is no memory; NULL then. Count 0 gives NULL and
 * no complaint. */
void *gw_reader_array(struct gw_reader *reader, const struct gw_yaml_node *node, size_t count,
                      size_t size);
char *gw_reader_copy(struct gw_reader *reader, const struct gw_yaml_node *node, const char *text);

#define GW_SHOWN 400

/* What stands there, control characters escaped, and bounded, for a complaint. Returns `out`. */
const char *gw_reader_show(const struct gw_yaml_node *node, char out[GW_SHOWN]);
