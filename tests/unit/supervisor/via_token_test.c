/* tests/unit/supervisor/via_token_test.c */
#define _GNU_SOURCE /* mkdtemp under -std=c11 */
#include "gateway/supervisor/via_token.h"

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

static char folder[64], state_dir[80], file[100];

static void write_file(const char *text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void get(const char *directory, char out[GW_VIA_TOKEN_LENGTH + 1])
{
    struct gw_error err = GW_ERROR_NONE;
    assert_true(gw_via_token_get(directory, out, &err));
    assert_int_equal(strlen(out), GW_VIA_TOKEN_LENGTH);
    assert_int_equal(strspn(out, "0123456789abcdef"), GW_VIA_TOKEN_LENGTH);
}

static void it_stays_the_same_over_restarts(void **state)
{
    char first[GW_VIA_TOKEN_LENGTH + 1], second[GW_VIA_TOKEN_LENGTH + 1];
    struct stat status;
    (void)state;
    get(state_dir, first); /* makes the folder too */
    get(state_dir, second);
    assert_string_equal(first, second);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void without_a_folder_it_is_another_each_time(void **state)
{
    char first[GW_VIA_TOKEN_LENGTH + 1], second[GW_VIA_TOKEN_LENGTH + 1];
    (void)state;
    get(NULL, first);
    get(NULL, second);
    assert_string_not_equal(first, second);
}

static void what_is_not_a_token_is_replaced(void **state)
{
    static const char *const texts[] = {
        "",
        "short",
        "0123456789abcdef0123456789abcdeF",
        "0123456789abcdef0123456789abcdef0",
        "0123456789abcdef\n0123456789abcde",
    };
    char token[GW_VIA_TOKEN_LENGTH + 1], again[GW_VIA_TOKEN_LENGTH + 1];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(texts); i++) {
        write_file(texts[i]);
        get(state_dir, token);
        if (strncmp(token, texts[i], 16) == 0)
            fail_msg("taken: \"%s\"", texts[i]);
        get(state_dir, again);
        assert_string_equal(token, again);
    }
    write_file("0123456789abcdef0123456789abcdef"); /* an editor that adds no line end */
    get(state_dir, token);
    assert_string_equal(token, "0123456789abcdef0123456789abcdef");
}

static void a_folder_that_cannot_be_is_an_error(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    char token[GW_VIA_TOKEN_LENGTH + 1];
    (void)state;
    assert_false(gw_via_token_get("/proc/nothing/here", token, &err));
    assert_non_null(strstr(err.text, "gateway.state_dir"));
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/namzu-via-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(state_dir, sizeof state_dir, "%s/state", folder);
    snprintf(file, sizeof file, "%s/via-token", state_dir);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    rmdir(state_dir);
    return rmdir(folder); /* nothing else was left in there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stays_the_same_over_restarts),
        cmocka_unit_test(without_a_folder_it_is_another_each_time),
        cmocka_unit_test(what_is_not_a_token_is_replaced),
        cmocka_unit_test(a_folder_that_cannot_be_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
