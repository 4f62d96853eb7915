/* gateway/proxy/timers.h - deadlines, cheap enough for one a connection.
 *
 * A hashed wheel of 4096 slots of 16 ms in one uv_timer_t. Starting, moving and stopping cost a few
 * writes and never a system call; a timer needs 40 bytes and no closing, so the struct that embeds
 * it can be freed at once. The loop wakes only for slots that hold something; a deadline beyond the
 * wheel's 65 s is looked at once a turn of the wheel. Fires never early, at most one slot late. */
#pragma once
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/list.h"

struct gw_timers;

struct gw_timer {
    struct gw_list link;
    uint64_t due; /* loop milliseconds */
    void (*fired)(struct gw_timer *timer);
};

struct gw_timers *gw_timers_new(uv_loop_t *loop, struct gw_error *err);
uint64_t gw_timers_now(const struct gw_timers *timers); /* loop milliseconds */

/* Before the first start. */
void gw_timer_init(struct gw_timer *timer, void (*fired)(struct gw_timer *timer));
/* Starts, or moves a running one. `fired` is called once, from the loop; it may start it again. */
void gw_timer_start(struct gw_timers *timers, struct gw_timer *timer, uint64_t milliseconds);
/* Safe at any time after init. */
void gw_timer_stop(struct gw_timer *timer);
bool gw_timer_running(const struct gw_timer *timer);

/* No timer may be running. */
void gw_timers_close(struct gw_timers *timers, void (*closed)(void *context), void *context);
