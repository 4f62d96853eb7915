/* gateway/proxy/http_head.c */
#include "gateway/proxy/http_head.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/macros.h"
#include "policy/request_target.h"

static const struct {
    struct gw_slice name;
    bool hop;
} known[] = { { { NULL, 0 }, false },
#define GW_FIELD(id, name, hop) { { name, sizeof(name) - 1 }, hop },
              GW_FIELDS(GW_FIELD)
#undef GW_FIELD
};

enum gw_field_id gw_field_id(struct gw_slice name)
{
    for (unsigned id = 1; id < GW_COUNT(known); id++)
        if (known[id].name.length == name.length && gw_slice_equal_nocase(known[id].name, name))
            return (enum gw_field_id)id;
    return GW_FIELD_OTHER;
}

bool gw_field_is_hop_by_hop(enum gw_field_id id)
{
    return known[id].hop;
}

/* RFC 9110 5.6.2 */
static bool is_token_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')
           || (byte >= '0' && byte <= '9')
           || (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte) != NULL);
}

/* Pieces of one span follow each other in memory, since the head lies in one piece. */
static void extend(struct gw_http_head *head, const char *at, size_t length, uint32_t *offset,
                   uint32_t *total)
{
    uint32_t start = (uint32_t)(at - head->base);
    if (*total == 0)
        *offset = start;
    gw_check(*offset + *total == start);
    *total += (uint32_t)length;
}

static int refuse(struct gw_http_head *head, enum gw_reason reason)
{
    head->reason = reason;
    return HPE_USER;
}

static int on_url(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_http_head *head = parser->data;
    extend(head, at, length, &head->target, &head->target_length);
    return 0;
}

static int on_version(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_http_head *head = parser->data;
    extend(head, at, length, &head->version, &head->version_length);
    return 0;
}

static int on_version_complete(llhttp_t *parser)
{
    struct gw_http_head *head = parser->data;
    head->line_done = true;
    if (parser->http_major != 1 || parser->http_minor > 1)
        return refuse(head, head->response ? GW_REASON_UPSTREAM_PROTOCOL : GW_REASON_VERSION);
    head->minor0 = parser->http_minor == 0;
    return 0;
}

static int on_status(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_http_head *head = parser->data;
    extend(head, at, length, &head->phrase, &head->phrase_length);
    return 0;
}

static struct gw_http_field *last_field(struct gw_http_head *head)
{
    return &head->fields[head->field_count];
}

static int on_field(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_http_head *head = parser->data;
    if (!head->line_done)
        return HPE_USER; /* HTTP/0.9: see ended_early() */
    if (head->field_count == head->field_room) {
        uint32_t room = head->field_room == 0 ? 16 : 2 * head->field_room;
        struct gw_http_field *fields = realloc(head->fields, room * sizeof *fields);
        if (fields == NULL)
            return refuse(head, GW_REASON_OVERLOADED);
        head->fields = fields;
        head->field_room = room;
    }
    struct gw_http_field *field = last_field(head);
    if (!head->in_value) {
        *field = (struct gw_http_field){ 0 };
        head->in_value = true; /* a field has begun */
    }
    extend(head, at, length, &field->name, &field->name_length);
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_http_head *head = parser->data;
    struct gw_http_field *field = last_field(head);
    extend(head, at, length, &field->value, &field->value_length);
    return 0;
}

/* Counted when the field is whole: at the same byte however the head was cut. */
static int on_value_complete(llhttp_t *parser)
{
    struct gw_http_head *head = parser->data;
    struct gw_http_field *field = last_field(head);
    struct gw_slice value = gw_slice_trim(gw_http_value(field, head->base));
    if (value.length > 0)
        field->value = (uint32_t)(value.data - head->base);
    field->value_length = (uint32_t)value.length;
    field->id = gw_field_id(gw_http_name(field, head->base));
    head->in_value = false;
    head->field_count++;
    uint64_t most = head->response ? gw_limit(head->limits, RESPONSE_FIELDS)
                                   : gw_limit(head->limits, HEAD_FIELDS);
    if (head->field_count > most)
        return refuse(head,
                      head->response ? GW_REASON_UPSTREAM_PROTOCOL : GW_REASON_HEADERS_TOO_LARGE);
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct gw_http_head *head = parser->data;
    if (!head->line_done)
        return HPE_USER;
    head->over = true;
    return HPE_PAUSED; /* stops at the first byte behind the head */
}

static const llhttp_settings_t *settings(void)
{
    static const llhttp_settings_t fixed = {
        .on_url = on_url,
        .on_version = on_version,
        .on_version_complete = on_version_complete,
        .on_status = on_status,
        .on_header_field = on_field,
        .on_header_value = on_value,
        .on_header_value_complete = on_value_complete,
        .on_headers_complete = on_headers_complete,
    };
    return &fixed;
}

void gw_http_head_init(struct gw_http_head *head, bool response, const struct gw_limits *limits)
{
    *head = (struct gw_http_head){ .response = response, .limits = limits };
    llhttp_init(&head->parser, response ? HTTP_RESPONSE : HTTP_REQUEST, settings());
    head->parser.data = head;
}

void gw_http_head_fini(struct gw_http_head *head)
{
    free(head->fields);
    head->fields = NULL;
    head->field_count = head->field_room = 0;
}

static enum gw_head_result bad(struct gw_http_head *head, enum gw_reason reason)
{
    head->reason = reason;
    return GW_HEAD_BAD;
}

static struct gw_slice cut(struct gw_slice *rest)
{
    const char *space = memchr(rest->data, ' ', rest->length);
    size_t length = space == NULL ? rest->length : (size_t)(space - rest->data);
    struct gw_slice part = { rest->data, length };
    size_t skip = space == NULL ? length : length + 1;
    *rest = (struct gw_slice){ rest->data + skip, rest->length - skip };
    return part;
}

static bool looks_like_version(struct gw_slice text)
{
    return text.length >= 6 && memcmp(text.data, "HTTP/", 5) == 0 && text.data[5] >= '0'
           && text.data[5] <= '9';
}

/* A request line that llhttp gave up on, now whole: what exactly is wrong with it? The parser stops
 * at the first bad byte, which comes sooner or later in the line as the segments fall; the whole
 * line gives one answer. */
static enum gw_reason judge_line(struct gw_slice line, int error)
{
    if (line.length > 0 && line.data[line.length - 1] == '\r')
        line.length--;
    struct gw_slice rest = line, method = cut(&rest);
    if (method.length == 0 || method.length == line.length)
        return GW_REASON_BAD_REQUEST;
    struct gw_slice target = cut(&rest);
    if (error == HPE_INVALID_VERSION && looks_like_version(rest))
        return GW_REASON_VERSION;
    struct gw_request_target parsed;
    bool is_connect = gw_slice_equal(method, GW_SLICE("CONNECT"));
    enum gw_reason reason = gw_request_target_parse(target, is_connect, &parsed);
    return reason == GW_REASON_NONE ? GW_REASON_BAD_REQUEST : reason;
}

static enum gw_head_result salvage(struct gw_http_head *head, struct gw_slice text)
{
    uint64_t most = gw_limit(head->limits, REQUEST_LINE_BYTES);
    size_t look = text.length < most ? text.length : (size_t)most;
    const char *end = memchr(text.data + head->line_start, '\n', look - head->line_start);
    if (end == NULL)
        return look == most ? bad(head, GW_REASON_URI_TOO_LONG) : GW_HEAD_MORE;
    struct gw_slice line = { text.data + head->line_start,
                             (size_t)(end - text.data) - head->line_start };
    return bad(head, judge_line(line, head->salvage_error));
}

static enum gw_head_result failed(struct gw_http_head *head, struct gw_slice text, int error)
{
    if (head->reason != GW_REASON_NONE)
        return GW_HEAD_BAD; /* one of our callbacks refused */
    if (head->response)
        return bad(head, GW_REASON_UPSTREAM_PROTOCOL);
    if (head->line_done)
        return bad(head, GW_REASON_BAD_REQUEST);
    head->salvaging = true;
    head->salvage_error = error;
    return salvage(head, text);
}

/* A request line without a version is HTTP/0.9 to llhttp, which then goes on to fields. */
static bool ended_early(const struct gw_http_head *head, struct gw_slice text)
{
    size_t behind = head->target + head->target_length;
    return !head->response && !head->line_done && head->target_length > 0
           && memchr(text.data + behind, '\n', text.length - behind) != NULL;
}

/* RFC 9112 4: HTAB, SP, VCHAR, obs-text; llhttp takes all but CR and LF. */
static bool phrase_is_clean(struct gw_slice phrase)
{
    for (size_t i = 0; i < phrase.length; i++) {
        unsigned char byte = (unsigned char)phrase.data[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

/* The method is read here, since llhttp knows a fixed list and any token is one (RFC 9110 9.1). It
 * is told a stand-in that makes it expect the same form of target. Empty lines in front of the
 * request line are passed over (RFC 9112 2.2). */
static enum gw_head_result read_method(struct gw_http_head *head, struct gw_slice text)
{
    uint64_t most = gw_limit(head->limits, REQUEST_LINE_BYTES);
    for (; head->fed < text.length; head->fed++) {
        char byte = text.data[head->fed];
        if (head->fed >= most)
            return bad(head, GW_REASON_URI_TOO_LONG);
        if (head->fed == head->line_start) {
            if (byte == 0x16 && head->fed == 0) /* TLS record type: handshake (RFC 8446 5.1) */
                return bad(head, GW_REASON_TLS_TO_PLAIN);
            bool after_cr = head->fed > 0 && text.data[head->fed - 1] == '\r';
            if ((byte == '\r' && !after_cr) || (byte == '\n' && after_cr)) {
                head->line_start++;
                continue;
            }
            if (after_cr)
                return bad(head, GW_REASON_BAD_REQUEST);
        }
        if (byte == ' ' && head->fed > head->line_start)
            break;
        if (!is_token_byte(byte))
            return bad(head, GW_REASON_BAD_REQUEST);
    }
    if (head->fed == text.length)
        return GW_HEAD_MORE;
    head->method = head->line_start;
    head->method_length = head->fed - head->line_start;
    struct gw_slice method = { text.data + head->method, head->method_length };
    bool is_connect = gw_slice_equal(method, GW_SLICE("CONNECT"));
    struct gw_slice stand_in = is_connect ? GW_SLICE("CONNECT ") : GW_SLICE("POST ");
    gw_check(llhttp_execute(&head->parser, stand_in.data, stand_in.length) == HPE_OK);
    head->fed++; /* the blank */
    head->method_done = true;
    return GW_HEAD_MORE;
}

/* llhttp skips blanks that RFC 9112 3 does not allow. */
static bool line_is_exact(const struct gw_http_head *head, const char *base)
{
    struct gw_slice between = { base + head->target + head->target_length,
                                head->version - head->target - head->target_length };
    return head->version_length > 0 && head->target == head->method + head->method_length + 1
           && gw_slice_equal(between, GW_SLICE(" HTTP/"));
}

static enum gw_head_result finish(struct gw_http_head *head, struct gw_slice text)
{
    const char *at = llhttp_get_error_pos(&head->parser);
    head->length = (uint32_t)(at - text.data);
    if (!head->response && !line_is_exact(head, text.data))
        return bad(head, GW_REASON_BAD_REQUEST);
    if (head->response) {
        head->status = head->parser.status_code;
        /* RTSP and ICE status lines parse as well. */
        if (head->version < 5 || memcmp(text.data + head->version - 5, "HTTP/", 5) != 0
            || head->status < 100 || head->status > 599
            || !phrase_is_clean((struct gw_slice){ text.data + head->phrase, head->phrase_length }))
            return bad(head, GW_REASON_UPSTREAM_PROTOCOL);
    }
    return GW_HEAD_DONE;
}

enum gw_head_result gw_http_head_feed(struct gw_http_head *head, struct gw_slice text)
{
    if (head->salvaging)
        return salvage(head, text);
    uint64_t head_most = head->response ? gw_limit(head->limits, RESPONSE_HEAD_BYTES)
                                        : gw_limit(head->limits, HEAD_BYTES);
    uint64_t line_most = head->response ? head_most : gw_limit(head->limits, REQUEST_LINE_BYTES);
    if (!head->response && !head->method_done) {
        enum gw_head_result result = read_method(head, text);
        if (!head->method_done)
            return result;
    }
    head->base = text.data;
    while (head->fed < text.length) {
        uint64_t most = head->line_done || line_most > head_most ? head_most : line_most;
        if (head->fed >= most)
            return bad(head, head->response    ? GW_REASON_UPSTREAM_PROTOCOL
                             : head->line_done ? GW_REASON_HEADERS_TOO_LARGE
                                               : GW_REASON_URI_TOO_LONG);
        size_t end = text.length < most ? text.length : (size_t)most;
        int error = llhttp_execute(&head->parser, text.data + head->fed, end - head->fed);
        if (head->over && error == HPE_PAUSED)
            return finish(head, text);
        if (error != HPE_OK || ended_early(head, (struct gw_slice){ text.data, end }))
            return failed(head, text, error);
        head->fed = (uint32_t)end;
    }
    return GW_HEAD_MORE;
}
