/* policy/host.h - the one canonical form of a host.
 * Wire hosts, policy entries, credential hosts and exemption hosts all pass through
 * gw_host_parse(); everything later (matching, resolving, SNI, certificate check, upstream Host,
 * log) uses what it made and never the original text. Pure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "policy/ip_address.h"
#include "policy/reason.h"

enum gw_host_class { GW_HOST_NAME = 1, GW_HOST_V4 = 4, GW_HOST_V6 = 6 };

#define GW_HOST_TEXT_MAX 254 /* RFC 1035: 253 bytes without the root dot, and a NUL */

struct gw_host {
    enum gw_host_class class;
    uint8_t length;
    char text[GW_HOST_TEXT_MAX];  /* lower case, no root dot, no brackets; NUL-terminated */
    struct gw_ip_address address; /* V4 and V6 only */
};

/* What the bytes alone say, before any structure is looked for: NONE, USERINFO, or BAD_HOST for one
 * that no host and no authority may hold. */
enum gw_reason gw_host_check_bytes(struct gw_slice text);

/* Returns NONE, BAD_HOST, NUMERIC_HOST, ZONE_ID or USERINFO; `out` is whole only on NONE.
 * Rules (RFC 3986 3.2.2, RFC 1034 3.1, and what resolvers do with the rest):
 * - bytes 0x21..0x7e only; `@` anywhere is USERINFO; `%` in brackets is ZONE_ID, elsewhere BAD_HOST
 * - brackets hold an IPv6 address and nothing else; ::ffff:a.b.c.d is class V4
 * - one root dot is dropped; no other empty label
 * - a last label of digits, or 0x and hex digits, makes it an IPv4 literal, which must be strict,
 *   else NUMERIC_HOST: 127.1, 0x7f.1, 2130706433 and 0177.0.0.1 reach no resolver
 * - a name is labels of 1..63 bytes of [a-z0-9_-], not beginning or ending with '-' */
enum gw_reason gw_host_parse(struct gw_slice text, struct gw_host *out);

/* The host that a literal of this address is; a mapped address becomes class V4. */
void gw_host_of_address(const struct gw_ip_address *address, struct gw_host *out);

/* Is this the canonical text of some host, as it stands in `text` of struct gw_host? For data of
 * our own that is read back; what a peer sends goes through gw_host_parse(). */
bool gw_host_is_canonical(struct gw_slice text, enum gw_host_class *class);

bool gw_host_equal(const struct gw_host *a, const struct gw_host *b);

/* "localhost" and everything below it (RFC 6761 6.3): loopback without a query. */
bool gw_host_is_localhost(const struct gw_host *host);

/* As it stands in an authority: IPv6 in brackets. Returns the length. */
size_t gw_host_print(const struct gw_host *host, char *out, size_t room);

static inline struct gw_slice gw_host_slice(const struct gw_host *host)
{
    return (struct gw_slice){ host->text, host->length };
}
