/* gateway/proxy/proxy.h - one proxy process: the pieces of the data plane, and what they share.
 * One thread, one loop; every struct below is owned by it and lives until the process ends. */
#pragma once
#include <uv.h>

#include "gateway/common/counters.h"
#include "gateway/proxy/audit.h"
#include "gateway/proxy/binding.h"
#include "gateway/proxy/pool.h"
#include "gateway/proxy/reactor.h"
#include "gateway/proxy/resolver.h"
#include "gateway/proxy/timers.h"

enum { GW_SCRATCH_BYTES = 65536 };

struct gw_proxy {
    const char *name; /* "proxy-0" */
    unsigned index;
    uv_loop_t loop;
    struct gw_reactor *reactor;
    struct gw_timers *timers;
    struct gw_resolver *resolver;
    struct gw_shared *shared;
    struct gw_process_page *page; /* ours in `shared` */
    struct gw_config *config;     /* in force; NULL before the first install */
    struct gw_own own;            /* local addresses and own listeners, for the loop check */
    struct gw_pool *pool;
    struct gw_audit *audit;
    struct gw_list clients, relays;
    uint64_t client_count, client_most;
    uint64_t turned_away; /* connections over their network's limit, on their way out */
    uint64_t next_id;
    bool draining;
    /* Called when a client or relay has gone: the door may open again, a drain may be over. */
    void (*one_gone)(struct gw_proxy *proxy);
    char scratch[GW_SCRATCH_BYTES]; /* for the bytes of one read; nothing stays in it */
};

static inline const struct gw_limits *gw_proxy_limits(const struct gw_proxy *proxy)
{
    return &proxy->config->snapshot->limits;
}
