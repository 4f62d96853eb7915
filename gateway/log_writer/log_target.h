/* gateway/log_writer/log_target.h - where the lines of one stream go.
 * A target may block for as long as a disk does. A pipe, a terminal or a socket may stall for ever:
 * on those a write says so instead, and the caller waits for them with poll(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct gw_log_target {
    const char *name; /* "access", "running" */
    int fd;           /* owned; -1: lines are thrown away, as configured */
    bool torn;        /* the last line was cut off by an error: begin a new one */
    uint64_t lost;    /* lines, since it was last told */
    int reason;       /* errno of the last failure */
    uint64_t told_ms; /* when it was last told; 0: never */
};

/* Takes `fd`, closes the old one. */
void gw_log_target_set(struct gw_log_target *target, int fd);

/* Writes from lines[*at] on; `*at` moves. False when the target stalls: poll it for POLLOUT. True
 * when all is done: written, or given up on an error, in which case the rest was counted. */
bool gw_log_target_write(struct gw_log_target *target, struct gw_slice lines, size_t *at);

/* Says on standard error what was lost: at once when it begins, then every 10 seconds. */
void gw_log_target_tell(struct gw_log_target *target, uint64_t now_ms);
