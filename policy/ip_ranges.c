/* policy/ip_ranges.c */
#include "policy/ip_ranges.h"

#include <string.h>

#include "base/macros.h"

#define HIGH(group) ((group) >> 8 & 0xff)
#define LOW(group) ((group)&0xff)

/* clang-format off */
static const struct gw_ip_row rows[] = {
#define GW_IP_RANGE4(a, b, c, d, length, name) \
    { { { { 4, { a, b, c, d } }, length }, GW_KIND_##name }, GW_CARRIES_NOTHING },
#define GW_IP_RANGE6(g0, g1, g2, g3, g4, g5, g6, g7, length, name, what) \
    { { { { 6, { HIGH(g0), LOW(g0), HIGH(g1), LOW(g1), HIGH(g2), LOW(g2), HIGH(g3), LOW(g3), \
                 HIGH(g4), LOW(g4), HIGH(g5), LOW(g5), HIGH(g6), LOW(g6), HIGH(g7), LOW(g7) } }, \
          length }, GW_KIND_##name }, GW_CARRIES_##what },
#include "policy/ip_range_table.h"
#undef GW_IP_RANGE4
#undef GW_IP_RANGE6
};
/* clang-format on */

const struct gw_ip_row *gw_ip_rows(size_t *count)
{
    *count = GW_COUNT(rows);
    return rows;
}

/* Not gw_cidr_contains(): that unmaps the address first, and here the mapped range is a row. */
static bool holds(const struct gw_cidr *range, const struct gw_ip_address *address)
{
    unsigned whole = range->prefix / 8, rest = range->prefix % 8;
    const unsigned char *a = address->bytes, *b = range->address.bytes;
    return address->family == range->address.family && memcmp(a, b, whole) == 0
           && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

const struct gw_ip_row *gw_ip_row_of(const struct gw_ip_address *address)
{
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        if (holds(&rows[i].is.range, address))
            return &rows[i];
    return NULL;
}

bool gw_ip_is_isatap(const struct gw_ip_address *address)
{
    const unsigned char *id = address->bytes + 8;
    return address->family == 6 && (id[0] & 0xfd) == 0 && id[1] == 0 && id[2] == 0x5e
           && id[3] == 0xfe;
}

static struct gw_ip_address v4(unsigned char a, unsigned char b, unsigned char c, unsigned char d)
{
    return (struct gw_ip_address){ .family = 4, .bytes = { a, b, c, d } };
}

size_t gw_ip_inner(const struct gw_ip_address *address, struct gw_ip_address out[GW_IP_INNER_MAX])
{
    const unsigned char *b = address->bytes;
    const struct gw_ip_row *row = gw_ip_row_of(address);
    size_t count = 0;
    if (address->family != 6)
        return 0;
    switch (row == NULL ? GW_CARRIES_NOTHING : row->carries) {
    case GW_CARRIES_NOTHING:
        break;
    case GW_CARRIES_LAST_32:
        out[count++] = v4(b[12], b[13], b[14], b[15]);
        break;
    case GW_CARRIES_FIRST_16:
        out[count++] = v4(b[2], b[3], b[4], b[5]);
        break;
    case GW_CARRIES_TEREDO:
        out[count++] = v4(b[12] ^ 0xff, b[13] ^ 0xff, b[14] ^ 0xff, b[15] ^ 0xff);
        out[count++] = v4(b[4], b[5], b[6], b[7]);
        break;
    case GW_CARRIES_ANYWHERE: /* prefixes of 96, 48, 56 and 64 bits; bits 64 to 71 are skipped */
        out[count++] = v4(b[12], b[13], b[14], b[15]);
        out[count++] = v4(b[6], b[7], b[9], b[10]);
        out[count++] = v4(b[7], b[9], b[10], b[11]);
        out[count++] = v4(b[9], b[10], b[11], b[12]);
        break;
    }
    if (gw_ip_is_isatap(address))
        out[count++] = v4(b[12], b[13], b[14], b[15]);
    return count;
}
