/* policy/path_rule.h - methods and paths of a rule (docs/configuration.md). Pure. */
#pragma once
#include <stdbool.h>

#include "base/slice.h"

/* Can the path be read in two ways? Dot segments in any encoding, an empty segment, a backslash
 * (raw or %5c), an encoded slash (unless allowed), or a malformed escape. The query is not part. */
bool gw_path_is_ambiguous(struct gw_slice path_and_query, bool allow_encoded_slash);

/* "/v1" matches "/v1" and "/v1/x"; "/v1/" only what lies below; bytes are compared as sent, the
 * query is left out. */
bool gw_path_matches(struct gw_slice prefix, struct gw_slice path_and_query);
