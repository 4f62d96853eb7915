/* policy/ip_lift.c */
#include "policy/ip_lift.h"

#include "policy/ip_ranges.h"

/* Mapped and NAT64 addresses are spellings of an IPv4 address and nothing else. */
static bool is_spelling(const struct gw_ip_address *address)
{
    const struct gw_ip_row *row = gw_ip_row_of(address);
    return row != NULL && row->carries == GW_CARRIES_LAST_32 && row->is.kind == GW_KIND_GLOBAL;
}

/* Nothing that the address is, or leads to, may be of a kind that is never lifted. */
static bool may_be_lifted(const struct gw_ip_address *address)
{
    struct gw_ip_address inner[GW_IP_INNER_MAX];
    const struct gw_ip_row *row = gw_ip_row_of(address);
    size_t count = gw_ip_inner(address, inner);
    /* Of the readings of a local NAT64 address one is right, and the wrong ones are full of zeros:
     * whoever names that range stands for what its translator reaches. Marks are judged apart. */
    if (row != NULL && row->carries == GW_CARRIES_ANYWHERE)
        count = 0;
    for (size_t i = 0; i < count; i++)
        if (gw_address_kind_lift(gw_ip_screen(&inner[i])) == GW_LIFT_NEVER)
            return false;
    return gw_address_kind_lift(gw_ip_screen(address)) != GW_LIFT_NEVER;
}

bool gw_ip_lift_by_default(const struct gw_ip_address *address)
{
    const struct gw_ip_row *row = gw_ip_row_of(address);
    /* 2002:a00:1:: is told as "private", but what would be lifted is 6to4. */
    if (!is_spelling(address) && (row == NULL || row->is.kind != gw_ip_screen(address)))
        return false;
    return may_be_lifted(address) && gw_address_kind_lift(gw_ip_screen(address)) == GW_LIFT_DEFAULT;
}

bool gw_ip_lift_by_range(const struct gw_ip_address *address, const struct gw_cidr *range)
{
    struct gw_ip_address inner[GW_IP_INNER_MAX];
    if (!may_be_lifted(address))
        return false;
    return gw_cidr_contains(range, address)
           || (is_spelling(address) && gw_ip_inner(address, inner) > 0
               && gw_cidr_contains(range, &inner[0]));
}

/* `wide` holds all of `narrow`. Ranges are nested or apart, never anything else. */
static bool covers(const struct gw_cidr *wide, const struct gw_cidr *narrow)
{
    struct gw_ip_address first = narrow->address;
    if (wide->prefix > narrow->prefix || wide->address.family != first.family)
        return false;
    for (unsigned bit = wide->prefix; bit < 128; bit++)
        first.bytes[bit / 8] &= (unsigned char)~(0x80u >> bit % 8);
    return gw_ip_address_equal(&first, &wide->address);
}

/* The IPv4 range that an IPv6 range inside such a row reaches; false where it says nothing. */
static bool inner_range(const struct gw_cidr *range, enum gw_ip_carries carries,
                        struct gw_cidr *out)
{
    unsigned start = carries == GW_CARRIES_LAST_32 ? 96 : 16;
    if ((carries != GW_CARRIES_LAST_32 && carries != GW_CARRIES_FIRST_16) || range->prefix < start)
        return false;
    unsigned length = range->prefix - start > 32 ? 32 : range->prefix - start;
    struct gw_ip_address address = { .family = 4 };
    for (unsigned i = 0; i < 4; i++)
        address.bytes[i] = range->address.bytes[start / 8 + i];
    return gw_cidr_make(&address, length, out);
}

bool gw_ip_lift_is_possible(const struct gw_cidr *range)
{
    size_t count;
    const struct gw_ip_row *rows = gw_ip_rows(&count);
    bool divided = false;
    if (range->prefix == (range->address.family == 4 ? 32 : 128)
        && gw_ip_is_metadata(&range->address))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct gw_cidr inner;
        if (covers(&rows[i].is.range, range)) {
            if (!divided)
                return gw_address_kind_lift(rows[i].is.kind) != GW_LIFT_NEVER
                       && (!inner_range(range, rows[i].carries, &inner)
                           || gw_ip_lift_is_possible(&inner));
            break;
        }
        divided |= covers(range, &rows[i].is.range);
    }
    if (!divided)
        return true; /* global unicast */
    /* Some row decides about a part of the range: ask for both halves. The depth is bounded by the
     * length of an address, and a half that no row divides ends the descent. */
    struct gw_cidr low = *range, high;
    low.prefix++;
    high = low;
    high.address.bytes[range->prefix / 8] |= (unsigned char)(0x80u >> range->prefix % 8);
    return gw_ip_lift_is_possible(&high) || gw_ip_lift_is_possible(&low);
}
