/* policy/dialable.h - addresses that have been screened, and may be dialled.
 * A struct gw_dialable is made by the screen and nowhere else (the type is opaque), and the dialer
 * takes nothing but it: a connect that skipped the screen cannot be written, and there is no second
 * resolution for a rebinding answer to slip into. */
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include "policy/decision.h"

struct gw_dialable; /* one screened address and port */
struct gw_dialable_set;

#define GW_ADDRESSES_MAX 64 /* records accepted in one answer */

/* Screens the whole set that one resolution returned (or the one literal): every record must pass,
 * one bad record refuses all. Marks are looked for in embedded addresses too, and nothing lifts
 * them; an exemption of the policy for `host` lifts kinds. Mapped IPv6 is dialled as IPv4. Order
 * within a family is kept; families alternate, IPv6 first (RFC 8305 4). Duplicates are dropped.
 *
 * Returns reason NONE and `*out` (owned by the caller), or the refusal, with the first offending
 * address in `*offender` (may be NULL) for the operator's eyes. `out` may be NULL to screen only:
 * a pooled connection is asked again at each use. No address at all is DNS_EMPTY, more than
 * GW_ADDRESSES_MAX is TOO_MANY_ADDRESSES, out of memory is INTERNAL. */
struct gw_refusal gw_dialable_set_make(const struct gw_image *image, const struct gw_own *own,
                                       const struct gw_host *host, uint16_t port,
                                       const struct gw_ip_address *addresses, size_t count,
                                       const struct gw_trace *trace, struct gw_dialable_set **out,
                                       struct gw_ip_address *offender);
/* "localhost" is never looked up (RFC 6761 6.3). These are the addresses that it stands for under
 * this policy: 127.0.0.1 and ::1, as far as an exemption of the name lifts them. Returns how many;
 * 0 for every other name, and where nothing is lifted (gw_decide() has then refused). They pass
 * through gw_dialable_set_make() like the answer of a resolver. */
size_t gw_localhost_addresses(const struct gw_image *image, const struct gw_host *host,
                              struct gw_ip_address out[2]);

void gw_dialable_set_free(struct gw_dialable_set *set);

size_t gw_dialable_count(const struct gw_dialable_set *set);
const struct gw_dialable *gw_dialable_at(const struct gw_dialable_set *set, size_t index);

/* What connect(2) takes; returns the length that counts. */
socklen_t gw_dialable_sockaddr(const struct gw_dialable *dialable, struct sockaddr_storage *out);

/* Is `peer` (from getpeername) the very address and port that was screened? */
bool gw_dialable_is_peer(const struct gw_dialable *dialable, const struct sockaddr_storage *peer);

struct gw_ip_address gw_dialable_address(const struct gw_dialable *dialable);
