/* gateway/common/limits.c */
#include "gateway/common/limits.h"

#include <stddef.h>

#include "base/check.h"

static const struct gw_limit_row rows[GW_LIMITS] = {
#define GW_LIMIT(name, key, def, min, max, text) [GW_LIMIT_##name] = { key, def, min, max, text },
#include "gateway/common/limit_table.h"
#undef GW_LIMIT
};

const struct gw_limit_row *gw_limit_row(enum gw_limit_name name)
{
    gw_check(name < GW_LIMITS);
    return &rows[name];
}

void gw_limits_init(struct gw_limits *limits)
{
    for (size_t i = 0; i < GW_LIMITS; i++)
        limits->value[i] = rows[i].initial;
}
