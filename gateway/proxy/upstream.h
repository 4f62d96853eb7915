/* gateway/proxy/upstream.h - one connection to an upstream, plain or TLS. */
#pragma once
#include "gateway/proxy/buffer.h"
#include "gateway/proxy/timers.h"
#include "gateway/proxy/tls.h"

struct gw_upstream {
    struct gw_watch *watch;       /* owned */
    struct gw_tls *tls;           /* owned; NULL: plain */
    struct gw_ip_address address; /* screened, and dialled */
    struct gw_host host;
    uint16_t port;
    struct gw_buffer out; /* waiting to be written */
    struct gw_buffer in;  /* read, not yet understood */
    bool reused;          /* has served a request before */
    /* while kept in the pool */
    struct gw_list link;
    struct gw_timer idle;
    uint32_t slot; /* network that it is private to */
    uint64_t stamp_key;
    struct gw_trust *trust; /* a reference; NULL: plain */
    void *keeper;           /* the pool */
};

/* Takes the watch. NULL when out of memory (the watch is closed then). `trust` NULL: plain. */
struct gw_upstream *gw_upstream_new(struct gw_watch *watch, const struct gw_ip_address *address,
                                    const struct gw_host *host, uint16_t port,
                                    struct gw_trust *trust);
void gw_upstream_free(struct gw_upstream *upstream); /* closes; NULL is fine */

/* Writes as much of `out` as goes. OK: all of it. */
enum gw_io gw_upstream_flush(struct gw_upstream *upstream);
enum gw_io gw_upstream_read(struct gw_upstream *upstream, void *out, size_t room, size_t *length);

/* One socket, read and written without blocking; used for clients too. */
enum gw_io gw_watch_read(struct gw_watch *watch, void *out, size_t room, size_t *length);
enum gw_io gw_watch_write(struct gw_watch *watch, const void *data, size_t length, size_t *written);
enum gw_io gw_watch_flush(struct gw_watch *watch, struct gw_buffer *out);
/* false: a close throws away what is queued, and the peer gets a reset. True, as at birth: what is
 * queued still goes. */
void gw_watch_linger(struct gw_watch *watch, bool on);
