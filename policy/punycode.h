/* policy/punycode.h - the A-label form of a name that was written with other letters (RFC 3492).
 * Only ever used to tell a person what to write instead: no name that is matched comes from here,
 * so the simple lower-casing below (ASCII, Latin, Greek, Cyrillic) need not be the whole of IDNA.
 * Private to host_pattern.c. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/* `text` is UTF-8, labels separated by any of the dots that IDNA knows. False when it is not UTF-8
 * or the result does not fit. `out` is NUL-terminated. */
bool gw_punycode_name(struct gw_slice text, char *out, size_t room);
