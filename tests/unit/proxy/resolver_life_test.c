/* tests/unit/proxy/resolver_life_test.c - who shares an answer, how long it lives, and every way to
 * leave: cancelled, overloaded, reconfigured, closed. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "resolver_world.h"

#define NONE GW_REASON_NONE
#define A_TTL(address, ttl)                                \
    {                                                      \
        .type = TYPE_A, .ttl_s = (ttl), .value = (address) \
    }
#define A(address) A_TTL(address, 60)

static struct world world;

/* [DNS-12, ADDR-07, R14] A second answer is another one, and used for the second request only. */
static void ttl_0_serves_those_who_waited_and_no_other(void **state)
{
    struct dns_rule script[] = {
        { "api.acme.test", TYPE_A, .times = 1, .records = { A_TTL("192.0.2.1", 0) } },
        { "api.acme.test", TYPE_A, .records = { A_TTL("10.0.0.1", 0) } },
        { "api.acme.test", TYPE_AAAA, .rcode = NOERROR },
        { .name = NULL },
    };
    struct asked first, second;
    (void)state;
    world_enter(&world, script);
    world_ask(&world, &first, "api.acme.test");
    world_ask(&world, &second, "api.acme.test");
    assert_false(first.at_once || second.at_once);
    assert_false(first.lookup.cached);
    assert_true(second.lookup.cached);
    world_wait(&world, &second);
    expect_told(&first, NONE, "192.0.2.1");
    expect_told(&second, NONE, "192.0.2.1");
    world_expect(&world, "api.acme.test", NONE, "10.0.0.1");
    assert_int_equal(world_counter(GW_COUNT_DNS_QUERIES), 2);
    assert_int_equal(world_counter(GW_COUNT_DNS_CACHED), 0);
    world_leave(&world);
}

static void an_answer_is_cached_for_its_least_ttl(void **state)
{
    struct dns_rule script[] = {
        { "long.test", TYPE_A, .records = { A_TTL("192.0.2.1", 3600) } },
        { "long.test", TYPE_AAAA, .rcode = NOERROR },
        { "mixed.test", TYPE_A, .records = { A_TTL("192.0.2.1", 3600), A_TTL("192.0.2.2", 0) } },
        { "chain.test", TYPE_A,
          .records = { { NULL, TYPE_CNAME, 0, "end.test", 0 },
                       { "end.test", TYPE_A, 3600, "192.0.2.3", 0 } } },
        { "sign.test", TYPE_A, .records = { A_TTL("192.0.2.4", 0x80000001) } },
        { "none.test", .rcode = NXDOMAIN },
        { .name = NULL },
    };
    struct asked asked;
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.max_ttl_s = 1; /* the TTL is clamped to it */
    world_configure(&world);
    world_expect(&world, "long.test", NONE, "192.0.2.1");
    world_ask(&world, &asked, "long.test");
    assert_true(asked.at_once && asked.lookup.cached);
    expect_told(&asked, NONE, "192.0.2.1");
    assert_int_equal(dns_server_asked(world.server, TYPE_A), 1);
    assert_int_equal(world_counter(GW_COUNT_DNS_CACHED), 1);
    world_run_for(&world, 1100);
    world_expect(&world, "long.test", NONE, "192.0.2.1");
    assert_int_equal(dns_server_asked(world.server, TYPE_A), 2);
    world_expect(&world, "mixed.test", NONE, "192.0.2.1 192.0.2.2");
    world_expect(&world, "chain.test", NONE, "192.0.2.3");
    world_expect(&world, "sign.test", NONE, "192.0.2.4"); /* RFC 2181, 8: means 0 */
    world_expect(&world, "none.test", GW_REASON_DNS_NXDOMAIN, "");
    for (const char *const *name =
             (const char *const[]){ "mixed.test", "chain.test", "sign.test", "none.test", NULL };
         *name != NULL; name++) {
        world_ask(&world, &asked, *name);
        if (asked.at_once)
            fail_msg("%s was kept", *name);
        world_wait(&world, &asked);
    }
    world_leave(&world);
}

static void one_hundred_askers_cost_one_query(void **state)
{
    static struct asked askers[100];
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") }, .delay_ms = 30 },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    for (size_t i = 0; i < GW_COUNT(askers); i++)
        world_ask(&world, &askers[i], "api.acme.test");
    world_wait(&world, &askers[99]);
    for (size_t i = 0; i < GW_COUNT(askers); i++)
        expect_told(&askers[i], NONE, "192.0.2.1");
    assert_int_equal(dns_server_asked(world.server, TYPE_A), 1);
    assert_int_equal(dns_server_asked(world.server, TYPE_AAAA), 1);
    assert_int_equal(world_counter(GW_COUNT_DNS_QUERIES), 1);
    world_leave(&world);
}

static void a_cancelled_asker_leaves_the_others(void **state)
{
    struct asked gone, stays;
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") }, .delay_ms = 30 },
                                 { .name = NULL } };
    struct gw_lookup never = { .done = NULL };
    (void)state;
    gw_lookup_cancel(&never); /* not in flight */
    world_enter(&world, script);
    world_ask(&world, &gone, "api.acme.test");
    world_ask(&world, &stays, "api.acme.test");
    gw_lookup_cancel(&gone.lookup);
    gw_lookup_cancel(&gone.lookup);
    world_wait(&world, &stays);
    expect_told(&stays, NONE, "192.0.2.1");
    assert_int_equal(gone.calls, 0);
    gw_lookup_cancel(&stays.lookup); /* done already */
    world_leave(&world);
}

static void when_all_have_cancelled_the_answer_is_cached_all_the_same(void **state)
{
    struct asked asked;
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") }, .delay_ms = 30 },
                                 { "void.acme.test", .silent = true },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.deadline_ms = 1000;
    world_configure(&world);
    world_ask(&world, &asked, "api.acme.test");
    gw_lookup_cancel(&asked.lookup);
    world_run_for(&world, 500);
    assert_int_equal(asked.calls, 0);
    world_ask(&world, &asked, "api.acme.test");
    assert_true(asked.at_once);
    world_ask(&world, &asked, "void.acme.test");
    gw_lookup_cancel(&asked.lookup);
    world_run_for(&world, 1200); /* past the deadline */
    assert_int_equal(asked.calls, 0);
    world_leave(&world);
}

/* A lookup may be freed in `done`, cancel its neighbours, and ask again. */
struct chain {
    struct gw_lookup lookup;
    struct gw_lookup *neighbour;
    struct world *world;
    unsigned *calls;
};

static void on_chain_done(struct gw_lookup *lookup)
{
    struct chain *chain = gw_container_of(lookup, struct chain, lookup);
    struct gw_host host = host_of("next.acme.test");
    ++*chain->calls;
    assert_int_equal(lookup->reason, NONE);
    if (chain->neighbour != NULL) {
        gw_lookup_cancel(chain->neighbour);
        chain->neighbour = NULL;
        assert_false(gw_resolver_ask(chain->world->resolver, &host, lookup));
        return;
    }
    free(chain);
}

static void askers_may_do_anything_in_done(void **state)
{
    struct asked neighbour;
    struct dns_rule script[] = { { "api.acme.test", .records = { A_TTL("192.0.2.1", 0) } },
                                 { "next.acme.test", .records = { A("192.0.2.2") } },
                                 { .name = NULL } };
    struct gw_host host = host_of("api.acme.test");
    unsigned calls = 0;
    (void)state;
    world_enter(&world, script);
    struct chain *chain = calloc(1, sizeof *chain);
    assert_non_null(chain);
    *chain = (struct chain){ .lookup.done = on_chain_done,
                             .neighbour = &neighbour.lookup,
                             .world = &world,
                             .calls = &calls };
    assert_false(gw_resolver_ask(world.resolver, &host, &chain->lookup));
    world_ask(&world, &neighbour, "api.acme.test");
    world_run_for(&world, 500);
    assert_int_equal(calls, 2);
    assert_int_equal(neighbour.calls, 0);
    world_leave(&world);
}

static void on_last_done(struct gw_lookup *lookup)
{
    struct asked *asked = gw_container_of(lookup, struct asked, lookup);
    asked->calls++;
    world_close_resolver(asked->world);
}

static void the_last_asker_may_close(void **state)
{
    struct asked asked;
    struct dns_rule script[] = { { "api.acme.test", TYPE_A, .records = { A("192.0.2.1") } },
                                 { "api.acme.test", TYPE_AAAA, .silent = true },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world_ask(&world, &asked, "api.acme.test");
    asked.lookup.done = on_last_done;
    world_wait(&world, &asked);
    world_leave(&world);
}

static void closing_drops_what_nobody_waits_for(void **state)
{
    struct asked asked;
    struct dns_rule script[] = { { "void.acme.test", .silent = true },
                                 { "tcp.acme.test", .truncate_udp = true, .truncate_tcp = true },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script); /* nothing pending */
    world_leave(&world);

    world_enter(&world, script); /* unanswered over UDP; asked again over TCP */
    world_ask(&world, &asked, "void.acme.test");
    gw_lookup_cancel(&asked.lookup);
    world_ask(&world, &asked, "tcp.acme.test");
    world_run_for(&world, 1);
    gw_lookup_cancel(&asked.lookup);
    world_leave(&world);

    world_enter(&world, script); /* not even sent */
    world_ask(&world, &asked, "void.acme.test");
    gw_lookup_cancel(&asked.lookup);
    world_leave(&world);
    assert_int_equal(asked.calls, 0);
}

/* In the state that c-ares has given up on it and it is asked on a channel of its own. */
static void closing_and_cancelling_reach_a_patient_question(void **state)
{
    static const struct {
        uint64_t deadline_ms;
        bool cancel;
    } cases[] = { { 20000, true }, { 2500, false } };
    struct dns_rule script[] = {
        { "f0.test", .records = { A("192.0.2.1"), { NULL, TYPE_AAAA, 60, "2001:db8::1", 0 } } },
        { "f1.test", .records = { A("192.0.2.1"), { NULL, TYPE_AAAA, 60, "2001:db8::1", 0 } } },
        { "void.test", .silent = true },
        { .name = NULL },
    };
    (void)state;
    for (size_t k = 0; k < GW_COUNT(cases); k++) {
        struct asked asked;
        world_enter(&world, script);
        world.snapshot.dns.timeout_ms = 5000;
        world.snapshot.dns.tries = 1;
        world.snapshot.dns.deadline_ms = (uint32_t)cases[k].deadline_ms;
        world_configure(&world);
        world_expect(&world, "f0.test", NONE, "192.0.2.1 2001:db8::1");
        world_expect(&world, "f1.test", NONE, "192.0.2.1 2001:db8::1");
        unsigned asked_so_far = dns_server_asked(world.server, 0);
        world_ask(&world, &asked, "void.test");
        for (unsigned i = 0; i < 50 && dns_server_asked(world.server, 0) < asked_so_far + 4; i++)
            world_run_for(&world, 100);
        assert_int_equal(dns_server_asked(world.server, 0), asked_so_far + 4);
        if (cases[k].cancel) {
            gw_lookup_cancel(&asked.lookup);
        } else {
            world_wait(&world, &asked);
            expect_told(&asked, GW_REASON_DNS_TIMEOUT, "");
        }
        uint64_t before_ns = uv_hrtime();
        world_leave(&world);
        assert_in_range(uv_hrtime() - before_ns, 0, 2000000000); /* nothing waits for the tries */
    }
}

static void names_in_flight_are_bounded(void **state)
{
    struct asked one, two, again, three;
    struct dns_rule script[] = { { "one.test", .records = { A("192.0.2.1") }, .delay_ms = 30 },
                                 { "two.test", .records = { A("192.0.2.2") }, .delay_ms = 30 },
                                 { "three.test", .records = { A("192.0.2.3") } },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.snapshot.limits.value[GW_LIMIT_DNS_QUERIES] = 2;
    world_configure(&world);
    world_ask(&world, &one, "one.test");
    world_ask(&world, &two, "two.test");
    world_ask(&world, &again, "one.test");
    world_ask(&world, &three, "three.test");
    assert_true(three.at_once);
    expect_told(&three, GW_REASON_OVERLOADED, "");
    world_wait(&world, &one);
    world_wait(&world, &two);
    expect_told(&one, NONE, "192.0.2.1");
    expect_told(&again, NONE, "192.0.2.1");
    expect_told(&two, NONE, "192.0.2.2");
    world_expect(&world, "three.test", NONE, "192.0.2.3");
    world_leave(&world);
}

static void the_cache_is_bounded(void **state)
{
    struct asked asked;
    struct dns_rule script[] = { { "one.test", .records = { A("192.0.2.1") } },
                                 { "two.test", .records = { A("192.0.2.2") } },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.snapshot.limits.value[GW_LIMIT_DNS_CACHE_ENTRIES] = 1;
    world_configure(&world);
    world_expect(&world, "one.test", NONE, "192.0.2.1");
    world_expect(&world, "two.test", NONE, "192.0.2.2");
    world_ask(&world, &asked, "two.test");
    assert_true(asked.at_once);
    world_ask(&world, &asked, "one.test");
    assert_false(asked.at_once);
    world_wait(&world, &asked);
    world.snapshot.limits.value[GW_LIMIT_DNS_CACHE_ENTRIES] = 0;
    world_configure(&world);
    world_expect(&world, "one.test", NONE, "192.0.2.1");
    world_ask(&world, &asked, "one.test");
    assert_false(asked.at_once);
    world_wait(&world, &asked);
    world_leave(&world);
}

/* [R24, R25, DNS-14] */
static void static_hosts_win_and_localhost_is_loopback_without_a_query(void **state)
{
    struct gw_ip_address fixed = { .family = 4, .bytes = { 192, 0, 2, 77 } };
    struct gw_snapshot_hosts hosts[] = { { host_of("api.acme.test"), &fixed, 1 },
                                         { host_of("in.localhost"), &fixed, 1 } };
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") } },
                                 { "metadata", .rcode = NXDOMAIN },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.hosts = hosts;
    world.snapshot.dns.host_count = 2;
    world_configure(&world);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.77");
    world_expect(&world, "in.localhost", NONE, "192.0.2.77");
    world_expect(&world, "localhost", NONE, "127.0.0.1 ::1");
    world_expect(&world, "x.localhost", NONE, "127.0.0.1 ::1");
    assert_int_equal(dns_server_asked(world.server, 0), 0);
    assert_int_equal(world_counter(GW_COUNT_DNS_QUERIES), 0);
    world_expect(&world, "metadata", GW_REASON_DNS_NXDOMAIN, ""); /* absolute: no search list */
    assert_int_equal(dns_server_unexpected(world.server), 0);
    fixed.bytes[3] = 78; /* the snapshot was copied from */
    world_expect(&world, "api.acme.test", NONE, "192.0.2.77");
    world_configure(&world);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.78");
    world.snapshot.dns.host_count = 0;
    world_configure(&world);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.1");
    world_leave(&world);
}

static void without_servers_every_other_name_fails(void **state)
{
    struct dns_rule script[] = { { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.server_count = 0;
    world_configure(&world);
    world_expect(&world, "api.acme.test", GW_REASON_DNS_FAILED, "");
    world_leave(&world);
}

static void questions_in_flight_end_by_the_old_settings(void **state)
{
    struct asked old, late, new;
    struct dns_rule script[] = {
        { "api.acme.test", .records = { A("192.0.2.1") }, .delay_ms = 300 }, { .name = NULL }
    };
    struct dns_rule other_script[] = { { "api.acme.test", .records = { A("192.0.2.2") } },
                                       { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world.snapshot.dns.timeout_ms = 5000;
    world.snapshot.dns.deadline_ms = 10000;
    world_configure(&world);
    struct dns_server *other = dns_server_start(&world.loop, other_script);
    world_ask(&world, &old, "api.acme.test");
    world_configure(&world); /* nothing changed */
    world_ask(&world, &late, "api.acme.test");
    world.servers[0].port = dns_server_port(other);
    world_configure(&world);
    world_ask(&world, &new, "api.acme.test");
    assert_false(new.lookup.cached);
    world_wait(&world, &new);
    expect_told(&new, NONE, "192.0.2.2");
    assert_int_equal(old.calls, 0);
    world_wait(&world, &old);
    expect_told(&old, NONE, "192.0.2.1");
    expect_told(&late, NONE, "192.0.2.1");
    assert_int_equal(dns_server_asked(world.server, TYPE_A), 1);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.2"); /* the cache kept the new one */
    assert_int_equal(dns_server_asked(other, TYPE_A), 1);
    dns_server_stop(other);
    world_leave(&world);
}

static void a_change_empties_the_cache_and_nothing_else_does(void **state)
{
    struct asked asked;
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") } },
                                 { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    world_expect(&world, "api.acme.test", NONE, "192.0.2.1");
    world.snapshot.generation++;
    world_configure(&world);
    world_ask(&world, &asked, "api.acme.test");
    assert_true(asked.at_once);
    world.snapshot.dns.max_ttl_s++;
    world_configure(&world);
    world_ask(&world, &asked, "api.acme.test");
    assert_false(asked.at_once);
    world_wait(&world, &asked);
    world_leave(&world);
}

/* Reconfiguring over and over, with questions open on each channel, then closing at once. */
static void many_retired_channels_close(void **state)
{
    static struct asked askers[8];
    struct dns_rule script[] = { { "void.acme.test", .silent = true }, { .name = NULL } };
    (void)state;
    world_enter(&world, script);
    for (size_t i = 0; i < GW_COUNT(askers); i++) {
        world_ask(&world, &askers[i], "void.acme.test");
        world.snapshot.dns.max_ttl_s++;
        world_configure(&world);
    }
    world_run_for(&world, 20);
    assert_int_equal(world_counter(GW_COUNT_DNS_QUERIES), 8);
    for (size_t i = 0; i < GW_COUNT(askers); i++)
        gw_lookup_cancel(&askers[i].lookup);
    world_leave(&world);
}

/* As in a confined proxy: each attempt to open a file gets an errno. */
static bool forbid_files(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = GW_COUNT(code), .filter = code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
           && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void no_system_file_is_needed(void **state)
{
    struct dns_rule script[] = { { "api.acme.test", .records = { A("192.0.2.1") } },
                                 { .name = NULL } };
    int status;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* a failed assertion ends the child, too, with another status */
        if (!forbid_files() || fopen("/dev/null", "r") != NULL)
            _exit(2);
        world_enter(&world, script);
        world_expect(&world, "api.acme.test", NONE, "192.0.2.1");
        world_leave(&world);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ttl_0_serves_those_who_waited_and_no_other),
        cmocka_unit_test(an_answer_is_cached_for_its_least_ttl),
        cmocka_unit_test(one_hundred_askers_cost_one_query),
        cmocka_unit_test(a_cancelled_asker_leaves_the_others),
        cmocka_unit_test(when_all_have_cancelled_the_answer_is_cached_all_the_same),
        cmocka_unit_test(askers_may_do_anything_in_done),
        cmocka_unit_test(the_last_asker_may_close),
        cmocka_unit_test(closing_drops_what_nobody_waits_for),
        cmocka_unit_test(closing_and_cancelling_reach_a_patient_question),
        cmocka_unit_test(names_in_flight_are_bounded),
        cmocka_unit_test(the_cache_is_bounded),
        cmocka_unit_test(static_hosts_win_and_localhost_is_loopback_without_a_query),
        cmocka_unit_test(without_servers_every_other_name_fails),
        cmocka_unit_test(questions_in_flight_end_by_the_old_settings),
        cmocka_unit_test(a_change_empties_the_cache_and_nothing_else_does),
        cmocka_unit_test(many_retired_channels_close),
        cmocka_unit_test(no_system_file_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
