/* policy/ip_screen.h - where does this address lead?
 * The name was allowed; this asks whether its address may be dialled. Deny by default: only
 * globally reachable unicast passes. Ranges: RFC 6890 and the IANA special-purpose registries, one
 * a line in ip_range_table.h. An IPv4 address inside an IPv6 one (mapped, compatible, translated,
 * NAT64, 6to4, Teredo, ISATAP) is judged as the address that it reaches. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/address_kind.h"
#include "policy/ip_address.h"

/* GW_KIND_GLOBAL for an address that anybody may reach, else what it is. */
enum gw_address_kind gw_ip_screen(const struct gw_ip_address *address);

/* The same for text; a zone id gives the kind of the address without it, else ZONE_ID, and what
 * does not parse is UNPARSEABLE. */
enum gw_address_kind gw_ip_screen_text(struct gw_slice text);

/* The IPv4 address that an IPv6 address reaches or may reach, for every transition form that the
 * table knows; up to 2 (Teredo names a server and a client). Returns how many. */
size_t gw_ip_embedded(const struct gw_ip_address *address, struct gw_ip_address out[2]);

/* Is this one of the cloud metadata services or host agents? Embedded forms count. */
bool gw_ip_is_metadata(const struct gw_ip_address *address);

/* For tests and documents: the table itself, row by row; false past the end. */
struct gw_ip_range {
    struct gw_cidr range;
    enum gw_address_kind kind;
};
bool gw_ip_range_at(size_t index, struct gw_ip_range *out);
