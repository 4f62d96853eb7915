#include "gateway/proxy/dns_answer.h"

#include <string.h>

#include "base/check.h"

static enum gw_reason reason_of(ares_status_t status)
{
    if (status == ARES_SUCCESS)
        return GW_REASON_NONE;
    if (status == ARES_ENODATA)
        return GW_REASON_DNS_EMPTY;
    if (status == ARES_ENOTFOUND)
        return GW_REASON_DNS_NXDOMAIN;
    if (status == ARES_ESERVFAIL)
        return GW_REASON_DNS_SERVFAIL;
    if (status == ARES_ETIMEOUT)
        return GW_REASON_DNS_TIMEOUT;
    if (status == ARES_ENOMEM)
        return GW_REASON_INTERNAL;
    return GW_REASON_DNS_FAILED; /* refused, not implemented, malformed, nobody there, ... */
}

/* Is the message what its status says? c-ares retries over TCP what was truncated on UDP; one that
 * is still marked as truncated is a part of an answer, and so not used. Response codes that c-ares
 * has no status for come as a success. */
static bool is_whole(ares_status_t status, const ares_dns_record_t *record)
{
    unsigned short flags = ares_dns_record_get_flags(record);
    ares_dns_rcode_t rcode = ares_dns_record_get_rcode(record);
    return (flags & ARES_FLAG_QR) != 0 && (flags & ARES_FLAG_TC) == 0
           && ares_dns_record_get_opcode(record) == ARES_OPCODE_QUERY
           && rcode == (status == ARES_ENOTFOUND ? ARES_RCODE_NXDOMAIN : ARES_RCODE_NOERROR);
}

/* The next record of that owner and type, from `*at` on; NULL when there is none. */
static const ares_dns_rr_t *next_record(const ares_dns_record_t *record, size_t *at,
                                        struct gw_slice owner, ares_dns_rec_type_t type)
{
    while (*at < ares_dns_record_rr_cnt(record, ARES_SECTION_ANSWER)) {
        const ares_dns_rr_t *rr =
            ares_dns_record_rr_get_const(record, ARES_SECTION_ANSWER, (*at)++);
        if (rr != NULL && ares_dns_rr_get_type(rr) == type
            && ares_dns_rr_get_class(rr) == ARES_CLASS_IN
            && gw_slice_equal_nocase(gw_slice_of(ares_dns_rr_get_name(rr)), owner))
            return rr;
    }
    return NULL;
}

static void lower_ttl(struct gw_dns_answer *answer, const ares_dns_rr_t *rr)
{
    uint32_t ttl_s = ares_dns_rr_get_ttl(rr);
    if (ttl_s > INT32_MAX)
        ttl_s = 0; /* RFC 2181, section 8 */
    if (ttl_s < answer->ttl_s)
        answer->ttl_s = ttl_s;
}

/* Moves `owner` to the end of the chain; false when there is none: a loop, too many links, or an
 * owner with two different targets (RFC 2181, 10.1), of which a choice would be a guess. */
static bool follow_chain(const ares_dns_record_t *record, struct gw_slice *owner,
                         struct gw_dns_answer *answer)
{
    for (unsigned links = 0; links <= GW_CNAME_LINKS_MAX; links++) {
        struct gw_slice target = { NULL, 0 };
        const ares_dns_rr_t *rr;
        bool found = false;
        size_t at = 0;
        while ((rr = next_record(record, &at, *owner, ARES_REC_TYPE_CNAME)) != NULL) {
            struct gw_slice to = gw_slice_of(ares_dns_rr_get_str(rr, ARES_RR_CNAME_CNAME));
            if (found && !gw_slice_equal_nocase(to, target))
                return false;
            found = true;
            target = to;
            lower_ttl(answer, rr);
        }
        if (!found)
            return true;
        *owner = target;
    }
    return false;
}

static bool read_address(const ares_dns_rr_t *rr, uint8_t family, struct gw_ip_address *out)
{
    const void *bytes = family == 4 ? (const void *)ares_dns_rr_get_addr(rr, ARES_RR_A_ADDR)
                                    : (const void *)ares_dns_rr_get_addr6(rr, ARES_RR_AAAA_ADDR);
    if (bytes == NULL)
        return false;
    memset(out, 0, sizeof *out);
    out->family = family;
    memcpy(out->bytes, bytes, family == 4 ? 4 : 16);
    return true;
}

static enum gw_reason read_addresses(const ares_dns_record_t *record, struct gw_slice name,
                                     uint8_t family, struct gw_dns_answer *answer)
{
    ares_dns_rec_type_t type = family == 4 ? ARES_REC_TYPE_A : ARES_REC_TYPE_AAAA;
    const ares_dns_rr_t *rr;
    size_t at = 0;
    answer->ttl_s = INT32_MAX;
    if (!follow_chain(record, &name, answer))
        return GW_REASON_DNS_FAILED;
    while ((rr = next_record(record, &at, name, type)) != NULL) {
        if (answer->count == GW_ADDRESSES_MAX)
            return GW_REASON_TOO_MANY_ADDRESSES;
        if (!read_address(rr, family, &answer->addresses[answer->count]))
            return GW_REASON_DNS_FAILED;
        answer->count++;
        lower_ttl(answer, rr);
    }
    return answer->count == 0 ? GW_REASON_DNS_EMPTY : GW_REASON_NONE;
}

void gw_dns_answer_read(ares_status_t status, const ares_dns_record_t *record, struct gw_slice name,
                        uint8_t family, struct gw_dns_answer *out)
{
    gw_check(family == 4 || family == 6);
    out->count = 0;
    out->ttl_s = 0;
    out->reason = reason_of(status);
    if (status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND) {
        if (record == NULL || !is_whole(status, record))
            out->reason = GW_REASON_DNS_FAILED;
        else if (status == ARES_SUCCESS)
            out->reason = read_addresses(record, name, family, out);
    }
    if (out->reason != GW_REASON_NONE) {
        out->count = 0;
        out->ttl_s = 0;
    }
}
