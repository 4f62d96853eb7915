/* gateway/supervisor/supervisor.c - the order of the start, the loop, and its deadlines.
 * There is one timer: before each wait of the loop, all deadlines are looked at (there are fewer
 * than a hundred) and it is set to the earliest. */
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#include "gateway/supervisor/supervisor.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/common/log.h"
#include "gateway/supervisor/process.h"
#include "gateway/supervisor/via_token.h"

#define LOCAL_EVERY_MS 10000
#define LOCAL_SETTLE_MS 50 /* an interface that comes up brings several changes */

/* ---- deadlines ----------------------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void look_at_local_addresses(struct gw_supervisor *s)
{
    struct gw_local_addresses found;
    struct gw_error err = GW_ERROR_NONE;
    s->local_at_ms = uv_now(&s->loop) + LOCAL_EVERY_MS;
    if (!gw_local_addresses_read(&found, &err)) {
        if (!s->local_failed)
            gw_log(GW_LOG_ERROR, "the host's addresses cannot be read, the last ones stay: %s",
                   err.text);
        s->local_failed = true;
        return;
    }
    s->local_failed = false;
    if (gw_local_addresses_equal(&found, &s->local)) {
        gw_local_addresses_fini(&found);
        return;
    }
    gw_local_addresses_fini(&s->local);
    s->local = found;
    gw_log(GW_LOG_INFO, "this host has %zu addresses now", found.count);
    gw_each_proxy (slot, s)
        if (slot->child != NULL
            && (slot->child->state == GW_CHILD_INSTALLING
                || slot->child->state == GW_CHILD_RUNNING))
            gw_install_local_addresses(slot->child);
}

/* What a launcher left behind when it died, and nobody waits for any more: ours now. */
static void reap_strays(struct gw_supervisor *s)
{
    siginfo_t info = { 0 };
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0
           && !gw_child_is_known(s, info.si_pid)) {
        (void)waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct gw_supervisor *s = timer->data;
    gw_slot_on_time(&s->launcher);
    gw_slot_on_time(&s->log_writer);
    gw_each_proxy (slot, s)
        gw_slot_on_time(slot);
    if (s->phase <= GW_PHASE_SERVING && uv_now(&s->loop) >= s->local_at_ms) {
        look_at_local_addresses(s);
        reap_strays(s);
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct gw_supervisor *s = prepare->data;
    uint64_t now = uv_now(&s->loop);
    uint64_t next = s->phase <= GW_PHASE_SERVING ? s->local_at_ms : UINT64_MAX;
    next = smaller(next, gw_slot_next_ms(&s->launcher));
    next = smaller(next, gw_slot_next_ms(&s->log_writer));
    gw_each_proxy (slot, s)
        next = smaller(next, gw_slot_next_ms(slot));
    if (next == UINT64_MAX)
        uv_timer_stop(&s->timer);
    else
        uv_timer_start(&s->timer, on_timer, next > now ? next - now : 0, 0);
}

/* ---- events -------------------------------------------------------------------------------- */

static void on_hangup(uv_signal_t *signal, int number)
{
    (void)number;
    gw_reload(signal->data);
}

static void on_terminate(uv_signal_t *signal, int number)
{
    (void)number;
    gw_shutdown(signal->data, GW_EXIT_OK);
}

static void on_netlink(uv_poll_t *poll, int status, int events)
{
    struct gw_supervisor *s = poll->data;
    (void)status;
    (void)events;
    gw_local_addresses_drain(s->netlink_fd);
    s->local_at_ms = smaller(s->local_at_ms, uv_now(&s->loop) + LOCAL_SETTLE_MS);
}

static void tell_ready(const struct gw_supervisor *s)
{
    char what[3072], who[64];
    gw_running_describe(s->current, what, sizeof what);
    if (s->user.confine.change_user)
        snprintf(who, sizeof who, "uid %u", (unsigned)s->user.confine.uid);
    else
        snprintf(who, sizeof who, "uid %u, which is ours", (unsigned)getuid());
    gw_reload_warnings(s->current);
    if (!s->user.confine.change_user)
        gw_log(GW_LOG_WARNING,
               "not started as root: the proxies keep our uid (%u) and with it "
               "every access that it has",
               (unsigned)getuid());
    gw_log(GW_LOG_INFO, "ready: generation %llu, %u proxies as %s; %s",
           (unsigned long long)s->current->generation, s->proxy_count, who, what);
}

static bool all_are_running(struct gw_supervisor *s)
{
    gw_each_proxy (slot, s)
        if (slot->child == NULL || slot->child->state != GW_CHILD_RUNNING)
            return false;
    return s->log_writer.child != NULL && s->log_writer.child->state == GW_CHILD_RUNNING;
}

void gw_supervisor_changed(struct gw_supervisor *s)
{
    if (s->own_log_socket >= 0 && s->log_writer.child != NULL
        && s->log_writer.child->state == GW_CHILD_RUNNING) {
        gw_log_set_socket(s->own_log_socket); /* until now: standard error */
        s->own_log_socket = -1;
    }
    if (s->phase == GW_PHASE_STARTING && all_are_running(s)) {
        s->phase = GW_PHASE_SERVING;
        tell_ready(s);
        if (s->reload_wanted)
            gw_reload(s);
    }
    gw_install_check(s);
    gw_shutdown_check(s);
}

/* ---- the start ----------------------------------------------------------------------------- */

/* The supervisor holds every credential: nobody may trace it, and it leaves no core. What its
 * launcher leaves behind when it dies becomes ours, so that it is reaped. */
static void protect_ourselves(void)
{
    const struct rlimit none = { 0, 0 };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &ignore, NULL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#ifndef GW_SANITIZED
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static bool open_own_log(struct gw_supervisor *s, struct gw_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "socketpair: %s", strerror(errno));
        return false;
    }
    s->own_log_source = ends[0];
    s->own_log_socket = ends[1];
    return true;
}

static void start_handle(bool *failed, int result)
{
    *failed = *failed || result != 0;
}

static bool start_handles(struct gw_supervisor *s, struct gw_error *err)
{
    bool failed = false;
    start_handle(&failed, uv_prepare_init(&s->loop, &s->prepare));
    start_handle(&failed, uv_timer_init(&s->loop, &s->timer));
    start_handle(&failed, uv_signal_init(&s->loop, &s->hangup));
    start_handle(&failed, uv_signal_init(&s->loop, &s->terminate));
    start_handle(&failed, uv_signal_init(&s->loop, &s->interrupt));
    s->prepare.data = s->timer.data = s->hangup.data = s->terminate.data = s->interrupt.data = s;
    start_handle(&failed, uv_prepare_start(&s->prepare, on_prepare));
    start_handle(&failed, uv_signal_start(&s->hangup, on_hangup, SIGHUP));
    start_handle(&failed, uv_signal_start(&s->terminate, on_terminate, SIGTERM));
    start_handle(&failed, uv_signal_start(&s->interrupt, on_terminate, SIGINT));
    if (failed)
        gw_error_set(err, GW_ERR_SYSTEM, "the event loop cannot be set up");
    return !failed;
}

/* Without it changes are noticed at the next look, some seconds later. */
static void watch_local_addresses(struct gw_supervisor *s)
{
    struct gw_error err = GW_ERROR_NONE;
    s->local_at_ms = uv_now(&s->loop) + LOCAL_EVERY_MS;
    s->netlink_fd = gw_local_addresses_watch(&err);
    if (s->netlink_fd < 0) {
        gw_log(GW_LOG_WARNING, "%s; looking every %d s", err.text, LOCAL_EVERY_MS / 1000);
        return;
    }
    if (uv_poll_init(&s->loop, &s->netlink, s->netlink_fd) == 0) {
        s->netlink.data = s;
        uv_poll_start(&s->netlink, UV_READABLE, on_netlink);
    }
}

static unsigned cpu_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : (unsigned)count;
}

static char *copy(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static void keep_fixed(struct gw_supervisor *s)
{
    const struct gw_settings *settings = s->current->settings;
    s->fixed.processes = settings->processes;
    s->fixed.user = copy(settings->user);
    s->fixed.state_dir = copy(settings->state_dir);
    s->proxy_count = settings->processes != 0 ? settings->processes : cpu_count();
    if (s->proxy_count > GW_PROCESSES_MAX)
        s->proxy_count = GW_PROCESSES_MAX;
}

static int fail(const struct gw_error *err, int status)
{
    fprintf(stderr, "namzu-gw: %s\n", err->text);
    return status;
}

/* Everything that can fail before the first process that faces a sandbox is started. */
static int prepare(struct gw_supervisor *s)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_complaints complaints = { .reload = false };
    s->environment = gw_environment_values_new();
    s->shared = gw_shared_new(&s->shared_fd, &err);
    if (s->environment == NULL || s->shared == NULL) {
        gw_error_set(&err, GW_ERR_MEMORY, "no memory");
        return fail(&err, GW_EXIT_SYSTEM);
    }
    if (!open_own_log(s, &err) || !gw_local_addresses_read(&s->local, &err))
        return fail(&err, GW_EXIT_SYSTEM);
    const struct gw_running_load load = {
        .path = s->config_path,
        .environment = s->environment,
        .shared = s->shared,
        .new_via_token = s->via_token,
        .descriptor_limit = s->descriptor_limit,
    };
    s->current = gw_running_load(&load, &complaints);
    if (s->current == NULL)
        return GW_EXIT_CONFIG;
    if (!gw_proxy_user_resolve(s->current->settings->user, &s->user, &err))
        return fail(&err, GW_EXIT_CONFIG);
    gw_log_set_level(s->current->settings->log.level);
    return GW_EXIT_OK;
}

static void start_processes(struct gw_supervisor *s)
{
    keep_fixed(s);
    watch_local_addresses(s);
    gw_slot_fill(&s->log_writer);
    for (unsigned i = 0; i < s->proxy_count; i++) {
        gw_slot_init(&s->proxies[i], s, GW_ROLE_PROXY, i);
        gw_slot_fill(&s->proxies[i]);
    }
}

static void close_descriptor(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void finish(struct gw_supervisor *s)
{
    gw_running_unref(s->current);
    gw_environment_values_free(s->environment);
    gw_local_addresses_fini(&s->local);
    gw_shared_detach(s->shared);
    gw_proxy_user_fini(&s->user);
    close_descriptor(s->shared_fd);
    close_descriptor(s->own_log_source);
    close_descriptor(s->own_log_socket);
    close_descriptor(s->netlink_fd);
    free(s->fixed.user);
    free(s->fixed.state_dir);
}

int gw_supervisor_main(const char *config_path)
{
    static struct gw_supervisor s;
    struct gw_error err = GW_ERROR_NONE;
    s.config_path = config_path;
    s.shared_fd = s.own_log_source = s.own_log_socket = s.netlink_fd = s.user.lock = -1;
    protect_ourselves();
    s.descriptor_limit = gw_raise_descriptor_limit();
    gw_log_start("supervisor", -1, GW_LOG_INFO);
    gw_slot_init(&s.launcher, &s, GW_ROLE_LAUNCHER, 0);
    gw_slot_init(&s.log_writer, &s, GW_ROLE_LOG_WRITER, 0);
    if (uv_loop_init(&s.loop) != 0) {
        gw_error_set(&err, GW_ERR_SYSTEM, "the event loop cannot be set up");
        return fail(&err, GW_EXIT_SYSTEM);
    }
    gw_slot_fill(&s.launcher); /* before anything is read that it must not know */
    if (s.launcher.child == NULL)
        return GW_EXIT_SYSTEM;
    int status = start_handles(&s, &err) ? prepare(&s) : fail(&err, GW_EXIT_SYSTEM);
    if (status == GW_EXIT_OK)
        start_processes(&s);
    else
        gw_shutdown(&s, status);
    uv_run(&s.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&s.loop);
    finish(&s);
    return s.exit_status;
}
