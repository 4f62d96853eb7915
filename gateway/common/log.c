/* gateway/common/log.c */
#define _GNU_SOURCE /* gmtime_r, clock_gettime under -std=c11 */
#include "gateway/common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"

#define LINE_MAX_BYTES 4096

/* One log a process, and one thread a process (docs/architecture.md). */
static struct {
    const char *process;
    int socket;
    enum gw_log_level level;
    uint64_t dropped; /* running-log lines since the last that got through */
} own = { "namzu-gw", -1, GW_LOG_INFO, 0 };

static const char *const level_texts[GW_LOG_LEVELS] = {
    [GW_LOG_ERROR] = "error",
    [GW_LOG_WARNING] = "warning",
    [GW_LOG_INFO] = "info",
    [GW_LOG_DEBUG] = "debug",
};

void gw_log_start(const char *process, int socket, enum gw_log_level level)
{
    own.process = process;
    own.level = level;
    gw_log_set_socket(socket);
}

void gw_log_set_socket(int socket)
{
    if (own.socket >= 0 && own.socket != socket)
        close(own.socket);
    own.socket = socket;
}

void gw_log_set_level(enum gw_log_level level)
{
    own.level = level;
}

void gw_log_time(uint64_t unix_ms, char out[25])
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL || utc.tm_year > 9999 - 1900)
        utc = (struct tm){ .tm_year = 9999 - 1900, .tm_mon = 11, .tm_mday = 31 };
    struct gw_text text;
    gw_text_init(&text, out, 25);
    gw_text_addf(&text, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", utc.tm_year + 1900, utc.tm_mon + 1,
                 utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (unsigned)(unix_ms % 1000));
}

bool gw_log_send(enum gw_log_stream stream, struct gw_slice lines)
{
    gw_check(lines.length > 0 && lines.length < GW_LOG_DATAGRAM_MAX);
    gw_check(lines.data[lines.length - 1] == '\n');
    char mark = (char)stream;
    struct iovec parts[] = {
        { .iov_base = &mark, .iov_len = 1 },
        { .iov_base = (char *)(uintptr_t)lines.data, .iov_len = lines.length },
    };
    struct msghdr header = { .msg_iov = parts, .msg_iovlen = GW_COUNT(parts) };
    if (own.socket < 0)
        return false;
    ssize_t sent;
    do
        sent = sendmsg(own.socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

/* Standard error may be a pipe whose reader is slow: only a process without a log socket (start-up,
 * command line) writes there. */
static bool write_line(struct gw_slice line)
{
    if (own.socket >= 0)
        return gw_log_send(GW_STREAM_RUNNING, line);
    ssize_t written;
    do
        written = write(STDERR_FILENO, line.data, line.length);
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)line.length;
}

static void begin_line(struct gw_text *line, char *data, size_t room, enum gw_log_level level)
{
    struct timespec now;
    char time[25];
    clock_gettime(CLOCK_REALTIME, &now);
    gw_log_time((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, time);
    gw_text_init(line, data, room);
    gw_text_addf(line, "%s %s %s: ", time, level_texts[level], own.process);
}

/* A control byte that a caller forgot to escape must not begin a line of its own. */
static void flatten(char *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)data[i] < 0x20 || data[i] == 0x7f)
            data[i] = '?';
}

static bool tell_drops(void)
{
    char data[256];
    struct gw_text line;
    if (own.dropped == 0)
        return true;
    begin_line(&line, data, sizeof data, GW_LOG_WARNING);
    gw_text_addf(&line, "%llu lines of this log were dropped here: its reader is too slow\n",
                 (unsigned long long)own.dropped);
    if (!write_line(gw_text_slice(&line)))
        return false;
    own.dropped = 0;
    return true;
}

void gw_log(enum gw_log_level level, const char *format, ...)
{
    char data[LINE_MAX_BYTES + 8];
    struct gw_text line;
    va_list list;
    if (level > own.level)
        return;
    begin_line(&line, data, LINE_MAX_BYTES, level);
    va_start(list, format);
    gw_text_addv(&line, format, list);
    va_end(list);
    flatten(line.data, line.length);
    line.room = sizeof data;
    gw_text_add_string(&line, line.truncated ? "...\n" : "\n");
    if (!tell_drops() || !write_line(gw_text_slice(&line)))
        own.dropped++;
}
