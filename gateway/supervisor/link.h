/* gateway/supervisor/link.h - the supervisor's end of a channel, on its loop.
 * What would block waits here, in order, with copies of payload (wiped when sent: it may be a
 * credential) and descriptors. Bounded in number and, by whoever looks at gw_link_waiting_since(),
 * in time: a child that does not take its messages is not spared. */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/list.h"
#include "gateway/common/channel.h"

#define GW_LINK_WAITING_MAX 8192

struct gw_link {
    uv_poll_t poll; /* `data` is free for the owner */
    int end;        /* owned; -1 when closed */
    struct gw_list waiting;
    size_t waiting_count;
    uint64_t waiting_since_ms;
    bool failed; /* a send could not be made or kept; the owner ends the child */
    bool lost;   /* on_lost was called; nothing more comes */
    bool closed;
    /* The message's descriptors may be taken; the link may be closed from within. */
    void (*on_message)(struct gw_link *link, struct gw_message *message);
    void (*on_lost)(struct gw_link *link, const char *why);
};

/* Takes `end`. False when it cannot be polled; then `end` is closed. */
bool gw_link_open(struct gw_link *link, uv_loop_t *loop, int end, struct gw_error *err);

/* Borrows payload and descriptors. A failure shows in `failed`, never by a callback from here. */
void gw_link_send(struct gw_link *link, enum gw_message_type type, struct gw_slice payload,
                  const int *fds, size_t fd_count);

/* Takes what has arrived and sends what waits, now: before a child is judged by its silence, which
 * may have been our own (a long reload, a stopped process). */
void gw_link_catch_up(struct gw_link *link);

/* 0: nothing waits. In milliseconds of the loop's clock. */
uint64_t gw_link_waiting_since(const struct gw_link *link);

/* Closes the descriptor at once, the handle later, by `on_closed`. Harmless when done twice. */
void gw_link_close(struct gw_link *link, uv_close_cb on_closed);
