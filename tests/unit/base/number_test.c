/* tests/unit/base/number_test.c */
#include "base/number.h"

#include "cmocka_all.h"

static void only_plain_decimals_are_numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t min, max;
        bool strict, digits; /* by gw_number_parse, by gw_number_parse_digits */
        uint64_t value;
        const char *why;
    } cases[] = {
        { "0", 0, 9, true, true, 0, "zero itself" },
        { "443", 1, 65535, true, true, 443, "plain" },
        { "65535", 1, 65535, true, true, 65535, "the last one" },
        { "65536", 1, 65535, false, false, 0, "one more" },
        { "0", 1, 65535, false, true, 0, "below the least" },
        { "0443", 1, 65535, false, true, 443, "a leading zero" },
        { "00", 0, 9, false, true, 0, "a leading zero" },
        { "", 0, 9, false, false, 0, "nothing" },
        { "+5", 0, 9, false, false, 0, "a sign" },
        { "-1", 0, 9, false, false, 0, "a sign" },
        { " 5", 0, 9, false, false, 0, "a blank" },
        { "5 ", 0, 9, false, false, 0, "a blank" },
        { "0x5", 0, 9, false, false, 0, "a base" },
        { "1e1", 0, 99, false, false, 0, "an exponent" },
        { "5,6", 0, 99, false, false, 0, "a list" },
        { "18446744073709551615", 0, UINT64_MAX, true, true, UINT64_MAX, "the largest" },
        { "18446744073709551616", 0, UINT64_MAX, false, false, 0, "wraps to 0" },
        { "18446744073709551617", 0, UINT64_MAX, false, false, 0, "wraps to 1" },
        { "99999999999999999999999", 0, UINT64_MAX, false, false, 0, "wraps many times" },
        { "7", 0, 5, false, false, 0, "a digit above the most" },
        { "4294967739", 1, 65535, false, false, 0, "2^32 + 443" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        uint64_t strict = 77, digits = 77;
        struct gw_slice text = gw_slice_of(cases[i].text);
        if (gw_number_parse(text, cases[i].min, cases[i].max, &strict) != cases[i].strict
            || gw_number_parse_digits(text, cases[i].max, &digits) != cases[i].digits)
            fail_msg("\"%s\": %s", cases[i].text, cases[i].why);
        assert_true(strict == (cases[i].strict ? cases[i].value : 77)); /* untouched on failure */
        assert_true(digits == (cases[i].digits ? cases[i].value : 77));
    }
    uint64_t value;
    assert_false(gw_number_parse(GW_SLICE("5\0"), 0, 99, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_plain_decimals_are_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
