/* tests/fuzz/client_hello_fuzz.c - the answer does not depend on how the bytes were cut.
 * The first byte chooses the limit and the next two a place to cut. Every prefix says NEED_MORE or
 * what the whole says; NEED_MORE ends at the bound; the name lies inside the bytes or the scratch.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gateway/proxy/client_hello.h"

static bool inside(struct gw_slice name, const void *memory, size_t length)
{
    uintptr_t from = (uintptr_t)memory, at = (uintptr_t)name.data;
    return at >= from && at - from <= length && name.length <= length - (at - from);
}

static enum gw_client_hello read_checked(const uint8_t *data, size_t length, size_t limit,
                                         unsigned char *scratch, struct gw_client_hello_facts *out)
{
    struct gw_slice bytes = { (const char *)data, length };
    enum gw_client_hello result = gw_client_hello_read(bytes, limit, scratch, out);
    gw_check(result != GW_HELLO_NEED_MORE || length < GW_CLIENT_HELLO_WIRE_MAX(limit));
    gw_check((result == GW_HELLO_NAMED) == (out->name.length > 0));
    gw_check(result != GW_HELLO_NAMED || inside(out->name, data, length)
             || inside(out->name, scratch, limit));
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_client_hello_facts whole, part;
    struct gw_host target;
    if (size < 3)
        return 0;
    size_t limit = data[0] == 0 ? 16384 : (size_t)data[0] * 4;
    size_t cut = (size_t)data[1] << 8 | data[2];
    data += 3;
    size -= 3;
    unsigned char *scratch = malloc(limit), *other = malloc(limit);
    uint8_t *prefix = malloc(size + 1);
    gw_check(scratch != NULL && other != NULL && prefix != NULL);
    enum gw_client_hello answer = read_checked(data, size, limit, scratch, &whole);
    size_t step = size > 4096 ? size / 64 : 1; /* all prefixes of what is small */
    for (size_t length = cut % step; length < size; length += step) {
        memcpy(prefix + size + 1 - length, data, length); /* ends where the memory ends */
        enum gw_client_hello early =
            read_checked(prefix + size + 1 - length, length, limit, other, &part);
        gw_check(early == GW_HELLO_NEED_MORE || early == answer);
        if (early == GW_HELLO_NAMED)
            gw_check(gw_slice_equal(part.name, whole.name)
                     && part.encrypted_hello == whole.encrypted_hello);
    }
    if (gw_host_parse(GW_SLICE("api.acme.test"), &target) == GW_REASON_NONE
        && gw_client_hello_matches(&whole, &target))
        gw_check(whole.name.length == 13 || whole.name.length == 14);
    free(prefix);
    free(other);
    free(scratch);
    return 0;
}
