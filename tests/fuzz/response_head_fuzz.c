/* tests/fuzz/response_head_fuzz.c - bytes of an upstream, all the way to the client's head.
 * The first two bytes choose a place to cut, the third the request that is answered and the limits.
 * However the bytes come, the verdict and what the client gets are the same; that parses again,
 * ends where the body that we send with it ends, and holds no stamped value. */
#include "gateway/proxy/rewrite.h"
#include "pieces.h"

#define SECRET "SECRET-1"

struct reading {
    struct gw_http_head head;
    char *text;
    enum gw_head_result result;
    enum gw_reason reason;
    struct gw_response response;
};

static struct gw_limits limits;
static struct gw_stamp stamp;

static void set_up(void)
{
    stamp = (struct gw_stamp){ .header = GW_SLICE("authorization"), .name = GW_SLICE("key") };
    stamp.credential = gw_credential_new(1, GW_SLICE("Bearer " SECRET), GW_SLICE(SECRET));
    gw_check(stamp.credential != NULL);
}

static struct gw_request request_of(unsigned choice)
{
    struct gw_request request = { .method = GW_SLICE("GET"), .keep_alive = true };
    if (choice == 1) {
        request.method = GW_SLICE("HEAD");
        request.is_head = true;
    }
    request.minor0 = choice == 2;
    request.websocket = choice == 3;
    return request;
}

static void reading_make(struct reading *reading, struct gw_slice bytes, size_t cut,
                         const struct gw_request *request)
{
    memset(reading, 0, sizeof *reading);
    gw_http_head_init(&reading->head, true, &limits);
    reading->result = feed_in_pieces(&reading->head, bytes, cut, &reading->text);
    reading->reason = reading->head.reason;
    if (reading->result == GW_HEAD_DONE)
        reading->reason =
            gw_response_read(&reading->head, reading->text, request, &reading->response);
    gw_check(reading->reason == GW_REASON_NONE || reading->reason == GW_REASON_UPSTREAM_PROTOCOL);
}

static void reading_free(struct reading *reading)
{
    gw_http_head_fini(&reading->head);
    free(reading->text);
}

static bool is_relayed(const struct reading *reading)
{
    return reading->result == GW_HEAD_DONE && reading->reason == GW_REASON_NONE;
}

/* As gateway/proxy/stream.c chooses it. */
static enum gw_client_framing framing_of(const struct gw_response *response, bool minor0)
{
    switch (response->body) {
    case GW_BODY_NONE:
        return GW_FRAMING_NONE;
    case GW_BODY_LENGTH:
        return GW_FRAMING_LENGTH;
    case GW_BODY_CHUNKED:
    case GW_BODY_TO_EOF:
        break;
    }
    return minor0 ? GW_FRAMING_CLOSE : GW_FRAMING_CHUNKED;
}

static void rewrite(const struct reading *reading, const struct gw_request *request, bool close,
                    struct gw_buffer *out)
{
    *out = (struct gw_buffer){ 0 };
    gw_check(gw_rewrite_response(&reading->head, reading->text, request, &reading->response,
                                 framing_of(&reading->response, request->minor0), close, &stamp, 1,
                                 out));
}

static void check_sent(const struct reading *first, const struct gw_request *request, bool close,
                       struct gw_slice sent)
{
    struct reading again;
    struct gw_buffer twice;
    struct gw_limits narrow = limits;
    check_lines(sent);
    gw_check(memmem(sent.data, sent.length, SECRET, strlen(SECRET)) == NULL);
    limits = wide_limits();
    reading_make(&again, sent, CUT_NOWHERE, request);
    gw_check(is_relayed(&again) && again.head.length == sent.length);
    gw_check(!again.head.minor0 && again.response.status == first->response.status);
    gw_check(again.response.websocket == first->response.websocket);
    check_no_hop_by_hop(&again.head);
    gw_check(count_fields(&again.head, GW_FIELD_UPGRADE) == first->response.websocket);
    unsigned status = first->response.status;
    if (status / 100 == 1 || status == 204)
        gw_check(count_fields(&again.head, GW_FIELD_CONTENT_LENGTH)
                     + count_fields(&again.head, GW_FIELD_TRANSFER_ENCODING)
                 == 0);
    switch (framing_of(&first->response, request->minor0)) {
    case GW_FRAMING_NONE:
        gw_check(again.response.body == GW_BODY_NONE);
        break;
    case GW_FRAMING_LENGTH:
        gw_check(again.response.body == GW_BODY_LENGTH);
        gw_check(again.response.body_length == first->response.body_length);
        break;
    case GW_FRAMING_CHUNKED:
        gw_check(again.response.body == GW_BODY_CHUNKED);
        break;
    case GW_FRAMING_CLOSE:
        gw_check(again.response.body == GW_BODY_TO_EOF);
        break;
    }
    /* A second gateway changes nothing; but a body that ends with the connection, to a client of
     * 1.0, is one that it would announce in the same way. */
    rewrite(&again, request, close, &twice);
    gw_check(gw_slice_equal(gw_buffer_slice(&twice), sent));
    gw_buffer_fini(&twice);
    reading_free(&again);
    limits = narrow;
}

static void check_cut(const struct reading *whole, const struct gw_request *request, bool close,
                      struct gw_slice bytes, size_t cut, struct gw_slice sent)
{
    struct reading parts;
    reading_make(&parts, bytes, cut, request);
    check_same_head(&whole->head, whole->result, &parts.head, parts.result);
    gw_check(whole->reason == parts.reason);
    if (is_relayed(&parts)) {
        struct gw_buffer out;
        gw_check(whole->response.body == parts.response.body
                 && whole->response.body_length == parts.response.body_length
                 && whole->response.keep_alive == parts.response.keep_alive);
        rewrite(&parts, request, close, &out);
        gw_check(gw_slice_equal(gw_buffer_slice(&out), sent));
        gw_buffer_fini(&out);
    }
    reading_free(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading whole;
    struct gw_buffer out = { 0 };
    if (stamp.credential == NULL)
        set_up();
    if (size < 4)
        return 0;
    size_t cut = (size_t)data[0] << 8 | data[1];
    struct gw_request request = request_of(data[2] & 3);
    bool close = data[2] & 8;
    gw_limits_init(&limits);
    if (data[2] & 4) {
        gw_limit(&limits, RESPONSE_HEAD_BYTES) = 256;
        gw_limit(&limits, RESPONSE_FIELDS) = 4;
    }
    struct gw_slice bytes = { (const char *)data + 3, size - 3 };
    reading_make(&whole, bytes, CUT_NOWHERE, &request);
    if (is_relayed(&whole)) {
        rewrite(&whole, &request, close, &out);
        check_sent(&whole, &request, close, gw_buffer_slice(&out));
    }
    struct gw_slice sent = gw_buffer_slice(&out);
    check_cut(&whole, &request, close, bytes, cut % bytes.length, sent);
    if (bytes.length <= 1024)
        check_cut(&whole, &request, close, bytes, CUT_EVERYWHERE, sent);
    gw_buffer_fini(&out);
    reading_free(&whole);
    return 0;
}
