/* tests/unit/config/errors_order_test.c - what is kept of many errors, and how they are printed. */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>
#include <string.h>

#include "config_support.h"
#include "gateway/config/config_errors.h"

static void errors_stand_in_the_order_of_the_file(void **state)
{
    (void)state;
    struct gw_config_errors errors;
    gw_config_errors_init(&errors, "a.yaml");
    gw_config_errors_add(&errors, 3, 1, "c");
    gw_config_errors_add(&errors, 1, 9, "a");
    gw_config_errors_add(&errors, 2, 5, "b2");
    gw_config_errors_add(&errors, 2, 4, "b1");
    gw_config_errors_add(&errors, 2, 5, "b3");
    gw_config_errors_add(&errors, 2, 5, "b2"); /* again: an alias leads there */
    static const char *const expected[] = { "a", "b1", "b2", "b3", "c" };
    assert_int_equal(errors.count, GW_COUNT(expected));
    for (size_t i = 0; i < GW_COUNT(expected); i++)
        assert_string_equal(errors.list[i].text, expected[i]);
    gw_config_errors_fini(&errors);
}

static void the_first_200_of_the_file_are_kept(void **state)
{
    (void)state;
    struct gw_config_errors errors;
    gw_config_errors_init(&errors, "a.yaml");
    for (unsigned line = 1000; line > 0; line--)
        gw_config_errors_add(&errors, line, 1, "x");
    gw_config_errors_add(&errors, 2000, 1, "x");
    assert_int_equal(errors.count, 200);
    assert_int_equal(errors.left_out, 801);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(errors.list[i].line, i + 1);
    gw_config_errors_fini(&errors);
}

static void an_error_is_printed_with_its_place(void **state)
{
    (void)state;
    struct gw_config_errors errors;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    gw_config_errors_init(&errors, "a.yaml");
    gw_config_errors_add(&errors, 4, 3, "unknown key \"x\"");
    gw_config_errors_add(&errors, 0, 0, "cannot open it");
    errors.left_out = 2;
    gw_config_errors_print(&errors, out);
    fclose(out);
    assert_string_equal(text, "a.yaml: cannot open it\n"
                              "a.yaml:4:3: unknown key \"x\"\n"
                              "a.yaml: and 2 more\n");
    free(text);
    gw_config_errors_fini(&errors);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct gw_config_errors errors;
    assert_null(gw_config_load(GW_TEST_DATA "/config/none.yaml", &errors));
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.list[0].text, "none.yaml: No such file or directory"));
    gw_config_errors_fini(&errors);
    assert_null(gw_config_load(GW_TEST_DATA "/config", &errors));
    assert_non_null(strstr(errors.list[0].text, "is not a regular file"));
    gw_config_errors_fini(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_stand_in_the_order_of_the_file),
        cmocka_unit_test(the_first_200_of_the_file_are_kept),
        cmocka_unit_test(an_error_is_printed_with_its_place),
        cmocka_unit_test(a_file_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
