/* tests/unit/policy/host_pattern_test.c */
#include "policy/host_pattern.h"

#include <string.h>

#include "fixture.h"

static struct gw_host_pattern pattern(const char *text)
{
    struct gw_host_pattern out;
    MUST(gw_host_pattern_parse(gw_slice_of(text), &out, &err));
    return out;
}

static void entries_print_in_canonical_form(void **state)
{
    static const char *const cases[][2] = {
        { "  API.Example.com.\t", "api.example.com" },
        { ".Example.com", ".example.com" },
        { ".example.com.:8443", ".example.com:8443" },
        { "db.example.com:5432", "db.example.com:5432" },
        { "203.0.113.9", "203.0.113.9" },
        { "203.0.113.9:80", "203.0.113.9:80" },
        { "2001:db8::1", "[2001:db8::1]" },
        { "[2001:DB8::1]:443", "[2001:db8::1]:443" },
        { "::ffff:203.0.113.9", "203.0.113.9" },
        { "no", "no" },
        { "xn--bcher-kva.pkgs.test", "xn--bcher-kva.pkgs.test" },
    };
    char text[GW_AUTHORITY_TEXT_MAX + 1];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host_pattern one = pattern(cases[i][0]), two;
        assert_int_equal(gw_host_pattern_print(&one, text, sizeof text), strlen(cases[i][1]));
        assert_string_equal(text, cases[i][1]);
        two = pattern(text);
        assert_true(gw_host_equal(&one.host, &two.host));
        assert_true(one.suffix == two.suffix && one.port == two.port);
    }
}

static void what_was_meant_is_told(void **state)
{
    static const struct {
        const char *entry, *says;
    } cases[] = {
        { "", "empty" },
        { " \t ", "empty" },
        { "*", "allow-all" },
        { "*.example.com", "write \".example.com\"" },
        { "*.example.com:443", "write \".example.com:443\"" },
        { "*.com", "no wildcards" },
        { "a.*.example.com", "no wildcards" },
        { "https://api.example.com", "write \"api.example.com\"" },
        { "https://u@api.example.com:8443/v1?x#y", "write \"api.example.com:8443\"" },
        { "api.example.com/v1", "write \"api.example.com\"" },
        { "https://", "scheme" },
        { "/v1", "path" },
        { "10.0.0.0/8", "range of addresses" },
        { "u@api.example.com", "write \"api.example.com\"" },
        { ".", "lone dot" },
        { "..", "not a valid name" },
        { ".com", "top-level domain" },
        { ".com:443", "top-level domain" },
        { ".10.0.0.1", "write \"10.0.0.1\"" },
        { ".[::1]", "write \"[::1]\"" },
        { ".0.0.1", "no suffixes" },
        { "b\xc3\xbc"
          "cher.pkgs.test",
          "write \"xn--bcher-kva.pkgs.test\"" },
        { "b\xc3\xbc"
          "cher.pkgs.test",
          "\"b\xc3\xbc"
          "cher.pkgs.test\"" },
        { ".B\xc3\x9c"
          "CHER.pkgs.test:443",
          "write \".xn--bcher-kva.pkgs.test:443\"" },
        { "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80.test", "write \"xn--e1afmkfd.test\"" },
        { "\xd0\x9f\xd0\xa0\xd0\x98\xd0\x9c\xd0\x95\xd0\xa0.test", "write \"xn--e1afmkfd.test\"" },
        { "\xe4\xbe\x8b\xe3\x81\x88\xe3\x80\x82\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88",
          "write \"xn--r8jz45g.xn--zckzah\"" },
        { "\xef\xbd\x85xample.test", "write \"example.test\"" },
        { "b\xfc"
          "cher.test",
          "ASCII" },
        { "b\xc3\xbc/", "ASCII" },
        { "2130706433", "four decimal parts" },
        { "127.1", "four decimal parts" },
        { "12:30", "four decimal parts" },
        { "api.example.com:0", "1 to 65535" },
        { "api.example.com:", "1 to 65535" },
        { "api.example.com:99999", "1 to 65535" },
        { "a.test b.test", "one entry is one host" },
        { "a.test,b.test", "one entry is one host" },
        { "a:b:80", "not a valid name" },
        { "[fe80::1%eth0]", "zone id" },
        { "~", "not a valid name" },
        { "a\x01.test", "\\u0001" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host_pattern out;
        struct gw_error err = GW_ERROR_NONE;
        if (gw_host_pattern_parse(gw_slice_of(cases[i].entry), &out, &err))
            fail_msg("\"%s\" was accepted", cases[i].entry);
        if (err.code == GW_ERR_NONE || strstr(err.text, cases[i].says) == NULL)
            fail_msg("\"%s\": %s", cases[i].entry, err.text);
    }
}

/* RFC 3492 7.1: the samples with lower-case letters that fit a label of a host name. */
static void a_labels_are_those_of_rfc_3492(void **state)
{
    static const char *const cases[][2] = {
        { "\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8\x8d\xe8\xaf\xb4"
          "\xe4\xb8\xad\xe6\x96\x87",
          "xn--ihqwcrb4cv8a8dqg056pqjye" },
        { "pro\xc4\x8dprost\xc4\x9bnemluv\xc3\xad\xc4\x8d"
          "esky",
          "xn--proprostnemluvesky-uyb24dma41a" },
        { "3\xe5\xb9\xb4"
          "b\xe7\xb5\x84\xe9\x87\x91\xe5\x85\xab\xe5\x85\x88\xe7\x94\x9f",
          "xn--3b-ww4c5e180e575a65lsy2b" },
        { "\xe3\x81\x9d\xe3\x81\xae\xe3\x82\xb9\xe3\x83\x94\xe3\x83\xbc\xe3\x83\x89\xe3\x81\xa7",
          "xn--d9juau41awczczp" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host_pattern out;
        struct gw_error err = GW_ERROR_NONE;
        assert_false(gw_host_pattern_parse(gw_slice_of(cases[i][0]), &out, &err));
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("not %s: %s", cases[i][1], err.text);
    }
}

static void an_entry_matches_whole_labels_only(void **state)
{
    static const struct {
        const char *entry, *host;
        bool matches;
        const char *why;
    } cases[] = {
        { "api.example.com", "API.Example.com.", true, "DNS ignores case and the final dot" },
        { "example.com", "example.com.evil.test", false, "an entry is not a prefix" },
        { "example.com", "api.example.com", false, "nor a suffix, without its dot" },
        { ".example.com", "notexample.com", false, "a suffix begins at a label" },
        { ".example.com", "example.com", true, "the dotted form covers the apex" },
        { ".example.com", "a.b.example.com", true, "any depth" },
        { ".example.com", "com", false, "above" },
        { "203.0.113.9", "[::ffff:203.0.113.9]", true, "the same address" },
        { "2001:db8::1", "[2001:db8:0::1]", true, "the same address" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host_pattern entry = pattern(cases[i].entry);
        struct gw_authority asked = authority(cases[i].host);
        if (gw_host_pattern_matches(&entry, &asked.host) != cases[i].matches)
            fail_msg("%s against %s: %s", cases[i].host, cases[i].entry, cases[i].why);
    }
}

static void patterns_are_nested_or_apart(void **state)
{
    static const struct {
        const char *a, *b;
        bool a_covers_b, b_covers_a;
    } cases[] = {
        { "a.test.example", "a.test.example", true, true },
        { ".test.example", "a.test.example", true, false },
        { ".test.example", "test.example", true, false },
        { ".test.example", ".test.example", true, true },
        { ".test.example", ".a.test.example", true, false },
        { "a.test.example", "b.test.example", false, false },
        { ".test.example", ".other.example", false, false },
        { ".test.example", "nottest.example", false, false },
        { "203.0.113.9", "203.0.113.9", true, true },
        { "a.test.example:80", "a.test.example:443", true, true }, /* the port is no part */
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_host_pattern a = pattern(cases[i].a), b = pattern(cases[i].b);
        assert_int_equal(gw_host_pattern_covers(&a, &b), cases[i].a_covers_b);
        assert_int_equal(gw_host_pattern_covers(&b, &a), cases[i].b_covers_a);
        assert_int_equal(gw_host_pattern_overlaps(&a, &b),
                         cases[i].a_covers_b || cases[i].b_covers_a);
        assert_int_equal(gw_host_pattern_overlaps(&b, &a), gw_host_pattern_overlaps(&a, &b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_print_in_canonical_form),
        cmocka_unit_test(what_was_meant_is_told),
        cmocka_unit_test(a_labels_are_those_of_rfc_3492),
        cmocka_unit_test(an_entry_matches_whole_labels_only),
        cmocka_unit_test(patterns_are_nested_or_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
