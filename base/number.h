/* base/number.h - numbers from text, with bounds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Decimal digits only: no sign, no blank, no base prefix, no leading zero but "0" itself.
 * False, and `out` untouched, when the text is anything else or outside [min, max]. */
bool gw_number_parse(struct gw_slice text, uint64_t min, uint64_t max, uint64_t *out);

/* Any run of decimal digits, leading zeros included (Content-Length, RFC 9110 8.6), up to max. */
bool gw_number_parse_digits(struct gw_slice text, uint64_t max, uint64_t *out);
