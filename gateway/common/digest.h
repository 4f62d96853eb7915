/* gateway/common/digest.h - SHA-256, and its hexadecimal form: how policies and files are named. */
#pragma once
#include <stdbool.h>

#include "base/slice.h"

#define GW_DIGEST_BYTES 32
#define GW_DIGEST_TEXT (2 * GW_DIGEST_BYTES + 1)

struct gw_digest {
    unsigned char bytes[GW_DIGEST_BYTES];
};

void gw_digest_of(struct gw_slice bytes, struct gw_digest *out);
void gw_digest_print(const struct gw_digest *digest, char out[GW_DIGEST_TEXT]);
bool gw_digest_equal(const struct gw_digest *a, const struct gw_digest *b);
