/* gateway/proxy/door.h - the listening sockets that all proxies share, as one of them sees them.
 * Accepting stops before the last descriptor is used, and starts again when there is room: the
 * queue in the kernel, or another process, has the new connection meanwhile. */
#pragma once
#include "gateway/proxy/proxy.h"

struct gw_doors;

struct gw_doors *gw_doors_new(struct gw_proxy *proxy);
void gw_doors_free(struct gw_doors *doors);

/* A listening socket has arrived (taken); it is used once a configuration names its id. */
bool gw_doors_take(struct gw_doors *doors, uint32_t id, int fd);
/* The listeners of the configuration now in force; others are closed. */
void gw_doors_apply(struct gw_doors *doors);
/* Somebody has gone: open again if there is room. */
void gw_doors_reconsider(struct gw_doors *doors);
/* For good: draining. */
void gw_doors_close(struct gw_doors *doors);
