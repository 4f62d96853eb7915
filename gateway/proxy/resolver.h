/* gateway/proxy/resolver.h - from a name to its addresses, once a request.
 *
 * c-ares asks for A and AAAA of the absolute name (no search list, no hosts file, no sorting that
 * connects); TCP when an answer is truncated. After a usable answer of one family the other is
 * awaited resolution_delay_ms more; without one, until the deadline. What arrived by then is the
 * set, cached as such; a late answer is neither used nor cached. Names of other owners in an answer
 * are used for nothing: the addresses at the end of the CNAME chain are what counts.
 *
 * When no family is usable, what failed outweighs what is empty: NXDOMAIN only if both say so, no
 * data only if nothing failed. Static hosts win and never expire; other names below "localhost" are
 * loopback (RFC 6761) without a query.
 *
 * Cache: by canonical name, TTL = the least of the answer, clamped to max_ttl_s; TTL 0 serves the
 * requests that waited for it and no other; failures are not cached. One resolution in flight per
 * name, shared by all that wait. The cache holds addresses only and knows no policy: the screen
 * runs at each use, under the asker's own. Bounded: entries (dns_cache_entries), names in flight
 * (dns_queries, then OVERLOADED), records an answer (GW_ADDRESSES_MAX, then TOO_MANY_ADDRESSES). */
#pragma once
#include <uv.h>

#include "base/list.h"
#include "gateway/common/counters.h"
#include "gateway/common/snapshot.h"
#include "policy/dialable.h"

struct gw_resolver;

/* One question, in the memory of who asks. Zero it before the first use. */
struct gw_lookup {
    /* Called once, from the loop, unless cancelled before; never from within gw_resolver_ask(). The
     * lookup may be used again or freed in it. */
    void (*done)(struct gw_lookup *lookup);
    enum gw_reason reason; /* NONE, or DNS_NXDOMAIN, DNS_SERVFAIL, DNS_FAILED, DNS_EMPTY,
                              DNS_TIMEOUT, TOO_MANY_ADDRESSES, OVERLOADED, INTERNAL */
    const struct gw_ip_address *addresses; /* NONE: valid until `done` or the loop turn ends */
    size_t count;
    uint32_t slot; /* set before: the network that asks; each has its share of dns_queries */
    bool cached;   /* no query was made for this asker alone (cached, static, or shared) */
    struct gw_list waiting; /* private */
    bool in_flight;         /* private */
};

struct gw_resolver *gw_resolver_new(uv_loop_t *loop, struct gw_process_page *counters,
                                    struct gw_error *err);

/* Servers, times, static hosts; on a change of these the cache is emptied, and questions in flight
 * end by the old ones. The snapshot is copied from, not kept. */
bool gw_resolver_configure(struct gw_resolver *resolver, const struct gw_snapshot *snapshot,
                           struct gw_error *err);

/* True: answered at once from the cache or the static hosts, or refused at once (OVERLOADED, no
 * server, out of memory): reason, addresses, count are set, and `done` is not called. False: `done`
 * will be called. `host` is of class NAME. */
bool gw_resolver_ask(struct gw_resolver *resolver, const struct gw_host *host,
                     struct gw_lookup *lookup);

/* Safe at any time, also on a lookup that is not in flight; `done` is not called any more. */
void gw_lookup_cancel(struct gw_lookup *lookup);

/* Nobody may be waiting. `closed` is called from the loop when every handle has gone. */
void gw_resolver_close(struct gw_resolver *resolver, void (*closed)(void *context), void *context);
