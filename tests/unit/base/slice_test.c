/* tests/unit/base/slice_test.c */
#include "base/slice.h"

#include "cmocka_all.h"

static void slices_compare_by_bytes_and_length(void **state)
{
    (void)state;
    assert_true(gw_slice_equal(GW_SLICE("a\0b"), GW_SLICE("a\0b")));
    assert_false(gw_slice_equal(GW_SLICE("a\0b"), GW_SLICE("a\0c"))); /* a NUL ends nothing */
    assert_false(gw_slice_equal(GW_SLICE("a"), GW_SLICE("ab")));
    assert_true(gw_slice_equal(GW_SLICE(""), (struct gw_slice){ NULL, 0 }));
    assert_int_equal(gw_slice_of(NULL).length, 0);
    assert_int_equal(gw_slice_of("abc").length, 3);
}

static void letter_case_is_that_of_ascii(void **state)
{
    (void)state;
    assert_true(gw_slice_equal_nocase(GW_SLICE("Host"), GW_SLICE("hOST")));
    assert_false(gw_slice_equal_nocase(GW_SLICE("Host"), GW_SLICE("Hos")));
    assert_false(gw_slice_equal_nocase(GW_SLICE("["), GW_SLICE("{"))); /* 0x20 apart, no letters */
    assert_false(gw_slice_equal_nocase(GW_SLICE("\xc3\x84"), GW_SLICE("\xc3\xa4")));
    for (int byte = 0; byte < 256; byte++)
        assert_int_equal(gw_lower((char)byte),
                         byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : (char)byte);
}

static void blanks_are_space_and_tab(void **state)
{
    static const char *const cases[][2] = {
        { " \t a b \t", "a b" }, { "a", "a" }, { "  ", "" }, { "", "" }, { "\na\r", "\na\r" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        assert_true(
            gw_slice_equal(gw_slice_trim(gw_slice_of(cases[i][0])), gw_slice_of(cases[i][1])));
}

static void a_list_has_one_element_more_than_separators(void **state)
{
    static const struct {
        const char *list, *elements[4];
    } cases[] = {
        { "a, b ,c", { "a", "b", "c" } },
        { "a", { "a" } },
        { "a,", { "a", "" } },
        { ",a", { "", "a" } },
        { "", { "" } },
        { " , ", { "", "" } },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_slice rest = gw_slice_of(cases[i].list), element;
        size_t count = 0;
        while (gw_slice_next(&rest, ',', &element)) {
            assert_true(count < 4 && cases[i].elements[count] != NULL);
            assert_true(gw_slice_equal(element, gw_slice_of(cases[i].elements[count])));
            count++;
        }
        assert_true(count == 4 || cases[i].elements[count] == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_compare_by_bytes_and_length),
        cmocka_unit_test(letter_case_is_that_of_ascii),
        cmocka_unit_test(blanks_are_space_and_tab),
        cmocka_unit_test(a_list_has_one_element_more_than_separators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
