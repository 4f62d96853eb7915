/* gateway/supervisor/shutdown.c - the way out: proxies drain, the log writer writes what is left,
 * the launcher goes last. Each step has a deadline. */
#define _GNU_SOURCE /* libuv's header needs it under -std=c11 */
#include "gateway/supervisor/process.h"

#include "gateway/common/log.h"
#include "gateway/common/wire.h"

#define DRAIN_GRACE_MS 2000
#define FLUSH_MS 5000
#define LEAVE_MS 7000 /* the launcher waits for the log writer */

static void drain(struct gw_child *proxy, uint64_t drain_ms)
{
    struct gw_wire_writer w;
    if (proxy->state == GW_CHILD_STARTING) { /* it has accepted nothing */
        gw_child_kill(proxy, NULL);
        return;
    }
    if (proxy->state > GW_CHILD_RUNNING)
        return;
    gw_wire_writer_init(&w);
    gw_wire_put_u32(&w, drain_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)drain_ms);
    if (w.failed)
        proxy->link.failed = true;
    else
        gw_link_send(&proxy->link, GW_MSG_DRAIN, gw_wire_written(&w), NULL, 0);
    gw_wire_writer_fini(&w);
    proxy->state = GW_CHILD_STOPPING;
    proxy->deadline_ms = uv_now(&proxy->slot->supervisor->loop) + drain_ms + DRAIN_GRACE_MS;
}

static void begin_draining(struct gw_supervisor *s, int exit_status)
{
    uint64_t drain_ms = 0;
    s->phase = GW_PHASE_DRAINING;
    s->exit_status = exit_status;
    s->install.active = s->reload_wanted = false;
    if (s->current != NULL) {
        drain_ms = gw_limit(&s->current->settings->limits, DRAIN_S) * 1000;
        gw_log(GW_LOG_INFO, "stopping: what is in flight has %llu s to finish",
               (unsigned long long)(drain_ms / 1000));
        for (size_t i = 0; i < s->current->settings->network_count; i++)
            gw_listener_close(s->current->networks[i].listener);
    }
    gw_each_proxy (slot, s) {
        slot->wanted = false;
        if (slot->child != NULL)
            drain(slot->child, drain_ms);
    }
}

static void ask_to_leave(struct gw_slot *slot, uint64_t timeout_ms)
{
    slot->wanted = false;
    if (slot->child == NULL || slot->child->state >= GW_CHILD_STOPPING)
        return;
    slot->child->state = GW_CHILD_STOPPING;
    slot->child->deadline_ms = uv_now(&slot->supervisor->loop) + timeout_ms;
    gw_link_close(&slot->child->link, gw_child_on_closed);
}

/* Their channels close. The launcher then closes its log socket, and we close ours: the log writer
 * has seen the end of every source when it has read all that was sent. */
static void begin_flushing(struct gw_supervisor *s)
{
    s->phase = GW_PHASE_FLUSHING;
    if (s->current != NULL) /* else it never began, and why has been said */
        gw_log(GW_LOG_INFO, "stopped");
    gw_log_set_socket(-1);
    ask_to_leave(&s->log_writer, FLUSH_MS);
    ask_to_leave(&s->launcher, LEAVE_MS);
}

static void close_handle(uv_handle_t *handle)
{
    if (uv_handle_get_type(handle) != UV_UNKNOWN_HANDLE && !uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void leave(struct gw_supervisor *s)
{
    s->phase = GW_PHASE_LEFT;
    close_handle((uv_handle_t *)&s->prepare);
    close_handle((uv_handle_t *)&s->timer);
    close_handle((uv_handle_t *)&s->hangup);
    close_handle((uv_handle_t *)&s->terminate);
    close_handle((uv_handle_t *)&s->interrupt);
    close_handle((uv_handle_t *)&s->netlink);
}

void gw_shutdown_check(struct gw_supervisor *s)
{
    if (s->phase == GW_PHASE_DRAINING) {
        gw_each_proxy (slot, s)
            if (slot->child != NULL)
                return;
        begin_flushing(s);
    }
    if (s->phase == GW_PHASE_FLUSHING && s->log_writer.child == NULL && s->launcher.child == NULL)
        leave(s);
}

void gw_shutdown(struct gw_supervisor *s, int exit_status)
{
    if (s->phase < GW_PHASE_DRAINING) {
        begin_draining(s, exit_status);
        gw_shutdown_check(s);
        return;
    }
    gw_log(GW_LOG_WARNING, "stopping at once");
    gw_each_proxy (slot, s)
        if (slot->child != NULL)
            gw_child_kill(slot->child, NULL);
    if (s->phase == GW_PHASE_FLUSHING && s->log_writer.child != NULL)
        gw_child_kill(s->log_writer.child, NULL);
}
