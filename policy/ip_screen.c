/* policy/ip_screen.c */
#include "policy/ip_screen.h"

#include "base/macros.h"
#include "policy/ip_ranges.h"

static enum gw_address_kind screen_v4(const struct gw_ip_address *address)
{
    const struct gw_ip_row *row = gw_ip_row_of(address);
    return row == NULL ? GW_KIND_GLOBAL : row->is.kind;
}

/* The kind of the first of these that is refused, or GLOBAL. */
static enum gw_address_kind screen_inner(const struct gw_ip_address *inner, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum gw_address_kind kind = screen_v4(&inner[i]);
        if (kind != GW_KIND_GLOBAL)
            return kind;
    }
    return GW_KIND_GLOBAL;
}

enum gw_address_kind gw_ip_screen(const struct gw_ip_address *address)
{
    struct gw_ip_address inner[GW_IP_INNER_MAX];
    if (address->family == 4)
        return screen_v4(address);
    if (address->family != 6)
        return GW_KIND_UNPARSEABLE;
    const struct gw_ip_row *row = gw_ip_row_of(address);
    size_t count = gw_ip_inner(address, inner);
    if (row == NULL) /* ISATAP can be under any prefix, so it is asked for last of all */
        return screen_inner(inner, count);
    if (gw_ip_is_isatap(address))
        count--; /* the row has decided; ISATAP's reading came last in the list */
    if (row->carries == GW_CARRIES_ANYWHERE)
        count = 0; /* nobody can tell which reading is right: the envelope is what is known */
    enum gw_address_kind kind = screen_inner(inner, count);
    return kind != GW_KIND_GLOBAL ? kind : row->is.kind;
}

enum gw_address_kind gw_ip_screen_text(struct gw_slice text)
{
    struct gw_ip_address address;
    const char *zone = text.length == 0 ? NULL : memchr(text.data, '%', text.length);
    if (zone != NULL)
        text.length = (size_t)(zone - text.data);
    if (!gw_ip_address_parse(text, &address))
        return GW_KIND_UNPARSEABLE;
    enum gw_address_kind kind = gw_ip_screen(&address);
    return zone != NULL && kind == GW_KIND_GLOBAL ? GW_KIND_ZONE_ID : kind;
}

size_t gw_ip_embedded(const struct gw_ip_address *address, struct gw_ip_address out[2])
{
    struct gw_ip_address inner[GW_IP_INNER_MAX];
    size_t count = gw_ip_inner(address, inner);
    if (count > 2)
        count = 2;
    for (size_t i = 0; i < count; i++)
        out[i] = inner[i];
    return count;
}

/* 100.100.100.200 and fd00:ec2::254 lie in ranges that an exemption lifts by default:
 * that is why they are marks and not only kinds. */
static bool is_metadata_itself(const struct gw_ip_address *address)
{
    static const struct gw_ip_address services[] = {
        { 4, { 169, 254, 169, 254 } },
        { 4, { 100, 100, 100, 200 } },
        { 4, { 168, 63, 129, 16 } },
        { 4, { 192, 0, 0, 192 } },
        { 6, { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54 } },
    };
    for (size_t i = 0; i < GW_COUNT(services); i++)
        if (gw_ip_address_equal(address, &services[i]))
            return true;
    return false;
}

bool gw_ip_is_metadata(const struct gw_ip_address *address)
{
    struct gw_ip_address inner[GW_IP_INNER_MAX];
    size_t count = gw_ip_inner(address, inner);
    for (size_t i = 0; i < count; i++)
        if (is_metadata_itself(&inner[i]))
            return true;
    return is_metadata_itself(address);
}

bool gw_ip_range_at(size_t index, struct gw_ip_range *out)
{
    size_t count;
    const struct gw_ip_row *rows = gw_ip_rows(&count);
    if (index >= count)
        return false;
    *out = rows[index].is;
    return true;
}
