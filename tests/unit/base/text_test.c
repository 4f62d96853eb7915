/* tests/unit/base/text_test.c */
#include "base/text.h"

#include <string.h>

#include "cmocka_all.h"

static void what_does_not_fit_is_left_out(void **state)
{
    char room[8];
    struct gw_text text;
    (void)state;
    gw_text_init(&text, room, sizeof room);
    gw_text_add_string(&text, "abc");
    gw_text_add_char(&text, '-');
    gw_text_add_number(&text, 42);
    assert_string_equal(room, "abc-42");
    assert_false(text.truncated);
    gw_text_add(&text, GW_SLICE("xyz"));
    assert_string_equal(room, "abc-42x");
    assert_true(text.truncated);
    assert_int_equal(gw_text_slice(&text).length, 7);
    gw_text_addf(&text, "%d", 5);
    assert_string_equal(room, "abc-42x");
}

static void a_room_of_one_holds_the_nul(void **state)
{
    char room[1];
    struct gw_text text;
    (void)state;
    gw_text_init(&text, room, sizeof room);
    gw_text_add_string(&text, "a");
    gw_text_addf(&text, "b");
    gw_text_add_json(&text, GW_SLICE("\""), 10);
    assert_int_equal(text.length, 0);
    assert_true(text.truncated);
}

static void numbers_print_in_decimal(void **state)
{
    char room[64];
    struct gw_text text;
    (void)state;
    gw_text_init(&text, room, sizeof room);
    gw_text_add_number(&text, 0);
    gw_text_add_char(&text, ' ');
    gw_text_add_number(&text, UINT64_MAX);
    assert_string_equal(room, "0 18446744073709551615");
}

/* What goes into a log line may not end it, nor the string that it is in. */
static void json_is_escaped(void **state)
{
    static const struct {
        struct gw_slice text;
        const char *escaped, *why;
    } cases[] = {
        { { "a\"b\\c", 5 }, "a\\\"b\\\\c", "quotes and backslashes" },
        { { "\n\r\t\0\x1f", 5 }, "\\n\\u000d\\u0009\\u0000\\u001f", "control bytes" },
        { { "\x7f", 1 }, "\\u007f", "DEL" },
        { { "b\xc3\xbc", 3 }, "b\xc3\xbc", "UTF-8 stays" },
        { { "\xf0\x9f\x98\x80", 4 }, "\xf0\x9f\x98\x80", "four bytes" },
        { { "\xe2\x80\xa8\xe2\x80\xa9", 6 }, "\\u2028\\u2029", "line ends to JavaScript" },
        { { "\xff", 1 }, "\xef\xbf\xbd", "not UTF-8" },
        { { "\xc3", 1 }, "\xef\xbf\xbd", "half a sequence" },
        { { "\xc0\xaf", 2 }, "\xef\xbf\xbd\xef\xbf\xbd", "overlong" },
        { { "\xed\xa0\x80", 3 }, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "a surrogate" },
        { { "\xf4\x90\x80\x80", 4 },
          "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
          "beyond Unicode" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        char room[64];
        struct gw_text text;
        gw_text_init(&text, room, sizeof room);
        gw_text_add_json(&text, cases[i].text, 100);
        if (strcmp(room, cases[i].escaped) != 0)
            fail_msg("%s: %s", cases[i].why, room);
    }
}

static void an_escape_is_whole_or_absent(void **state)
{
    (void)state;
    for (size_t size = 1; size < 20; size++) {
        char room[20];
        struct gw_text text;
        gw_text_init(&text, room, size);
        gw_text_add_json(&text, GW_SLICE("\"\x01\xc3\xbc"), 100);
        assert_true(strlen(room) == text.length && text.length < size);
        if (text.length > 0) /* no lone backslash, no half sequence at the end */
            assert_true(room[text.length - 1] == '"' || room[text.length - 1] == '1'
                        || room[text.length - 1] == '\xbc');
    }
}

static void a_limit_is_marked(void **state)
{
    char room[64];
    struct gw_text text;
    (void)state;
    gw_text_init(&text, room, sizeof room);
    gw_text_add_json(&text, GW_SLICE("abcdef"), 3);
    assert_string_equal(room, "abc\xe2\x80\xa6");
    gw_text_init(&text, room, sizeof room);
    gw_text_add_visible(&text, GW_SLICE("abcdef"), 3);
    assert_string_equal(room, "abc...");
    gw_text_init(&text, room, sizeof room);
    gw_text_add_visible(&text, GW_SLICE("abc"), 3);
    assert_string_equal(room, "abc");
}

static void visible_text_has_no_other_bytes(void **state)
{
    char room[64];
    struct gw_text text;
    (void)state;
    gw_text_init(&text, room, sizeof room);
    gw_text_add_visible(&text, GW_SLICE("a b%\r\n\0\x7f\xc3\xbc~!"), 100);
    assert_string_equal(room, "a%20b%25%0D%0A%00%7F%C3%BC~!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_left_out),
        cmocka_unit_test(a_room_of_one_holds_the_nul),
        cmocka_unit_test(numbers_print_in_decimal),
        cmocka_unit_test(json_is_escaped),
        cmocka_unit_test(an_escape_is_whole_or_absent),
        cmocka_unit_test(a_limit_is_marked),
        cmocka_unit_test(visible_text_has_no_other_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
