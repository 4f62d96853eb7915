/* tests/unit/policy/request_target_test.c */
#include "policy/request_target.h"

#include <string.h>

#include "fixture.h"

static const struct {
    struct gw_slice text;
    bool is_connect;
    enum gw_reason reason;
    enum gw_target_form form;
    const char *authority; /* NULL: none */
    const char *path;
    const char *why;
} cases[] = {
    { BYTES("/a?b=c"), false, GW_REASON_NONE, GW_TARGET_ORIGIN, NULL, "/a?b=c", "origin-form" },
    { BYTES("//evil.test/x"), false, GW_REASON_NONE, GW_TARGET_ORIGIN, NULL, "//evil.test/x",
      "a path, whatever it looks like" },
    { BYTES("http://A.test/x"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE, "a.test", "/x",
      "absolute-form" },
    { BYTES("HTTPS://a.test:8443"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE, "a.test:8443", "",
      "a scheme has no letter case" },
    { BYTES("http://a.test:/x"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE, "a.test", "/x",
      "an empty port is the default (RFC 3986 6.2.3)" },
    { BYTES("http://a.test?next=http://evil.test/"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE,
      "a.test", "?next=http://evil.test/", "the authority ends at the query" },
    { BYTES("http://evil.test?@a.test/"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE, "evil.test",
      "?@a.test/", "and no @ behind that changes the host" },
    { BYTES("http://[2001:db8::5]/x"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE, "[2001:db8::5]",
      "/x", "an IPv6 literal" },
    { BYTES("http://a.test/../%2e?x"), false, GW_REASON_NONE, GW_TARGET_ABSOLUTE, "a.test",
      "/../%2e?x", "bytes go on as sent" },
    { BYTES("a.test:443"), true, GW_REASON_NONE, GW_TARGET_AUTHORITY, "a.test:443", "",
      "authority-form" },
    { BYTES("a.test"), true, GW_REASON_BAD_PORT, 0, NULL, NULL, "no port is invented" },
    { BYTES("http://a.test:443"), true, GW_REASON_BAD_HOST, 0, NULL, NULL, "not for CONNECT" },
    { BYTES("/"), true, GW_REASON_BAD_HOST, 0, NULL, NULL, "not for CONNECT" },
    { BYTES("a.test:80"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "only for CONNECT" },
    { BYTES("*"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "asterisk-form" },
    { BYTES(""), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "nothing" },
    { BYTES("ftp://a.test/"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "another scheme" },
    { BYTES("http:/a.test/"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "half a scheme" },
    { BYTES("http://"), false, GW_REASON_BAD_HOST, 0, NULL, NULL, "no host" },
    { BYTES("http:///evil.test/"), false, GW_REASON_BAD_HOST, 0, NULL, NULL, "no host" },
    { BYTES("http://u:p@a.test/"), false, GW_REASON_USERINFO, 0, NULL, NULL, "userinfo" },
    { BYTES("http://a.test\\@evil.test/"), false, GW_REASON_USERINFO, 0, NULL, NULL,
      "a backslash is in no host, an @ is told first" },
    { BYTES("http://evil.test\\.a.test/"), false, GW_REASON_BAD_HOST, 0, NULL, NULL,
      "browsers end the host there" },
    { BYTES("http://evil.test#@a.test/"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL,
      "a fragment never travels" },
    { BYTES("http://evil.test%23.a.test/"), false, GW_REASON_BAD_HOST, 0, NULL, NULL,
      "a later decode would move the host" },
    { BYTES("http://127.1/"), false, GW_REASON_NUMERIC_HOST, 0, NULL, NULL, "a short form" },
    { BYTES("/a#b"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "a fragment" },
    { BYTES("/a\\b"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "a backslash" },
    { BYTES("/a?x=\\"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "in the query too" },
    { BYTES("/a b"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "a blank" },
    { BYTES("/a\0b"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "a NUL" },
    { BYTES("/\xc3\xbc"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "UTF-8" },
    { BYTES("/\x7f"), false, GW_REASON_BAD_REQUEST, 0, NULL, NULL, "DEL" },
};

static void a_target_is_read_in_one_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_request_target out;
        enum gw_reason reason = gw_request_target_parse(cases[i].text, cases[i].is_connect, &out);
        if (reason != cases[i].reason)
            fail_msg("\"%s\" gives \"%s\": %s", cases[i].text.data, gw_reason_code(reason),
                     cases[i].why);
        if (reason != GW_REASON_NONE)
            continue;
        char text[GW_AUTHORITY_TEXT_MAX] = "";
        if (out.form != GW_TARGET_ORIGIN)
            gw_authority_print(&out.authority, text, sizeof text);
        if (out.form != cases[i].form
            || strcmp(text, cases[i].authority == NULL ? "" : cases[i].authority) != 0
            || !gw_slice_equal(out.path_and_query, gw_slice_of(cases[i].path)))
            fail_msg("\"%s\": %s", cases[i].text.data, cases[i].why);
        assert_int_equal(out.https, i == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_target_is_read_in_one_way) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
