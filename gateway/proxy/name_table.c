#include "gateway/proxy/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"

#define CHAINS_MAX ((size_t)1 << 20)

bool gw_name_table_init(struct gw_name_table *table, size_t expected, struct gw_error *err)
{
    size_t chains = 16;
    memset(table, 0, sizeof *table);
    while (chains < expected && chains < CHAINS_MAX)
        chains *= 2;
    if (getrandom(table->key, sizeof table->key, 0) != (ssize_t)sizeof table->key) {
        gw_error_set(err, GW_ERR_SYSTEM, "no random bytes: %s", strerror(errno));
        return false;
    }
    table->chains = calloc(chains, sizeof *table->chains);
    if (table->chains == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory for a table of %zu names", expected);
        return false;
    }
    table->mask = chains - 1;
    return true;
}

void gw_name_table_fini(struct gw_name_table *table)
{
    free(table->chains);
    memset(table, 0, sizeof *table);
}

static inline uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], unsigned rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

/* Aumasson and Bernstein, "SipHash: a fast short-input PRF". Words are read as the machine has
 * them: the value never leaves this process. */
static uint64_t hash_of(const struct gw_name_table *table, struct gw_slice name)
{
    uint64_t v[4] = { table->key[0] ^ 0x736f6d6570736575u, table->key[1] ^ 0x646f72616e646f6du,
                      table->key[0] ^ 0x6c7967656e657261u, table->key[1] ^ 0x7465646279746573u };
    for (size_t at = 0; at <= name.length; at += 8) {
        uint64_t word = 0;
        size_t left = name.length - at;
        if (left > 0)
            memcpy(&word, name.data + at, left < 8 ? left : 8);
        if (left < 8)
            word |= (uint64_t)name.length << 56;
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct gw_name_node *gw_name_table_find(const struct gw_name_table *table, struct gw_slice name)
{
    if (table->chains == NULL)
        return NULL;
    uint64_t hash = hash_of(table, name);
    struct gw_name_node *node = table->chains[hash & table->mask];
    while (node != NULL && (node->hash != hash || !gw_slice_equal(node->name, name)))
        node = node->next;
    return node;
}

void gw_name_table_add(struct gw_name_table *table, struct gw_name_node *node)
{
    node->hash = hash_of(table, node->name);
    struct gw_name_node **chain = &table->chains[node->hash & table->mask];
    node->next = *chain;
    *chain = node;
}

void gw_name_table_remove(struct gw_name_table *table, struct gw_name_node *node)
{
    struct gw_name_node **link = &table->chains[node->hash & table->mask];
    while (*link != node) {
        gw_check(*link != NULL);
        link = &(*link)->next;
    }
    *link = node->next;
    node->next = NULL;
}
