/* gateway/supervisor/complaint.h - everything that is wrong with a configuration, one line each.
 * At start the lines go to standard error, at a reload to the running log. */
#pragma once
#include <stdbool.h>

#include "base/macros.h"

struct gw_complaints {
    bool reload;
    unsigned count;
};

void gw_complaints_add(struct gw_complaints *complaints, const char *format, ...) GW_PRINTF(2, 3);
