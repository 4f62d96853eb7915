/* gateway/supervisor/slot.c
 * A dead process is replaced at once; only one that keeps dying has to wait. */
#define _GNU_SOURCE /* libuv's header needs it under -std=c11 */
#include "gateway/supervisor/process.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "gateway/common/log.h"
#include "gateway/supervisor/supervisor.h"

#define MANY_DEATHS_MS 10000 /* three within this time: wait before the next start */
#define BACKOFF_FIRST_MS 1000
#define BACKOFF_LAST_MS 30000
#define LONG_LIFE_MS 10000 /* who lived for so long did not die of its start */
#define RETRY_MS 100       /* the launcher is away for a moment */
#define DEATHS_AT_START 3  /* a gateway that cannot even start says so and stops */

void gw_slot_init(struct gw_slot *slot, struct gw_supervisor *supervisor, enum gw_role role,
                  unsigned index)
{
    *slot = (struct gw_slot){ .supervisor = supervisor, .role = role, .index = index };
    if (role == GW_ROLE_PROXY)
        snprintf(slot->name, sizeof slot->name, "%s-%u", gw_role_text(role), index);
    else
        snprintf(slot->name, sizeof slot->name, "%s", gw_role_text(role));
}

static bool must_wait_for_launcher(const struct gw_slot *slot)
{
    const struct gw_child *launcher = slot->supervisor->launcher.child;
    return slot->role != GW_ROLE_LAUNCHER
           && (launcher == NULL || launcher->state != GW_CHILD_RUNNING);
}

void gw_slot_fill(struct gw_slot *slot)
{
    struct gw_supervisor *s = slot->supervisor;
    struct gw_error err = GW_ERROR_NONE;
    slot->wanted = true;
    if (slot->child != NULL)
        return;
    if (must_wait_for_launcher(slot)) {
        slot->start_at_ms = uv_now(&s->loop) + RETRY_MS;
        return;
    }
    slot->child = gw_child_new(slot, &err);
    if (slot->child == NULL) {
        gw_log(GW_LOG_ERROR, "cannot start %s: %s", slot->name, err.text);
        slot->start_at_ms = uv_now(&s->loop) + BACKOFF_FIRST_MS;
        return;
    }
    if (slot->role == GW_ROLE_LOG_WRITER)
        gw_install_log_writer(slot->child);
    else if (s->log_writer.child != NULL)
        gw_install_log_source(s->log_writer.child, slot->name, slot->child->log_source);
}

uint64_t gw_slot_next_ms(const struct gw_slot *slot)
{
    if (slot->child != NULL)
        return gw_child_next_ms(slot->child);
    return slot->wanted ? slot->start_at_ms : UINT64_MAX;
}

void gw_slot_on_time(struct gw_slot *slot)
{
    if (slot->child != NULL)
        gw_child_on_time(slot->child);
    else if (slot->wanted && uv_now(&slot->supervisor->loop) >= slot->start_at_ms)
        gw_slot_fill(slot);
}

static void note_death(struct gw_slot *slot, const struct gw_child *child)
{
    uint64_t now = uv_now(&slot->supervisor->loop);
    memmove(slot->deaths_ms, slot->deaths_ms + 1, sizeof slot->deaths_ms - sizeof *slot->deaths_ms);
    slot->deaths_ms[GW_COUNT(slot->deaths_ms) - 1] = now == 0 ? 1 : now;
    slot->deaths++;
    bool many = slot->deaths_ms[0] != 0 && now - slot->deaths_ms[0] <= MANY_DEATHS_MS;
    if (slot->backoff_ms != 0 && now - child->started_ms < LONG_LIFE_MS)
        slot->backoff_ms =
            2 * slot->backoff_ms < BACKOFF_LAST_MS ? 2 * slot->backoff_ms : BACKOFF_LAST_MS;
    else
        slot->backoff_ms = many ? BACKOFF_FIRST_MS : 0;
    slot->start_at_ms = now + slot->backoff_ms;
}

/* What the launcher was asked for and had not answered yet will not come. */
static void lose_launcher(struct gw_supervisor *s)
{
    if (s->log_writer.child != NULL && s->log_writer.child->pid == 0)
        gw_child_ended(s->log_writer.child, false, 0);
    gw_each_proxy (slot, s)
        if (slot->child != NULL && slot->child->pid == 0)
            gw_child_ended(slot->child, false, 0);
}

static void tell_death(const struct gw_slot *slot, const struct gw_child *child, const char *what)
{
    if (!slot->wanted)
        gw_log(slot->role == GW_ROLE_PROXY ? GW_LOG_INFO : GW_LOG_DEBUG, "%s (pid %d) %s",
               slot->name, (int)child->pid, what);
    else if (slot->backoff_ms == 0)
        gw_log(GW_LOG_ERROR, "%s (pid %d) %s; starting another", slot->name, (int)child->pid, what);
    else
        gw_log(GW_LOG_ERROR, "%s (pid %d) %s; it keeps dying, starting another in %u s", slot->name,
               (int)child->pid, what, (unsigned)(slot->backoff_ms / 1000));
}

void gw_slot_lost(struct gw_slot *slot, const struct gw_child *child, const char *what)
{
    struct gw_supervisor *s = slot->supervisor;
    slot->child = NULL;
    if (slot->role == GW_ROLE_PROXY)
        gw_shared_reclaim(s->shared, slot->index);
    if (child->in_install)
        s->install.replaced++;
    if (slot->wanted)
        note_death(slot, child);
    tell_death(slot, child, what);
    if (slot->role == GW_ROLE_LAUNCHER)
        lose_launcher(s);
    if (s->phase == GW_PHASE_STARTING && slot->wanted && slot->deaths >= DEATHS_AT_START) {
        gw_log(GW_LOG_ERROR, "%s does not start; giving up", slot->name);
        gw_shutdown(s, GW_EXIT_INTERNAL);
    }
}
