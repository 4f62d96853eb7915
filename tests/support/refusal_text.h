/* tests/support/refusal_text.h - is this the refusal that a table expects?
 * `expected` is what gw_refusal_print() says ("not-allowed", "resolved:loopback"), or a status
 * ("400": any reason that is answered so), or several of them with '|' between where the documents
 * leave the choice open. A refusal that is none (allowed) is never expected. */
#pragma once
#include <stdbool.h>

#include "base/slice.h"
#include "policy/reason.h"

bool gw_refusal_text_is(struct gw_slice expected, struct gw_refusal got);
