/* tests/fuzz/snapshot_fuzz.c - what is decoded encodes back to the same bytes, and what is refused
 * says why. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gateway/common/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_error err = GW_ERROR_NONE;
    unsigned char *again = NULL;
    size_t length = 0;
    struct gw_snapshot *snapshot =
        gw_snapshot_decode((struct gw_slice){ (const char *)data, size }, &err);
    if (snapshot == NULL) {
        gw_check(err.text[0] != '\0');
        return 0;
    }
    gw_check(gw_snapshot_encode(snapshot, &again, &length, &err));
    gw_check(length == size && memcmp(again, data, size) == 0);
    free(again);
    gw_snapshot_free(snapshot);
    return 0;
}
