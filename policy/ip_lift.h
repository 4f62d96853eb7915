/* policy/ip_lift.h - what an exemption of the screen reaches.
 * Private to dialable.c and the builder. Pure. */
#pragma once
#include "policy/ip_screen.h"

/* May an exemption without cidrs let this address through? */
bool gw_ip_lift_by_default(const struct gw_ip_address *address);

/* May an exemption with this range? The address must lie in it, and no kind involved may be one
 * that is never lifted. A range of IPv4 holds a mapped or NAT64 address by the IPv4 address that it
 * spells; every other envelope must be named itself. */
bool gw_ip_lift_by_range(const struct gw_ip_address *address, const struct gw_cidr *range);

/* Is there an address in the range that the range would let through? */
bool gw_ip_lift_is_possible(const struct gw_cidr *range);
