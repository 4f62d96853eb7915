/* tests/unit/policy/authority_test.c - what the rows of data/authority.tsv do not say: the three
 * rules for an absent port, and printing. */
#include "policy/authority.h"

#include <string.h>

#include "fixture.h"

static void the_rule_decides_what_an_absent_port_means(void **state)
{
    static const struct {
        const char *text;
        enum gw_reason required, optional, empty_ok;
        const char *why;
    } cases[] = {
        { "a.test:443", GW_REASON_NONE, GW_REASON_NONE, GW_REASON_NONE, "a port" },
        { "a.test", GW_REASON_BAD_PORT, GW_REASON_NONE, GW_REASON_NONE,
          "CONNECT has no default (RFC 9110 9.3.6)" },
        { "a.test:", GW_REASON_BAD_PORT, GW_REASON_BAD_PORT, GW_REASON_NONE,
          "RFC 3986 6.2.3: only in a URL" },
        { "[::1]", GW_REASON_BAD_PORT, GW_REASON_NONE, GW_REASON_NONE, "the same in brackets" },
        { "[::1]:", GW_REASON_BAD_PORT, GW_REASON_BAD_PORT, GW_REASON_NONE, "the same" },
        { "a.test:0", GW_REASON_BAD_PORT, GW_REASON_BAD_PORT, GW_REASON_BAD_PORT, "no port is 0" },
        { "a.test:4294967739", GW_REASON_BAD_PORT, GW_REASON_BAD_PORT, GW_REASON_BAD_PORT,
          "2^32 + 443" },
        { "a.test:65979", GW_REASON_BAD_PORT, GW_REASON_BAD_PORT, GW_REASON_BAD_PORT,
          "2^16 + 443" },
        { "[[a.test]]", GW_REASON_BAD_HOST, GW_REASON_BAD_HOST, GW_REASON_BAD_HOST,
          "one broken host, and nothing behind it" },
        { ":443", GW_REASON_BAD_HOST, GW_REASON_BAD_HOST, GW_REASON_BAD_HOST, "no host" },
        { "", GW_REASON_BAD_HOST, GW_REASON_BAD_HOST, GW_REASON_BAD_HOST, "nothing" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_authority out;
        struct gw_slice text = gw_slice_of(cases[i].text);
        if (gw_authority_parse(text, GW_PORT_REQUIRED, &out) != cases[i].required
            || gw_authority_parse(text, GW_PORT_OPTIONAL, &out) != cases[i].optional
            || gw_authority_parse(text, GW_PORT_EMPTY_OK, &out) != cases[i].empty_ok)
            fail_msg("\"%s\": %s", cases[i].text, cases[i].why);
    }
}

static void it_prints_in_canonical_form(void **state)
{
    static const char *const cases[][2] = {
        { "A.Test.:8443", "a.test:8443" },           { "a.test", "a.test" },
        { "[2001:DB8::0:5]", "[2001:db8::5]" },      { "[2001:db8::5]:80", "[2001:db8::5]:80" },
        { "[::ffff:192.0.2.1]:80", "192.0.2.1:80" },
    };
    char text[GW_AUTHORITY_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_authority one = authority(cases[i][0]), two;
        assert_int_equal(gw_authority_print(&one, text, sizeof text), strlen(cases[i][1]));
        assert_string_equal(text, cases[i][1]);
        two = authority(text);
        assert_true(gw_authority_equal(&one, &two));
    }
    struct gw_authority a = authority("a.test"), b = authority("a.test:80");
    assert_false(gw_authority_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_decides_what_an_absent_port_means),
        cmocka_unit_test(it_prints_in_canonical_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
