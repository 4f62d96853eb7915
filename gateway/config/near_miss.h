/* gateway/config/near_miss.h - which word was probably meant?
 * Edit distance with neighbours swapped as one step; the beginning of a longer word counts too, so
 * that "alow" leads to "allowed_hosts". Pure. */
#pragma once
#include <stddef.h>

#include "base/slice.h"

struct gw_near_miss {
    struct gw_slice word; /* borrowed */
    const char *best;     /* borrowed from who offered it; NULL: nothing is near */
    size_t distance;
};

void gw_near_miss_init(struct gw_near_miss *miss, struct gw_slice word);
void gw_near_miss_offer(struct gw_near_miss *miss, const char *candidate);

#define GW_NEAR_MISS_TEXT 420

/* `; did you mean "allowed_hosts"?`, or nothing. Returns `out`. */
const char *gw_near_miss_print(const struct gw_near_miss *miss, char out[GW_NEAR_MISS_TEXT]);
