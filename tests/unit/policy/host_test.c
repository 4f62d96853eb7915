/* tests/unit/policy/host_test.c */
#include "policy/host.h"

#include <string.h>

#include "fixture.h"

#define TEN "0123456789"
#define L63 TEN TEN TEN TEN TEN TEN "abc"
#define N253 L63 "." L63 "." L63 "." TEN TEN TEN TEN TEN TEN "a"

static const struct {
    struct gw_slice text;
    enum gw_reason reason;
    enum gw_host_class class;
    const char *canonical;
    const char *why;
} cases[] = {
    { BYTES("API.Example.COM."), GW_REASON_NONE, GW_HOST_NAME, "api.example.com",
      "DNS ignores case and the final dot" },
    { BYTES("localhost"), GW_REASON_NONE, GW_HOST_NAME, "localhost", "one label is a name" },
    { BYTES("build_cache.pkgs.test"), GW_REASON_NONE, GW_HOST_NAME, "build_cache.pkgs.test",
      "underscores are in daily use" },
    { BYTES("a--b.test"), GW_REASON_NONE, GW_HOST_NAME, "a--b.test", "hyphens inside" },
    { BYTES("1e3"), GW_REASON_NONE, GW_HOST_NAME, "1e3", "no resolver reads an exponent" },
    { BYTES("0x7g.test"), GW_REASON_NONE, GW_HOST_NAME, "0x7g.test", "not the last label" },
    { BYTES("1.2.3.test"), GW_REASON_NONE, GW_HOST_NAME, "1.2.3.test", "not the last label" },
    { BYTES("192.0.2.1"), GW_REASON_NONE, GW_HOST_V4, "192.0.2.1", "a dotted quad" },
    { BYTES("192.0.2.1."), GW_REASON_NONE, GW_HOST_V4, "192.0.2.1", "and its root dot" },
    { BYTES("[2001:DB8:0:0::1]"), GW_REASON_NONE, GW_HOST_V6, "2001:db8::1", "RFC 5952" },
    { BYTES("[::ffff:192.0.2.1]"), GW_REASON_NONE, GW_HOST_V4, "192.0.2.1",
      "the kernel connects it to the IPv4 address" },
    { BYTES(N253), GW_REASON_NONE, GW_HOST_NAME, N253, "253 bytes" },
    { BYTES(N253 "."), GW_REASON_NONE, GW_HOST_NAME, N253, "and the root dot" },
    { BYTES(N253 "b"), GW_REASON_BAD_HOST, 0, NULL, "254 bytes" },
    { BYTES(N253 "b."), GW_REASON_BAD_HOST, 0, NULL, "254 bytes and the root dot" },
    { BYTES(L63 "x.test"), GW_REASON_BAD_HOST, 0, NULL, "a label of 64" },
    { BYTES(""), GW_REASON_BAD_HOST, 0, NULL, "nothing" },
    { BYTES("."), GW_REASON_BAD_HOST, 0, NULL, "the root" },
    { BYTES("a.."), GW_REASON_BAD_HOST, 0, NULL, "one root dot only" },
    { BYTES("a..test"), GW_REASON_BAD_HOST, 0, NULL, "an empty label" },
    { BYTES(".a.test"), GW_REASON_BAD_HOST, 0, NULL, "an empty label in front" },
    { BYTES("-a.test"), GW_REASON_BAD_HOST, 0, NULL, "a hyphen in front" },
    { BYTES("a-.test"), GW_REASON_BAD_HOST, 0, NULL, "a hyphen behind" },
    { BYTES("a.test\0.evil.test"), GW_REASON_BAD_HOST, 0, NULL, "a C string ends there" },
    { BYTES("a b.test"), GW_REASON_BAD_HOST, 0, NULL, "a blank" },
    { BYTES("a.test\n"), GW_REASON_BAD_HOST, 0, NULL, "a line end" },
    { BYTES("b\xc3\xbc"
            "cher.test"),
      GW_REASON_BAD_HOST, 0, NULL, "UTF-8" },
    { BYTES("\xe2\x84\xaa.test"), GW_REASON_BAD_HOST, 0, NULL,
      "KELVIN SIGN is k to Unicode folding" },
    { BYTES("a%2etest"), GW_REASON_BAD_HOST, 0, NULL, "never decoded" },
    { BYTES("a.test%00"), GW_REASON_BAD_HOST, 0, NULL, "never decoded" },
    { BYTES("a.test/"), GW_REASON_BAD_HOST, 0, NULL, "a slash" },
    { BYTES("a.test\\.b.test"), GW_REASON_BAD_HOST, 0, NULL, "a backslash" },
    { BYTES("a.test:80"), GW_REASON_BAD_HOST, 0, NULL, "the port is the authority's" },
    { BYTES("::1"), GW_REASON_BAD_HOST, 0, NULL, "brackets are needed" },
    { BYTES("*.test"), GW_REASON_BAD_HOST, 0, NULL, "no wildcards" },
    { BYTES("a@b.test"), GW_REASON_USERINFO, 0, NULL, "a parser disagreement" },
    { BYTES("127.1"), GW_REASON_NUMERIC_HOST, 0, NULL, "inet_aton reads it" },
    { BYTES("0x7f.1"), GW_REASON_NUMERIC_HOST, 0, NULL, "hex" },
    { BYTES("0X7F000001"), GW_REASON_NUMERIC_HOST, 0, NULL, "hex, upper case" },
    { BYTES("0x"), GW_REASON_NUMERIC_HOST, 0, NULL, "a browser reads 0" },
    { BYTES("2130706433"), GW_REASON_NUMERIC_HOST, 0, NULL, "one number" },
    { BYTES("0177.0.0.1"), GW_REASON_NUMERIC_HOST, 0, NULL, "octal" },
    { BYTES("1.2.3.4.5"), GW_REASON_NUMERIC_HOST, 0, NULL, "five parts" },
    { BYTES("192.0.2.256"), GW_REASON_NUMERIC_HOST, 0, NULL, "no byte" },
    { BYTES("a.test.1"), GW_REASON_NUMERIC_HOST, 0, NULL, "no top-level domain is a number" },
    { BYTES("0"), GW_REASON_NUMERIC_HOST, 0, NULL, "0.0.0.0" },
    { BYTES("[fe80::1%25eth0]"), GW_REASON_ZONE_ID, 0, NULL, "names an interface" },
    { BYTES("[example.com]"), GW_REASON_BAD_HOST, 0, NULL, "brackets hold IPv6" },
    { BYTES("[192.0.2.7]"), GW_REASON_BAD_HOST, 0, NULL, "brackets hold IPv6" },
    { BYTES("[[::1]]"), GW_REASON_BAD_HOST, 0, NULL, "once" },
    { BYTES("[v1.a]"), GW_REASON_BAD_HOST, 0, NULL, "IPvFuture" },
    { BYTES("[]"), GW_REASON_BAD_HOST, 0, NULL, "nothing inside" },
    { BYTES("["), GW_REASON_BAD_HOST, 0, NULL, "half of it" },
    { BYTES("[::1"), GW_REASON_BAD_HOST, 0, NULL, "half of it" },
    { BYTES("[::1]."), GW_REASON_BAD_HOST, 0, NULL, "an address has no root dot" },
};

static void a_host_has_one_canonical_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host host;
        enum gw_reason reason = gw_host_parse(cases[i].text, &host);
        if (reason != cases[i].reason)
            fail_msg("\"%s\" gives \"%s\": %s", cases[i].text.data, gw_reason_code(reason),
                     cases[i].why);
        if (reason == GW_REASON_NONE
            && (host.class != cases[i].class || strcmp(host.text, cases[i].canonical) != 0
                || host.length != strlen(host.text)))
            fail_msg("\"%s\" became \"%s\": %s", cases[i].text.data, host.text, cases[i].why);
    }
}

static void the_canonical_form_is_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host first, second;
        char printed[GW_HOST_TEXT_MAX + 2];
        if (gw_host_parse(cases[i].text, &first) != GW_REASON_NONE)
            continue;
        size_t length = gw_host_print(&first, printed, sizeof printed);
        assert_int_equal(gw_host_parse((struct gw_slice){ printed, length }, &second),
                         GW_REASON_NONE);
        assert_true(gw_host_equal(&first, &second));
    }
}

static void canonical_text_is_recognised(void **state)
{
    static const struct {
        const char *text;
        enum gw_host_class class;
    } texts[] = {
        { "api.acme.test", GW_HOST_NAME },
        { "localhost", GW_HOST_NAME },
        { "203.0.113.9", GW_HOST_V4 },
        { "2001:db8::1", GW_HOST_V6 },
        { "Api.acme.test", 0 },
        { "api.acme.test.", 0 },
        { "127.1", 0 },
        { "[2001:db8::1]", 0 },
        { "2001:DB8::1", 0 },
        { "2001:db8:0::1", 0 },
        { "::ffff:203.0.113.9", 0 },
        { "a:80", 0 },
        { "a..b", 0 },
        { N253 "b", 0 },
        { "", 0 },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(texts); i++) {
        enum gw_host_class class = 0;
        bool is = gw_host_is_canonical(gw_slice_of(texts[i].text), &class);
        if (is != (texts[i].class != 0) || (is && class != texts[i].class))
            fail_msg("%s", texts[i].text);
    }
}

static void localhost_is_a_tree(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } names[] = {
        { "localhost", true },
        { "LOCALHOST.", true },
        { "a.localhost", true },
        { "a.b.localhost", true },
        { "notlocalhost", false },
        { "localhost.test", false },
        { "localhost.localdomain", false },
        { "127.0.0.1", false },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        struct gw_authority parsed = authority(names[i].text);
        if (gw_host_is_localhost(&parsed.host) != names[i].is)
            fail_msg("%s", names[i].text);
    }
}

static void an_address_and_its_spellings_are_one_host(void **state)
{
    struct gw_ip_address mapped = address("::ffff:192.0.2.1");
    struct gw_host made;
    (void)state;
    gw_host_of_address(&mapped, &made);
    struct gw_authority quad = authority("192.0.2.1"), bracketed = authority("[::FFFF:c000:201]");
    assert_true(gw_host_equal(&made, &quad.host));
    assert_true(gw_host_equal(&bracketed.host, &quad.host));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_has_one_canonical_form),
        cmocka_unit_test(the_canonical_form_is_its_own),
        cmocka_unit_test(canonical_text_is_recognised),
        cmocka_unit_test(localhost_is_a_tree),
        cmocka_unit_test(an_address_and_its_spellings_are_one_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
