/* gateway/supervisor/via_token.h - the word by which this gateway knows its own requests in Via. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

#define GW_VIA_TOKEN_LENGTH 32

/* 16 random bytes in hexadecimal. With a state directory (made when it is not there) the token is
 * kept in its file "via-token" and stays the same over restarts; a file that holds anything else
 * is replaced. `state_dir` may be NULL. */
bool gw_via_token_get(const char *state_dir, char out[GW_VIA_TOKEN_LENGTH + 1],
                      struct gw_error *err);
