/* policy/exemption.h - does the policy open an inward address for a host? Private to dialable.c.
 * An exemption allows nothing by itself: the name has been allowed before. Pure. */
#pragma once
#include "policy/image_lookup.h"

/* `hits` is what gw_image_find() told about the host. `by` receives the entry that lifts it. */
bool gw_exemption_lifts(const struct gw_image *image, const struct gw_image_hits *hits,
                        const struct gw_ip_address *address, char by[GW_IMAGE_ENTRY_MAX]);
