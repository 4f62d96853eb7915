/* gateway/proxy/pool.c */
#include "gateway/proxy/pool.h"

#include <stdlib.h>

#include "base/macros.h"
#include "gateway/proxy/proxy.h"

enum { BUCKETS = 256 };

struct gw_pool {
    struct gw_proxy *proxy;
    size_t count;
    struct gw_list bucket[BUCKETS]; /* by host and port; the newest last */
};

static unsigned hash(const struct gw_host *host, uint16_t port)
{
    uint32_t value = 2166136261u; /* FNV-1a */
    for (unsigned i = 0; i < host->length; i++)
        value = (value ^ (unsigned char)host->text[i]) * 16777619u;
    return ((value ^ port) * 16777619u) % BUCKETS;
}

struct gw_pool *gw_pool_new(struct gw_proxy *proxy)
{
    struct gw_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->proxy = proxy;
    for (unsigned i = 0; i < BUCKETS; i++)
        gw_list_init(&pool->bucket[i]);
    return pool;
}

static void let_go(struct gw_upstream *upstream)
{
    struct gw_pool *pool = upstream->keeper;
    gw_list_remove(&upstream->link);
    gw_timer_stop(&upstream->idle);
    upstream->keeper = NULL;
    pool->count--;
    gw_count_sub(pool->proxy->page, GW_COUNT_POOLED, 1);
}

static void discard(struct gw_upstream *upstream)
{
    let_go(upstream);
    gw_upstream_free(upstream);
}

/* A kept connection has nothing to say: the peer closes it, or breaks the protocol. TLS may still
 * deliver a session ticket; what is not that, is the end. */
static void on_kept(struct gw_watch *watch)
{
    struct gw_upstream *upstream = watch->owner;
    char byte;
    size_t length;
    if (!(watch->ready & GW_CAN_READ))
        return;
    if (gw_upstream_read(upstream, &byte, 1, &length) != GW_IO_AGAIN)
        discard(upstream);
}

static void on_idle(struct gw_timer *timer)
{
    discard(gw_container_of(timer, struct gw_upstream, idle));
}

void gw_pool_free(struct gw_pool *pool)
{
    if (pool == NULL)
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        while (!gw_list_empty(&pool->bucket[i]))
            discard(gw_container_of(pool->bucket[i].next, struct gw_upstream, link));
    free(pool);
}

void gw_pool_put(struct gw_pool *pool, struct gw_upstream *upstream, uint32_t slot,
                 uint64_t stamp_key)
{
    struct gw_proxy *proxy = pool->proxy;
    const struct gw_limits *limits = gw_proxy_limits(proxy);
    if (pool->count >= gw_limit(limits, POOL_CONNECTIONS) || proxy->draining
        || (upstream->watch->ready & (GW_PEER_SHUT | GW_PEER_RESET)) != 0) {
        gw_upstream_free(upstream);
        return;
    }
    upstream->reused = true;
    upstream->slot = slot;
    upstream->stamp_key = stamp_key;
    upstream->keeper = pool;
    upstream->idle.fired = on_idle;
    gw_list_append(&pool->bucket[hash(&upstream->host, upstream->port)], &upstream->link);
    gw_timer_start(proxy->timers, &upstream->idle, gw_limit(limits, POOL_IDLE_MS));
    gw_watch_give(upstream->watch, on_kept, upstream);
    pool->count++;
    gw_count_add(proxy->page, GW_COUNT_POOLED, 1);
    if (upstream->watch->ready & GW_CAN_READ)
        gw_watch_later(upstream->watch); /* something may lie there already */
}

static bool is_open(struct gw_upstream *upstream)
{
    char byte;
    size_t length;
    if (upstream->watch->ready & (GW_PEER_SHUT | GW_PEER_RESET))
        return false;
    return gw_upstream_read(upstream, &byte, 1, &length) == GW_IO_AGAIN;
}

struct gw_upstream *gw_pool_take(struct gw_pool *pool, uint32_t slot, const struct gw_host *host,
                                 uint16_t port, const struct gw_trust *trust, uint64_t stamp_key)
{
    struct gw_list *bucket = &pool->bucket[hash(host, port)];
    for (struct gw_list *at = bucket->previous, *before; at != bucket; at = before) {
        struct gw_upstream *upstream = gw_container_of(at, struct gw_upstream, link);
        before = at->previous;
        if (upstream->slot != slot || upstream->port != port || upstream->trust != trust
            || upstream->stamp_key != stamp_key || !gw_host_equal(&upstream->host, host))
            continue;
        if (!is_open(upstream)) {
            discard(upstream);
            continue;
        }
        let_go(upstream);
        gw_count_add(pool->proxy->page, GW_COUNT_POOL_HITS, 1);
        return upstream;
    }
    return NULL;
}

unsigned gw_pool_sweep(struct gw_pool *pool,
                       bool (*stays)(void *context, const struct gw_upstream *upstream),
                       void *context)
{
    unsigned closed = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        gw_list_each (at, after, &pool->bucket[i]) {
            struct gw_upstream *upstream = gw_container_of(at, struct gw_upstream, link);
            if (stays(context, upstream))
                continue;
            discard(upstream);
            closed++;
        }
    }
    return closed;
}
