/* gateway/config/yaml_tree.h - YAML text as a tree of bounded size.
 *
 * Made from libyaml's events, not from its document: depth, nodes and what aliases stand for are
 * limited while the text is read, so that a hostile or broken file costs no more than a good one.
 * An aliased node is shared, never copied.
 *
 * Refused here, for the whole file: other encodings, several documents, duplicate keys, merge keys,
 * tags, keys that are not text, unknown and self-referring aliases. */
#pragma once
#include <stdint.h>

#include "base/slice.h"
#include "gateway/config/config_errors.h"

#define GW_YAML_BYTES_MAX (16u << 20)
#define GW_YAML_DEPTH_MAX 32
#define GW_YAML_NODES_MAX 500000
#define GW_YAML_TEXT_MAX 65536    /* of one scalar */
#define GW_YAML_ALIASED_MAX 10000 /* nodes that all aliases together stand for */
#define GW_YAML_ANCHORS_MAX 1000

enum gw_yaml_kind { GW_YAML_TEXT, GW_YAML_LIST, GW_YAML_MAP, GW_YAML_ALIAS };

struct gw_yaml_node {
    enum gw_yaml_kind kind;
    bool plain;            /* TEXT: without quotes, and not a block scalar */
    uint32_t line, column; /* 1-based */
    uint32_t length;       /* bytes of TEXT, items of LIST, pairs of MAP */
    uint32_t weight;       /* nodes in it, with those that its aliases stand for */
    const char *text;      /* TEXT: NUL-terminated, without other NULs */
    /* LIST and MAP: the members, linked by `next`; a MAP has key, value, key, value …
     * ALIAS: `first` is what it stands for. */
    struct gw_yaml_node *first, *next;
};

struct gw_yaml_tree;

/* NULL when the text cannot be read as one tree; otherwise the tree, perhaps with errors added
 * (duplicate keys, say) that need not keep anyone from reading on. Owns copies of all text. */
struct gw_yaml_tree *gw_yaml_tree_parse(struct gw_slice yaml, struct gw_config_errors *errors);
void gw_yaml_tree_free(struct gw_yaml_tree *tree);

/* Borrowed from the tree, as is everything that hangs on it. */
const struct gw_yaml_node *gw_yaml_tree_root(const struct gw_yaml_tree *tree);

/* What stands at this member: itself, or what the alias stands for. */
static inline const struct gw_yaml_node *gw_yaml_tree_value(const struct gw_yaml_node *member)
{
    return member->kind == GW_YAML_ALIAS ? member->first : member;
}

/* The value of a key of a MAP, resolved; NULL if it is not there, or `map` is no MAP. */
const struct gw_yaml_node *gw_yaml_tree_find(const struct gw_yaml_node *map, const char *key);

static inline struct gw_slice gw_yaml_tree_text(const struct gw_yaml_node *node)
{
    return (struct gw_slice){ node->text, node->length };
}

/* Nothing written, `~` or `null`, without quotes. */
bool gw_yaml_tree_is_null(const struct gw_yaml_node *node);
