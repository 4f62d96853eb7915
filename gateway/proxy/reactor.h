/* gateway/proxy/reactor.h - readiness of the data plane's sockets.
 *
 * libuv runs the loop, its timers, the channel and the name server sockets. The sockets that carry
 * traffic are watched by one edge-triggered epoll set inside that loop: a descriptor is registered
 * once for its whole life, pausing and resuming costs no system call, and an idle tunnel needs 56
 * bytes a side where a uv_poll_t takes 160 and is armed and disarmed by a call each time.
 *
 * Edge-triggered means: a bit in `ready` stays set until the owner has met EAGAIN and cleared it.
 * The owner's callback does whatever is possible now, and may leave the rest by choice (back-
 * pressure): when it can go on, it simply tries again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/list.h"

enum gw_ready {
    GW_CAN_READ = 1,
    GW_CAN_WRITE = 2,
    GW_PEER_SHUT = 4,  /* the peer has sent FIN: what is buffered can still be read */
    GW_PEER_RESET = 8, /* an error is pending; what is buffered can still be read */
};

struct gw_reactor;

/* Owned by whoever holds the pointer; its place in memory outlives the close until the end of the
 * loop turn, so that events of the same turn find it closed rather than freed. */
struct gw_watch {
    int fd; /* owned; -1 once closed */
    uint8_t ready;
    bool queued;
    void (*on_ready)(struct gw_watch *watch);
    void *owner;
    struct gw_reactor *reactor;
    struct gw_list later; /* private */
};

struct gw_reactor *gw_reactor_new(uv_loop_t *loop, struct gw_error *err);

/* Takes the descriptor (non-blocking, close-on-exec), also when it fails. NULL: out of memory or
 * descriptors. The first events arrive from the loop. */
struct gw_watch *gw_reactor_watch(struct gw_reactor *reactor, int fd,
                                  void (*on_ready)(struct gw_watch *watch), void *owner);

/* A shared listening socket: level-triggered, one process is woken (EPOLLEXCLUSIVE). The
 * descriptor stays the caller's. */
struct gw_watch *gw_reactor_watch_listener(struct gw_reactor *reactor, int fd,
                                           void (*on_ready)(struct gw_watch *watch), void *owner);

/* Hands the watch to another owner; nothing is lost, no system call is made. */
void gw_watch_give(struct gw_watch *watch, void (*on_ready)(struct gw_watch *watch), void *owner);

/* Calls on_ready once more in the next turn: to go on after giving others their chance, or to start
 * a new owner on what was ready before. */
void gw_watch_later(struct gw_watch *watch);

/* Closes the descriptor; on_ready is not called any more. NULL is fine. */
void gw_watch_close(struct gw_watch *watch);
/* Stops watching a listener without closing its descriptor. NULL is fine. */
void gw_watch_forget(struct gw_watch *watch);

/* Frees `memory` at the end of this turn, when no event can refer to it any more. */
struct gw_grave {
    struct gw_grave *next;
    void (*bury)(struct gw_grave *grave);
};
void gw_reactor_bury(struct gw_reactor *reactor, struct gw_grave *grave,
                     void (*bury)(struct gw_grave *grave));

/* Nothing may be watched any more. `closed` is called from the loop. */
void gw_reactor_close(struct gw_reactor *reactor, void (*closed)(void *context), void *context);
