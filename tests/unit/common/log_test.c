/* tests/unit/common/log_test.c */
#define _GNU_SOURCE /* SOCK_NONBLOCK under -std=c11 */
#include "gateway/common/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "support.h"

static int reader;

static int start_log(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    reader = ends[0];
    gw_log_start("proxy-3", ends[1], GW_LOG_INFO);
    return 0;
}

static int stop_log(void **state)
{
    (void)state;
    gw_log_set_socket(-1);
    close(reader);
    return 0;
}

/* The next datagram as text, without the time; "" when there is none. */
static const char *next_line(void)
{
    static char data[GW_LOG_DATAGRAM_MAX + 1];
    ssize_t got = recv(reader, data, sizeof data - 1, MSG_DONTWAIT);
    if (got <= 0)
        return "";
    data[got] = '\0';
    assert_int_equal(data[0], GW_STREAM_RUNNING);
    assert_int_equal(data[1 + 24], ' ');
    return data + 1 + 25;
}

static void a_line_says_who_and_what(void **state)
{
    (void)state;
    gw_log(GW_LOG_WARNING, "%d of %s", 3, "seven");
    gw_log(GW_LOG_DEBUG, "not at this level");
    assert_string_equal(next_line(), "warning proxy-3: 3 of seven\n");
    assert_string_equal(next_line(), "");
    gw_log_set_level(GW_LOG_DEBUG);
    gw_log(GW_LOG_DEBUG, "now");
    assert_string_equal(next_line(), "debug proxy-3: now\n");
}

static void a_line_stays_one_line(void **state)
{
    (void)state;
    gw_log(GW_LOG_INFO, "a\nb\rc\x1b[31m\td%c", 0x7f);
    assert_string_equal(next_line(), "info proxy-3: a?b?c?[31m?d?\n");
}

static void a_long_line_is_cut_and_says_so(void **state)
{
    static char text[10000];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    gw_log(GW_LOG_INFO, "%s", text);
    const char *line = next_line();
    size_t length = strlen(line);
    assert_in_range(length, 3000, 4200);
    assert_string_equal(line + length - 5, "x...\n");
}

static void lines_of_the_access_log_go_as_they_are(void **state)
{
    static char data[GW_LOG_DATAGRAM_MAX + 1], lines[GW_LOG_DATAGRAM_MAX - 1];
    (void)state;
    assert_true(gw_log_send(GW_STREAM_ACCESS, GW_SLICE("{\"a\":1}\n{\"a\":2}\n")));
    assert_int_equal(recv(reader, data, sizeof data, 0), 17);
    assert_memory_equal(data, "A{\"a\":1}\n{\"a\":2}\n", 17);
    memset(lines, '\n', sizeof lines);
    assert_true(gw_log_send(GW_STREAM_ACCESS, (struct gw_slice){ lines, sizeof lines }));
    assert_int_equal(recv(reader, data, sizeof data, 0), GW_LOG_DATAGRAM_MAX);
}

static void what_cannot_be_sent_is_counted_and_told(void **state)
{
    size_t sent = 0, read = 0;
    char expected[100];
    (void)state;
    while (gw_log_send(GW_STREAM_RUNNING, GW_SLICE("filler\n")))
        assert_true(++sent < 100000);
    for (int i = 0; i < 5; i++)
        gw_log(GW_LOG_INFO, "lost");
    char data[64];
    while (recv(reader, data, sizeof data, MSG_DONTWAIT) > 0)
        read++;
    assert_int_equal(read, sent);
    gw_log(GW_LOG_INFO, "found");
    snprintf(expected, sizeof expected,
             "warning proxy-3: 5 lines of this log were dropped here: "
             "its reader is too slow\n");
    assert_string_equal(next_line(), expected);
    assert_string_equal(next_line(), "info proxy-3: found\n");
}

static void a_reader_that_is_gone_is_no_signal(void **state)
{
    (void)state;
    shutdown(reader, SHUT_RDWR);
    assert_false(gw_log_send(GW_STREAM_ACCESS, GW_SLICE("x\n"))); /* else: SIGPIPE */
    gw_log(GW_LOG_INFO, "nobody hears");
}

static void times_are_rfc_3339(void **state)
{
    char text[25];
    (void)state;
    gw_log_time(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    gw_log_time(1767323045678, text);
    assert_string_equal(text, "2026-01-02T03:04:05.678Z");
    gw_log_time(UINT64_MAX, text);
    assert_int_equal(strlen(text), 24);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_log, stop_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_says_who_and_what),
        TEST(a_line_stays_one_line),
        TEST(a_long_line_is_cut_and_says_so),
        TEST(lines_of_the_access_log_go_as_they_are),
        TEST(what_cannot_be_sent_is_counted_and_told),
        TEST(a_reader_that_is_gone_is_no_signal),
        TEST(times_are_rfc_3339),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
