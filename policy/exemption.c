/* policy/exemption.c */
#include "policy/exemption.h"

#include "policy/ip_lift.h"

static bool one_lifts(const struct gw_image *image, uint32_t index,
                      const struct gw_ip_address *address)
{
    const struct gw_image_cidr *cidrs;
    size_t count;
    if (!gw_image_inward(image, index, &cidrs, &count))
        return false;
    if (count == 0)
        return gw_ip_lift_by_default(address);
    for (size_t i = 0; i < count; i++) {
        struct gw_cidr range = gw_image_cidr_of(&cidrs[i]);
        if (gw_ip_lift_by_range(address, &range))
            return true;
    }
    return false;
}

bool gw_exemption_lifts(const struct gw_image *image, const struct gw_image_hits *hits,
                        const struct gw_ip_address *address, char by[GW_IMAGE_ENTRY_MAX])
{
    struct gw_image_cursor cursor = { 0 };
    const struct gw_image_record *record;
    while ((record = gw_image_next(image, hits, GW_IMAGE_INWARD, &cursor)) != NULL)
        if (one_lifts(image, record->value, address)) {
            gw_image_print_entry(image, hits, cursor.run, record, by);
            return true;
        }
    return false;
}
