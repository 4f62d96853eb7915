/* gateway/supervisor/local_addresses.h - every address of this host, for the loop check and the
 * self-address mark. Read from the kernel; a proxy, which is confined, is told. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "gateway/common/wire.h"
#include "policy/ip_address.h"

struct gw_local_addresses {
    struct gw_ip_address *list; /* owned; sorted, without duplicates */
    size_t count;
};

/* More than fit into one message of the channel is an error: a list that leaves some out would
 * open the way to these. */
bool gw_local_addresses_read(struct gw_local_addresses *out, struct gw_error *err);
void gw_local_addresses_fini(struct gw_local_addresses *addresses);
bool gw_local_addresses_equal(const struct gw_local_addresses *a,
                              const struct gw_local_addresses *b);

/* The payload of GW_MSG_LOCAL_ADDRESSES. */
void gw_local_addresses_put(const struct gw_local_addresses *addresses,
                            struct gw_wire_writer *writer);

/* A netlink socket (non-blocking, close-on-exec) that becomes readable when addresses change, or
 * -1; reading it empty is all there is to do with it. */
int gw_local_addresses_watch(struct gw_error *err);
void gw_local_addresses_drain(int watch);
