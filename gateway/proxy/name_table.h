/* gateway/proxy/name_table.h - an intrusive hash table by host name.
 * Names come from sandboxes, so the hash is keyed (SipHash-2-4): nobody outside can choose names
 * that all fall into one chain. The number of chains is fixed at birth; nodes belong to the owner,
 * who bounds their number. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

struct gw_name_node {
    struct gw_name_node *next; /* in its chain */
    uint64_t hash;
    struct gw_slice name; /* canonical; borrowed for as long as the node is in a table */
};

struct gw_name_table {
    struct gw_name_node **chains;
    size_t mask;
    uint64_t key[2];
};

/* `expected` sizes the table; more nodes than that only make it slower. */
bool gw_name_table_init(struct gw_name_table *table, size_t expected, struct gw_error *err);
/* Forgets its nodes without touching them; harmless on a zeroed table. */
void gw_name_table_fini(struct gw_name_table *table);

struct gw_name_node *gw_name_table_find(const struct gw_name_table *table, struct gw_slice name);
/* `node->name` is set, and no node of that name is there. */
void gw_name_table_add(struct gw_name_table *table, struct gw_name_node *node);
/* `node` is there. */
void gw_name_table_remove(struct gw_name_table *table, struct gw_name_node *node);
