/* tests/unit/supervisor/credential_source_test.c - values, and what must not become of them. */
#define _GNU_SOURCE /* setenv, mkdtemp under -std=c11 */
#include "gateway/supervisor/credential_source.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"

extern char **environ;

static char name[] = "example", user[] = "robot", variable[] = "GW_TEST_SECRET", path[64];

static struct gw_settings_credential from(enum gw_credential_source_kind source,
                                          enum gw_credential_scheme scheme)
{
    return (struct gw_settings_credential){ .name = name,
                                            .scheme = scheme,
                                            .user = user,
                                            .source = source,
                                            .source_name =
                                                source == GW_SOURCE_ENV ? variable : path };
}

static void write_file(const char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
}

static bool is(const struct gw_secret *secret, const char *expected)
{
    return gw_slice_equal(gw_secret_reveal(secret), gw_slice_of(expected));
}

static void a_scheme_makes_the_field(void **state)
{
    static const struct {
        enum gw_credential_scheme scheme;
        const char *field;
    } cases[] = {
        { GW_SCHEME_RAW, "s3cret" },
        { GW_SCHEME_BEARER, "Bearer s3cret" },
        { GW_SCHEME_BASIC, "Basic cm9ib3Q6czNjcmV0" },
    };
    (void)state;
    write_file("s3cret\n", 7);
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_error err = GW_ERROR_NONE;
        struct gw_credential_value value;
        struct gw_settings_credential credential = from(GW_SOURCE_FILE, cases[i].scheme);
        assert_true(gw_credential_read(NULL, &credential, &value, &err));
        assert_true(is(&value.field, cases[i].field));
        assert_true(is(&value.secret, "s3cret"));
        gw_credential_value_fini(&value);
    }
}

static void a_variable_is_wiped_where_it_stood(void **state)
{
    static char entry[] = "GW_TEST_SECRET=s3cret";
    struct gw_error err = GW_ERROR_NONE;
    struct gw_credential_value value, again;
    struct gw_settings_credential credential = from(GW_SOURCE_ENV, GW_SCHEME_RAW);
    struct gw_environment_values *values = gw_environment_values_new();
    (void)state;
    assert_int_equal(putenv(entry), 0); /* the environment holds this very memory */
    assert_true(gw_credential_is_there(&credential, &err));
    assert_string_equal(entry, "GW_TEST_SECRET=s3cret");
    assert_true(gw_credential_read(values, &credential, &value, &err));
    assert_true(is(&value.secret, "s3cret"));
    assert_null(getenv(variable));
    for (size_t i = strlen("GW_TEST_SECRET="); i < sizeof entry; i++)
        assert_int_equal(entry[i], 0);
    assert_true(gw_credential_read(values, &credential, &again, &err)); /* as a reload does */
    assert_true(gw_credential_value_equal(&value, &again));
    gw_credential_value_fini(&value);
    gw_credential_value_fini(&again);
    gw_environment_values_free(values);
}

static void only_a_file_may_end_with_a_line_end(void **state)
{
    static const struct {
        const char *bytes;
        bool file, variable;
        const char *why;
    } cases[] = {
        { "token", true, true, "no line end" },
        { "token\n", true, false, "C05: an editor's line end is cut off, a variable has none" },
        { "token\r\n", true, false, "the same from another system" },
        { "token\n\n", false, false, "two are more than an editor's" },
        { "to\nken", false, false, "a field of its own in the request" },
        { "to\rken", false, false, "the same for lenient peers" },
        { "to\tken", false, false, "a control byte" },
        { "to\x7fken", false, false, "DEL" },
        { "", false, false, "empty" },
        { "\n", false, false, "empty but for a line end" },
        { "a b=c", true, true, "blanks inside are the operator's business" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        for (int from_file = 0; from_file < 2; from_file++) {
            struct gw_error err = GW_ERROR_NONE;
            struct gw_credential_value value;
            struct gw_environment_values *values = gw_environment_values_new();
            struct gw_settings_credential credential =
                from(from_file ? GW_SOURCE_FILE : GW_SOURCE_ENV, GW_SCHEME_RAW);
            write_file(cases[i].bytes, strlen(cases[i].bytes));
            setenv(variable, cases[i].bytes, 1);
            bool read = gw_credential_read(values, &credential, &value, &err);
            if (read != (from_file ? cases[i].file : cases[i].variable))
                fail_msg("%s: %s", from_file ? "file" : "variable", cases[i].why);
            if (!read) {
                assert_non_null(strstr(err.text, "credential example"));
                assert_null(strstr(err.text, "ken")); /* no part of the value is told */
            } else
                gw_credential_value_fini(&value);
            gw_environment_values_free(values);
        }
}

static void a_nul_inside_a_file_is_refused(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_credential_value value;
    struct gw_settings_credential credential = from(GW_SOURCE_FILE, GW_SCHEME_RAW);
    (void)state;
    write_file("a\0b", 3);
    assert_false(gw_credential_read(NULL, &credential, &value, &err));
}

static void sizes_are_bounded(void **state)
{
    static char bytes[GW_CREDENTIAL_VALUE_MAX + 10];
    struct gw_credential_value value;
    struct gw_settings_credential credential = from(GW_SOURCE_FILE, GW_SCHEME_BASIC);
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    memset(bytes, 'x', sizeof bytes);
    write_file(bytes, GW_CREDENTIAL_VALUE_MAX);
    assert_true(gw_credential_read(NULL, &credential, &value, &err));
    assert_int_equal(value.secret.length, GW_CREDENTIAL_VALUE_MAX);
    assert_true(value.field.length + value.secret.length + 16 <= 32768); /* one message */
    gw_credential_value_fini(&value);
    write_file(bytes, GW_CREDENTIAL_VALUE_MAX + 1);
    assert_false(gw_credential_read(NULL, &credential, &value, &err));
    write_file(bytes, sizeof bytes);
    assert_false(gw_credential_read(NULL, &credential, &value, &err));
}

static void what_is_not_there_or_not_a_file_is_named(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_credential_value value;
    struct gw_settings_credential credential = from(GW_SOURCE_FILE, GW_SCHEME_RAW);
    struct gw_environment_values *values = gw_environment_values_new();
    (void)state;
    unlink(path);
    assert_false(gw_credential_read(values, &credential, &value, &err));
    assert_non_null(strstr(err.text, path));
    err = (struct gw_error)GW_ERROR_NONE;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(gw_credential_read(values, &credential, &value, &err)); /* and does not hang */
    assert_non_null(strstr(err.text, "regular file"));
    unlink(path);
    unsetenv(variable);
    credential = from(GW_SOURCE_ENV, GW_SCHEME_RAW);
    err = (struct gw_error)GW_ERROR_NONE;
    assert_false(gw_credential_read(values, &credential, &value, &err));
    assert_non_null(strstr(err.text, variable));
    gw_environment_values_free(values);
}

static void a_user_with_a_colon_is_refused(void **state)
{
    static char colon[] = "a:b";
    struct gw_error err = GW_ERROR_NONE;
    struct gw_credential_value value;
    struct gw_settings_credential credential = from(GW_SOURCE_FILE, GW_SCHEME_BASIC);
    (void)state;
    write_file("x", 1);
    credential.user = colon;
    assert_false(gw_credential_read(NULL, &credential, &value, &err));
}

static void a_file_that_everybody_may_read_is_noticed(void **state)
{
    struct gw_settings_credential credential = from(GW_SOURCE_FILE, GW_SCHEME_RAW);
    (void)state;
    write_file("x", 1);
    assert_false(gw_credential_file_is_open(&credential));
    assert_int_equal(chmod(path, 0644), 0);
    assert_true(gw_credential_file_is_open(&credential));
    assert_int_equal(chmod(path, 0600), 0);
}

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/namzu-credential-test-%d", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scheme_makes_the_field),
        cmocka_unit_test(a_variable_is_wiped_where_it_stood),
        cmocka_unit_test(only_a_file_may_end_with_a_line_end),
        cmocka_unit_test(a_nul_inside_a_file_is_refused),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(what_is_not_there_or_not_a_file_is_named),
        cmocka_unit_test(a_user_with_a_colon_is_refused),
        cmocka_unit_test(a_file_that_everybody_may_read_is_noticed),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
