/* tests/unit/policy/path_rule_test.c */
#include "policy/path_rule.h"

#include "fixture.h"

static void two_readings_are_noticed(void **state)
{
    static const struct {
        const char *path;
        bool ambiguous, with_slash_allowed;
        const char *why;
    } cases[] = {
        { "/v1/x", false, false, "plain" },
        { "/", false, false, "the root" },
        { "", false, false, "stands for the root" },
        { "?x=../..", false, false, "the query is not part" },
        { "/v1/x?y=/../%2f", false, false, "the query is not part" },
        { "/v1/", false, false, "a final slash is no empty segment" },
        { "/v1/a.b/..c/.d/e..", false, false, "dots among other bytes" },
        { "/v1/...", false, false, "three dots are a name" },
        { "/v1/%41%20", false, false, "other escapes" },
        { "/v1/100%25", false, false, "an encoded percent sign" },
        { "/v1/%c3%bc", false, false, "UTF-8" },
        { "/v1/./x", true, true, "one dot" },
        { "/v1/../x", true, true, "two dots" },
        { "/v1/..", true, true, "two dots at the end" },
        { "/v1/.", true, true, "one dot at the end" },
        { "/..", true, true, "above the root" },
        { "/v1/%2e%2e/x", true, true, "encoded dots" },
        { "/v1/.%2E", true, true, "half of them, upper case" },
        { "/v1/%252e%252e/x", true, true, "encoded twice" },
        { "/v1/%25252e./x", true, true, "and three times" },
        { "/v1/%25%32%65./x", true, true, "the digits of an escape escaped" },
        { "/v1/%25%2532%2565./x", true, true, "and those twice" },
        { "/v1/a%25%32Fb", true, false, "a slash in that way" },
        { "/v1/100%25%25", true, true, "two percent signs can be nested without end" },
        { "/v1/a%2520b", false, false, "a blank encoded twice hides nothing" },
        { "/v1/..;a=b/x", true, true, "some servers drop parameters first" },
        { "/v1/.;/x", true, true, "an empty one too" },
        { "/v1/..%3b/x", true, true, "or decode them first" },
        { "/v1/;a/x", false, false, "parameters alone" },
        { "//v1", true, true, "an empty segment in front" },
        { "/v1//x", true, true, "an empty segment" },
        { "/v1/x//", true, true, "an empty segment before the end" },
        { "/v1\\x", true, true, "a backslash" },
        { "/v1%5cx", true, true, "an encoded one" },
        { "/v1%5Cx", true, true, "upper case" },
        { "/v1%255cx", true, true, "encoded twice" },
        { "/v1/a%2fb", true, false, "an encoded slash" },
        { "/v1/a%2Fb", true, false, "upper case" },
        { "/v1/a%252fb", true, false, "encoded twice" },
        { "/v1/a%2f..%2fb", true, true, "which may not hide dots" },
        { "/v1/a%2f%2e%2e", true, true, "nor encoded ones" },
        { "/v1/a%2f%2fb", true, true, "nor an empty segment" },
        { "/v1/%2fb", true, true, "nor begin one" },
        { "/v1/%", true, true, "a malformed escape" },
        { "/v1/%4", true, true, "half of one" },
        { "/v1/%4g", true, true, "no hex digit" },
        { "/v1/%00", true, true, "a C string ends there" },
        { "/v1/%c0%ae%c0%ae/x", true, true, "overlong dots" },
        { "/v1/%c0%af", true, true, "an overlong slash" },
        { "/v1/%e0%80%ae/x", true, true, "overlong in three bytes" },
        { "/v1/%f0%80%80%ae/x", true, true, "and in four" },
        { "v1", true, true, "not a path" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_slice path = gw_slice_of(cases[i].path);
        if (gw_path_is_ambiguous(path, false) != cases[i].ambiguous
            || gw_path_is_ambiguous(path, true) != cases[i].with_slash_allowed)
            fail_msg("\"%s\": %s", cases[i].path, cases[i].why);
    }
}

static void a_prefix_ends_at_a_segment(void **state)
{
    static const struct {
        const char *prefix, *path;
        bool matches;
        const char *why;
    } cases[] = {
        { "/v1", "/v1", true, "itself" },
        { "/v1", "/v1/x", true, "below" },
        { "/v1", "/v1/", true, "below" },
        { "/v1", "/v1?x=y", true, "the query is not compared" },
        { "/v1", "/v1/?x=y", true, "the query is not compared" },
        { "/v1", "/v10", false, "another segment" },
        { "/v1", "/v1.json", false, "another segment" },
        { "/v1", "/v", false, "above" },
        { "/v1", "/x?/v1", false, "the query is not compared" },
        { "/v1/", "/v1/x", true, "below" },
        { "/v1/", "/v1", false, "only what lies below" },
        { "/", "/anything", true, "everything" },
        { "/", "", true, "an empty path is the root" },
        { "/", "?x", true, "and so is one with a query alone" },
        { "/v1", "", false, "the root is not below" },
        { "/v1", "/V1", false, "bytes are compared" },
        { "/v1", "/%761", false, "as sent" },
        { "", "/", false, "no prefix matches nothing" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        if (gw_path_matches(gw_slice_of(cases[i].prefix), gw_slice_of(cases[i].path))
            != cases[i].matches)
            fail_msg("\"%s\" against \"%s\": %s", cases[i].path, cases[i].prefix, cases[i].why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_readings_are_noticed),
        cmocka_unit_test(a_prefix_ends_at_a_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
