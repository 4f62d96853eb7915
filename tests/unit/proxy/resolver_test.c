/* tests/unit/proxy/resolver_test.c - what becomes of the answers of a name server. Names in
 * brackets are rows of the catalogue of cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "resolver_world.h"

#define NONE GW_REASON_NONE
#define A(address)                                      \
    {                                                   \
        .type = TYPE_A, .ttl_s = 60, .value = (address) \
    }
#define AAAA(address)                                      \
    {                                                      \
        .type = TYPE_AAAA, .ttl_s = 60, .value = (address) \
    }
#define CNAME(from, to)                                                 \
    {                                                                   \
        .owner = (from), .type = TYPE_CNAME, .ttl_s = 60, .value = (to) \
    }
#define OWNED(name, kind, address)                                       \
    {                                                                    \
        .owner = (name), .type = (kind), .ttl_s = 60, .value = (address) \
    }

static struct world world;

static void both_families_are_one_set(void **state)
{
    struct dns_rule script[] = {
        { "api.acme.test", .records = { A("192.0.2.1"), A("192.0.2.2"), AAAA("2001:db8::1") } },
        { .name = NULL },
    };
    (void)state;
    world_enter(&world, script);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.1 192.0.2.2 2001:db8::1");
    assert_int_equal(dns_server_asked(world.server, TYPE_A), 1);
    assert_int_equal(dns_server_asked(world.server, TYPE_AAAA), 1);
    assert_int_equal(dns_server_asked_tcp(world.server), 0);
    world_leave(&world);
}

/* [DNS-01] The part that fitted into the datagram must not be used for the verdict. */
static void a_truncated_answer_is_asked_for_over_tcp(void **state)
{
    struct dns_rule script[] = {
        { "empty.acme.test", .times = 2, .truncate_udp = true },
        { "empty.acme.test", .records = { A("192.0.2.1") } },
        { "part.acme.test", .times = 2, .truncate_udp = true, .records = { A("10.0.0.9") } },
        { "part.acme.test", .records = { A("192.0.2.1") } },
        { "never.acme.test", .truncate_udp = true, .truncate_tcp = true,
          .records = { A("192.0.2.1") } },
        { .name = NULL },
    };
    (void)state;
    world_enter(&world, script);
    world_expect(&world, "empty.acme.test", NONE, "192.0.2.1");
    world_expect(&world, "part.acme.test", NONE, "192.0.2.1");
    assert_int_equal(dns_server_asked_tcp(world.server), 4);
    world_expect(&world, "never.acme.test", GW_REASON_DNS_FAILED, "");
    world_leave(&world);
}

/* [DNS-02, DNS-03, R07, R08] What the two questions bring, and what is said. */
static void one_usable_family_is_enough_and_failures_are_told_apart(void **state)
{
    enum { GOOD, EMPTY, NX, FAIL, REFUSE, SILENT };
    static const struct {
        const char *name;
        int a, aaaa;
        enum gw_reason reason;
    } cases[] = {
        { "gn.test", GOOD, NX, NONE },
        { "ge.test", GOOD, EMPTY, NONE },
        { "gf.test", GOOD, FAIL, NONE },
        { "gr.test", GOOD, REFUSE, NONE },
        { "gs.test", GOOD, SILENT, NONE },
        { "sg.test", SILENT, GOOD, NONE },
        { "fg.test", FAIL, GOOD, NONE },
        { "ng.test", NX, GOOD, NONE },
        { "nn.test", NX, NX, GW_REASON_DNS_NXDOMAIN },
        { "ne.test", NX, EMPTY, GW_REASON_DNS_EMPTY },
        { "en.test", EMPTY, NX, GW_REASON_DNS_EMPTY },
        { "ee.test", EMPTY, EMPTY, GW_REASON_DNS_EMPTY },
        { "ff.test", FAIL, FAIL, GW_REASON_DNS_SERVFAIL },
        { "fn.test", FAIL, NX, GW_REASON_DNS_SERVFAIL },
        { "ef.test", EMPTY, FAIL, GW_REASON_DNS_SERVFAIL },
        { "fr.test", FAIL, REFUSE, GW_REASON_DNS_SERVFAIL },
        { "fs.test", FAIL, SILENT, GW_REASON_DNS_SERVFAIL },
        { "rr.test", REFUSE, REFUSE, GW_REASON_DNS_FAILED },
        { "nr.test", NX, REFUSE, GW_REASON_DNS_FAILED },
        { "rs.test", REFUSE, SILENT, GW_REASON_DNS_FAILED },
        { "ss.test", SILENT, SILENT, GW_REASON_DNS_TIMEOUT },
        { "es.test", EMPTY, SILENT, GW_REASON_DNS_TIMEOUT },
        { "ns.test", NX, SILENT, GW_REASON_DNS_TIMEOUT },
    };
    struct dns_rule script[2 * GW_COUNT(cases) + 1];
    static const uint8_t rcodes[] = {
        [NX] = NXDOMAIN, [FAIL] = SERVFAIL, [REFUSE] = REFUSED, [SILENT] = NOERROR
    };
    (void)state;
    memset(script, 0, sizeof script);
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct dns_rule *a = &script[2 * i], *aaaa = a + 1;
        *a = (struct dns_rule){ cases[i].name, TYPE_A, .rcode = rcodes[cases[i].a],
                                .silent = cases[i].a == SILENT };
        *aaaa = (struct dns_rule){ cases[i].name, TYPE_AAAA, .rcode = rcodes[cases[i].aaaa],
                                   .silent = cases[i].aaaa == SILENT };
        if (cases[i].a == GOOD)
            a->records[0] = (struct dns_record)A("192.0.2.1");
        if (cases[i].aaaa == GOOD)
            aaaa->records[0] = (struct dns_record)AAAA("2001:db8::1");
    }
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct asked asked;
        world_enter(&world, script); /* a new one: what c-ares learned of the server is forgotten */
        world.snapshot.dns.timeout_ms = 300;
        world.snapshot.dns.resolution_delay_ms = 50;
        world_configure(&world);
        world_ask(&world, &asked, cases[i].name);
        world_wait(&world, &asked);
        if (asked.reason != cases[i].reason)
            fail_msg("%s: %d instead of %d", cases[i].name, asked.reason, cases[i].reason);
        const char *wanted = cases[i].a == GOOD      ? "192.0.2.1"
                             : cases[i].aaaa == GOOD ? "2001:db8::1"
                                                     : "";
        expect_told(&asked, cases[i].reason, wanted);
        world_leave(&world);
    }
}

/* [DNS-03] */
static void a_silent_family_costs_the_resolution_delay_only(void **state)
{
    struct dns_rule script[] = {
        { "api.acme.test", TYPE_A, .records = { A("192.0.2.1") } },
        { "api.acme.test", TYPE_AAAA, .silent = true },
        { "slow.acme.test", TYPE_A, .records = { A("192.0.2.1") }, .delay_ms = 300 },
        { "slow.acme.test", TYPE_AAAA, .rcode = NXDOMAIN },
        { "late.acme.test", TYPE_A, .records = { A("192.0.2.1") } },
        { "late.acme.test", TYPE_AAAA, .records = { AAAA("2001:db8::1") }, .delay_ms = 400 },
        { .name = NULL },
    };
    struct asked asked;
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.timeout_ms = 5000;
    world.snapshot.dns.resolution_delay_ms = 50;
    world_configure(&world);
    world_ask(&world, &asked, "api.acme.test");
    world_wait(&world, &asked);
    expect_told(&asked, NONE, "192.0.2.1");
    assert_in_range(asked.told_ms - asked.asked_ms, 50, 2000);
    world_expect(&world, "slow.acme.test", NONE, "192.0.2.1"); /* without one, in full */
    world_ask(&world, &asked, "late.acme.test");
    world_wait(&world, &asked);
    expect_told(&asked, NONE, "192.0.2.1");
    world_run_for(&world, 600); /* the late answer comes, and is neither used nor cached */
    world_ask(&world, &asked, "late.acme.test");
    assert_true(asked.at_once);
    expect_told(&asked, NONE, "192.0.2.1");
    world_leave(&world);
}

/* [DNS-07] Pointers at themselves and at each other. The message is dropped, the question goes on.
 */
static void a_malformed_answer_is_dropped_in_bounded_time(void **state)
{
    static const char self[] = "\xc0\x1f\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1";
    static const char pair[] = "\xc0\x21\xc0\x1f\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1";
    static const char label[] = "\x41pi\4acme\4test\0\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1";
    static const char cut[] = "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\x40\xc0\0\2\1";
    struct dns_rule script[] = {
        { "api.acme.test", .times = 2, .raw = self, .raw_length = sizeof self - 1 },
        { "api.acme.test", .records = { A("192.0.2.1") } },
        { "app.acme.test", .times = 2, .raw = pair, .raw_length = sizeof pair - 1 },
        { "app.acme.test", .records = { A("192.0.2.1") } },
        { "adm.acme.test", .times = 2, .raw = label, .raw_length = sizeof label - 1 },
        { "adm.acme.test", .records = { A("192.0.2.1") } },
        { "bad.acme.test", .raw = cut, .raw_length = sizeof cut - 1 },
        { .name = NULL },
    };
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.tries = 6; /* a malformed answer costs all that share its socket a try */
    world_configure(&world);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.1");
    world_expect(&world, "app.acme.test", NONE, "192.0.2.1");
    world_expect(&world, "adm.acme.test", NONE, "192.0.2.1");
    world_expect(&world, "bad.acme.test", GW_REASON_DNS_FAILED, "");
    world_leave(&world);
}

/* [DNS-10] */
static void names_in_answers_are_compared_without_case(void **state)
{
    struct dns_rule script[] = {
        { "api.acme.test", .records = { OWNED("ApI.aCmE.tEsT", TYPE_A, "192.0.2.1") } },
        { "www.acme.test", .records = { CNAME("WWW.acme.test", "Edge.CDN.test"),
                                        OWNED("eDGE.cdn.TEST", TYPE_A, "192.0.2.2") } },
        { .name = NULL },
    };
    (void)state;
    world_enter(&world, script);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.1");
    world_expect(&world, "www.acme.test", NONE, "192.0.2.2");
    world_leave(&world);
}

/* [ADDR-10, R17] */
static void only_the_end_of_the_cname_chain_counts(void **state)
{
    struct dns_rule script[] = {
        { "api.acme.test", TYPE_A,
          .records = { CNAME(NULL, "edge.cdn.test"), CNAME("edge.cdn.test", "host7.evil.test"),
                       OWNED("host7.evil.test", TYPE_A, "192.168.1.1") } },
        { "turned.acme.test", TYPE_A, /* records may stand in any order */
          .records = { OWNED("c.test", TYPE_A, "192.0.2.3"), CNAME("b.test", "c.test"),
                       CNAME(NULL, "b.test") } },
        { "other.acme.test", TYPE_A, .records = { OWNED("evil.test", TYPE_A, "10.0.0.1") } },
        { "middle.acme.test", TYPE_A,
          .records = { A("10.0.0.1"), CNAME(NULL, "b.test"), OWNED("b.test", TYPE_A, "192.0.2.4"),
                       OWNED("middle.acme.tes", TYPE_A, "10.0.0.2") } },
        { "open.acme.test", TYPE_A, .records = { CNAME(NULL, "b.test") } },
        { "self.acme.test", TYPE_A, .records = { CNAME(NULL, "self.acme.test"), A("192.0.2.5") } },
        { "loop.acme.test", TYPE_A,
          .records = { CNAME(NULL, "b.test"), CNAME("b.test", "loop.acme.test"), A("192.0.2.5") } },
        { "fork.acme.test", TYPE_A,
          .records = { CNAME(NULL, "b.test"), CNAME(NULL, "c.test"),
                       OWNED("b.test", TYPE_A, "192.0.2.6"),
                       OWNED("c.test", TYPE_A, "192.0.2.6") } },
        { "twin.acme.test", TYPE_A,
          .records = { CNAME(NULL, "b.test"), CNAME(NULL, "B.test"),
                       OWNED("b.test", TYPE_A, "192.0.2.7") } },
        { "*", TYPE_AAAA, .rcode = NOERROR },
        { .name = NULL },
    };
    (void)state;
    world_enter(&world, script);
    world_expect(&world, "api.acme.test", NONE, "192.168.1.1");
    world_expect(&world, "turned.acme.test", NONE, "192.0.2.3");
    world_expect(&world, "middle.acme.test", NONE, "192.0.2.4");
    world_expect(&world, "twin.acme.test", NONE, "192.0.2.7");
    world_expect(&world, "other.acme.test", GW_REASON_DNS_EMPTY, "");
    world_expect(&world, "open.acme.test", GW_REASON_DNS_EMPTY, "");
    world_expect(&world, "self.acme.test", GW_REASON_DNS_FAILED, "");
    world_expect(&world, "loop.acme.test", GW_REASON_DNS_FAILED, "");
    world_expect(&world, "fork.acme.test", GW_REASON_DNS_FAILED, "");
    world_leave(&world);
}

static void the_cname_chain_is_bounded(void **state)
{
    static const char *const names[] = { "n0.test",  "n1.test",  "n2.test",  "n3.test",  "n4.test",
                                         "n5.test",  "n6.test",  "n7.test",  "n8.test",  "n9.test",
                                         "n10.test", "n11.test", "n12.test", "n13.test", "n14.test",
                                         "n15.test", "n16.test", "n17.test" };
    struct dns_rule script[] = { { "n0.test", .rcode = NOERROR },
                                 { "n1.test", .rcode = NOERROR },
                                 { .name = NULL } };
    (void)state;
    for (size_t i = 0; i < 17; i++) {
        script[0].records[i] = (struct dns_record)CNAME(names[i], names[i + 1]);
        if (i > 0)
            script[1].records[i - 1] = (struct dns_record)CNAME(names[i], names[i + 1]);
    }
    script[0].records[17] = (struct dns_record)OWNED("n17.test", TYPE_A, "192.0.2.1");
    script[1].records[16] = (struct dns_record)OWNED("n17.test", TYPE_A, "192.0.2.1");
    world_enter(&world, script);
    world_expect(&world, "n1.test", NONE, "192.0.2.1");
    world_expect(&world, "n0.test", GW_REASON_DNS_FAILED, "");
    world_leave(&world);
}

/* [R16] All records count, of both families and before duplicates are dropped. */
static void more_than_64_records_are_too_many(void **state)
{
    struct dns_rule script[] = {
        { "a64.test",
          .records = { { .type = TYPE_A, .ttl_s = 60, .value = "192.0.2.1", .copies = 40 },
                       { .type = TYPE_AAAA, .ttl_s = 60, .value = "2001:db8::", .copies = 24 } } },
        { "a65.test",
          .records = { { .type = TYPE_A, .ttl_s = 60, .value = "192.0.2.1", .copies = 40 },
                       { .type = TYPE_AAAA, .ttl_s = 60, .value = "2001:db8::", .copies = 25 } } },
        { "one.test", TYPE_A,
          .records = { { .type = TYPE_A, .ttl_s = 60, .value = "192.0.2.1", .copies = 65 } } },
        { "one.test", TYPE_AAAA, .records = { AAAA("2001:db8::1") } },
        { "same.test",
          .records = { A("192.0.2.1"),
                       A("192.0.2.1"),
                       { .type = TYPE_A, .ttl_s = 60, .value = "192.0.2.1", .copies = 63 } } },
        { .name = NULL },
    };
    struct asked asked;
    (void)state;
    world_enter(&world, script);
    world_ask(&world, &asked, "a64.test");
    world_wait(&world, &asked);
    assert_int_equal(asked.reason, NONE);
    assert_int_equal(asked.count, 64);
    assert_true(dns_server_asked_tcp(world.server) > 0);
    world_expect(&world, "a65.test", GW_REASON_TOO_MANY_ADDRESSES, "");
    world_expect(&world, "one.test", GW_REASON_TOO_MANY_ADDRESSES, "");
    world_expect(&world, "same.test", GW_REASON_TOO_MANY_ADDRESSES, "");
    world_leave(&world);
}

/* [R28] */
static void silence_ends_at_the_deadline(void **state)
{
    struct dns_rule script[] = { { "api.acme.test", .silent = true }, { .name = NULL } };
    struct asked asked;
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.timeout_ms = 5000;
    world.snapshot.dns.deadline_ms = 300;
    world_configure(&world);
    world_ask(&world, &asked, "api.acme.test");
    world_wait(&world, &asked);
    expect_told(&asked, GW_REASON_DNS_TIMEOUT, "");
    assert_in_range(asked.told_ms - asked.asked_ms, 300, 2000);
    world.snapshot.dns.timeout_ms = 100; /* all tries are over before the deadline */
    world.snapshot.dns.deadline_ms = 60000;
    world_configure(&world);
    world_ask(&world, &asked, "api.acme.test");
    world_wait(&world, &asked);
    expect_told(&asked, GW_REASON_DNS_TIMEOUT, "");
    assert_in_range(asked.told_ms - asked.asked_ms, 200, 5000);
    world_leave(&world);
}

/* c-ares alone would give the slow name a quarter of a second a try, since the others were fast. */
static void a_slow_name_among_fast_ones_is_given_its_time(void **state)
{
    struct dns_rule script[] = {
        { "f0.test", .records = { A("192.0.2.1"), AAAA("2001:db8::1") } },
        { "f1.test", .records = { A("192.0.2.1"), AAAA("2001:db8::1") } },
        { "f2.test", .records = { A("192.0.2.1"), AAAA("2001:db8::1") } },
        { "slow.test", .records = { A("192.0.2.2"), AAAA("2001:db8::2") }, .delay_ms = 900 },
        { .name = NULL },
    };
    struct asked asked;
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.timeout_ms = 3000;
    world.snapshot.dns.tries = 1;
    world.snapshot.dns.deadline_ms = 10000;
    world_configure(&world);
    for (size_t i = 0; i < 3; i++)
        world_expect(&world, script[i].name, NONE, "192.0.2.1 2001:db8::1");
    world_ask(&world, &asked, "slow.test");
    world_wait(&world, &asked);
    expect_told(&asked, NONE, "192.0.2.2 2001:db8::2");
    assert_in_range(asked.told_ms - asked.asked_ms, 900, 3000);
    world_leave(&world);
}

static void a_dead_server_is_passed_over(void **state)
{
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") } },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.servers[1] = world.servers[0];
    world.servers[0].address.bytes[3] = 250; /* nobody listens there */
    world.snapshot.dns.server_count = 2;
    world_configure(&world);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.1");
    world.snapshot.dns.server_count = 1;
    world_configure(&world);
    world_expect(&world, "api.acme.test", GW_REASON_DNS_FAILED, "");
    world_leave(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_families_are_one_set),
        cmocka_unit_test(a_truncated_answer_is_asked_for_over_tcp),
        cmocka_unit_test(one_usable_family_is_enough_and_failures_are_told_apart),
        cmocka_unit_test(a_silent_family_costs_the_resolution_delay_only),
        cmocka_unit_test(a_malformed_answer_is_dropped_in_bounded_time),
        cmocka_unit_test(names_in_answers_are_compared_without_case),
        cmocka_unit_test(only_the_end_of_the_cname_chain_counts),
        cmocka_unit_test(the_cname_chain_is_bounded),
        cmocka_unit_test(more_than_64_records_are_too_many),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(a_slow_name_among_fast_ones_is_given_its_time),
        cmocka_unit_test(a_dead_server_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
