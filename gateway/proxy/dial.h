/* gateway/proxy/dial.h - from screened addresses to one connected socket.
 * RFC 8305 5: attempts are staggered (attempt_delay_ms), the first that connects wins, the others
 * are closed. Only a struct gw_dialable can be dialled, and before the socket is handed out its
 * peer is compared with it once more. This file holds the only connect(2) of the data plane. */
#pragma once
#include "gateway/common/counters.h"
#include "gateway/common/limits.h"
#include "gateway/proxy/reactor.h"
#include "gateway/proxy/timers.h"
#include "policy/dialable.h"

/* In the memory of who dials; may be freed or used again in `done` and after gw_dial_cancel(). */
struct gw_dial {
    /* Called once, never from within gw_dial_start(). */
    void (*done)(struct gw_dial *dial);
    enum gw_reason reason;  /* NONE, CONNECT_FAILED, CONNECT_TIMEOUT, PEER_MISMATCH, OVERLOADED;
                                     RESOLVED: it leads to this very host */
    struct gw_watch *watch; /* NONE: the connected socket, handed over */
    struct gw_ip_address address; /* NONE: where it leads; else the last one that failed */
    int error;                    /* errno of the last failure, for the operator */
    /* private */
    struct gw_dialable_set *set;
    size_t next;    /* index of the next address to be tried */
    size_t pending; /* attempts under way */
    struct gw_dial_attempt *attempts[GW_ADDRESSES_MAX];
    struct gw_timer stagger, deadline;
    struct gw_reactor *reactor;
    struct gw_timers *timers;
    const struct gw_limits *limits;
    struct gw_process_page *counters;
    bool running;
};

/* Takes the set. `limits` is borrowed until the end. */
void gw_dial_start(struct gw_dial *dial, struct gw_dialable_set *set, struct gw_reactor *reactor,
                   struct gw_timers *timers, const struct gw_limits *limits,
                   struct gw_process_page *counters);

/* Closes every attempt; `done` is not called any more. Safe when nothing runs. */
void gw_dial_cancel(struct gw_dial *dial);
