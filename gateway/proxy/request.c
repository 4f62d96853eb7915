/* gateway/proxy/request.c */
#include "gateway/proxy/request.h"

#include "base/number.h"

/* Options of all Connection lines together; real clients send three. */
enum { CONNECTION_OPTIONS_MAX = 64 };

static void mark(struct gw_http_head *head, const char *text, struct gw_slice name)
{
    for (uint32_t i = 0; i < head->field_count; i++)
        if (gw_slice_equal_nocase(gw_http_name(&head->fields[i], text), name))
            head->fields[i].connection = true;
}

bool gw_connection_copy(const struct gw_http_head *head, const char *text, struct gw_buffer *out)
{
    for (uint32_t i = 0; i < head->field_count; i++) {
        const struct gw_http_field *field = &head->fields[i];
        if (field->id != GW_FIELD_CONNECTION && field->id != GW_FIELD_PROXY_CONNECTION)
            continue;
        if (!gw_buffer_append(out, gw_http_value(field, text))
            || !gw_buffer_append(out, GW_SLICE(",")))
            return false;
    }
    return true;
}

bool gw_connection_mark(struct gw_http_head *head, const char *text, bool *close, bool *keep_alive,
                        bool *upgrade)
{
    unsigned options = 0;
    *close = *keep_alive = *upgrade = false;
    for (uint32_t i = 0; i < head->field_count; i++) {
        struct gw_http_field *field = &head->fields[i];
        if (field->id != GW_FIELD_CONNECTION && field->id != GW_FIELD_PROXY_CONNECTION)
            continue;
        struct gw_slice rest = gw_http_value(field, text), option;
        while (gw_slice_next(&rest, ',', &option)) {
            if (option.length == 0)
                continue;
            if (++options > CONNECTION_OPTIONS_MAX)
                return false;
            if (gw_slice_equal_nocase(option, GW_SLICE("close")))
                *close = true;
            else if (gw_slice_equal_nocase(option, GW_SLICE("keep-alive")))
                *keep_alive = true;
            else if (gw_slice_equal_nocase(option, GW_SLICE("upgrade"))
                     && field->id == GW_FIELD_CONNECTION)
                *upgrade = true;
            mark(head, text, option);
        }
    }
    return true;
}

static bool has_token(struct gw_slice list, struct gw_slice token)
{
    struct gw_slice element;
    while (gw_slice_next(&list, ',', &element))
        if (gw_slice_equal_nocase(element, token))
            return true;
    return false;
}

/* "q=0", "q=0.000": not acceptable (RFC 9110 12.4.2). */
static bool is_zero_weight(struct gw_slice parameter)
{
    if (parameter.length < 3 || gw_lower(parameter.data[0]) != 'q' || parameter.data[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.length; i++)
        if (parameter.data[i] != '0' && parameter.data[i] != '.')
            return false;
    return true;
}

/* Does a media range of Accept ask for JSON? */
static bool accepts_json(struct gw_slice list)
{
    struct gw_slice element, part;
    while (gw_slice_next(&list, ',', &element)) {
        bool wanted = gw_slice_next(&element, ';', &part)
                      && gw_slice_equal_nocase(part, GW_SLICE("application/json"));
        while (wanted && gw_slice_next(&element, ';', &part))
            wanted = !is_zero_weight(part);
        if (wanted)
            return true;
    }
    return false;
}

/* "1.1 token, 1.0 fred (comment)": is ours among the pseudonyms? (RFC 9110 7.6.3) */
static bool via_names(struct gw_slice list, struct gw_slice own)
{
    struct gw_slice element, part, word;
    while (gw_slice_next(&list, ',', &element))
        while (gw_slice_next(&element, ' ', &part))
            while (gw_slice_next(&part, '\t', &word))
                if (gw_slice_equal_nocase(word, own))
                    return true;
    return false;
}

/* What the fields say, gathered in one pass before any of it is judged. */
struct seen {
    struct gw_slice host;
    unsigned hosts, lengths, codings, upgrades, keys;
    bool chunked, websocket, other_expectation, looped;
};

static enum gw_reason read_field(const struct gw_http_field *field, const char *text,
                                 struct gw_slice own_via, struct gw_request *out, struct seen *seen)
{
    struct gw_slice value = gw_http_value(field, text);
    uint64_t number;
    switch ((enum gw_field_id)field->id) {
    case GW_FIELD_HOST:
        seen->hosts++;
        seen->host = value;
        break;
    case GW_FIELD_CONTENT_LENGTH:
        if (seen->lengths++ > 0
            || !gw_number_parse_digits(value, (uint64_t)INT64_MAX, &out->body_length))
            return GW_REASON_BAD_REQUEST;
        break;
    case GW_FIELD_TRANSFER_ENCODING:
        seen->codings++;
        seen->chunked = gw_slice_equal_nocase(value, GW_SLICE("chunked"));
        break;
    case GW_FIELD_UPGRADE:
        seen->upgrades++;
        seen->websocket |= has_token(value, GW_SLICE("websocket"));
        break;
    case GW_FIELD_WS_KEY:
        seen->keys++;
        break;
    case GW_FIELD_EXPECT:
        if (out->minor0)
            break; /* not known to 1.0: ignored, and not passed on (RFC 9110 10.1.1) */
        if (gw_slice_equal_nocase(value, GW_SLICE("100-continue")))
            out->expects_continue = true;
        else
            seen->other_expectation = true;
        break;
    case GW_FIELD_VIA:
        seen->looped |= via_names(value, own_via);
        break;
    case GW_FIELD_MAX_FORWARDS:
        if (gw_number_parse_digits(value, INT32_MAX, &number))
            out->max_forwards = (int64_t)number;
        break;
    case GW_FIELD_ACCEPT:
        out->wants_json |= accepts_json(value);
        break;
    case GW_FIELD_OTHER:
    case GW_FIELD_CONNECTION:
    case GW_FIELD_PROXY_CONNECTION:
    case GW_FIELD_KEEP_ALIVE:
    case GW_FIELD_TE:
    case GW_FIELD_TRAILER:
    case GW_FIELD_PROXY_AUTHORIZATION:
    case GW_FIELD_PROXY_AUTHENTICATE:
    case GW_FIELD_PROXY_AUTH_INFO:
    case GW_FIELD_HTTP2_SETTINGS:
    case GW_FIELD_WS_ACCEPT:
    case GW_FIELD_IDS:
        break;
    }
    return GW_REASON_NONE;
}

static enum gw_reason read_framing(const struct seen *seen, struct gw_request *out)
{
    if (seen->codings > 0) {
        /* RFC 9112 6.1: a lone, final chunked or nothing that we would relay; never in 1.0, and
         * never beside a length. */
        if (seen->codings > 1 || !seen->chunked || seen->lengths > 0 || out->minor0)
            return GW_REASON_BAD_REQUEST;
        out->body = GW_BODY_CHUNKED;
    } else if (seen->lengths > 0) {
        out->length_given = true;
        out->body = out->body_length > 0 ? GW_BODY_LENGTH : GW_BODY_NONE;
    }
    if (out->is_connect && (seen->codings > 0 || seen->lengths > 0))
        return GW_REASON_BAD_REQUEST; /* its body would be read as tunnel bytes */
    return GW_REASON_NONE;
}

/* Who is meant: the target if it says so, else Host (RFC 9112 3.2.2). A Host that is not needed
 * must still be well-formed. */
static enum gw_reason read_authority(const struct seen *seen, struct gw_request *out)
{
    struct gw_authority host;
    enum gw_reason reason = GW_REASON_NONE;
    if (out->target.form != GW_TARGET_ORIGIN)
        out->authority = out->target.authority;
    if (seen->hosts > 1 || (seen->hosts == 0 && !out->minor0))
        return GW_REASON_BAD_REQUEST;
    if (seen->hosts == 0)
        return out->target.form == GW_TARGET_ORIGIN ? GW_REASON_BAD_REQUEST : GW_REASON_NONE;
    if (out->is_connect)
        return GW_REASON_NONE; /* the authority alone decides; clients send all sorts of Host */
    if (seen->host.length == 0)
        return GW_REASON_BAD_REQUEST;
    reason = gw_authority_parse(seen->host, GW_PORT_EMPTY_OK, &host);
    if (out->target.form == GW_TARGET_ORIGIN && reason == GW_REASON_NONE)
        out->authority = host;
    return reason;
}

static enum gw_reason read_all(struct gw_http_head *head, const char *text, struct gw_slice own_via,
                               struct gw_request *out)
{
    struct seen seen = { 0 };
    bool close, keep_alive, upgrade;
    struct gw_slice target = { text + head->target, head->target_length };
    enum gw_reason reason = gw_request_target_parse(target, out->is_connect, &out->target);
    if (reason != GW_REASON_NONE)
        return reason;
    out->https = out->target.https;
    for (uint32_t i = 0; i < head->field_count; i++) {
        enum gw_reason why = read_field(&head->fields[i], text, own_via, out, &seen);
        if (reason == GW_REASON_NONE)
            reason = why;
    }
    /* "chunked" and a HTAB: we would trim it, the decoder does not. Both must see it. */
    seen.chunked = seen.chunked && (head->parser.flags & F_CHUNKED) != 0;
    enum gw_reason why = read_authority(&seen, out);
    if (reason == GW_REASON_NONE)
        reason = why;
    if (reason == GW_REASON_NONE)
        reason = read_framing(&seen, out);
    if (!gw_connection_mark(head, text, &close, &keep_alive, &upgrade) && reason == GW_REASON_NONE)
        reason = GW_REASON_BAD_REQUEST;
    /* In 1.0 a connection lasts only when both ask; in 1.1 unless one says close (RFC 9112 9.3).
     * On CONNECT the word concerns the tunnel's end alone: undici sends it, and means nothing. */
    out->keep_alive = !close && (!out->minor0 || keep_alive);
    out->websocket = upgrade && seen.upgrades == 1 && seen.websocket && seen.keys == 1
                     && !out->minor0 && out->body == GW_BODY_NONE
                     && gw_slice_equal(out->method, GW_SLICE("GET"));
    if (reason != GW_REASON_NONE)
        return reason;
    if (seen.looped)
        return GW_REASON_LOOP;
    if (seen.other_expectation)
        return GW_REASON_EXPECTATION;
    return GW_REASON_NONE;
}

enum gw_reason gw_request_read(struct gw_http_head *head, const char *text, const char *own_via,
                               struct gw_request *out)
{
    *out = (struct gw_request){ .max_forwards = -1 };
    out->method = (struct gw_slice){ text + head->method, head->method_length };
    out->is_connect = gw_slice_equal(out->method, GW_SLICE("CONNECT"));
    out->is_head = gw_slice_equal(out->method, GW_SLICE("HEAD"));
    out->minor0 = head->minor0;
    return read_all(head, text, gw_slice_of(own_via), out);
}
