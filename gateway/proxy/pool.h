/* gateway/proxy/pool.h - upstream connections kept for the next request.
 * A kept connection is private to (network, host, port, TLS identity, credential values): no byte
 * of it is ever used by another binding. The policy is asked again at each use by who takes it. */
#pragma once
#include "gateway/common/limits.h"
#include "gateway/proxy/upstream.h"

struct gw_proxy;
struct gw_pool;

struct gw_pool *gw_pool_new(struct gw_proxy *proxy);
void gw_pool_free(struct gw_pool *pool); /* closes all */

/* Takes the upstream (keeps or closes it). */
void gw_pool_put(struct gw_pool *pool, struct gw_upstream *upstream, uint32_t slot,
                 uint64_t stamp_key);

/* One that fits and is still open, handed over; NULL when there is none. */
struct gw_upstream *gw_pool_take(struct gw_pool *pool, uint32_t slot, const struct gw_host *host,
                                 uint16_t port, const struct gw_trust *trust, uint64_t stamp_key);

/* Closes every one that `stays` refuses; returns how many. */
unsigned gw_pool_sweep(struct gw_pool *pool,
                       bool (*stays)(void *context, const struct gw_upstream *upstream),
                       void *context);
