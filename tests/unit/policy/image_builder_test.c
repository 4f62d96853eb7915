/* tests/unit/policy/image_builder_test.c - what may go into a policy. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "policy/policy_image.h"

/* The call fails, and the error says this. */
#define REFUSED(call, says)                                            \
    do {                                                               \
        struct gw_error err = GW_ERROR_NONE;                           \
        if (call)                                                      \
            fail_msg("accepted: %s", #call);                           \
        if (err.code == GW_ERR_NONE || strstr(err.text, says) == NULL) \
            fail_msg("%s: %s", #call, err.text);                       \
    } while (0)

static void an_entry_is_added_once(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    (void)state;
    ALLOW(b, "a.test");
    ALLOW(b, "A.Test.");
    ALLOW(b, "a.test:443");
    MUST(gw_image_builder_allow(b, GW_SLICE("a.test:8443"), GW_SNI_OFF, &err));
    MUST(gw_image_builder_allow(b, GW_SLICE("a.test:8443"), GW_SNI_OFF, &err));
    REFUSED(gw_image_builder_allow(b, GW_SLICE("a.test:8443"), GW_SNI_LOG, &err),
            "\"a.test:8443\" is listed twice");
    REFUSED(gw_image_builder_allow(b, GW_SLICE("*"), GW_SNI_LOG, &err), "allow-all");
    struct built built = build(b);
    assert_int_equal(gw_image_host_count(&built.image), 3);
    assert_int_equal(gw_image_kind(&built.image), GW_POLICY_STATIC);
    free(built.bytes);
}

static void a_deny_all_policy_takes_no_hosts(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_DENY_ALL);
    (void)state;
    REFUSED(gw_image_builder_allow(b, GW_SLICE("a.test"), GW_SNI_DEFAULT, &err), "deny-all");
    gw_image_builder_free(b);
}

static void ports_are_numbers(void **state)
{
    const uint16_t zero[] = { 443, 0 };
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    (void)state;
    REFUSED(gw_image_builder_ports(b, zero, 2, &err), "1 to 65535");
    REFUSED(gw_image_builder_ports(b, NULL, 0, &err), "admit nothing");
    MUST(gw_image_builder_plain_ports(b, NULL, 0, &err));
    gw_image_builder_free(b);
}

/* A range that no exemption opens would be accepted and not applied. */
static void an_exemption_opens_something(void **state)
{
    static const struct {
        const char *range;
        bool accepted;
        const char *why;
    } cases[] = {
        { "10.0.0.0/8", true, "private" },
        { "127.0.0.0/8", true, "loopback, when it is named" },
        { "::1", true, "loopback, when it is named" },
        { "198.18.0.0/15", true, "benchmarking" },
        { "0.0.0.0/0", true, "something in it" },
        { "::/0", true, "something in it" },
        { "93.184.216.0/24", true, "nothing to lift, nothing to refuse" },
        { "169.254.0.0/16", false, "link-local" },
        { "169.254.169.254", false, "link-local, and metadata" },
        { "169.254.0.0/15", true, "link-local and a public neighbour" },
        { "168.0.0.0/7", true, "reaches beyond link-local" },
        { "0.0.0.0/8", false, "this host" },
        { "224.0.0.0/4", false, "multicast" },
        { "224.0.0.0/3", false, "multicast and reserved, nothing else" },
        { "192.0.0.0/2", true, "more than that" },
        { "255.255.255.255", false, "reserved" },
        { "168.63.129.16", false, "a platform's endpoint" },
        { "168.63.129.16/31", true, "and its neighbour" },
        { "100.100.100.200", false, "a metadata service" },
        { "fd00:ec2::254", false, "a metadata service" },
        { "192.0.0.192", false, "a metadata service" },
        { "fe80::/10", false, "link-local" },
        { "ff00::/8", false, "multicast" },
        { "::", false, "unspecified" },
        { "::/127", true, "unspecified and loopback" },
        { "fe80::/9", true, "link-local and site-local" },
        { "64:ff9b::/96", true, "NAT64" },
        { "64:ff9b::a9fe:0/112", false, "NAT64 of link-local" },
        { "64:ff9b::e000:0/99", false, "NAT64 of multicast and reserved" },
        { "2002:a9fe::/32", false, "6to4 of link-local" },
        { "2002:a00::/24", true, "6to4 of private" },
        { "::ffff:169.254.0.0/112", false, "mapped link-local" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
        struct gw_error err = GW_ERROR_NONE;
        struct gw_cidr one;
        bool accepted = gw_cidr_parse(gw_slice_of(cases[i].range), &one)
                        && gw_image_builder_inward(b, GW_SLICE("a.test"), &one, 1, &err);
        if (accepted != cases[i].accepted)
            fail_msg("%s: %s", cases[i].range, cases[i].why);
        gw_image_builder_free(b);
    }
}

static void a_range_made_by_code_is_checked_too(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    struct gw_cidr loose = { { 4, { 10, 0, 0, 1 } }, 8 }, none = { { 5, { 0 } }, 0 };
    struct gw_cidr long_prefix = { { 4, { 10, 0, 0, 1 } }, 64 };
    (void)state;
    REFUSED(gw_image_builder_deny_cidr(b, &loose, &err), "behind its prefix");
    REFUSED(gw_image_builder_deny_cidr(b, &none, &err), "behind its prefix");
    REFUSED(gw_image_builder_inward(b, GW_SLICE("a.test"), &long_prefix, 1, &err),
            "behind its prefix");
    gw_image_builder_free(b);
}

static void only_entries_have_ports(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_ALLOW_ALL);
    const struct gw_rule_source rule = { .method_count = 0 };
    const struct gw_credential_source credential = { "c", "authorization", false };
    struct gw_slice host = GW_SLICE("a.test:443");
    (void)state;
    REFUSED(gw_image_builder_plaintext(b, host, &err), "leave the port out");
    REFUSED(gw_image_builder_upstream_tls(b, host, "ca", &err), "leave the port out");
    REFUSED(gw_image_builder_inward(b, host, NULL, 0, &err), "leave the port out");
    REFUSED(gw_image_builder_rule(b, host, &rule, &err), "leave the port out");
    REFUSED(gw_image_builder_credential(b, host, &credential, &err), "leave the port out");
    gw_image_builder_free(b);
}

static void a_host_has_one_ca(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    (void)state;
    MUST(gw_image_builder_upstream_tls(b, GW_SLICE("a.test"), "one", &err));
    MUST(gw_image_builder_upstream_tls(b, GW_SLICE("A.test"), "one", &err));
    MUST(gw_image_builder_upstream_tls(b, GW_SLICE("b.test"), "one", &err));
    REFUSED(gw_image_builder_upstream_tls(b, GW_SLICE("a.test"), "two", &err), "two CA bundles");
    REFUSED(gw_image_builder_upstream_tls(b, GW_SLICE("c.test"), "", &err), "CA bundle");
    struct built built = build(b);
    assert_int_equal(gw_image_ca_count(&built.image), 1);
    assert_true(gw_slice_equal(gw_image_ca(&built.image, 0), GW_SLICE("one")));
    assert_int_equal(gw_image_ca(&built.image, 1).length, 0);
    free(built.bytes);
}

static bool add_rule(struct gw_image_builder *b, const char *method, const char *path, bool slash,
                     struct gw_error *err)
{
    const struct gw_rule_source rule = { &method, method != NULL, &path, path != NULL, slash };
    return gw_image_builder_rule(b, GW_SLICE("a.test"), &rule, err);
}

static void a_rule_can_match_something(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    (void)state;
    MUST(add_rule(b, "GET", "/v1", false, &err));
    MUST(add_rule(b, "M-SEARCH", NULL, false, &err));
    MUST(add_rule(b, NULL, "/a%2fb", true, &err));
    MUST(add_rule(b, NULL, NULL, false, &err));
    REFUSED(add_rule(b, "get", NULL, false, &err), "upper-case");
    REFUSED(add_rule(b, "", NULL, false, &err), "not a method");
    REFUSED(add_rule(b, "GE T", NULL, false, &err), "not a method");
    REFUSED(add_rule(b, "TRACE", NULL, false, &err), "never relayed");
    REFUSED(add_rule(b, "CONNECT", NULL, false, &err), "never relayed");
    REFUSED(add_rule(b, NULL, "v1", false, &err), "begins with");
    REFUSED(add_rule(b, NULL, "", false, &err), "begins with");
    REFUSED(add_rule(b, NULL, "/v1?x", false, &err), "no query");
    REFUSED(add_rule(b, NULL, "/v1#x", false, &err), "no query");
    REFUSED(add_rule(b, NULL, "/a/../b", false, &err), "two ways");
    REFUSED(add_rule(b, NULL, "/a//b", true, &err), "two ways");
    REFUSED(add_rule(b, NULL, "/a%2fb", false, &err), "encoded_slash");
    REFUSED(add_rule(b, NULL, "/a b", false, &err), "ASCII");
    REFUSED(add_rule(b, NULL, "/\xc3\xbc", false, &err), "ASCII");
    gw_image_builder_free(b);
}

static bool add_credential(struct gw_image_builder *b, const char *host, const char *header,
                           struct gw_error *err)
{
    const struct gw_credential_source credential = { "token", header, false };
    return gw_image_builder_credential(b, gw_slice_of(host), &credential, err);
}

static void a_credential_goes_only_where_the_policy_goes(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    (void)state;
    ALLOW(b, "api.acme.test");
    ALLOW(b, ".pkgs.test.example");
    ALLOW(b, "db.acme.test:5432");
    ALLOW(b, "203.0.113.9");
    MUST(add_credential(b, "api.acme.test", "authorization", &err));
    MUST(add_credential(b, "a.pkgs.test.example", "authorization", &err));
    MUST(add_credential(b, ".b.pkgs.test.example", "authorization", &err));
    MUST(add_credential(b, "db.acme.test", "authorization", &err));
    MUST(add_credential(b, "203.0.113.9", "authorization", &err));
    REFUSED(add_credential(b, "evil.test", "authorization", &err), "no entry of this policy");
    REFUSED(add_credential(b, "x.api.acme.test", "x-a", &err), "no entry of this policy");
    REFUSED(add_credential(b, ".acme.test", "x-a", &err), "all of \".acme.test\"");
    REFUSED(add_credential(b, ".api.acme.test", "x-a", &err), "no entry of this policy");
    REFUSED(add_credential(b, ".test.example", "x-a", &err), "no entry of this policy");
    REFUSED(add_credential(b, "203.0.113.8", "x-a", &err), "no entry of this policy");
    gw_image_builder_free(b);
}

static void a_header_is_set_once(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_ALLOW_ALL);
    (void)state;
    MUST(add_credential(b, ".acme.test", "x-api-key", &err));
    MUST(add_credential(b, ".acme.test", "authorization", &err));
    MUST(add_credential(b, "other.test", "x-api-key", &err));
    REFUSED(add_credential(b, ".other.test", "x-api-key", &err), "for \"other.test\"");
    REFUSED(add_credential(b, "a.acme.test", "x-api-key", &err), "\"x-api-key\"");
    REFUSED(add_credential(b, "a.acme.test", "x_api_key", &err), "\"x-api-key\"");
    REFUSED(add_credential(b, ".acme.test", "authorization", &err), "\".acme.test\"");
    struct built built = build(b);
    assert_int_equal(gw_image_credential_count(&built.image),
                     2); /* one name and header, two hosts */
    free(built.bytes);
}

static void some_headers_are_not_for_credentials(void **state)
{
    static const char *const headers[] = { "host",
                                           "content-length",
                                           "transfer-encoding",
                                           "connection",
                                           "te",
                                           "trailer",
                                           "upgrade",
                                           "expect",
                                           "keep-alive",
                                           "via",
                                           "proxy-authorization",
                                           "Authorization",
                                           "x y",
                                           "",
                                           NULL };
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_ALLOW_ALL);
    (void)state;
    for (size_t i = 0; i < GW_COUNT(headers); i++)
        REFUSED(add_credential(b, "a.test", headers[i], &err), "not a header");
    gw_image_builder_free(b);
}

/* A verdict has room for so many; more could be collected only by dropping some. */
static void no_host_has_more_credentials_than_a_verdict(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_ALLOW_ALL);
    char header[16];
    (void)state;
    for (int i = 0; i < GW_VERDICT_CREDENTIALS_MAX - 1; i++) {
        snprintf(header, sizeof header, "x-%d", i);
        MUST(add_credential(b, i % 2 == 0 ? "a.b.test" : ".b.test", header, &err));
    }
    MUST(add_credential(b, "c.b.test", "y", &err)); /* a neighbour counts for itself */
    MUST(add_credential(b, "a.b.test", "y", &err));
    REFUSED(add_credential(b, "a.b.test", "z", &err), "more than 16");
    REFUSED(add_credential(b, ".b.test", "z", &err), "more than 16");
    MUST(add_credential(b, "c.b.test", "z", &err));
    gw_image_builder_free(b);
}

static void a_live_change_replaces_hosts_and_nothing_else(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    struct gw_error failure = GW_ERROR_NONE;
    void *bytes;
    size_t length;
    (void)state;
    ALLOW(b, "old.test");
    ALLOW(b, "kept.test");
    MUST(add_credential(b, "old.test", "authorization", &err));
    MUST(gw_image_builder_plaintext(b, GW_SLICE("kept.test"), &err));
    assert_true(gw_image_builder_finish(b, &bytes, &length, &failure));
    free(bytes);
    gw_image_builder_restart_hosts(b);
    ALLOW(b, "kept.test");
    ALLOW(b, "new.test");
    struct built built = build(b);
    assert_int_equal(gw_image_host_count(&built.image), 2);
    assert_int_equal(gw_image_credential_count(&built.image), 1); /* dormant */
    static const struct {
        const char *host;
        enum gw_reason reason;
        bool tls;
    } asks[] = { { "old.test", GW_REASON_NOT_ALLOWED, true },
                 { "kept.test", GW_REASON_NONE, false },
                 { "new.test", GW_REASON_NONE, true } };
    for (size_t i = 0; i < GW_COUNT(asks); i++) {
        struct gw_ask ask = { .kind = GW_ASK_REQUEST,
                              .authority = authority(asks[i].host),
                              .method = GW_SLICE("GET") };
        struct gw_verdict verdict;
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        assert_int_equal(verdict.refusal.reason, asks[i].reason);
        assert_int_equal(verdict.tls, asks[i].tls);
    }
    free(built.bytes);
}

static void many_live_changes_cost_no_memory_for_what_is_gone(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    struct gw_error failure = GW_ERROR_NONE;
    void *first, *last;
    size_t first_length, last_length;
    (void)state;
    ALLOW(b, "a.test");
    assert_true(gw_image_builder_finish(b, &first, &first_length, &failure));
    for (int round = 0; round < 200; round++) {
        char entry[64];
        gw_image_builder_restart_hosts(b);
        for (int i = 0; i < 100; i++) {
            snprintf(entry, sizeof entry, "h%d.r%d.test", i, round);
            ALLOW(b, entry);
        }
    }
    gw_image_builder_restart_hosts(b);
    ALLOW(b, "a.test");
    assert_true(gw_image_builder_finish(b, &last, &last_length, &failure));
    assert_int_equal(first_length, last_length);
    assert_memory_equal(first, last, last_length);
    free(first);
    free(last);
    gw_image_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_added_once),
        cmocka_unit_test(a_deny_all_policy_takes_no_hosts),
        cmocka_unit_test(ports_are_numbers),
        cmocka_unit_test(an_exemption_opens_something),
        cmocka_unit_test(a_range_made_by_code_is_checked_too),
        cmocka_unit_test(only_entries_have_ports),
        cmocka_unit_test(a_host_has_one_ca),
        cmocka_unit_test(a_rule_can_match_something),
        cmocka_unit_test(a_credential_goes_only_where_the_policy_goes),
        cmocka_unit_test(a_header_is_set_once),
        cmocka_unit_test(some_headers_are_not_for_credentials),
        cmocka_unit_test(no_host_has_more_credentials_than_a_verdict),
        cmocka_unit_test(a_live_change_replaces_hosts_and_nothing_else),
        cmocka_unit_test(many_live_changes_cost_no_memory_for_what_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
