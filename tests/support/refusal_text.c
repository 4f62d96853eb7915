#include "tests/support/refusal_text.h"

#include <stdint.h>

#include "base/number.h"
#include "tests/support/table.h"

bool gw_refusal_text_is(struct gw_slice expected, struct gw_refusal got)
{
    char text[GW_REASON_CODE_MAX];
    struct gw_slice choice;
    if (got.reason == GW_REASON_NONE)
        return false;
    (void)gw_refusal_print(got, text, sizeof text);
    while (gw_table_split(&expected, '|', &choice)) {
        uint64_t status = 0;
        if (gw_slice_equal(choice, gw_slice_of(text)))
            return true;
        if (gw_number_parse(choice, 100, 599, &status)
            && gw_reason_status(got.reason) == (int)status)
            return true;
    }
    return false;
}
