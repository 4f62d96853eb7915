/* policy/ip_ranges.h - the table of ip_range_table.h, and the IPv4 addresses inside IPv6 ones.
 * Private to the screen (ip_screen.c, ip_lift.c, dialable.c). Pure. */
#pragma once
#include "policy/ip_screen.h"

enum gw_ip_carries {
    GW_CARRIES_NOTHING,
    GW_CARRIES_LAST_32,  /* mapped, compatible, translated, NAT64 with the well-known prefix */
    GW_CARRIES_FIRST_16, /* behind the first 16 bits: 6to4 */
    GW_CARRIES_TEREDO,   /* the client inverted in the last 32 bits, the server behind 32 bits */
    GW_CARRIES_ANYWHERE, /* local NAT64: wherever RFC 6052 2.2 lets its operator put it */
};

struct gw_ip_row {
    struct gw_ip_range is;
    enum gw_ip_carries carries;
};

const struct gw_ip_row *gw_ip_rows(size_t *count);

/* The first row that holds the address, or NULL: global unicast. */
const struct gw_ip_row *gw_ip_row_of(const struct gw_ip_address *address);

/* Every IPv4 address that the address may reach, ISATAP's included, in the order in which they are
 * judged. gw_ip_embedded() gives the first two. */
#define GW_IP_INNER_MAX 5
size_t gw_ip_inner(const struct gw_ip_address *address, struct gw_ip_address out[GW_IP_INNER_MAX]);

/* Is the interface identifier that of ISATAP (RFC 5214 6.1)? */
bool gw_ip_is_isatap(const struct gw_ip_address *address);
