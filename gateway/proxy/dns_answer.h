/* gateway/proxy/dns_answer.h - what a name server's answer to one question says.
 * The addresses are those that the end of the CNAME chain owns: the chain begins at the question,
 * is followed within this answer only and without regard to case, and has at most
 * GW_CNAME_LINKS_MAX links. Records of any other owner are used for nothing. Pure. */
#pragma once
#include <ares.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "policy/dialable.h"
#include "policy/ip_address.h"
#include "policy/reason.h"

#define GW_CNAME_LINKS_MAX 16

struct gw_dns_answer {
    enum gw_reason
        reason;     /* NONE, DNS_NXDOMAIN, DNS_EMPTY, DNS_TIMEOUT, DNS_SERVFAIL, DNS_FAILED
                       (refused, malformed, a loop, no server), TOO_MANY_ADDRESSES, INTERNAL */
    uint32_t ttl_s; /* the least of chain and addresses */
    size_t count;   /* 1.. on NONE, else 0; duplicates are kept */
    struct gw_ip_address addresses[GW_ADDRESSES_MAX]; /* in the order of the answer */
};

/* `status` and `record` are what c-ares hands to a callback of ares_query_dnsrec() (`record` may be
 * NULL); `name` is the canonical name that was asked for, `family` (4 or 6) the type. */
void gw_dns_answer_read(ares_status_t status, const ares_dns_record_t *record, struct gw_slice name,
                        uint8_t family, struct gw_dns_answer *out);
