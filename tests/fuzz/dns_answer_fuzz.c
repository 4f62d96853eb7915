/* tests/fuzz/dns_answer_fuzz.c - any bytes, read as an answer to "api.acme.test".
 * The first byte chooses family and status. Counts, families and TTL keep within their limits, and
 * an answer that is not usable holds no address. */
#include <stdint.h>

#include "base/check.h"
#include "gateway/proxy/dns_answer.h"

static void check_answer(const struct gw_dns_answer *answer, uint8_t family)
{
    if (answer->reason != GW_REASON_NONE) {
        gw_check(answer->count == 0 && answer->ttl_s == 0);
        return;
    }
    gw_check(answer->count >= 1 && answer->count <= GW_ADDRESSES_MAX);
    gw_check(answer->ttl_s <= INT32_MAX);
    for (size_t i = 0; i < answer->count; i++) {
        gw_check(answer->addresses[i].family == family);
        for (size_t k = family == 4 ? 4 : 16; k < 16; k++)
            gw_check(answer->addresses[i].bytes[k] == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ares_status_t others[] = { ARES_ENODATA,     ARES_ENOTFOUND, ARES_ESERVFAIL,
                                            ARES_EREFUSED,    ARES_ETIMEOUT,  ARES_EBADRESP,
                                            ARES_ECONNREFUSED };
    struct gw_dns_answer answer;
    ares_dns_record_t *record = NULL;
    if (size < 1)
        return 0;
    uint8_t family = data[0] % 2 == 0 ? 4 : 6;
    ares_status_t other = others[data[0] / 2 % (sizeof others / sizeof others[0])];
    ares_status_t status = ares_dns_parse(data + 1, size - 1, 0, &record);
    gw_dns_answer_read(status, record, GW_SLICE("api.acme.test"), family, &answer);
    check_answer(&answer, family);
    gw_check(status == ARES_SUCCESS || answer.reason != GW_REASON_NONE);
    gw_dns_answer_read(other, record, GW_SLICE("api.acme.test"), family, &answer);
    gw_check(answer.reason != GW_REASON_NONE);
    check_answer(&answer, family);
    ares_dns_record_destroy(record);
    return 0;
}
