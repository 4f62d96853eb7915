/* policy/own.h - is an address this gateway's? Private to decision.c and dialable.c. Pure.
 * `own` may be NULL: nothing is known, so nothing is ours. */
#pragma once
#include "policy/decision.h"

/* 127/8 and ::1, in any spelling. */
bool gw_own_is_loopback(const struct gw_ip_address *address);

/* Would a connection to this address and port reach one of our own listeners? Every loopback and
 * unspecified address counts for every listener: the kernel may route them to it. */
bool gw_own_is_listener(const struct gw_own *own, const struct gw_ip_address *address,
                        uint16_t port);

/* Is it an address of this host, other than loopback? */
bool gw_own_has_address(const struct gw_own *own, const struct gw_ip_address *address);
