/* gateway/log_writer/log_target.c */
#define _GNU_SOURCE /* S_ISSOCK under -std=c11 */
#include "gateway/log_writer/log_target.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TELL_EVERY_MS 10000
/* Where poll(2) says that a pipe is writable, this much will not block (PIPE_BUF, pipe(7)). */
#define STALLING_CHUNK 4096

void gw_log_target_set(struct gw_log_target *target, int fd)
{
    if (target->fd >= 0)
        close(target->fd);
    target->fd = fd;
    target->torn = false;
}

static bool may_stall(int fd)
{
    struct stat status;
    return fstat(fd, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
}

static bool is_writable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLOUT };
    return poll(&one, 1, 0) > 0; /* an error or a hang-up too: write() will say which */
}

static ssize_t write_some(int fd, struct gw_slice part, bool stalls)
{
    if (stalls && !is_writable(fd)) {
        errno = EAGAIN;
        return -1;
    }
    size_t length = stalls && part.length > STALLING_CHUNK ? STALLING_CHUNK : part.length;
    ssize_t written;
    do
        written = write(fd, part.data, length);
    while (written < 0 && errno == EINTR);
    return written;
}

static void give_up(struct gw_log_target *target, struct gw_slice lines, size_t from)
{
    target->reason = errno;
    target->torn = target->torn || (from > 0 && lines.data[from - 1] != '\n');
    for (size_t i = from; i < lines.length; i++)
        target->lost += lines.data[i] == '\n';
}

bool gw_log_target_write(struct gw_log_target *target, struct gw_slice lines, size_t *at)
{
    bool stalls = target->fd >= 0 && may_stall(target->fd);
    if (target->fd < 0)
        *at = lines.length;
    while (*at < lines.length) {
        struct gw_slice part = { lines.data + *at, lines.length - *at };
        if (target->torn)
            part = GW_SLICE("\n");
        ssize_t written = write_some(target->fd, part, stalls);
        if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return false;
        if (written < 0) {
            give_up(target, lines, *at);
            *at = lines.length;
        } else if (target->torn && written > 0)
            target->torn = false;
        else
            *at += (size_t)written;
    }
    return true;
}

void gw_log_target_tell(struct gw_log_target *target, uint64_t now_ms)
{
    if (target->lost == 0 || (target->told_ms != 0 && now_ms - target->told_ms < TELL_EVERY_MS))
        return;
    dprintf(STDERR_FILENO,
            "namzu-gw log-writer: %llu lines of the %s log could not be written: %s\n",
            (unsigned long long)target->lost, target->name, strerror(target->reason));
    target->lost = 0;
    target->told_ms = now_ms == 0 ? 1 : now_ms;
}
