/* gateway/config/config_errors.h - collecting the mistakes of a file in the order of the file.
 * The readers find them in the order in which settings depend on each other; here they are put
 * back. Bounded: the first GW_CONFIG_ERRORS_MAX are kept, the others counted. */
#pragma once
#include <stdarg.h>

#include "base/macros.h"
#include "gateway/config/config.h"

#define GW_CONFIG_ERRORS_MAX 200

/* `path` is copied. */
void gw_config_errors_init(struct gw_config_errors *errors, const char *path);

/* The same text at the same place is added once: an alias may lead there several times. */
void gw_config_errors_addv(struct gw_config_errors *errors, unsigned line, unsigned column,
                           const char *format, va_list list) GW_PRINTF(4, 0);
void gw_config_errors_add(struct gw_config_errors *errors, unsigned line, unsigned column,
                          const char *format, ...) GW_PRINTF(4, 5);

static inline bool gw_config_errors_any(const struct gw_config_errors *errors)
{
    return errors->count + errors->left_out > 0;
}
