/* gateway/supervisor/listener.h - a listening socket, made once and shared by all proxies.
 * Counted references: a reload keeps the socket of an address that is still wanted, so that not
 * one connection in its queue is lost. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/config/settings.h"

struct gw_listener {
    unsigned references;
    uint32_t id; /* of GW_MSG_LISTENER; never used again for another socket */
    struct gw_endpoint wanted;
    uint16_t port; /* the one that was bound; differs from `wanted` only if that is 0 */
    int fd;        /* -1: closed */
};

/* Binds and listens: close-on-exec, non-blocking, IPv6 for IPv6 alone. One reference. NULL and
 * `err` (which names the address) on failure. */
struct gw_listener *gw_listener_new(const struct gw_endpoint *wanted, struct gw_error *err);
struct gw_listener *gw_listener_ref(struct gw_listener *listener);
void gw_listener_unref(struct gw_listener *listener); /* NULL is fine */

/* Our copy of the socket, now, whoever has references: once the proxies have closed theirs too,
 * clients are refused instead of waiting in a queue that nobody reads. */
void gw_listener_close(struct gw_listener *listener);

bool gw_endpoint_equal(const struct gw_endpoint *a, const struct gw_endpoint *b);

/* "127.0.0.1:3128", "[::1]:3128". */
#define GW_ENDPOINT_TEXT_MAX 56
void gw_endpoint_print(const struct gw_endpoint *endpoint, uint16_t port, char *out);
