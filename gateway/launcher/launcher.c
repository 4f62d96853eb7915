/* gateway/launcher/launcher.c - parent of every process but the supervisor.
 * It was exec'd before a credential was read, so that neither its memory nor that of its children
 * ever held one. It does what the supervisor's messages say and tells when a child ends; it does
 * not restart anything by itself. When the supervisor goes away it waits for its children, which
 * drain by themselves, and exits.
 *
 * poll(2) and nothing else: no signal handler, no loop library. It may block on a message to the
 * supervisor, which never waits for it in turn. */
#define _GNU_SOURCE /* setsid and friends under -std=c11 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "gateway/common/channel.h"
#include "gateway/common/confinement.h"
#include "gateway/common/counters.h"
#include "gateway/common/log.h"
#include "gateway/common/role.h"
#include "gateway/common/start.h"
#include "gateway/common/wire.h"

/* All proxies twice over (a killed one and its successor may overlap), and the log writers. */
#define CHILDREN_MAX (2 * GW_PROCESSES_MAX + 8)

struct launcher {
    int channel; /* -1 once the supervisor is gone */
    struct {
        pid_t pid;
        int pidfd;
    } children[CHILDREN_MAX];
    size_t child_count;
    struct gw_channel_buffer buffer;
};

static void lose_supervisor(struct launcher *l, const char *why)
{
    if (why != NULL)
        gw_log(GW_LOG_ERROR, "the supervisor's channel: %s", why);
    gw_log(GW_LOG_DEBUG, "the supervisor is gone; waiting for %zu processes", l->child_count);
    gw_log_set_socket(-1); /* the log writer ends when its last source does, and we wait for it */
    close(l->channel);
    l->channel = -1;
}

static void send_message(struct launcher *l, enum gw_message_type type, struct gw_wire_writer *w,
                         const int *fd)
{
    struct gw_error err = GW_ERROR_NONE;
    enum gw_channel_result result = GW_CHANNEL_WOULD_BLOCK;
    while (l->channel >= 0 && result == GW_CHANNEL_WOULD_BLOCK) {
        result = w->failed
                     ? GW_CHANNEL_BROKEN
                     : gw_channel_send(l->channel, type, gw_wire_written(w), fd, fd != NULL, &err);
        if (result == GW_CHANNEL_WOULD_BLOCK)
            (void)poll(&(struct pollfd){ .fd = l->channel, .events = POLLOUT }, 1, 100);
        else if (result != GW_CHANNEL_OK)
            lose_supervisor(l, w->failed ? "out of memory" : err.text);
    }
    gw_wire_writer_fini(w);
}

static void tell_failure(struct launcher *l, uint32_t ticket, const char *why)
{
    struct gw_wire_writer w;
    gw_wire_writer_init(&w);
    gw_wire_put_u32(&w, ticket);
    gw_wire_put_bytes(&w, gw_slice_of(why));
    send_message(l, GW_MSG_START_FAILED, &w, NULL);
}

static void tell_started(struct launcher *l, uint32_t ticket, pid_t pid, int pidfd)
{
    struct gw_wire_writer w;
    gw_wire_writer_init(&w);
    gw_wire_put_u32(&w, ticket);
    gw_wire_put_u32(&w, (uint32_t)pid);
    send_message(l, GW_MSG_STARTED, &w, &pidfd);
}

static void start_child(struct launcher *l, struct gw_message *message)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_wire_reader r;
    struct gw_start start = { .fds = message->fds, .fd_count = message->fd_count };
    gw_wire_reader_init(&r, message->payload);
    uint32_t ticket = gw_wire_u32(&r);
    uint8_t role = gw_wire_u8(&r);
    start.process = gw_wire_bytes(&r);
    start.confine.change_user = gw_wire_u8(&r) != 0;
    start.confine.uid = gw_wire_u32(&r);
    start.confine.gid = gw_wire_u32(&r);
    start.role = (enum gw_role)role;
    if (!gw_wire_done(&r) || role <= GW_ROLE_LAUNCHER || role >= GW_ROLES
        || start.process.length > 32) {
        lose_supervisor(l, "a START that cannot be read");
        return;
    }
    pid_t pid;
    int pidfd;
    if (l->child_count == CHILDREN_MAX)
        tell_failure(l, ticket, "too many processes");
    else if (!gw_start(&start, &pid, &pidfd, &err))
        tell_failure(l, ticket, err.text);
    else {
        l->children[l->child_count].pid = pid;
        l->children[l->child_count++].pidfd = pidfd;
        tell_started(l, ticket, pid, pidfd);
    }
}

static void read_channel(struct launcher *l)
{
    struct gw_message message;
    struct gw_error err = GW_ERROR_NONE;
    enum gw_channel_result result = gw_channel_receive(l->channel, &l->buffer, &message, &err);
    if (result == GW_CHANNEL_WOULD_BLOCK)
        return;
    if (result != GW_CHANNEL_OK) {
        lose_supervisor(l, result == GW_CHANNEL_BROKEN ? err.text : NULL);
        return;
    }
    if (message.type == GW_MSG_START)
        start_child(l, &message);
    else
        lose_supervisor(l, "a message that is not for a launcher");
    gw_message_fini(&message);
}

static void reap(struct launcher *l, size_t index)
{
    int status;
    pid_t pid = l->children[index].pid;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return;
    close(l->children[index].pidfd);
    l->children[index] = l->children[--l->child_count];
    struct gw_wire_writer w;
    gw_wire_writer_init(&w);
    gw_wire_put_u32(&w, (uint32_t)pid);
    gw_wire_put_u32(&w, (uint32_t)status);
    send_message(l, GW_MSG_EXITED, &w, NULL);
}

static void run(struct launcher *l)
{
    struct pollfd fds[1 + CHILDREN_MAX];
    while (l->channel >= 0 || l->child_count > 0) {
        size_t count = l->child_count;
        fds[0] = (struct pollfd){ .fd = l->channel, .events = POLLIN }; /* -1 is left out */
        for (size_t i = 0; i < count; i++)
            fds[1 + i] = (struct pollfd){ .fd = l->children[i].pidfd, .events = POLLIN };
        if (poll(fds, 1 + count, -1) < 0)
            continue;
        for (size_t i = count; i-- > 0;) /* backwards: reap() moves the last one into the gap */
            if (fds[1 + i].revents != 0)
                reap(l, i);
        if (fds[0].revents != 0 && l->channel >= 0)
            read_channel(l);
    }
}

/* A session of our own, so that Ctrl-C reaches the supervisor alone; it alone says when to stop.
 * What is ignored here stays ignored in our children. The working directory and the standard
 * descriptors, but for standard error, are nobody's business either. */
static bool settle(void)
{
    const int ignored[] = { SIGHUP, SIGINT, SIGTERM, SIGPIPE };
    const struct rlimit none = { 0, 0 };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t all;
    (void)setsid(); /* fails only where we lead a process group, hence a session, already */
    for (size_t i = 0; i < GW_COUNT(ignored); i++)
        sigaction(ignored[i], &ignore, NULL);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    umask(0077);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool settled = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0
                   && chdir("/") == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
    if (null > STDERR_FILENO)
        close(null);
#ifndef GW_SANITIZED
    settled = settled && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
#endif
    gw_raise_descriptor_limit(); /* inherited by the proxies, which could not raise it */
    return settled;
}

int gw_launcher_main(const char *process)
{
    static struct launcher l = { .channel = GW_FD_CHANNEL };
    gw_close_other_descriptors(GW_FD_CHANNEL, 2);
    (void)fcntl(GW_FD_CHANNEL, F_SETFD, FD_CLOEXEC);
    (void)fcntl(GW_FD_LOG, F_SETFD, FD_CLOEXEC);
    gw_log_start(process, GW_FD_LOG, GW_LOG_INFO);
    if (!settle()) {
        gw_log(GW_LOG_ERROR, "cannot settle: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    run(&l);
    return EXIT_SUCCESS;
}
