/* tests/fuzz/authority_fuzz.c - what is accepted prints back to something equal, and the three port
 * rules differ in nothing but the absent port. */
#include <stdint.h>

#include "base/check.h"
#include "policy/authority.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_slice text = { (const char *)data, size };
    struct gw_authority required, optional, empty, again;
    char printed[GW_AUTHORITY_TEXT_MAX];
    enum gw_reason r = gw_authority_parse(text, GW_PORT_REQUIRED, &required);
    enum gw_reason o = gw_authority_parse(text, GW_PORT_OPTIONAL, &optional);
    enum gw_reason e = gw_authority_parse(text, GW_PORT_EMPTY_OK, &empty);
    /* Each rule accepts what the stricter one does, and reads it in the same way. */
    gw_check(r != GW_REASON_NONE || o == GW_REASON_NONE);
    gw_check(o != GW_REASON_NONE || e == GW_REASON_NONE);
    if (e != GW_REASON_NONE) {
        gw_check(r == e && o == e);
        return 0;
    }
    if (o == GW_REASON_NONE)
        gw_check(gw_authority_equal(&optional, &empty));
    else
        gw_check(o == GW_REASON_BAD_PORT && empty.port == 0 && text.data[size - 1] == ':');
    if (r == GW_REASON_NONE)
        gw_check(gw_authority_equal(&required, &empty) && required.port != 0);
    else
        gw_check(r == GW_REASON_BAD_PORT && empty.port == 0);
    size_t length = gw_authority_print(&empty, printed, sizeof printed);
    gw_check(gw_authority_parse((struct gw_slice){ printed, length }, GW_PORT_OPTIONAL, &again)
             == GW_REASON_NONE);
    gw_check(gw_authority_equal(&empty, &again));
    return 0;
}
