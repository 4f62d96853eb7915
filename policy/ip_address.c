/* policy/ip_address.c */
#include "policy/ip_address.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"

static const unsigned char mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = gw_lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Four decimal parts, no leading zeros: inet_aton() would read those as octal. */
static bool parse_v4(struct gw_slice text, unsigned char out[4])
{
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (at == text.length || text.data[at++] != '.'))
            return false;
        size_t start = at;
        unsigned value = 0;
        while (at < text.length && at - start < 3 && text.data[at] >= '0' && text.data[at] <= '9')
            value = value * 10 + (unsigned)(text.data[at++] - '0');
        if (at == start || value > 255 || (at - start > 1 && text.data[start] == '0'))
            return false;
        out[part] = (unsigned char)value;
    }
    return at == text.length;
}

/* RFC 4291 2.2: eight groups; one "::" for a run of at least one zero group; a dotted quad may
 * stand for the last two. */
static bool parse_v6(struct gw_slice text, unsigned char out[16])
{
    enum { NO_GAP = 17 }; /* "::" behind eight groups is at 16, and refused */
    unsigned char bytes[16] = { 0 };
    size_t filled = 0, gap = NO_GAP, at = 0;
    if (text.length >= 2 && text.data[0] == ':' && text.data[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < text.length) {
        size_t start = at;
        unsigned value = 0;
        int digit;
        while (at < text.length && at - start < 4 && (digit = hex_digit(text.data[at])) >= 0) {
            value = value << 4 | (unsigned)digit;
            at++;
        }
        if (at < text.length && text.data[at] == '.') {
            struct gw_slice quad = { text.data + start, text.length - start };
            if (filled > 12 || !parse_v4(quad, bytes + filled))
                return false;
            filled += 4;
            break;
        }
        if (at == start || filled == 16)
            return false;
        bytes[filled++] = (unsigned char)(value >> 8);
        bytes[filled++] = (unsigned char)value;
        if (at == text.length)
            break;
        if (text.data[at++] != ':' || at == text.length)
            return false;
        if (text.data[at] == ':') {
            if (gap != NO_GAP)
                return false;
            gap = filled;
            at++;
        }
    }
    if (gap == NO_GAP ? filled != 16 : filled == 16)
        return false;
    memset(out, 0, 16);
    if (gap == NO_GAP)
        gap = filled;
    memcpy(out, bytes, gap);
    memcpy(out + 16 - (filled - gap), bytes + gap, filled - gap);
    return true;
}

bool gw_ip_address_parse(struct gw_slice text, struct gw_ip_address *out)
{
    struct gw_ip_address address = { 0 };
    if (text.length == 0 || text.length >= GW_IP_ADDRESS_TEXT_MAX)
        return false;
    if (memchr(text.data, ':', text.length) != NULL) {
        address.family = 6;
        if (!parse_v6(text, address.bytes))
            return false;
    } else {
        address.family = 4;
        if (!parse_v4(text, address.bytes))
            return false;
    }
    *out = address;
    return true;
}

static void print_v4(const unsigned char bytes[4], struct gw_text *text)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            gw_text_add_char(text, '.');
        gw_text_add_number(text, bytes[i]);
    }
}

static unsigned group_at(const unsigned char bytes[16], int index)
{
    return (unsigned)bytes[2 * index] << 8 | bytes[2 * index + 1];
}

/* RFC 5952 4: lower case, no leading zeros, "::" for the longest run of at least two zero groups,
 * the first of equals. RFC 5952 5: the mapped form shows its IPv4 address. */
static void print_v6(const unsigned char bytes[16], struct gw_text *text)
{
    bool mapped = memcmp(bytes, mapped_prefix, sizeof mapped_prefix) == 0;
    int groups = mapped ? 6 : 8, run = -1, run_length = 1;
    for (int i = 0; i < groups; i++) {
        int end = i;
        while (end < groups && group_at(bytes, end) == 0)
            end++;
        if (end - i > run_length) {
            run = i;
            run_length = end - i;
        }
    }
    for (int i = 0; i < groups; i++) {
        if (i == run) {
            gw_text_add_string(text, "::");
            i += run_length - 1;
            continue;
        }
        if (i > 0 && i != run + run_length)
            gw_text_add_char(text, ':');
        gw_text_addf(text, "%x", group_at(bytes, i));
    }
    if (mapped) {
        gw_text_add_char(text, ':');
        print_v4(bytes + 12, text);
    }
}

static void print_address(const struct gw_ip_address *address, struct gw_text *text)
{
    if (address->family == 4)
        print_v4(address->bytes, text);
    else
        print_v6(address->bytes, text);
}

size_t gw_ip_address_print(const struct gw_ip_address *address, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    print_address(address, &text);
    return text.length;
}

bool gw_ip_address_equal(const struct gw_ip_address *a, const struct gw_ip_address *b)
{
    return a->family == b->family
           && memcmp(a->bytes, b->bytes, a->family == 4 ? 4 : sizeof a->bytes) == 0;
}

struct gw_ip_address gw_ip_address_unmap(const struct gw_ip_address *address)
{
    if (address->family != 6 || memcmp(address->bytes, mapped_prefix, sizeof mapped_prefix) != 0)
        return *address;
    struct gw_ip_address inner = { .family = 4 };
    memcpy(inner.bytes, address->bytes + 12, 4);
    return inner;
}

/* The first `prefix` bits, for 0 <= prefix <= 128. */
static bool same_prefix(const unsigned char *a, const unsigned char *b, unsigned prefix)
{
    unsigned whole = prefix / 8, rest = prefix % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

bool gw_cidr_make(const struct gw_ip_address *address, unsigned prefix, struct gw_cidr *out)
{
    if ((address->family != 4 && address->family != 6)
        || prefix > (address->family == 4 ? 32u : 128u))
        return false;
    struct gw_cidr cidr = { .address = { .family = address->family }, .prefix = (uint8_t)prefix };
    unsigned length = address->family == 4 ? 4 : 16;
    for (unsigned i = 0; i < length; i++) {
        unsigned kept = prefix <= i * 8 ? 0 : prefix - i * 8;
        unsigned mask = kept >= 8 ? 0xff : 0xff00u >> kept & 0xff;
        if ((address->bytes[i] & ~mask) != 0)
            return false;
        cidr.address.bytes[i] = address->bytes[i];
    }
    if (prefix >= 96)
        cidr.address = gw_ip_address_unmap(&cidr.address);
    if (cidr.address.family != address->family)
        cidr.prefix = (uint8_t)(prefix - 96);
    *out = cidr;
    return true;
}

bool gw_cidr_parse(struct gw_slice text, struct gw_cidr *out)
{
    struct gw_ip_address address;
    uint64_t prefix;
    const char *slash = text.length == 0 ? NULL : memchr(text.data, '/', text.length);
    size_t length = slash == NULL ? text.length : (size_t)(slash - text.data);
    if (!gw_ip_address_parse((struct gw_slice){ text.data, length }, &address))
        return false;
    if (slash == NULL)
        return gw_cidr_make(&address, address.family == 4 ? 32 : 128, out);
    struct gw_slice rest = { slash + 1, text.length - length - 1 };
    return gw_number_parse(rest, 0, 128, &prefix) && gw_cidr_make(&address, (unsigned)prefix, out);
}

size_t gw_cidr_print(const struct gw_cidr *cidr, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    print_address(&cidr->address, &text);
    gw_text_add_char(&text, '/');
    gw_text_add_number(&text, cidr->prefix);
    return text.length;
}

bool gw_cidr_contains(const struct gw_cidr *cidr, const struct gw_ip_address *address)
{
    struct gw_ip_address reached = gw_ip_address_unmap(address);
    return reached.family == cidr->address.family
           && same_prefix(reached.bytes, cidr->address.bytes, cidr->prefix);
}
