/* gateway/common/digest.c */
#include "gateway/common/digest.h"

#include <mbedtls/sha256.h>
#include <string.h>

#include "base/check.h"

void gw_digest_of(struct gw_slice bytes, struct gw_digest *out)
{
    static const unsigned char nothing[1];
    const unsigned char *data = bytes.length == 0 ? nothing : (const unsigned char *)bytes.data;
    gw_check(mbedtls_sha256(data, bytes.length, out->bytes, 0) == 0);
}

void gw_digest_print(const struct gw_digest *digest, char out[GW_DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < GW_DIGEST_BYTES; i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[2 * GW_DIGEST_BYTES] = '\0';
}

bool gw_digest_equal(const struct gw_digest *a, const struct gw_digest *b)
{
    return memcmp(a->bytes, b->bytes, GW_DIGEST_BYTES) == 0;
}
