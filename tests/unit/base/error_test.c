/* tests/unit/base/error_test.c */
#include "base/error.h"

#include <string.h>

#include "cmocka_all.h"

static void it_prints_what_is_known(void **state)
{
    char out[600];
    struct gw_error bare = GW_ERROR_NONE, placed = GW_ERROR_NONE, file = GW_ERROR_NONE;
    (void)state;
    gw_error_set(&bare, GW_ERR_SYNTAX, "bad %s", "thing");
    gw_error_print(&bare, out, sizeof out);
    assert_string_equal(out, "bad thing");
    gw_error_set(&placed, GW_ERR_SYNTAX, "bad");
    gw_error_at(&placed, "gateway.yaml", 4, 3);
    assert_int_equal(gw_error_print(&placed, out, sizeof out), strlen("gateway.yaml:4:3: bad"));
    assert_string_equal(out, "gateway.yaml:4:3: bad");
    gw_error_set(&file, GW_ERR_SYSTEM, "gone");
    gw_error_at(&file, "hosts.txt", 0, 0);
    gw_error_print(&file, out, sizeof out);
    assert_string_equal(out, "hosts.txt: gone");
}

static void the_first_cause_and_the_nearest_place_stay(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    gw_error_set(&err, GW_ERR_SYNTAX, "first");
    gw_error_set(&err, GW_ERR_SYSTEM, "second");
    assert_int_equal(err.code, GW_ERR_SYNTAX);
    assert_string_equal(err.text, "first");
    gw_error_at(&err, "near", 1, 2);
    gw_error_at(&err, "far", 3, 4);
    assert_string_equal(err.file, "near");
    assert_int_equal(err.line, 1);
    gw_error_prefix(&err, "policy \"%s\"", "build");
    assert_string_equal(err.text, "policy \"build\": first");
}

static void long_text_is_cut_and_never_runs_over(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    char huge[2000], out[8];
    (void)state;
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    gw_error_set(&err, GW_ERR_SYNTAX, "%s", huge);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    gw_error_at(&err, huge, 1, 1);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    gw_error_prefix(&err, "%s", huge);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(gw_error_print(&err, out, sizeof out), sizeof out - 1);
    assert_int_equal(strlen(out), sizeof out - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_prints_what_is_known),
        cmocka_unit_test(the_first_cause_and_the_nearest_place_stay),
        cmocka_unit_test(long_text_is_cut_and_never_runs_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
