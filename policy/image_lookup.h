/* policy/image_lookup.h - what an opened image says about a host. Private to decision.c and
 * dialable.c. One walk over the labels of the host finds every name that has something to say; no
 * step depends on the number of entries but for a binary search among the records of one name.
 * Every access is checked against the bounds of its section. Pure; nothing allocates. */
#pragma once
#include "policy/image_format.h"

#define GW_IMAGE_LABELS_MAX 127 /* 253 bytes of one-letter labels */

/* The records of one name that the host has, is, or lies below. */
struct gw_image_run {
    uint32_t node;
    uint32_t first, end; /* into RECORDS */
    bool whole;          /* the name is the host itself: exact records apply too */
};

struct gw_image_hits {
    unsigned count;
    struct gw_image_run runs[GW_IMAGE_LABELS_MAX]; /* the longest name first */
};

void gw_image_find(const struct gw_image *image, const struct gw_host *host,
                   struct gw_image_hits *out);

/* Walks the records of one kind that apply to the host, the most specific first; starts with a
 * zeroed cursor, ends with NULL. */
struct gw_image_cursor {
    unsigned run;
    uint32_t at;
    bool inside;
};
const struct gw_image_record *gw_image_next(const struct gw_image *image,
                                            const struct gw_image_hits *hits,
                                            enum gw_image_what what,
                                            struct gw_image_cursor *cursor);

/* The most specific ALLOW record for the port: one that names it, or one without a port when
 * `any_port`. `*run` tells where. NULL when there is none. */
const struct gw_image_record *gw_image_find_allow(const struct gw_image *image,
                                                  const struct gw_image_hits *hits, uint16_t port,
                                                  bool any_port, unsigned *run);

/* The entry that a record came from, as it would be written. `run` is where the record was found.
 */
#define GW_IMAGE_ENTRY_MAX (GW_HOST_TEXT_MAX + 16)
void gw_image_print_entry(const struct gw_image *image, const struct gw_image_hits *hits,
                          unsigned run, const struct gw_image_record *record,
                          char out[GW_IMAGE_ENTRY_MAX]);

/* The start of a section and the number of its elements; NULL and 0 where there is none. */
const void *gw_image_section(const struct gw_image *image, enum gw_image_section id, size_t *count);
size_t gw_image_element_size(enum gw_image_section id);

const struct gw_image_header *gw_image_head(const struct gw_image *image);
struct gw_slice gw_image_node_name(const struct gw_image *image, uint32_t node);
struct gw_slice gw_image_text(const struct gw_image *image, struct gw_image_span span);
bool gw_image_has_port(const struct gw_image *image, enum gw_image_section id, uint16_t port);

/* NULL past the end. */
const struct gw_image_rule *gw_image_rule_at(const struct gw_image *image, uint32_t index);
/* Words of a rule; empty past the end. */
struct gw_slice gw_image_word(const struct gw_image *image, struct gw_image_span span,
                              uint32_t index);
/* The ranges of an exemption; `*count` 0: the default kinds. False past the end. */
bool gw_image_inward(const struct gw_image *image, uint32_t index,
                     const struct gw_image_cidr **cidrs, size_t *count);
