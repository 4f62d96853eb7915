/* gateway/proxy/body.c */
#include "gateway/proxy/body.h"

#include "base/check.h"
#include "gateway/proxy/rewrite.h"

enum { OVERHEAD_FACTOR = 16 };

/* Nobody sends one; what adds to a size read here, or to what others read, cannot overflow. */
#define CHUNK_BYTES_MAX ((uint64_t)1 << 50)

/* Bytes up to `here` in the present call that were not data, and all before. */
static bool is_overhead_fine(const struct gw_body *body, const char *here)
{
    uint64_t data = body->total - body->total_before;
    uint64_t overhead = body->overhead + ((uint64_t)(here - body->start) - data);
    return overhead
           <= gw_limit(body->head->limits, CHUNK_OVERHEAD_BYTES) + OVERHEAD_FACTOR * body->total;
}

static int on_chunk_header(llhttp_t *parser)
{
    return parser->content_length < CHUNK_BYTES_MAX ? 0 : HPE_USER;
}

static int on_body(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_body *body = parser->data;
    /* Looked at where overhead ends, not where a segment does. */
    if (!is_overhead_fine(body, at))
        return HPE_USER;
    body->pieces[body->piece_count++] = (struct gw_slice){ at, length };
    body->total += length;
    return body->piece_count == GW_BODY_PIECES_MAX ? HPE_PAUSED : 0;
}

static int keep(struct gw_body *body, struct gw_buffer *part, const char *at, size_t length)
{
    const struct gw_http_head *head = body->head;
    uint64_t most = head->response ? gw_limit(head->limits, RESPONSE_HEAD_BYTES)
                                   : gw_limit(head->limits, HEAD_BYTES);
    body->trailer_bytes += length;
    if (body->trailer_bytes > most) /* they are kept until the end of the body */
        return HPE_USER;
    return gw_buffer_append(part, (struct gw_slice){ at, length }) ? 0 : HPE_USER;
}

static int on_trailer_name(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_body *body = parser->data;
    return keep(body, &body->name, at, length);
}

static int on_trailer_value(llhttp_t *parser, const char *at, size_t length)
{
    struct gw_body *body = parser->data;
    return keep(body, &body->value, at, length);
}

static bool is_named(const struct gw_body *body, struct gw_slice name)
{
    struct gw_slice rest = gw_buffer_slice(&body->named), option;
    while (gw_slice_next(&rest, ',', &option))
        if (gw_slice_equal_nocase(option, name))
            return true;
    return false;
}

static int on_trailer(llhttp_t *parser)
{
    struct gw_body *body = parser->data;
    struct gw_slice name = gw_buffer_slice(&body->name);
    struct gw_slice value = gw_slice_trim(gw_buffer_slice(&body->value));
    bool kept = true;
    if (gw_rewrite_trailer_ok(name) && !gw_stamps_name(body->stamps, body->stamp_count, name)
        && !is_named(body, name)) {
        kept = gw_buffer_append(&body->trailers, name)
               && gw_buffer_append(&body->trailers, GW_SLICE(": "))
               && gw_buffer_append(&body->trailers, value)
               && gw_buffer_append(&body->trailers, GW_SLICE("\r\n"));
    }
    gw_buffer_fini(&body->name);
    gw_buffer_fini(&body->value);
    return kept ? 0 : HPE_USER;
}

static int on_complete(llhttp_t *parser)
{
    struct gw_body *body = parser->data;
    body->complete = true;
    return HPE_PAUSED;
}

static llhttp_settings_t *settings(void)
{
    static llhttp_settings_t fixed = {
        .on_chunk_header = on_chunk_header,
        .on_body = on_body,
        .on_header_field = on_trailer_name,
        .on_header_value = on_trailer_value,
        .on_header_value_complete = on_trailer,
        .on_message_complete = on_complete,
    };
    return &fixed;
}

void gw_body_init(struct gw_body *body, enum gw_body_kind kind, uint64_t length,
                  struct gw_http_head *head)
{
    *body = (struct gw_body){ .kind = kind, .left = length, .head = head };
    body->complete = kind == GW_BODY_NONE || (kind == GW_BODY_LENGTH && length == 0);
    if (kind != GW_BODY_CHUNKED)
        return;
    head->parser.data = body;
    head->parser.settings = settings();
    llhttp_resume(&head->parser);
}

void gw_body_fini(struct gw_body *body)
{
    gw_buffer_fini(&body->named);
    gw_buffer_fini(&body->trailers);
    gw_buffer_fini(&body->name);
    gw_buffer_fini(&body->value);
}

static enum gw_body_result read_chunked(struct gw_body *body, struct gw_slice text, size_t *used,
                                        struct gw_slice *pieces, size_t *piece_count)
{
    llhttp_t *parser = &body->head->parser;
    body->start = text.data;
    body->total_before = body->total;
    body->pieces = pieces;
    body->piece_count = 0;
    int error = llhttp_execute(parser, text.data, text.length);
    *used = text.length;
    if (error == HPE_PAUSED) {
        *used = (size_t)(llhttp_get_error_pos(parser) - text.data);
        llhttp_resume(parser);
    } else if (error != HPE_OK) {
        return GW_BODY_BAD;
    }
    *piece_count = body->piece_count;
    bool fine = is_overhead_fine(body, text.data + *used);
    body->overhead += *used - (body->total - body->total_before);
    return fine ? GW_BODY_OK : GW_BODY_BAD;
}

enum gw_body_result gw_body_read(struct gw_body *body, struct gw_slice text, size_t *used,
                                 struct gw_slice pieces[GW_BODY_PIECES_MAX], size_t *piece_count)
{
    *used = 0;
    *piece_count = 0;
    if (body->complete || text.length == 0)
        return GW_BODY_OK;
    if (body->kind == GW_BODY_CHUNKED)
        return read_chunked(body, text, used, pieces, piece_count);
    size_t take = text.length;
    if (body->kind == GW_BODY_LENGTH && take > body->left)
        take = (size_t)body->left;
    pieces[0] = (struct gw_slice){ text.data, take };
    *piece_count = 1;
    *used = take;
    body->total += take;
    if (body->kind == GW_BODY_LENGTH) {
        body->left -= take;
        body->complete = body->left == 0;
    }
    return GW_BODY_OK;
}
