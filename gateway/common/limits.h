/* gateway/common/limits.h - the limits in force, by name: gw_limit(limits, HEAD_TIMEOUT_MS). */
#pragma once
#include <stdint.h>

enum gw_limit_name {
#define GW_LIMIT(name, key, def, min, max, text) GW_LIMIT_##name,
#include "gateway/common/limit_table.h"
#undef GW_LIMIT
    GW_LIMITS
};

struct gw_limits {
    uint64_t value[GW_LIMITS];
};

struct gw_limit_row {
    const char *key;
    uint64_t initial, min, max;
    const char *text;
};

const struct gw_limit_row *gw_limit_row(enum gw_limit_name name);
void gw_limits_init(struct gw_limits *limits); /* the defaults */

#define gw_limit(limits, name) ((limits)->value[GW_LIMIT_##name])
