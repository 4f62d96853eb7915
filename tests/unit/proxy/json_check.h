/* tests/unit/proxy/json_check.h - is this text one JSON value (RFC 8259)? Strict, and no library:
 * what we write is judged by the grammar. */
#pragma once
#include <stdbool.h>

#include "base/slice.h"

bool json_is_valid(struct gw_slice text); /* blanks around it are fine */

/* The bytes of the string at `key` of the outermost or any inner object, as they are written
 * (escapes and all); an empty slice with a NULL pointer when there is none. */
struct gw_slice json_string(struct gw_slice text, const char *key);
