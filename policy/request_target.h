/* policy/request_target.h - the request-target of an HTTP/1.x request line (RFC 9112 3.2). */
#pragma once
#include "policy/authority.h"

enum gw_target_form { GW_TARGET_ORIGIN, GW_TARGET_ABSOLUTE, GW_TARGET_AUTHORITY };

struct gw_request_target {
    enum gw_target_form form;
    bool https;                    /* absolute-form with the scheme https */
    struct gw_authority authority; /* ABSOLUTE and AUTHORITY; port 0: the scheme's default */
    /* Path and query exactly as sent, borrowed from the text. Empty stands for "/"; one that
     * begins with '?' needs a "/" put in front (RFC 9112 3.2.1). */
    struct gw_slice path_and_query;
};

/* `is_connect` decides which forms are possible: authority-form if so, else origin-form ("/…") or
 * absolute-form (http or https, any letter case). Everything else, "*" included, is BAD_REQUEST,
 * and so are a fragment, a backslash, and bytes outside 0x21..0x7e in path and query.
 * The authority ends at '/', '?', '#' or the end. */
enum gw_reason gw_request_target_parse(struct gw_slice text, bool is_connect,
                                       struct gw_request_target *out);
