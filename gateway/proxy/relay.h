/* gateway/proxy/relay.h - bytes both ways, unread: an open tunnel, or a WebSocket after its 101.
 *
 * A small struct on two descriptors: when a tunnel is entered, the request's state is gone, and
 * while nothing is in transit no buffer is held. Half-close is independent: the end of one
 * direction is passed on as FIN after all earlier bytes, the other runs on. Reading stops while the
 * other side has bytes to take. Both sockets carry SO_LINGER {1, 0} from birth, cleared on an
 * orderly end, so that neither a sweep nor a death of the process flushes what is queued. */
#pragma once
#include "gateway/proxy/audit.h"
#include "gateway/proxy/binding.h"
#include "gateway/proxy/upstream.h"

struct gw_proxy;

/* What a relay starts from; buffers and watches are handed over. */
struct gw_relay_start {
    struct gw_watch *client;
    struct gw_upstream *upstream; /* taken apart */
    struct gw_buffer up, down;    /* read already, still to be sent */
    struct gw_config *config;     /* a reference, handed over */
    uint32_t slot;
    uint64_t id, began;  /* uv_hrtime of the request */
    bool connect;        /* a tunnel; else a WebSocket */
    bool counted_tunnel; /* holds a place of the network's tunnels */
    bool watch_hello;    /* sni: log */
    bool hello_matched;  /* sni: match, and it did */
    struct gw_host host;
    uint16_t port;
    bool https; /* WebSocket: the target's scheme */
    char *path; /* WebSocket: path and query, for asking again; handed over */
    struct gw_durations durations;
    struct gw_slice sni; /* seen while the ClientHello was held; copied */
    int status;
};

/* On failure (out of memory) everything is closed and recorded. */
void gw_relay_start(struct gw_proxy *proxy, struct gw_relay_start *start);

/* Where a relay leads. */
struct gw_relay_end {
    const struct gw_ip_address *address;
    uint16_t port;
    bool tls;
    bool hello_matched; /* the client's server name was held against the target */
};

/* Closes, at once and both ways, each relay that `stays` refuses; returns how many. */
unsigned gw_relays_sweep(struct gw_proxy *proxy,
                         bool (*stays)(void *context, uint32_t slot, const struct gw_ask *ask,
                                       const struct gw_relay_end *upstream),
                         void *context);

/* All of them: shutting down. Returns how many. */
unsigned gw_relays_close(struct gw_proxy *proxy);
