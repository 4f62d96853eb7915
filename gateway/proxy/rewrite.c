/* gateway/proxy/rewrite.c */
#include "gateway/proxy/rewrite.h"

#include "base/macros.h"
#include "base/number.h"
#include "base/text.h"

/* Appends to a buffer and remembers the first failure, so that a head reads as a list of lines. */
struct writer {
    struct gw_buffer *out;
    bool failed;
};

static void put(struct writer *writer, struct gw_slice bytes)
{
    if (!writer->failed && !gw_buffer_append(writer->out, bytes))
        writer->failed = true;
}

static void put_line(struct writer *writer, struct gw_slice name, struct gw_slice value)
{
    put(writer, name);
    put(writer, GW_SLICE(": "));
    put(writer, value);
    put(writer, GW_SLICE("\r\n"));
}

static void put_number_line(struct writer *writer, struct gw_slice name, uint64_t number)
{
    char digits[24];
    struct gw_text text;
    gw_text_init(&text, digits, sizeof digits);
    gw_text_add_number(&text, number);
    put_line(writer, name, gw_text_slice(&text));
}

static void put_target(struct writer *writer, struct gw_slice path_and_query)
{
    if (path_and_query.length == 0 || path_and_query.data[0] != '/')
        put(writer, GW_SLICE("/"));
    put(writer, path_and_query);
}

/* Host from the canonical target; the scheme's default port is not written (RFC 9110 7.2). */
static void put_host(struct writer *writer, const struct gw_request *request, bool tls,
                     uint16_t dial_port)
{
    char name[GW_AUTHORITY_TEXT_MAX];
    struct gw_authority authority = request->authority;
    authority.port = dial_port == (tls ? 443 : 80) ? 0 : dial_port;
    size_t length = gw_authority_print(&authority, name, sizeof name);
    put_line(writer, GW_SLICE("Host"), (struct gw_slice){ name, length });
}

static bool request_field_goes_on(const struct gw_http_field *field, const char *text,
                                  const struct gw_request *request, const struct gw_stamp *stamps,
                                  size_t stamp_count)
{
    switch ((enum gw_field_id)field->id) {
    case GW_FIELD_HOST:
    case GW_FIELD_CONTENT_LENGTH:
    case GW_FIELD_MAX_FORWARDS:
        return false; /* rebuilt */
    case GW_FIELD_TRAILER:
        if (request->body != GW_BODY_CHUNKED)
            return false;
        break;
    case GW_FIELD_EXPECT:
        if (request->minor0)
            return false;
        break;
    case GW_FIELD_OTHER:
    case GW_FIELD_TRANSFER_ENCODING:
    case GW_FIELD_CONNECTION:
    case GW_FIELD_PROXY_CONNECTION:
    case GW_FIELD_KEEP_ALIVE:
    case GW_FIELD_TE:
    case GW_FIELD_UPGRADE:
    case GW_FIELD_PROXY_AUTHORIZATION:
    case GW_FIELD_PROXY_AUTHENTICATE:
    case GW_FIELD_PROXY_AUTH_INFO:
    case GW_FIELD_HTTP2_SETTINGS:
    case GW_FIELD_VIA:
    case GW_FIELD_ACCEPT:
    case GW_FIELD_WS_KEY:
    case GW_FIELD_WS_ACCEPT:
    case GW_FIELD_IDS:
        break;
    }
    return !field->connection && !gw_field_is_hop_by_hop((enum gw_field_id)field->id)
           && !gw_stamps_name(stamps, stamp_count, gw_http_name(field, text));
}

bool gw_rewrite_request(const struct gw_http_head *head, const char *text,
                        const struct gw_request *request, bool tls, uint16_t dial_port,
                        const char *via, const struct gw_stamp *stamps, size_t stamp_count,
                        struct gw_buffer *out)
{
    struct writer writer = { .out = out };
    put(&writer, request->method);
    put(&writer, GW_SLICE(" "));
    put_target(&writer, request->target.path_and_query);
    put(&writer, GW_SLICE(" HTTP/1.1\r\n"));
    put_host(&writer, request, tls, dial_port);
    for (uint32_t i = 0; i < head->field_count; i++) {
        const struct gw_http_field *field = &head->fields[i];
        if (request_field_goes_on(field, text, request, stamps, stamp_count))
            put_line(&writer, gw_http_name(field, text), gw_http_value(field, text));
    }
    if (request->max_forwards > 0)
        put_number_line(&writer, GW_SLICE("Max-Forwards"), (uint64_t)request->max_forwards - 1);
    put(&writer, request->minor0 ? GW_SLICE("Via: 1.0 ") : GW_SLICE("Via: 1.1 "));
    put(&writer, gw_slice_of(via));
    put(&writer, GW_SLICE("\r\n"));
    if (request->body == GW_BODY_CHUNKED)
        put(&writer, GW_SLICE("Transfer-Encoding: chunked\r\n"));
    else if (request->length_given)
        put_number_line(&writer, GW_SLICE("Content-Length"), request->body_length);
    if (request->websocket)
        put(&writer, GW_SLICE("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    return !writer.failed;
}

bool gw_rewrite_stamp(const struct gw_stamp *stamps, size_t stamp_count, struct gw_buffer *out)
{
    struct writer writer = { .out = out };
    for (size_t i = 0; i < stamp_count; i++)
        put_line(&writer, stamps[i].header, gw_secret_reveal(&stamps[i].credential->value));
    put(&writer, GW_SLICE("\r\n"));
    return !writer.failed;
}

static bool status_has_no_body(unsigned status)
{
    return status / 100 == 1 || status == 204 || status == 304;
}

enum gw_reason gw_response_read(struct gw_http_head *head, const char *text,
                                const struct gw_request *request, struct gw_response *out)
{
    unsigned lengths = 0, codings = 0, upgrades = 0, accepts = 0;
    bool chunked = false, websocket = false, close, keep_alive, upgrade;
    *out = (struct gw_response){ .status = head->status, .minor0 = head->minor0 };
    for (uint32_t i = 0; i < head->field_count; i++) {
        const struct gw_http_field *field = &head->fields[i];
        struct gw_slice value = gw_http_value(field, text);
        if (field->id == GW_FIELD_CONTENT_LENGTH) {
            if (lengths++ > 0
                || !gw_number_parse_digits(value, (uint64_t)INT64_MAX, &out->body_length))
                return GW_REASON_UPSTREAM_PROTOCOL;
        } else if (field->id == GW_FIELD_TRANSFER_ENCODING) {
            codings++;
            chunked = gw_slice_equal_nocase(value, GW_SLICE("chunked"))
                      && (head->parser.flags & F_CHUNKED) != 0;
        } else if (field->id == GW_FIELD_UPGRADE) {
            upgrades++;
            websocket = gw_slice_equal_nocase(value, GW_SLICE("websocket"));
        } else if (field->id == GW_FIELD_WS_ACCEPT) {
            accepts++;
        }
    }
    if (!gw_connection_mark(head, text, &close, &keep_alive, &upgrade))
        return GW_REASON_UPSTREAM_PROTOCOL;
    /* Both lengths, a coding that is not chunked, or chunked in 1.0: an answer that can be split at
     * two places is used by nobody (RFC 9112 6.3, 11.1). */
    if (codings > 1 || (codings == 1 && (!chunked || lengths > 0 || out->minor0)))
        return GW_REASON_UPSTREAM_PROTOCOL;
    if (status_has_no_body(out->status) || request->is_head)
        out->body = GW_BODY_NONE;
    else if (chunked)
        out->body = GW_BODY_CHUNKED;
    else if (lengths > 0)
        out->body = out->body_length > 0 ? GW_BODY_LENGTH : GW_BODY_NONE;
    else
        out->body = GW_BODY_TO_EOF;
    out->keep_alive = !close && (!out->minor0 || keep_alive) && out->body != GW_BODY_TO_EOF;
    if (out->status == 101) {
        /* Switching is only to what was asked for (RFC 9110 15.2.2, RFC 6455 4.2.2). */
        if (!request->websocket || !upgrade || upgrades != 1 || !websocket || accepts != 1)
            return GW_REASON_UPSTREAM_PROTOCOL;
        out->websocket = true;
    }
    return GW_REASON_NONE;
}

static bool response_field_goes_on(const struct gw_http_field *field,
                                   const struct gw_response *response,
                                   enum gw_client_framing framing)
{
    if (field->id == GW_FIELD_CONTENT_LENGTH)
        /* 1xx and 204 have none (RFC 9110 8.6); HEAD and 304 keep what describes the whole. */
        return framing == GW_FRAMING_LENGTH
               || (framing == GW_FRAMING_NONE && response->status / 100 != 1
                   && response->status != 204);
    if (field->id == GW_FIELD_TRAILER)
        return framing == GW_FRAMING_CHUNKED && response->body == GW_BODY_CHUNKED;
    return !field->connection && !gw_field_is_hop_by_hop((enum gw_field_id)field->id);
}

bool gw_rewrite_response(const struct gw_http_head *head, const char *text,
                         const struct gw_request *request, const struct gw_response *response,
                         enum gw_client_framing framing, bool close, const struct gw_stamp *stamps,
                         size_t stamp_count, struct gw_buffer *out)
{
    struct writer writer = { .out = out };
    size_t before = gw_buffer_length(out);
    char line[32];
    struct gw_text start;
    gw_text_init(&start, line, sizeof line);
    gw_text_addf(&start, "HTTP/1.1 %03u ", response->status);
    put(&writer, gw_text_slice(&start));
    put(&writer, (struct gw_slice){ text + head->phrase, head->phrase_length });
    put(&writer, GW_SLICE("\r\n"));
    for (uint32_t i = 0; i < head->field_count; i++) {
        const struct gw_http_field *field = &head->fields[i];
        if (response_field_goes_on(field, response, framing))
            put_line(&writer, gw_http_name(field, text), gw_http_value(field, text));
    }
    if (!writer.failed)
        gw_stamps_mask(stamps, stamp_count, out->memory + out->start + before,
                       gw_buffer_length(out) - before);
    if (framing == GW_FRAMING_CHUNKED)
        put(&writer, GW_SLICE("Transfer-Encoding: chunked\r\n"));
    if (response->websocket)
        put(&writer, GW_SLICE("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    else if (close)
        put(&writer, GW_SLICE("Connection: close\r\n"));
    else if (request->minor0 && response->status / 100 != 1)
        put(&writer, GW_SLICE("Connection: keep-alive\r\n"));
    put(&writer, GW_SLICE("\r\n"));
    return !writer.failed;
}

bool gw_rewrite_trailer_ok(struct gw_slice name)
{
    static const struct gw_slice refused[] = {
        { "authorization", 13 }, { "set-cookie", 10 },       { "cookie", 6 },
        { "content-type", 12 },  { "content-encoding", 16 }, { "content-range", 13 },
        { "cache-control", 13 }, { "location", 8 },
    };
    enum gw_field_id id = gw_field_id(name);
    if (id != GW_FIELD_OTHER)
        return false;
    for (size_t i = 0; i < GW_COUNT(refused); i++)
        if (gw_slice_equal_nocase(refused[i], name))
            return false;
    return true;
}
