/* tests/unit/proxy/resolver_world.h - the real resolver on a real loop, asking a scripted name
 * server on loopback. One world a test; leaving it closes everything and checks that the loop is
 * empty, so that a handle that was forgotten fails the test. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "dns_server.h"
#include "gateway/proxy/resolver.h"

struct world {
    uv_loop_t loop;
    struct dns_server *server;
    struct gw_resolver *resolver;
    struct gw_snapshot snapshot; /* change it, then world_configure() */
    struct gw_snapshot_server servers[2];
    bool resolver_closing, resolver_closed;
};

/* An asker that remembers what it was told. */
struct asked {
    struct gw_lookup lookup;
    struct world *world;
    bool at_once;
    unsigned calls;
    enum gw_reason reason;
    size_t count;
    struct gw_ip_address addresses[GW_ADDRESSES_MAX];
    uint64_t asked_ms, told_ms;
};

/* Two tries of 2 s, 10 s in all, 300 ms for the other family: long enough for a busy machine. A
 * test that waits for one of these to pass sets it. */
void world_enter(struct world *world, struct dns_rule *script);
void world_leave(struct world *world);
void world_configure(struct world *world);
void world_close_resolver(struct world *world);

void world_ask(struct world *world, struct asked *asked, const char *name);
void world_wait(struct world *world, const struct asked *asked);
void world_run_for(struct world *world, uint64_t ms);
uint64_t world_counter(enum gw_counter which);

/* Asks and waits; fails the test unless the answer is `reason` and, in any order, exactly the
 * addresses of the blank-separated list. */
void world_expect(struct world *world, const char *name, enum gw_reason reason,
                  const char *addresses);
void expect_told(const struct asked *asked, enum gw_reason reason, const char *addresses);

struct gw_host host_of(const char *name);
