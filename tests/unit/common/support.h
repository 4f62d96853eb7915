/* tests/unit/common/support.h - cmocka, and what several of these tests need. */
#pragma once
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

/* How many descriptors this process has open. */
static inline size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Runs `body` in a child; true when it returned true. A check that fails in there is told by the
 * exit status alone, since cmocka's own failures would unwind into the parent's tests. */
static inline bool in_a_child(bool (*body)(void *argument), void *argument)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body(argument) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
