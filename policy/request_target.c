/* policy/request_target.c */
#include "policy/request_target.h"

/* Path and query are forwarded byte for byte, so what they hold is checked here and nowhere else.
 * A fragment never travels (RFC 9110 4.2.5); a backslash is in no URI, and some parsers take it for
 * a slash. */
static enum gw_reason check_path(struct gw_slice text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x21 || byte > 0x7e || byte == '#' || byte == '\\')
            return GW_REASON_BAD_REQUEST;
    }
    return GW_REASON_NONE;
}

/* Length of "http://" or "https://" in any letter case at the start, else 0. */
static size_t scheme_length(struct gw_slice text, bool *https)
{
    static const struct {
        struct gw_slice prefix;
        bool https;
    } schemes[] = { { { "http://", 7 }, false }, { { "https://", 8 }, true } };
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct gw_slice prefix = schemes[i].prefix;
        if (text.length < prefix.length)
            continue;
        if (gw_slice_equal_nocase((struct gw_slice){ text.data, prefix.length }, prefix)) {
            *https = schemes[i].https;
            return prefix.length;
        }
    }
    return 0;
}

static enum gw_reason parse_absolute(struct gw_slice rest, struct gw_request_target *out)
{
    size_t end = 0;
    while (end < rest.length && rest.data[end] != '/' && rest.data[end] != '?'
           && rest.data[end] != '#')
        end++;
    out->form = GW_TARGET_ABSOLUTE;
    out->path_and_query = (struct gw_slice){ rest.data + end, rest.length - end };
    enum gw_reason reason =
        gw_authority_parse((struct gw_slice){ rest.data, end }, GW_PORT_EMPTY_OK, &out->authority);
    return reason != GW_REASON_NONE ? reason : check_path(out->path_and_query);
}

enum gw_reason gw_request_target_parse(struct gw_slice text, bool is_connect,
                                       struct gw_request_target *out)
{
    memset(out, 0, sizeof *out);
    if (is_connect) {
        out->form = GW_TARGET_AUTHORITY;
        return gw_authority_parse(text, GW_PORT_REQUIRED, &out->authority);
    }
    size_t scheme = scheme_length(text, &out->https);
    if (scheme > 0)
        return parse_absolute((struct gw_slice){ text.data + scheme, text.length - scheme }, out);
    if (text.length == 0 || text.data[0] != '/')
        return GW_REASON_BAD_REQUEST;
    out->form = GW_TARGET_ORIGIN;
    out->path_and_query = text;
    return check_path(text);
}
