#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "resolver_world.h"

static struct gw_process_page page;

struct gw_host host_of(const char *name)
{
    struct gw_host host;
    if (gw_host_parse(gw_slice_of(name), &host) != GW_REASON_NONE)
        fail_msg("not a host: %s", name);
    return host;
}

uint64_t world_counter(enum gw_counter which)
{
    return atomic_load(&page.counters[which]);
}

void world_configure(struct world *world)
{
    struct gw_error err = GW_ERROR_NONE;
    if (!gw_resolver_configure(world->resolver, &world->snapshot, &err))
        fail_msg("configure: %s", err.text);
}

void world_enter(struct world *world, struct dns_rule *script)
{
    struct gw_error err = GW_ERROR_NONE;
    memset(world, 0, sizeof *world);
    memset(&page, 0, sizeof page);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    world->server = dns_server_start(&world->loop, script);
    world->servers[0].address.family = 4;
    memcpy(world->servers[0].address.bytes, (const unsigned char[]){ 127, 0, 0, 1 }, 4);
    world->servers[0].port = dns_server_port(world->server);
    gw_limits_init(&world->snapshot.limits);
    world->snapshot.dns.servers = world->servers;
    world->snapshot.dns.server_count = 1;
    world->snapshot.dns.timeout_ms = 2000;
    world->snapshot.dns.tries = 2;
    world->snapshot.dns.deadline_ms = 10000;
    world->snapshot.dns.max_ttl_s = 300;
    world->snapshot.dns.resolution_delay_ms = 300;
    world->resolver = gw_resolver_new(&world->loop, &page, &err);
    assert_non_null(world->resolver);
    world_configure(world);
}

static void on_resolver_closed(void *context)
{
    struct world *world = context;
    world->resolver_closed = true;
}

void world_close_resolver(struct world *world)
{
    world->resolver_closing = true;
    gw_resolver_close(world->resolver, on_resolver_closed, world);
    assert_false(world->resolver_closed); /* from the loop, not from within */
}

void world_leave(struct world *world)
{
    if (!world->resolver_closing)
        world_close_resolver(world);
    dns_server_stop(world->server);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_true(world->resolver_closed);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

static void take(struct asked *asked)
{
    struct gw_lookup *lookup = &asked->lookup;
    asked->reason = lookup->reason;
    asked->count = lookup->count;
    for (size_t i = 0; i < lookup->count; i++)
        asked->addresses[i] = lookup->addresses[i];
    asked->told_ms = uv_now(&asked->world->loop);
    asked->calls++;
}

static void on_done(struct gw_lookup *lookup)
{
    take(gw_container_of(lookup, struct asked, lookup));
}

void world_ask(struct world *world, struct asked *asked, const char *name)
{
    struct gw_host host = host_of(name);
    memset(asked, 0, sizeof *asked);
    asked->world = world;
    asked->lookup.done = on_done;
    uv_update_time(&world->loop);
    asked->asked_ms = uv_now(&world->loop);
    asked->at_once = gw_resolver_ask(world->resolver, &host, &asked->lookup);
    assert_int_equal(asked->calls, 0); /* never from within */
    if (asked->at_once)
        take(asked);
}

static void on_alarm(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* Runs the loop until `calls` (may be NULL) is no longer 0, or `ms` have passed. */
static bool run_until(struct world *world, const unsigned *calls, uint64_t ms)
{
    bool rang = false;
    uv_timer_t alarm;
    uv_timer_init(&world->loop, &alarm);
    alarm.data = &rang;
    uv_update_time(&world->loop);
    uv_timer_start(&alarm, on_alarm, ms, 0);
    while (!rang && (calls == NULL || *calls == 0))
        uv_run(&world->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&alarm, NULL);
    uv_run(&world->loop, UV_RUN_NOWAIT);
    return !rang;
}

void world_wait(struct world *world, const struct asked *asked)
{
    if (!run_until(world, &asked->calls, 20000))
        fail_msg("no answer within 20 s");
}

void world_run_for(struct world *world, uint64_t ms)
{
    run_until(world, NULL, ms);
}

void expect_told(const struct asked *asked, enum gw_reason reason, const char *addresses)
{
    struct gw_slice rest = gw_slice_of(addresses), text;
    size_t wanted = 0;
    assert_int_equal(asked->calls, 1);
    assert_int_equal(asked->reason, reason);
    while (rest.length > 0 && gw_slice_next(&rest, ' ', &text)) {
        struct gw_ip_address address;
        bool found = false;
        assert_true(gw_ip_address_parse(text, &address));
        for (size_t i = 0; i < asked->count; i++)
            found |= gw_ip_address_equal(&address, &asked->addresses[i]);
        if (!found)
            fail_msg("%.*s is missing", (int)text.length, text.data);
        wanted++;
    }
    assert_int_equal(asked->count, wanted);
}

void world_expect(struct world *world, const char *name, enum gw_reason reason,
                  const char *addresses)
{
    struct asked asked;
    world_ask(world, &asked, name);
    if (!asked.at_once)
        world_wait(world, &asked);
    expect_told(&asked, reason, addresses);
}
