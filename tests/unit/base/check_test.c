/* tests/unit/base/check_test.c */
#include "base/check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

static void a_broken_promise_is_told_and_ends_the_process(void **state)
{
    int pipes[2], status;
    char told[256] = "";
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka catches it */
        dup2(pipes[1], STDERR_FILENO);
        gw_check(1 + 1 == 2);
        gw_check(1 + 1 == 3);
        _exit(0);
    }
    close(pipes[1]);
    assert_true(read(pipes[0], told, sizeof told - 1) > 0);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(told, "1 + 1 == 3"));
    assert_non_null(strstr(told, "check_test.c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        a_broken_promise_is_told_and_ends_the_process) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
