#include "gateway/proxy/dns_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "gateway/proxy/name_table.h"

struct entry {
    struct gw_name_node node;
    struct gw_list age; /* in `recent`, or in `buried` */
    uint64_t until_ms;  /* expiry; of a buried one: when it was buried */
    size_t count;
    char *name; /* behind the addresses */
    struct gw_ip_address addresses[];
};

struct gw_dns_cache {
    struct gw_name_table table;
    struct gw_list recent; /* least recently used first */
    struct gw_list buried; /* out of the table, perhaps still read in this loop turn */
    size_t count, limit;
};

/* A put buries one entry at most, so this many a put can never fall behind; and a put after a
 * reset does not stall the loop by freeing a whole cache. */
#define SWEPT_AT_ONCE 64

struct gw_dns_cache *gw_dns_cache_new(struct gw_error *err)
{
    struct gw_dns_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return NULL;
    }
    gw_list_init(&cache->recent);
    gw_list_init(&cache->buried);
    return cache;
}

static void bury(struct gw_dns_cache *cache, struct entry *entry, uint64_t now_ms)
{
    gw_name_table_remove(&cache->table, &entry->node);
    gw_list_remove(&entry->age);
    gw_list_append(&cache->buried, &entry->age);
    entry->until_ms = now_ms;
    cache->count--;
}

static void free_entries(struct gw_list *list)
{
    gw_list_each (at, after, list)
        free(gw_container_of(at, struct entry, age));
    gw_list_init(list);
}

void gw_dns_cache_free(struct gw_dns_cache *cache)
{
    if (cache == NULL)
        return;
    free_entries(&cache->recent);
    free_entries(&cache->buried);
    gw_name_table_fini(&cache->table);
    free(cache);
}

bool gw_dns_cache_reset(struct gw_dns_cache *cache, size_t entries, uint64_t now_ms,
                        struct gw_error *err)
{
    struct gw_name_table fresh = { .chains = NULL };
    if (entries > 0 && !gw_name_table_init(&fresh, entries, err))
        return false;
    while (!gw_list_empty(&cache->recent))
        bury(cache, gw_container_of(cache->recent.next, struct entry, age), now_ms);
    gw_name_table_fini(&cache->table);
    cache->table = fresh;
    cache->limit = entries;
    return true;
}

bool gw_dns_cache_find(struct gw_dns_cache *cache, struct gw_slice name, uint64_t now_ms,
                       const struct gw_ip_address **addresses, size_t *count)
{
    struct gw_name_node *node = gw_name_table_find(&cache->table, name);
    if (node == NULL)
        return false;
    struct entry *entry = gw_container_of(node, struct entry, node);
    if (now_ms >= entry->until_ms)
        return false; /* the next put of the name, or its age, takes it out */
    gw_list_remove(&entry->age);
    gw_list_append(&cache->recent, &entry->age);
    *addresses = entry->addresses;
    *count = entry->count;
    return true;
}

static struct entry *entry_new(struct gw_slice name, const struct gw_ip_address *addresses,
                               size_t count)
{
    struct entry *entry = malloc(sizeof *entry + count * sizeof *addresses + name.length);
    if (entry == NULL)
        return NULL;
    entry->count = count;
    memcpy(entry->addresses, addresses, count * sizeof *addresses);
    entry->name = (char *)(entry->addresses + count);
    memcpy(entry->name, name.data, name.length);
    entry->node.name = (struct gw_slice){ entry->name, name.length };
    gw_list_init(&entry->age);
    return entry;
}

static void sweep(struct gw_dns_cache *cache, uint64_t now_ms)
{
    for (unsigned i = 0; i < SWEPT_AT_ONCE && !gw_list_empty(&cache->buried); i++) {
        struct entry *oldest = gw_container_of(cache->buried.next, struct entry, age);
        if (oldest->until_ms == now_ms) /* the loop's clock stands still within a turn */
            break;
        gw_list_remove(&oldest->age);
        free(oldest);
    }
}

void gw_dns_cache_put(struct gw_dns_cache *cache, struct gw_slice name,
                      const struct gw_ip_address *addresses, size_t count, uint32_t ttl_s,
                      uint64_t now_ms)
{
    sweep(cache, now_ms);
    if (cache->limit == 0 || ttl_s == 0)
        return;
    struct gw_name_node *former = gw_name_table_find(&cache->table, name);
    if (former != NULL)
        bury(cache, gw_container_of(former, struct entry, node), now_ms);
    else if (cache->count == cache->limit)
        bury(cache, gw_container_of(cache->recent.next, struct entry, age), now_ms);
    struct entry *entry = entry_new(name, addresses, count);
    if (entry == NULL)
        return;
    entry->until_ms = now_ms + (uint64_t)ttl_s * 1000;
    gw_name_table_add(&cache->table, &entry->node);
    gw_list_append(&cache->recent, &entry->age);
    cache->count++;
}

size_t gw_dns_cache_count(const struct gw_dns_cache *cache)
{
    return cache->count;
}
