/* policy/ip_address.h - IPv4 and IPv6 addresses and prefixes, from and to text.
 * Strict: the dotted quad has four decimal parts without leading zeros, IPv6 is RFC 4291 2.2
 * (inet_pton's grammar), no zone id, no brackets, no blanks. Pure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define GW_IP_ADDRESS_TEXT_MAX 46
#define GW_CIDR_TEXT_MAX 50

struct gw_ip_address {
    uint8_t family;    /* 4 or 6 */
    uint8_t bytes[16]; /* network order; IPv4 uses the first 4, the others are 0 */
};

struct gw_cidr {
    struct gw_ip_address address; /* bits behind the prefix are 0 */
    uint8_t prefix;               /* 0..32 or 0..128 */
};

bool gw_ip_address_parse(struct gw_slice text, struct gw_ip_address *out);

/* RFC 5952 for IPv6; returns the length. `room` >= GW_IP_ADDRESS_TEXT_MAX never truncates. */
size_t gw_ip_address_print(const struct gw_ip_address *address, char *out, size_t room);

bool gw_ip_address_equal(const struct gw_ip_address *a, const struct gw_ip_address *b);

/* An IPv4 address written as ::ffff:a.b.c.d becomes that IPv4 address; others stay. The kernel
 * connects the mapped form to the embedded address, so both must be judged and dialled alike. */
struct gw_ip_address gw_ip_address_unmap(const struct gw_ip_address *address);

/* "10.0.0.0/8", "fd00::/8", or an address alone (/32, /128). Bits behind the prefix must be 0: a
 * range that says something else than it means is a mistake, not a short-hand. */
bool gw_cidr_parse(struct gw_slice text, struct gw_cidr *out);
/* The same from parts. A range of mapped addresses (::ffff:10.0.0.0/104) becomes the IPv4 range:
 * addresses are unmapped before they are compared, so the mapped spelling would hold nothing. */
bool gw_cidr_make(const struct gw_ip_address *address, unsigned prefix, struct gw_cidr *out);
size_t gw_cidr_print(const struct gw_cidr *cidr, char *out, size_t room);
/* An IPv4 range holds IPv4 addresses only; a mapped IPv6 address is unmapped first. */
bool gw_cidr_contains(const struct gw_cidr *cidr, const struct gw_ip_address *address);
