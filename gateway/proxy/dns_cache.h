/* gateway/proxy/dns_cache.h - addresses of names, for as long as their answers said.
 * Bounded by a number of names; the one that was not asked for longest makes room. It knows no
 * clock (`now_ms` is the loop's) and no policy: what it gives is screened again at each use.
 * Addresses that were handed out stay readable for the rest of the loop turn, even if their entry
 * is replaced or evicted meanwhile. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "policy/ip_address.h"

struct gw_dns_cache;

struct gw_dns_cache *gw_dns_cache_new(struct gw_error *err); /* keeps nothing yet */
void gw_dns_cache_free(struct gw_dns_cache *cache);

/* Empties it; from now on it keeps up to `entries` names (0: none). On failure nothing changes. */
bool gw_dns_cache_reset(struct gw_dns_cache *cache, size_t entries, uint64_t now_ms,
                        struct gw_error *err);

/* True: there, and not expired. */
bool gw_dns_cache_find(struct gw_dns_cache *cache, struct gw_slice name, uint64_t now_ms,
                       const struct gw_ip_address **addresses, size_t *count);

/* Replaces what is there. A `ttl_s` of 0 is not kept, nor is anything when memory is out. */
void gw_dns_cache_put(struct gw_dns_cache *cache, struct gw_slice name,
                      const struct gw_ip_address *addresses, size_t count, uint32_t ttl_s,
                      uint64_t now_ms);

size_t gw_dns_cache_count(const struct gw_dns_cache *cache);
