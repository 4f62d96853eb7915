/* tests/unit/proxy/audit_test.c - audit records: whole JSON lines, nothing of a peer's unescaped, a
 * share of the queue for each network, and losses that are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/common/log.h"
#include "gateway/proxy/proxy.h"
#include "json_check.h"

/* As much of a proxy as the audit asks for. */
struct world {
    struct gw_proxy proxy;
    struct gw_snapshot snapshot;
    struct gw_snapshot_network networks[2];
    struct gw_policy_map policy;
    struct gw_binding bindings[2];
    struct gw_config config;
    struct gw_process_page page;
    int reader;  /* the log writer's end */
    char *lines; /* what came of it, without the stream bytes */
    size_t length;
    unsigned datagrams;
};

static int world_open(void **state)
{
    static char names[2][8] = { "first", "second" }, policy[] = "build";
    int ends[2];
    struct gw_error err;
    struct world *world = aligned_alloc(_Alignof(struct world), sizeof *world);
    assert_non_null(world);
    memset(world, 0, sizeof *world);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
                     0);
    gw_log_start("proxy-0", ends[0], GW_LOG_ERROR);
    world->reader = ends[1];
    gw_limits_init(&world->snapshot.limits);
    gw_limit(&world->snapshot.limits, AUDIT_QUEUE_BYTES) = 2 * 65536;
    world->snapshot.networks = world->networks;
    world->snapshot.network_count = 2;
    world->config = (struct gw_config){ .snapshot = &world->snapshot, .bindings = world->bindings };
    memset(world->policy.digest_text, 'd', GW_DIGEST_TEXT - 1);
    for (uint32_t i = 0; i < 2; i++) {
        world->networks[i] =
            (struct gw_snapshot_network){ .name = names[i], .policy = policy, .slot = i };
        world->bindings[i] =
            (struct gw_binding){ .network = &world->networks[i], .policy = &world->policy };
    }
    struct gw_proxy *proxy = &world->proxy;
    proxy->name = "proxy-0";
    proxy->page = &world->page;
    proxy->config = &world->config;
    assert_int_equal(uv_loop_init(&proxy->loop), 0);
    proxy->timers = gw_timers_new(&proxy->loop, &err);
    proxy->audit = gw_audit_new(proxy);
    assert_true(proxy->timers != NULL && proxy->audit != NULL);
    *state = world;
    return 0;
}

static void nothing(void *context)
{
    (void)context;
}

static int world_close(void **state)
{
    struct world *world = *state;
    gw_audit_free(world->proxy.audit);
    gw_timers_close(world->proxy.timers, nothing, NULL);
    while (uv_run(&world->proxy.loop, UV_RUN_NOWAIT) != 0)
        ;
    assert_int_equal(uv_loop_close(&world->proxy.loop), 0);
    gw_log_set_socket(-1);
    close(world->reader);
    free(world->lines);
    free(world);
    return 0;
}

/* Reads what has been sent. Every datagram is the stream's byte and whole lines, each valid. */
static void take_datagrams(struct world *world)
{
    static char datagram[GW_LOG_DATAGRAM_MAX + 1];
    ssize_t got;
    size_t before = world->length;
    while ((got = recv(world->reader, datagram, sizeof datagram, 0)) > 0) {
        assert_true(got > 1 && got <= GW_LOG_DATAGRAM_MAX);
        assert_int_equal(datagram[0], GW_STREAM_ACCESS);
        assert_int_equal(datagram[got - 1], '\n');
        size_t more = (size_t)got - 1;
        world->lines = realloc(world->lines, world->length + more + 1);
        assert_non_null(world->lines);
        memcpy(world->lines + world->length, datagram + 1, more);
        world->length += more;
        world->lines[world->length] = '\0';
        world->datagrams++;
    }
    char *end;
    if (world->length == before)
        return;
    for (char *line = world->lines + before; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        if (!json_is_valid((struct gw_slice){ line, (size_t)(end - line) }))
            fail_msg("not JSON: %.*s", (int)(end - line), line);
    }
}

static unsigned count_of(const struct world *world, const char *text)
{
    unsigned count = 0;
    for (const char *at = world->lines; at != NULL && (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

static void turn(struct world *world)
{
    uv_run(&world->proxy.loop, UV_RUN_NOWAIT);
    take_datagrams(world);
}

static struct gw_ip_address address_of(uint8_t last)
{
    return (struct gw_ip_address){ .family = 4, .bytes = { 192, 0, 2, last } };
}

static void a_decision_tells_what_was_decided(void **state)
{
    struct world *world = *state;
    struct gw_ip_address client = address_of(1), dialled = address_of(7);
    struct gw_credential *credential =
        gw_credential_new(1, GW_SLICE("Bearer REAL-KEY"), GW_SLICE("REAL-KEY"));
    struct gw_stamp stamp = { .header = GW_SLICE("authorization"),
                              .name = GW_SLICE("llm"),
                              .credential = credential };
    gw_audit_decision(world->proxy.audit, 0, &world->bindings[0],
                      &(struct gw_decision_record){ .id = 5,
                                                    .method = GW_SLICE("GET"),
                                                    .host = GW_SLICE("api.acme.test"),
                                                    .port = 80,
                                                    .dial_port = 443,
                                                    .client = &client,
                                                    .address = &dialled,
                                                    .stamps = &stamp,
                                                    .stamp_count = 1 });
    assert_int_equal(world->length, 0); /* sent once a loop turn */
    turn(world);
    assert_int_equal(count_of(world, "\n"), 1);
    static const char *const parts[] = {
        "\"v\":1",
        "\"event\":\"decision\"",
        "\"id\":\"proxy-0-5\"",
        "\"network\":\"first\"",
        "\"policy\":\"build\"",
        "\"digest\":\"dddd",
        "\"client\":\"192.0.2.1\"",
        "\"kind\":\"request\"",
        "\"method\":\"GET\"",
        "\"host\":\"api.acme.test\"",
        "\"port\":80",
        "\"dial_port\":443",
        "\"verdict\":\"allow\"",
        "\"address\":\"192.0.2.7\"",
        "\"credentials\":[\"llm\"]",
    };
    for (size_t i = 0; i < GW_COUNT(parts); i++)
        if (count_of(world, parts[i]) != 1)
            fail_msg("%s is missing in %s", parts[i], world->lines);
    assert_int_equal(count_of(world, "REAL-KEY"), 0); /* CRED-08 */
    assert_int_equal(count_of(world, "\"reason\""), 0);
    gw_credential_unref(credential);
}

static void a_refusal_tells_why(void **state)
{
    struct world *world = *state;
    static const struct {
        struct gw_refusal refusal;
        const char *verdict, *reason;
    } rows[] = {
        { { GW_REASON_NOT_ALLOWED, GW_KIND_GLOBAL }, "refuse", "not-allowed" },
        { { GW_REASON_RESOLVED, GW_KIND_LOOPBACK }, "refuse", "resolved:loopback" },
        { { GW_REASON_VERSION, GW_KIND_GLOBAL }, "refuse", "version" },
        { { GW_REASON_CONNECT_FAILED, GW_KIND_GLOBAL }, "fail", "connect-failed" },
        { { GW_REASON_OVERLOADED, GW_KIND_GLOBAL }, "fail", "overloaded" },
        { { GW_REASON_SNI_MISMATCH, GW_KIND_GLOBAL }, "refuse", "sni-mismatch" },
    };
    struct gw_ip_address records[2] = { address_of(3), address_of(4) };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        int status = gw_reason_status(rows[i].refusal.reason);
        char expected[160];
        gw_audit_decision(world->proxy.audit, 0, NULL,
                          &(struct gw_decision_record){ .connect = true,
                                                        .refusal = rows[i].refusal,
                                                        .status = status,
                                                        .records = records,
                                                        .record_count = 2 });
        turn(world);
        snprintf(expected, sizeof expected, "\"verdict\":\"%s\",\"reason\":\"%s\"", rows[i].verdict,
                 rows[i].reason);
        if (count_of(world, expected) != 1)
            fail_msg("%s is missing in %s", expected, world->lines);
    }
    assert_int_equal(count_of(world, "\"records\":[\"192.0.2.3\",\"192.0.2.4\"]"), GW_COUNT(rows));
    assert_int_equal(count_of(world, "\"network\""), 0); /* no binding, no names */
    assert_int_equal(count_of(world, "\"kind\":\"connect\""), GW_COUNT(rows));
}

static void an_end_tells_how_it_went(void **state)
{
    struct world *world = *state;
    for (int closing = 0; closing < GW_CLOSING_COUNT; closing++) {
        gw_audit_end(world->proxy.audit, 0, &world->bindings[0],
                     &(struct gw_end_record){ .id = 9,
                                              .host = "api.acme.test",
                                              .port = 443,
                                              .closing = (enum gw_closing)closing,
                                              .status = 200,
                                              .bytes_up = 17,
                                              .bytes_down = UINT64_MAX,
                                              .duration_us = 1234567,
                                              .durations = { -1, 5, 10001, -1 },
                                              .sni = GW_SLICE("api.acme.test") });
        turn(world);
        char expected[64];
        snprintf(expected, sizeof expected, "\"closed\":\"%s\"",
                 gw_closing_text((enum gw_closing)closing));
        assert_true(count_of(world, expected) == 1);
    }
    assert_int_equal(count_of(world, "\"bytes_down\":18446744073709551615,"), GW_CLOSING_COUNT);
    assert_int_equal(count_of(world, "\"connect_ms\":0.005,\"tls_ms\":10.001,\"duration_ms\":"
                                     "1234.567}\n"),
                     GW_CLOSING_COUNT);
    assert_int_equal(count_of(world, "dns_ms"), 0);
}

/* L10: any byte, in any field that a peer fills, as much of it as one likes. */
static void hostile_text_is_escaped_and_cut(void **state)
{
    struct world *world = *state;
    static char text[5000];
    static struct gw_ip_address records[64];
    char name[128];
    memset(name, '"', sizeof name);
    struct gw_stamp stamps[4];
    for (size_t i = 0; i < GW_COUNT(stamps); i++)
        stamps[i] = (struct gw_stamp){ .name = { name, sizeof name } };
    for (size_t i = 0; i < GW_COUNT(records); i++) {
        records[i].family = 6;
        memset(records[i].bytes, 0xab, 16);
    }
    for (unsigned byte = 1; byte < 256; byte++) {
        memset(text, (int)byte, sizeof text - 1);
        gw_audit_decision(
            world->proxy.audit, 0, &world->bindings[0],
            &(struct gw_decision_record){ .method = { text, sizeof text - 1 },
                                          .host = { text, sizeof text - 1 },
                                          .refusal = { GW_REASON_RESOLVED, GW_KIND_SHARED },
                                          .records = records,
                                          .record_count = GW_COUNT(records),
                                          .stamps = stamps,
                                          .stamp_count = byte % 2 == 0 ? GW_COUNT(stamps) : 0,
                                          .detail = text });
        gw_audit_end(world->proxy.audit, 0, &world->bindings[0],
                     &(struct gw_end_record){ .host = text,
                                              .closing = GW_CLOSING_SNI_MISMATCH,
                                              .sni = { text, sizeof text - 1 } });
        turn(world);
    }
    assert_int_equal(count_of(world, "\n"), 2 * 255); /* none was too long to be kept */
    assert_int_equal(count_of(world, "dropped_before"), 0);
    for (const char *at = world->lines; *at != '\0'; at++)
        assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
}

static void flood(struct world *world, uint32_t slot, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        gw_audit_decision(world->proxy.audit, slot, &world->bindings[slot],
                          &(struct gw_decision_record){
                              .id = i, .refusal = { .reason = GW_REASON_NOT_ALLOWED } });
}

/* decision 14.17: a flood of one hides nobody else's records, and losses are told. */
static void each_network_has_its_share(void **state)
{
    struct world *world = *state;
    char expected[64];
    flood(world, 0, 10000);
    flood(world, 1, 10);
    uint64_t dropped = world->page.counters[GW_COUNT_AUDIT_DROPPED];
    uint64_t kept = world->page.counters[GW_COUNT_AUDIT_RECORDS];
    assert_int_equal(dropped + kept, 10010);
    assert_true(dropped > 9000 && kept > 100);
    turn(world);
    assert_int_equal(count_of(world, "\"network\":\"second\""), 10);
    assert_true(world->length <= 65536 + 10 * 300); /* half of the queue, and ten more */
    assert_int_equal(count_of(world, "\"network\":\"first\""), kept - 10);
    assert_int_equal(count_of(world, "dropped_before"), 0);
    flood(world, 1, 1);
    flood(world, 0, 2);
    turn(world);
    snprintf(expected, sizeof expected, "\"dropped_before\":%llu", (unsigned long long)dropped);
    assert_int_equal(count_of(world, expected), 1); /* of the first network, and once */
    assert_int_equal(count_of(world, "dropped_before"), 1);
    assert_true(world->datagrams > 1);
}

/* A log writer that does not read: nothing waits, what fits is kept, and comes when it reads. */
static void a_slow_log_writer_stalls_nothing(void **state)
{
    struct world *world = *state;
    unsigned sent = 0;
    for (unsigned i = 0; i < 200 && world->page.counters[GW_COUNT_AUDIT_DROPPED] == 0; i++) {
        flood(world, 0, 100);
        sent += 100;
        uv_run(&world->proxy.loop, UV_RUN_NOWAIT);
    }
    uint64_t kept = world->page.counters[GW_COUNT_AUDIT_RECORDS];
    assert_true(kept < sent); /* the socket was full, and then the queue */
    assert_int_equal(world->length, 0);
    for (unsigned i = 0; i < 200 && count_of(world, "\n") < kept; i++) {
        take_datagrams(world);
        uv_run(&world->proxy.loop, UV_RUN_ONCE); /* until the retry is due */
    }
    take_datagrams(world);
    assert_int_equal(count_of(world, "\n"), kept);
    flood(world, 1, 1);
    turn(world);
    assert_int_equal(count_of(world, "\"network\":\"second\""), 1);
}

static void what_waits_is_sent_at_the_end(void **state)
{
    struct world *world = *state;
    flood(world, 1, 3);
    assert_true(gw_audit_flush(world->proxy.audit));
    take_datagrams(world);
    assert_int_equal(count_of(world, "\n"), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_decision_tells_what_was_decided), TEST(a_refusal_tells_why),
        TEST(an_end_tells_how_it_went),          TEST(hostile_text_is_escaped_and_cut),
        TEST(each_network_has_its_share),        TEST(a_slow_log_writer_stalls_nothing),
        TEST(what_waits_is_sent_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
