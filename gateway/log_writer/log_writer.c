/* gateway/log_writer/log_writer.c - the one process that writes logs.
 * It alone holds the log descriptors and may block on them; everybody else sends it datagrams over
 * bounded sockets and drops, and counts, what does not fit. A datagram is a byte that names the
 * stream and whole lines (common/log.h). One datagram is in hand at a time: while its target
 * stalls, nothing more is read, and the sockets fill up. The heartbeat goes on.
 *
 * The end comes when the supervisor's channel is closed and every source has reached its end: the
 * last records of proxies that drain without a supervisor are written too. */
#define _GNU_SOURCE /* clock_gettime under -std=c11 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "gateway/common/channel.h"
#include "gateway/common/confinement.h"
#include "gateway/common/counters.h"
#include "gateway/common/log.h"
#include "gateway/common/role.h"
#include "gateway/common/wire.h"
#include "gateway/log_writer/log_target.h"

#define HEARTBEAT_MS 1000
#define STALLED_WITHOUT_SUPERVISOR_MS 10000
#define SOURCES_MAX (4 * GW_PROCESSES_MAX)
#define DATAGRAMS_A_TURN 16

struct log_writer {
    int channel; /* -1 once the supervisor is gone */
    uint64_t turns, heartbeat_at_ms, stalled_since_ms;
    struct gw_log_target access, running;
    int sources[SOURCES_MAX];
    size_t source_count;
    struct {
        struct gw_log_target *target; /* NULL: nothing in hand */
        size_t length, at;
        char data[GW_LOG_DATAGRAM_MAX + 1];
    } hand;
    struct gw_channel_buffer buffer;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* True when there is nothing in hand any more. */
static bool write_hand(struct log_writer *w)
{
    if (w->hand.target == NULL)
        return true;
    struct gw_slice lines = { w->hand.data + 1, w->hand.length - 1 };
    if (!gw_log_target_write(w->hand.target, lines, &w->hand.at))
        return false;
    w->hand.target = NULL;
    return true;
}

static void lose_supervisor(struct log_writer *w, const char *why)
{
    if (why != NULL)
        dprintf(STDERR_FILENO, "namzu-gw log-writer: the supervisor's channel: %s\n", why);
    close(w->channel);
    w->channel = -1;
    w->stalled_since_ms = now_ms();
}

static void beat(struct log_writer *w, uint64_t now)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_wire_writer message;
    if (now < w->heartbeat_at_ms || w->channel < 0)
        return;
    w->heartbeat_at_ms = now + HEARTBEAT_MS;
    gw_wire_writer_init(&message);
    gw_wire_put_u64(&message, w->turns);
    enum gw_channel_result result =
        gw_channel_send(w->channel, GW_MSG_HEARTBEAT, gw_wire_written(&message), NULL, 0, &err);
    gw_wire_writer_fini(&message);
    if (result == GW_CHANNEL_CLOSED || result == GW_CHANNEL_BROKEN)
        lose_supervisor(w, result == GW_CHANNEL_BROKEN ? err.text : NULL);
}

/* What is in hand goes to the new target from the beginning of its current line. */
static void take_targets(struct log_writer *w, struct gw_message *message)
{
    struct gw_wire_reader r;
    gw_wire_reader_init(&r, message->payload);
    size_t access = gw_wire_u8(&r), running = gw_wire_u8(&r);
    if (!gw_wire_done(&r) || access > 1 || running > 1 || message->fd_count != access + running) {
        lose_supervisor(w, "LOG_TARGETS that cannot be read");
        return;
    }
    gw_log_target_set(&w->access, access ? gw_message_take_fd(message, 0) : -1);
    gw_log_target_set(&w->running, running ? gw_message_take_fd(message, access) : -1);
    while (w->hand.target != NULL && w->hand.at > 0 && w->hand.data[w->hand.at] != '\n')
        w->hand.at--;
}

static void take_source(struct log_writer *w, struct gw_message *message)
{
    if (message->fd_count != 1)
        lose_supervisor(w, "LOG_SOURCE without a descriptor");
    else if (w->source_count == SOURCES_MAX)
        dprintf(STDERR_FILENO, "namzu-gw log-writer: too many sources\n");
    else
        w->sources[w->source_count++] = gw_message_take_fd(message, 0);
}

static void read_channel(struct log_writer *w)
{
    struct gw_message message;
    struct gw_error err = GW_ERROR_NONE;
    enum gw_channel_result result = gw_channel_receive(w->channel, &w->buffer, &message, &err);
    if (result == GW_CHANNEL_WOULD_BLOCK)
        return;
    if (result != GW_CHANNEL_OK) {
        lose_supervisor(w, result == GW_CHANNEL_BROKEN ? err.text : NULL);
        return;
    }
    if (message.type == GW_MSG_LOG_TARGETS)
        take_targets(w, &message);
    else if (message.type == GW_MSG_LOG_SOURCE)
        take_source(w, &message);
    else
        lose_supervisor(w, "a message that is not for a log writer");
    gw_message_fini(&message);
}

/* A datagram that is not whole lines of a known stream comes from a process that has gone mad; its
 * bytes must not run into the records of others. */
static void take_datagram(struct log_writer *w, size_t length)
{
    char stream = w->hand.data[0];
    w->hand.length = length;
    w->hand.at = 0;
    if (length < 2 || length > GW_LOG_DATAGRAM_MAX || w->hand.data[length - 1] != '\n')
        return;
    if (stream == (char)GW_STREAM_ACCESS)
        w->hand.target = &w->access;
    else if (stream == (char)GW_STREAM_RUNNING)
        w->hand.target = &w->running;
}

static void close_source(struct log_writer *w, size_t index)
{
    close(w->sources[index]);
    w->sources[index] = w->sources[--w->source_count];
}

static void read_source(struct log_writer *w, size_t index)
{
    for (int i = 0; i < DATAGRAMS_A_TURN && write_hand(w); i++) {
        ssize_t got = recv(w->sources[index], w->hand.data, sizeof w->hand.data, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            close_source(w, index);
            return;
        }
        take_datagram(w, (size_t)got);
    }
    (void)write_hand(w);
}

/* Without a supervisor nobody else would end a wait for a reader that never comes back. */
static bool is_finished(struct log_writer *w, uint64_t now)
{
    if (w->channel >= 0)
        return false;
    if (w->hand.target == NULL)
        w->stalled_since_ms = now;
    return (w->source_count == 0 && w->hand.target == NULL)
           || now - w->stalled_since_ms > STALLED_WITHOUT_SUPERVISOR_MS;
}

static void turn(struct log_writer *w, uint64_t now)
{
    struct pollfd fds[1 + SOURCES_MAX];
    size_t count = write_hand(w) ? w->source_count : 1;
    uint64_t wait = w->heartbeat_at_ms > now ? w->heartbeat_at_ms - now : 0;
    if (w->channel < 0)
        wait = HEARTBEAT_MS;
    fds[0] = (struct pollfd){ .fd = w->channel, .events = POLLIN };
    for (size_t i = 0; i < count; i++)
        fds[1 + i] = (struct pollfd){ .fd = w->sources[i], .events = POLLIN };
    if (w->hand.target != NULL)
        fds[1] = (struct pollfd){ .fd = w->hand.target->fd, .events = POLLOUT };
    if (poll(fds, 1 + count, (int)wait) <= 0)
        return;
    bool may_read = w->hand.target == NULL;
    for (size_t i = count; may_read && i-- > 0;) /* backwards: the last replaces an ended one */
        if (fds[1 + i].revents != 0)
            read_source(w, i);
    if (fds[0].revents != 0)
        read_channel(w);
}

static void run(struct log_writer *w)
{
    uint64_t now = now_ms();
    while (!is_finished(w, now)) {
        turn(w, now);
        now = now_ms();
        w->turns++;
        beat(w, now);
        gw_log_target_tell(&w->access, now);
        gw_log_target_tell(&w->running, now);
    }
}

int gw_log_writer_main(const char *process)
{
    static struct log_writer w = {
        .channel = GW_FD_CHANNEL,
        .access = { .name = "access", .fd = -1 },
        .running = { .name = "running", .fd = -1 },
    };
    struct gw_error err = GW_ERROR_NONE;
    const struct gw_confinement confinement = gw_role_confinement();
    gw_close_other_descriptors(GW_FD_CHANNEL, 1);
    (void)fcntl(GW_FD_CHANNEL, F_SETFD, FD_CLOEXEC);
    if (!gw_confine(&confinement, &err)) {
        dprintf(STDERR_FILENO, "namzu-gw %s: %s\n", process, err.text);
        return EXIT_FAILURE;
    }
    run(&w);
    return EXIT_SUCCESS;
}
