/* tests/fuzz/body_fuzz.c - a chunked body gives the same data, trailers, end and verdict however it
 * was cut. The first two bytes choose a place to cut, the third request or answer and the limits.
 */
#include "gateway/proxy/body.h"
#include "gateway/proxy/rewrite.h"
#include "pieces.h"

struct gathered {
    struct gw_buffer data, trailers;
    bool bad, complete;
    size_t used;
};

static struct gw_limits limits;

static void feed(struct gw_body *body, struct gathered *gathered, struct gw_slice bytes)
{
    char *copy = malloc(bytes.length == 0 ? 1 : bytes.length);
    gw_check(copy != NULL);
    memcpy(copy, bytes.data, bytes.length);
    struct gw_slice text = { copy, bytes.length };
    while (text.length > 0 && !body->complete) {
        struct gw_slice pieces[GW_BODY_PIECES_MAX];
        size_t used, count;
        if (gw_body_read(body, text, &used, pieces, &count) == GW_BODY_BAD) {
            gathered->bad = true;
            break;
        }
        gw_check(used > 0 && used <= text.length && count <= GW_BODY_PIECES_MAX);
        const char *last = text.data;
        for (size_t i = 0; i < count; i++) { /* in order, and inside what was used */
            gw_check(pieces[i].data >= last);
            last = pieces[i].data + pieces[i].length;
            gw_check(gw_buffer_append(&gathered->data, pieces[i]));
        }
        gw_check(last <= text.data + used);
        gathered->used += used;
        text = (struct gw_slice){ text.data + used, text.length - used };
    }
    free(copy);
}

static void gather(struct gathered *gathered, bool response, struct gw_slice bytes, size_t cut)
{
    struct gw_http_head head;
    struct gw_body body;
    struct gw_slice text =
        response ? GW_SLICE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                 : GW_SLICE("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    memset(gathered, 0, sizeof *gathered);
    gw_http_head_init(&head, response, &limits);
    gw_check(gw_http_head_feed(&head, text) == GW_HEAD_DONE);
    gw_body_init(&body, GW_BODY_CHUNKED, 0, &head);
    for (size_t at = 0; at < bytes.length && !gathered->bad && !body.complete;) {
        size_t length = cut == CUT_EVERYWHERE ? 1 : at < cut ? cut - at : bytes.length - at;
        feed(&body, gathered, (struct gw_slice){ bytes.data + at, length });
        at += length;
    }
    gathered->complete = body.complete;
    gw_check(gathered->bad || body.total == gw_buffer_length(&gathered->data));
    gathered->trailers = body.trailers; /* handed over */
    body.trailers = (struct gw_buffer){ 0 };
    gw_body_fini(&body);
    gw_http_head_fini(&head);
}

static void gathered_free(struct gathered *gathered)
{
    gw_buffer_fini(&gathered->data);
    gw_buffer_fini(&gathered->trailers);
}

static void check_cut(const struct gathered *whole, bool response, struct gw_slice bytes,
                      size_t cut)
{
    struct gathered parts;
    gather(&parts, response, bytes, cut);
    gw_check(whole->bad == parts.bad);
    if (!whole->bad) {
        gw_check(whole->complete == parts.complete && whole->used == parts.used);
        gw_check(gw_slice_equal(gw_buffer_slice(&whole->data), gw_buffer_slice(&parts.data)));
        gw_check(
            gw_slice_equal(gw_buffer_slice(&whole->trailers), gw_buffer_slice(&parts.trailers)));
    }
    gathered_free(&parts);
}

/* They are sent as they are: fields, and only such as may stand there. */
static void check_trailers(const struct gw_buffer *trailers)
{
    struct gw_http_head head;
    struct gw_buffer text = { 0 };
    struct gw_limits wide = wide_limits();
    gw_check(gw_buffer_append(&text, GW_SLICE("GET / HTTP/1.1\r\n")));
    gw_check(gw_buffer_append(&text, gw_buffer_slice(trailers)));
    gw_check(gw_buffer_append(&text, GW_SLICE("\r\n")));
    check_lines(gw_buffer_slice(&text));
    gw_limit(&wide, HEAD_FIELDS) = UINT64_MAX;
    gw_http_head_init(&head, false, &wide);
    gw_check(gw_http_head_feed(&head, gw_buffer_slice(&text)) == GW_HEAD_DONE);
    gw_check(head.length == gw_buffer_length(&text));
    for (uint32_t i = 0; i < head.field_count; i++)
        gw_check(head.fields[i].id == GW_FIELD_OTHER
                 && gw_rewrite_trailer_ok(gw_http_name(&head.fields[i], text.memory + text.start)));
    gw_http_head_fini(&head);
    gw_buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gathered whole;
    if (size < 4)
        return 0;
    size_t cut = (size_t)data[0] << 8 | data[1];
    bool response = data[2] & 1;
    gw_limits_init(&limits);
    if (data[2] & 2)
        gw_limit(&limits, CHUNK_OVERHEAD_BYTES) = 16;
    if (data[2] & 4)
        gw_limit(&limits, HEAD_BYTES) = gw_limit(&limits, RESPONSE_HEAD_BYTES) = 80;
    struct gw_slice bytes = { (const char *)data + 3, size - 3 };
    gather(&whole, response, bytes, CUT_NOWHERE);
    if (!whole.bad && gw_buffer_length(&whole.trailers) > 0)
        check_trailers(&whole.trailers);
    gw_check(!whole.complete || whole.used <= bytes.length);
    check_cut(&whole, response, bytes, cut % bytes.length);
    if (bytes.length <= 2048)
        check_cut(&whole, response, bytes, CUT_EVERYWHERE);
    gathered_free(&whole);
    return 0;
}
