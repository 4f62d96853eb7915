/* tests/unit/log_writer/log_target_test.c - lines are written whole, or counted. */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#include "gateway/log_writer/log_target.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static struct gw_log_target target;

static int make_target(void **state)
{
    (void)state;
    target = (struct gw_log_target){ .name = "access", .fd = -1 };
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

static int drop_target(void **state)
{
    (void)state;
    gw_log_target_set(&target, -1);
    return 0;
}

static bool write_lines(const char *text)
{
    size_t at = 0;
    bool done = gw_log_target_write(&target, gw_slice_of(text), &at);
    assert_true(!done || at == strlen(text));
    return done;
}

static void lines_without_a_target_are_thrown_away(void **state)
{
    (void)state;
    assert_true(write_lines("one\ntwo\n"));
    assert_int_equal(target.lost, 0);
}

static void a_full_disk_is_counted_and_not_waited_for(void **state)
{
    (void)state;
    gw_log_target_set(&target, open("/dev/full", O_WRONLY | O_CLOEXEC));
    assert_true(write_lines("one\ntwo\nthree\n"));
    assert_true(write_lines("four\n"));
    assert_int_equal(target.lost, 4);
    assert_int_equal(target.reason, ENOSPC);
}

/* The disk fills up in the middle of a line; when there is room again, the next line begins a line
 * of its own, so that one record is lost and not two. */
static void a_torn_line_does_not_swallow_the_next(void **state)
{
    struct rlimit before, tight;
    char text[64];
    (void)state;
    int file = memfd_create("log", MFD_CLOEXEC);
    gw_log_target_set(&target, fcntl(file, F_DUPFD_CLOEXEC, 3));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = (struct rlimit){ 9, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_true(write_lines("first\nsecond\nthird\n"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(target.lost, 2);
    assert_true(write_lines("fourth\n"));
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    assert_string_equal(text, "first\nsec\nfourth\n");
    close(file);
}

static void a_pipe_that_nobody_reads_stalls_and_resumes_where_it_stopped(void **state)
{
    static char lines[200000], got[sizeof lines];
    int ends[2];
    size_t at = 0, length = 0;
    (void)state;
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = i % 100 == 99 ? '\n' : (char)('a' + i % 26);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* blocking, as an inherited one is */
    gw_log_target_set(&target, ends[1]);
    struct gw_slice all = { lines, sizeof lines };
    alarm(20); /* a write that blocks would never come back */
    while (!gw_log_target_write(&target, all, &at)) {
        assert_true(at < sizeof lines);
        ssize_t part = read(ends[0], got + length, sizeof got - length);
        assert_true(part > 0);
        length += (size_t)part;
    }
    assert_int_equal(at, sizeof lines);
    gw_log_target_set(&target, -1);
    for (ssize_t part; (part = read(ends[0], got + length, sizeof got - length)) > 0;)
        length += (size_t)part;
    alarm(0);
    assert_int_equal(length, sizeof lines);
    assert_memory_equal(got, lines, sizeof lines);
    assert_int_equal(target.lost, 0);
    close(ends[0]);
}

static void a_reader_that_went_away_is_counted(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    gw_log_target_set(&target, ends[1]);
    close(ends[0]);
    assert_true(write_lines("one\ntwo\n"));
    assert_int_equal(target.lost, 2);
    assert_int_equal(target.reason, EPIPE);
}

/* How many lines it puts on standard error at this moment. */
static size_t lines_told(uint64_t now_ms)
{
    int ends[2], saved = dup(STDERR_FILENO);
    char text[1024];
    size_t lines = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    gw_log_target_tell(&target, now_ms);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    ssize_t length = read(ends[0], text, sizeof text);
    for (ssize_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    close(ends[0]);
    close(ends[1]);
    close(saved);
    return lines;
}

static void losses_are_told_now_and_then(void **state)
{
    (void)state;
    gw_log_target_set(&target, open("/dev/full", O_WRONLY | O_CLOEXEC));
    assert_int_equal(lines_told(1000), 0);
    assert_true(write_lines("one\n"));
    assert_int_equal(lines_told(1000), 1);
    for (uint64_t now = 1000; now < 11000; now += 100) {
        assert_true(write_lines("more\n"));
        assert_int_equal(lines_told(now), 0);
    }
    assert_int_equal(lines_told(11000), 1);
    assert_int_equal(target.lost, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_target, drop_target)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_without_a_target_are_thrown_away),
        TEST(a_full_disk_is_counted_and_not_waited_for),
        TEST(a_torn_line_does_not_swallow_the_next),
        TEST(a_pipe_that_nobody_reads_stalls_and_resumes_where_it_stopped),
        TEST(a_reader_that_went_away_is_counted),
        TEST(losses_are_told_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
