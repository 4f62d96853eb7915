/* gateway/supervisor/child.c
 * How a child ends: its pidfd says that it did, its parent how. The parent is the launcher (EXITED)
 * or, once that launcher is gone, we: the supervisor is the reaper of its descendants. */
#define _GNU_SOURCE /* P_PIDFD, pidfd_send_signal */
#include "gateway/supervisor/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"
#include "gateway/common/log.h"
#include "gateway/common/start.h"
#include "gateway/common/wire.h"

/* From START to STARTED: a fork and an exec. */
#define FORK_TIMEOUT_MS 5000
/* On to the first word. Generous: a machine that starts many gateways at once is slow. */
#define START_TIMEOUT_MS 15000
/* From the end of a process to its wait status. */
#define STATUS_TIMEOUT_MS 500

static uint64_t now_ms(const struct gw_child *child)
{
    return uv_now(&child->slot->supervisor->loop);
}

/* ---- the end ------------------------------------------------------------------------------- */

void gw_child_on_closed(uv_handle_t *handle)
{
    struct gw_child *child = handle->data;
    if (--child->open_handles > 0)
        return;
    gw_running_unref(child->told);
    free(child); /* the only place a child is freed */
}

static void describe_end(bool known, int status, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    if (!known)
        gw_text_add_string(&text, "ended (its launcher is gone, and its status with it)");
    else if (WIFSIGNALED(status))
        gw_text_addf(&text, "was killed by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
    else
        gw_text_addf(&text, "exited with status %d", WEXITSTATUS(status));
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void gw_child_ended(struct gw_child *child, bool status_known, int wait_status)
{
    char what[128];
    if (child->state == GW_CHILD_GONE)
        return;
    describe_end(status_known, wait_status, what, sizeof what);
    struct gw_slot *slot = child->slot;
    gw_slot_lost(slot, child, what);
    child->state = GW_CHILD_GONE;
    if (child->pidfd_polled)
        uv_close((uv_handle_t *)&child->pidfd_poll, gw_child_on_closed);
    close_descriptor(&child->pidfd);
    close_descriptor(&child->log_source);
    gw_link_close(&child->link, gw_child_on_closed);
    gw_supervisor_changed(slot->supervisor);
}

/* Reaps what is, or has become, our own child; for others the launcher will tell. */
static bool reap(struct gw_child *child)
{
    siginfo_t info = { 0 };
    if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
        return false;
    int status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
    gw_child_ended(child, true, status);
    return true;
}

static bool has_launcher(const struct gw_supervisor *s)
{
    return s->launcher.child != NULL && s->launcher.child->link.end >= 0;
}

static void on_pidfd(uv_poll_t *poll, int status, int events)
{
    struct gw_child *child = gw_container_of(poll, struct gw_child, pidfd_poll);
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (reap(child))
        return;
    child->ended = true;
    if (!has_launcher(child->slot->supervisor)) {
        gw_child_ended(child, false, 0);
        return;
    }
    child->state = GW_CHILD_ENDING;
    child->deadline_ms = now_ms(child) + STATUS_TIMEOUT_MS;
}

void gw_child_kill(struct gw_child *child, const char *why)
{
    if (child->state >= GW_CHILD_ENDING)
        return;
    if (why != NULL)
        gw_log(GW_LOG_ERROR, "%s (pid %d): %s; killing it", child->slot->name, (int)child->pid,
               why);
    child->state = GW_CHILD_ENDING;
    child->deadline_ms = 0;
    if (child->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
    else /* STARTED is still to come, or never will: the launcher hangs */
        child->deadline_ms = now_ms(child) + STATUS_TIMEOUT_MS;
}

/* ---- what it says -------------------------------------------------------------------------- */

static void watch_pidfd(struct gw_child *child, pid_t pid, int pidfd)
{
    struct gw_supervisor *s = child->slot->supervisor;
    child->pid = pid;
    child->pidfd = pidfd;
    if (child->state == GW_CHILD_STARTING)
        child->deadline_ms = now_ms(child) + START_TIMEOUT_MS;
    if (uv_poll_init(&s->loop, &child->pidfd_poll, pidfd) != 0) {
        gw_child_kill(child, "it cannot be watched");
        return;
    }
    child->pidfd_poll.data = child;
    child->pidfd_polled = true;
    child->open_handles++;
    if (uv_poll_start(&child->pidfd_poll, UV_READABLE, on_pidfd) != 0)
        gw_child_kill(child, "it cannot be watched");
    else if (child->state == GW_CHILD_ENDING) { /* killed before its pid was known */
        child->deadline_ms = 0;
        (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    }
}

static struct gw_child *find(struct gw_supervisor *s, uint32_t ticket, pid_t pid)
{
    struct gw_child *writer = s->log_writer.child;
    if (writer != NULL && (pid != 0 ? writer->pid == pid : writer->ticket == ticket))
        return writer;
    gw_each_proxy (slot, s)
        if (slot->child != NULL
            && (pid != 0 ? slot->child->pid == pid : slot->child->ticket == ticket))
            return slot->child;
    return NULL;
}

bool gw_child_is_known(struct gw_supervisor *s, pid_t pid)
{
    return (s->launcher.child != NULL && s->launcher.child->pid == pid) || find(s, 0, pid) != NULL;
}

static bool read_launcher(struct gw_supervisor *s, struct gw_message *message)
{
    struct gw_wire_reader r;
    gw_wire_reader_init(&r, message->payload);
    uint32_t first = gw_wire_u32(&r);
    if (message->type == GW_MSG_START_FAILED) {
        struct gw_slice why = gw_wire_bytes(&r);
        struct gw_child *child = gw_wire_done(&r) ? find(s, first, 0) : NULL;
        if (child != NULL) {
            gw_log(GW_LOG_ERROR, "%s could not be started: %.*s", child->slot->name,
                   (int)why.length, why.data);
            gw_child_ended(child, true, 127 << 8);
        }
        return gw_wire_done(&r);
    }
    uint32_t second = gw_wire_u32(&r);
    if (!gw_wire_done(&r))
        return false;
    struct gw_child *child = message->type == GW_MSG_STARTED
                                 ? find(s, first, 0)
                                 : find(s, 0, first > INT32_MAX ? -1 : (pid_t)first);
    if (message->type == GW_MSG_EXITED) {
        if (child != NULL)
            gw_child_ended(child, true, (int)second);
        return true;
    }
    int pidfd = message->type == GW_MSG_STARTED ? gw_message_take_fd(message, 0) : -1;
    if (pidfd >= 0 && child != NULL && child->pidfd < 0)
        watch_pidfd(child, (pid_t)second, pidfd);
    else if (pidfd >= 0)
        close(pidfd); /* given up on meanwhile: its channel is closed, so it exits by itself */
    return pidfd >= 0;
}

static bool read_proxy(struct gw_child *child, struct gw_message *message)
{
    struct gw_supervisor *s = child->slot->supervisor;
    if (message->type == GW_MSG_READY && child->state == GW_CHILD_STARTING) {
        gw_install_local_addresses(child);
        gw_install_proxy(child);
        gw_install_check(s);
        return true;
    }
    if (message->type == GW_MSG_INSTALLED || message->type == GW_MSG_INSTALL_FAILED) {
        gw_install_on_installed(child, message);
        return true;
    }
    return message->type == GW_MSG_READY || message->type == GW_MSG_DRAINED;
}

static void on_message(struct gw_link *link, struct gw_message *message)
{
    struct gw_child *child = gw_container_of(link, struct gw_child, link);
    bool known = message->type == GW_MSG_HEARTBEAT;
    child->heard_ms = now_ms(child);
    if (child->slot->role == GW_ROLE_LAUNCHER)
        known = read_launcher(child->slot->supervisor, message);
    else if (child->slot->role == GW_ROLE_PROXY)
        known = known || read_proxy(child, message);
    else if (known && child->state == GW_CHILD_STARTING) {
        child->state = GW_CHILD_RUNNING;
        child->deadline_ms = 0;
        gw_supervisor_changed(child->slot->supervisor);
    }
    if (!known)
        gw_child_kill(child, "it sent a message that cannot be read");
}

static void on_lost(struct gw_link *link, const char *why)
{
    struct gw_child *child = gw_container_of(link, struct gw_child, link);
    if (child->state == GW_CHILD_STOPPING) /* on its way out, as asked */
        return;
    /* Most often the channel closes because its process ended: SIGKILL then changes nothing, and
     * its status tells more than we could. */
    gw_child_kill(child, strcmp(why, "it closed its channel") == 0 ? NULL : why);
}

/* ---- the beginning ------------------------------------------------------------------------- */

static bool make_log_socket(int ends[2], struct gw_error *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0)
        return true;
    gw_error_set(err, GW_ERR_SYSTEM, "socketpair: %s", strerror(errno));
    return false;
}

static bool start_launcher(struct gw_child *child, const int *fds, struct gw_error *err)
{
    const struct gw_start start = { .role = GW_ROLE_LAUNCHER,
                                    .process = gw_slice_of(child->slot->name),
                                    .fds = fds,
                                    .fd_count = 2 };
    pid_t pid;
    int pidfd;
    if (!gw_start(&start, &pid, &pidfd, err))
        return false;
    child->state = GW_CHILD_RUNNING;
    child->deadline_ms = 0;
    watch_pidfd(child, pid, pidfd);
    return true;
}

static bool ask_launcher(struct gw_child *child, const int *fds, size_t count, struct gw_error *err)
{
    struct gw_supervisor *s = child->slot->supervisor;
    struct gw_child *launcher = s->launcher.child;
    struct gw_wire_writer w;
    if (launcher == NULL || launcher->state != GW_CHILD_RUNNING) {
        gw_error_set(err, GW_ERR_SYSTEM, "there is no launcher");
        return false;
    }
    child->ticket = ++s->last_ticket;
    gw_wire_writer_init(&w);
    gw_wire_put_u32(&w, child->ticket);
    gw_wire_put_u8(&w, (uint8_t)child->slot->role);
    gw_wire_put_bytes(&w, gw_slice_of(child->slot->name));
    gw_wire_put_u8(&w, s->user.confine.change_user);
    gw_wire_put_u32(&w, s->user.confine.uid);
    gw_wire_put_u32(&w, s->user.confine.gid);
    if (w.failed)
        gw_error_set(err, GW_ERR_MEMORY, "no memory for a message");
    else
        gw_link_send(&launcher->link, GW_MSG_START, gw_wire_written(&w), fds, count);
    bool sent = !w.failed;
    gw_wire_writer_fini(&w);
    return sent;
}

/* Channel, log socket and counters, as role.h has them. Copies of the child's ends are closed
 * here: when it dies, ours must notice. */
static bool start(struct gw_child *child, int channel, struct gw_error *err)
{
    struct gw_slot *slot = child->slot;
    struct gw_supervisor *s = slot->supervisor;
    int log[2] = { -1, -1 };
    bool started;
    if (slot->role != GW_ROLE_LOG_WRITER && !make_log_socket(log, err))
        return false;
    const int fds[] = { channel, log[1], s->shared_fd };
    child->log_source = log[0];
    if (slot->role == GW_ROLE_LAUNCHER)
        started = start_launcher(child, fds, err);
    else
        started = ask_launcher(child, fds, slot->role == GW_ROLE_PROXY ? 3 : 1, err);
    close_descriptor(&log[1]);
    return started;
}

struct gw_child *gw_child_new(struct gw_slot *slot, struct gw_error *err)
{
    struct gw_supervisor *s = slot->supervisor;
    int ends[2];
    struct gw_child *child = calloc(1, sizeof *child);
    if (child == NULL || !gw_channel_pair(ends, err)) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory for a process");
        free(child);
        return NULL;
    }
    child->slot = slot;
    child->pidfd = child->log_source = -1;
    child->started_ms = child->heard_ms = uv_now(&s->loop);
    child->deadline_ms = child->started_ms + FORK_TIMEOUT_MS;
    child->link.on_message = on_message;
    child->link.on_lost = on_lost;
    if (!gw_link_open(&child->link, &s->loop, ends[0], err)) {
        close(ends[1]);
        free(child);
        return NULL;
    }
    child->link.poll.data = child;
    child->open_handles = 1;
    bool started = start(child, ends[1], err);
    close(ends[1]);
    if (started)
        return child;
    close_descriptor(&child->log_source);
    child->state = GW_CHILD_GONE;
    gw_link_close(&child->link, gw_child_on_closed);
    return NULL;
}

/* ---- deadlines ----------------------------------------------------------------------------- */

static const struct gw_limits *limits(const struct gw_child *child)
{
    const struct gw_running *current = child->slot->supervisor->current;
    return current == NULL ? NULL : &current->settings->limits;
}

/* When its silence has lasted too long; 0: it need not say anything. */
static uint64_t silence_ends_ms(const struct gw_child *child)
{
    bool speaks = child->state == GW_CHILD_INSTALLING || child->state == GW_CHILD_RUNNING;
    if (!speaks || child->slot->role == GW_ROLE_LAUNCHER || limits(child) == NULL)
        return 0;
    return child->heard_ms + gw_limit(limits(child), HEARTBEAT_TIMEOUT_MS);
}

/* When it must have taken a message that waits for it; 0: none does. */
static uint64_t waiting_ends_ms(const struct gw_child *child)
{
    uint64_t since = gw_link_waiting_since(&child->link);
    if (since == 0 || child->state >= GW_CHILD_ENDING || limits(child) == NULL)
        return 0;
    if (child->state == GW_CHILD_STARTING)
        return 0; /* its first messages wait for it to start; that has a deadline */
    return since + gw_limit(limits(child), INSTALL_DEADLINE_MS);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return b != 0 && b < a ? b : a;
}

uint64_t gw_child_next_ms(const struct gw_child *child)
{
    if (child->link.failed && child->state < GW_CHILD_ENDING)
        return 0;
    uint64_t next = earlier(UINT64_MAX, child->deadline_ms);
    return earlier(earlier(next, silence_ends_ms(child)), waiting_ends_ms(child));
}

static const char *const late[] = {
    [GW_CHILD_STARTING] = "it did not start in time",
    [GW_CHILD_INSTALLING] = "it did not take its configuration in time",
    [GW_CHILD_STOPPING] = "it did not stop in time",
};

static bool is_past(const struct gw_child *child, uint64_t moment)
{
    return moment != 0 && now_ms(child) >= moment;
}

/* A process that was killed and that nobody reports: the launcher is gone, or hangs itself. */
static void give_up_waiting(struct gw_child *child)
{
    struct gw_child *launcher = child->slot->supervisor->launcher.child;
    child->deadline_ms = 0;
    if (child->ended && reap(child))
        return;
    if (child->ended || child->pid == 0) {
        if (child->pid == 0 && launcher != NULL && launcher != child)
            gw_child_kill(launcher, "it does not start processes");
        gw_child_ended(child, false, 0);
    }
}

void gw_child_on_time(struct gw_child *child)
{
    if (now_ms(child) < gw_child_next_ms(child))
        return;
    gw_link_catch_up(&child->link); /* which may change everything */
    if (child->state == GW_CHILD_GONE)
        return;
    if (child->state == GW_CHILD_ENDING) {
        if (is_past(child, child->deadline_ms))
            give_up_waiting(child);
        return;
    }
    if (child->link.failed)
        gw_child_kill(child, "a message to it could not be sent");
    else if (is_past(child, child->deadline_ms))
        gw_child_kill(child, late[child->state]);
    else if (is_past(child, silence_ends_ms(child)))
        gw_child_kill(child, "it is silent");
    else if (is_past(child, waiting_ends_ms(child)))
        gw_child_kill(child, "it does not take its messages");
}
