/* tests/fuzz/host_fuzz.c - what is accepted has one form, and is nothing that a resolver or a C
 * string would read in another way. */
#define _GNU_SOURCE /* inet_aton */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>

#include "base/check.h"
#include "policy/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bytes(const struct gw_host *host)
{
    gw_check(host->length > 0 && host->length < GW_HOST_TEXT_MAX);
    gw_check(strlen(host->text) == host->length); /* no NUL inside, one behind */
    for (size_t i = 0; i < host->length; i++)
        gw_check(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.:", host->text[i]) != NULL);
}

/* No name that the C library, asked for an address, would answer without a query. */
static void check_class(const struct gw_host *host)
{
    struct in_addr loose;
    struct in6_addr six;
    unsigned char strict[4];
    switch (host->class) {
    case GW_HOST_NAME:
        gw_check(inet_aton(host->text, &loose) == 0);
        gw_check(strchr(host->text, ':') == NULL);
        break;
    case GW_HOST_V4:
        gw_check(inet_pton(AF_INET, host->text, strict) == 1);
        gw_check(memcmp(strict, host->address.bytes, 4) == 0);
        break;
    case GW_HOST_V6:
        gw_check(inet_pton(AF_INET6, host->text, &six) == 1);
        gw_check(memcmp(&six, host->address.bytes, 16) == 0);
        gw_check(!IN6_IS_ADDR_V4MAPPED(&six));
    }
}

/* Letter case and the root dot change nothing. */
static void check_variants(struct gw_slice text, const struct gw_host *host)
{
    char other[GW_HOST_TEXT_MAX + 8];
    struct gw_host again;
    gw_check(text.length < sizeof other);
    for (size_t i = 0; i < text.length; i++)
        other[i] = (char)toupper((unsigned char)text.data[i]);
    gw_check(gw_host_parse((struct gw_slice){ other, text.length }, &again) == GW_REASON_NONE);
    gw_check(gw_host_equal(host, &again));
    if (host->class == GW_HOST_V6 || text.data[0] == '[' || text.data[text.length - 1] == '.')
        return;
    other[text.length] = '.';
    gw_check(gw_host_parse((struct gw_slice){ other, text.length + 1 }, &again) == GW_REASON_NONE);
    gw_check(gw_host_equal(host, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_slice text = { (const char *)data, size };
    struct gw_host first, second;
    char printed[GW_HOST_TEXT_MAX + 2];
    enum gw_reason reason = gw_host_parse(text, &first);
    if (reason != GW_REASON_NONE) {
        gw_check(reason == GW_REASON_BAD_HOST || reason == GW_REASON_NUMERIC_HOST
                 || reason == GW_REASON_ZONE_ID || reason == GW_REASON_USERINFO);
        return 0;
    }
    check_bytes(&first);
    check_class(&first);
    check_variants(text, &first);
    enum gw_host_class class;
    gw_check(gw_host_is_canonical(gw_host_slice(&first), &class) && class == first.class);
    size_t length = gw_host_print(&first, printed, sizeof printed);
    gw_check(gw_host_parse((struct gw_slice){ printed, length }, &second) == GW_REASON_NONE);
    gw_check(gw_host_equal(&first, &second));
    if (first.class != GW_HOST_NAME) {
        struct gw_host made;
        gw_host_of_address(&first.address, &made);
        gw_check(gw_host_equal(&first, &made));
    }
    return 0;
}
