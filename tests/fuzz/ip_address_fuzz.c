/* tests/fuzz/ip_address_fuzz.c - the parser against inet_pton, printing against parsing, ranges
 * against their bits, and the screen against a classification that shares nothing with its table:
 * comparisons of numbers, written down once more from specification 2.3. */
#include <arpa/inet.h>
#include <stdint.h>

#include "base/check.h"
#include "policy/ip_screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the classification ------------------------------------------------------------------ */

static uint32_t read_32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint64_t read_64(const uint8_t *at)
{
    return (uint64_t)read_32(at) << 32 | read_32(at + 4);
}

static enum gw_address_kind kind_4(uint32_t a)
{
    if (a <= 0x00ffffff)
        return GW_KIND_THIS_HOST;
    if (a >= 0x0a000000 && a <= 0x0affffff)
        return GW_KIND_PRIVATE;
    if (a >= 0xac100000 && a <= 0xac1fffff)
        return GW_KIND_PRIVATE;
    if (a >= 0xc0a80000 && a <= 0xc0a8ffff)
        return GW_KIND_PRIVATE;
    if (a >= 0x64400000 && a <= 0x647fffff)
        return GW_KIND_SHARED;
    if (a >= 0x7f000000 && a <= 0x7fffffff)
        return GW_KIND_LOOPBACK;
    if (a >= 0xa9fe0000 && a <= 0xa9feffff)
        return GW_KIND_LINK_LOCAL;
    if (a >= 0xc6120000 && a <= 0xc613ffff)
        return GW_KIND_BENCHMARKING;
    if (a >= 0xf0000000)
        return GW_KIND_RESERVED;
    if (a >= 0xe0000000)
        return GW_KIND_MULTICAST;
    if (a >= 0xc0000000 && a <= 0xc00000ff)
        return GW_KIND_IETF_PROTOCOL;
    if ((a >= 0xc0000200 && a <= 0xc00002ff) || (a >= 0xc6336400 && a <= 0xc63364ff)
        || (a >= 0xcb007100 && a <= 0xcb0071ff))
        return GW_KIND_DOCUMENTATION;
    if (a >= 0xc0586300 && a <= 0xc05863ff)
        return GW_KIND_DEPRECATED_RELAY;
    return a == 0xa83f8110 ? GW_KIND_PLATFORM_ENDPOINT : GW_KIND_GLOBAL;
}

static enum gw_address_kind or_else(uint32_t inner, enum gw_address_kind outer)
{
    enum gw_address_kind kind = kind_4(inner);
    return kind != GW_KIND_GLOBAL ? kind : outer;
}

/* Rows 3 to 10: what carries an IPv4 address; false when no row applies. */
static bool kind_carrying(uint64_t high, uint64_t low, enum gw_address_kind *kind)
{
    uint32_t last = (uint32_t)low;
    if (high == 0 && low <= 1)
        *kind = low == 0 ? GW_KIND_UNSPECIFIED : GW_KIND_LOOPBACK;
    else if (high == 0 && low >> 32 == 0xffff)
        *kind = kind_4(last);
    else if (high == 0 && low >> 32 == 0)
        *kind = or_else(last, GW_KIND_IPV4_COMPATIBLE);
    else if (high == 0 && low >> 32 == 0xffff0000)
        *kind = or_else(last, GW_KIND_IPV4_TRANSLATED);
    else if (high == 0x0064ff9b00000000 && low >> 32 == 0)
        *kind = kind_4(last);
    else if (high >> 16 == 0x0064ff9b0001)
        *kind = GW_KIND_NAT64_LOCAL;
    else if (high >> 48 == 0x2002)
        *kind = or_else((uint32_t)(high >> 16), GW_KIND_SIX_TO_FOUR);
    else if (high >> 32 == 0x20010000)
        *kind = or_else(~last, or_else((uint32_t)high, GW_KIND_TEREDO));
    else
        return false;
    return true;
}

/* Rows 11 to 16. */
static enum gw_address_kind kind_plain(uint64_t high, uint64_t low)
{
    uint64_t first = high >> 48, second = high >> 32 & 0xffff;
    if (high >> 16 == 0x200100020000)
        return GW_KIND_BENCHMARKING;
    if (first == 0x2001 && second >= 0x10 && second <= 0x2f)
        return GW_KIND_ORCHID;
    if ((first == 0x2001 && second == 0xdb8) || high >> 44 == 0x3fff0)
        return GW_KIND_DOCUMENTATION;
    if (first == 0x2001 && second <= 0x1ff)
        return GW_KIND_IETF_PROTOCOL;
    if (high == 0x0100000000000000)
        return GW_KIND_DISCARD;
    if (high == 0x0100000000000001)
        return GW_KIND_RESERVED;
    if (first == 0x5f00)
        return GW_KIND_SRV6_SID;
    if (first >= 0xfc00 && first <= 0xfdff)
        return GW_KIND_UNIQUE_LOCAL;
    if (first >= 0xfe80 && first <= 0xfebf)
        return GW_KIND_LINK_LOCAL;
    if (first >= 0xfec0 && first <= 0xfeff)
        return GW_KIND_SITE_LOCAL;
    if (first >= 0xff00)
        return GW_KIND_MULTICAST;
    if (first < 0x2000 || first > 0x3fff)
        return GW_KIND_NOT_GLOBAL_UNICAST;
    if (low >> 32 == 0x00005efe || low >> 32 == 0x02005efe)
        return kind_4((uint32_t)low);
    return GW_KIND_GLOBAL;
}

static enum gw_address_kind kind_of(const struct gw_ip_address *address)
{
    enum gw_address_kind kind;
    if (address->family == 4)
        return kind_4(read_32(address->bytes));
    uint64_t high = read_64(address->bytes), low = read_64(address->bytes + 8);
    return kind_carrying(high, low, &kind) ? kind : kind_plain(high, low);
}

/* ---- the properties ---------------------------------------------------------------------- */

static void check_address(const struct gw_ip_address *address)
{
    char text[GW_IP_ADDRESS_TEXT_MAX];
    struct gw_ip_address again, inner[2];
    size_t length = gw_ip_address_print(address, text, sizeof text);
    gw_check(gw_ip_address_parse((struct gw_slice){ text, length }, &again));
    gw_check(gw_ip_address_equal(address, &again));
    gw_check(gw_ip_screen(address) == kind_of(address));
    struct gw_ip_address unmapped = gw_ip_address_unmap(address);
    gw_check(gw_ip_screen(&unmapped) == gw_ip_screen(address));
    for (size_t count = gw_ip_embedded(address, inner); count > 0; count--)
        gw_check(inner[count - 1].family == 4);
    struct gw_cidr itself;
    gw_check(gw_cidr_make(address, address->family == 4 ? 32 : 128, &itself));
    gw_check(gw_cidr_contains(&itself, address));
}

static void check_text(struct gw_slice text)
{
    struct gw_ip_address address;
    unsigned char bytes[16];
    char copy[64];
    bool parsed = gw_ip_address_parse(text, &address);
    if (text.length < sizeof copy
        && (text.length == 0 || memchr(text.data, '\0', text.length) == NULL)) {
        if (text.length > 0)
            memcpy(copy, text.data, text.length);
        copy[text.length] = '\0';
        bool six = strchr(copy, ':') != NULL;
        gw_check(parsed == (inet_pton(six ? AF_INET6 : AF_INET, copy, bytes) == 1));
        gw_check(!parsed || memcmp(bytes, address.bytes, six ? 16 : 4) == 0);
    } else {
        gw_check(!parsed);
    }
    if (parsed)
        check_address(&address);
    gw_check(parsed || gw_ip_screen_text(text) != GW_KIND_GLOBAL);
}

static void check_range(struct gw_slice text)
{
    struct gw_cidr range, again;
    char printed[GW_CIDR_TEXT_MAX];
    if (!gw_cidr_parse(text, &range))
        return;
    size_t length = gw_cidr_print(&range, printed, sizeof printed);
    gw_check(gw_cidr_parse((struct gw_slice){ printed, length }, &again));
    gw_check(again.prefix == range.prefix && gw_ip_address_equal(&again.address, &range.address));
    struct gw_ip_address last = range.address, behind;
    unsigned bits = last.family == 4 ? 32 : 128;
    for (unsigned bit = range.prefix; bit < bits; bit++)
        last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    behind = gw_ip_address_unmap(&last);
    if (behind.family == range.address.family)
        gw_check(gw_cidr_contains(&range, &last));
    if (range.prefix > 0) {
        behind = range.address;
        behind.bytes[(range.prefix - 1u) / 8] ^= (uint8_t)(0x80 >> (range.prefix - 1u) % 8);
        gw_check(!gw_cidr_contains(&range, &behind));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_slice text = { (const char *)data, size };
    check_text(text);
    check_range(text);
    if (size == 4 || size == 16) {
        struct gw_ip_address address = { .family = size == 4 ? 4 : 6 };
        memcpy(address.bytes, data, size);
        check_address(&address);
    }
    return 0;
}
