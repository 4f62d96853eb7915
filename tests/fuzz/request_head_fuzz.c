/* tests/fuzz/request_head_fuzz.c - bytes of a requester, all the way to the upstream's head.
 * The first two bytes choose a place to cut, the third the scheme and the limits. However the bytes
 * come, the verdict and what is sent are the same; what is sent parses again, means the same, and
 * when sent once more (a second gateway) stays as it is but for another Via. */
#include "gateway/proxy/rewrite.h"
#include "pieces.h"

#define VIA "gw-first"
#define SECOND_VIA "gw-second"

struct reading {
    struct gw_http_head head;
    char *text;
    enum gw_head_result result;
    enum gw_reason reason;
    struct gw_request request;
};

static struct gw_limits limits;
static struct gw_stamp stamp;

static void set_up(void)
{
    stamp = (struct gw_stamp){ .header = GW_SLICE("x-api-key"), .name = GW_SLICE("key") };
    stamp.credential = gw_credential_new(1, GW_SLICE("SECRET-1"), GW_SLICE("SECRET-1"));
    gw_check(stamp.credential != NULL);
}

static void reading_make(struct reading *reading, struct gw_slice bytes, size_t cut,
                         const char *own_via)
{
    memset(reading, 0, sizeof *reading);
    gw_http_head_init(&reading->head, false, &limits);
    reading->result = feed_in_pieces(&reading->head, bytes, cut, &reading->text);
    reading->reason = reading->head.reason;
    if (reading->result == GW_HEAD_DONE)
        reading->reason =
            gw_request_read(&reading->head, reading->text, own_via, &reading->request);
}

static void reading_free(struct reading *reading)
{
    gw_http_head_fini(&reading->head);
    free(reading->text);
}

static bool is_relayed(const struct reading *reading)
{
    return reading->result == GW_HEAD_DONE && reading->reason == GW_REASON_NONE
           && !reading->request.is_connect;
}

static void rewrite(const struct reading *reading, bool tls, uint16_t port, const char *via,
                    struct gw_buffer *out)
{
    *out = (struct gw_buffer){ 0 };
    gw_check(gw_rewrite_request(&reading->head, reading->text, &reading->request, tls, port, via,
                                &stamp, 1, out));
    gw_check(gw_rewrite_stamp(&stamp, 1, out));
}

static void check_same_request(const struct gw_request *a, const struct gw_request *b)
{
    gw_check(gw_slice_equal(a->method, b->method) && a->is_head == b->is_head);
    gw_check(gw_host_equal(&a->authority.host, &b->authority.host));
    gw_check(a->body == b->body && a->body_length == b->body_length);
    gw_check(a->length_given == b->length_given && a->websocket == b->websocket);
}

/* What a server that is asked for `sent` sees. */
static void check_sent(const struct reading *first, struct gw_slice sent, bool tls, uint16_t port)
{
    struct reading again;
    struct gw_buffer twice;
    const struct gw_request *request = &first->request;
    struct gw_limits narrow = limits;
    check_lines(sent);
    limits = wide_limits();
    reading_make(&again, sent, CUT_NOWHERE, SECOND_VIA);
    if (again.reason == GW_REASON_LOOP) { /* the requester has guessed our other name */
        reading_free(&again);
        limits = narrow;
        return;
    }
    gw_check(again.result == GW_HEAD_DONE && again.reason == GW_REASON_NONE);
    gw_check(again.head.length == sent.length && !again.head.minor0);
    check_same_request(request, &again.request);
    struct gw_slice path = request->target.path_and_query,
                    now = again.request.target.path_and_query;
    gw_check(again.request.target.form == GW_TARGET_ORIGIN);
    if (path.length == 0 || path.data[0] != '/')
        now = (struct gw_slice){ now.data + 1, now.length - 1 };
    gw_check(gw_slice_equal(path, now));
    gw_check(again.request.authority.port == (port == (tls ? 443 : 80) ? 0 : port));
    gw_check(count_fields(&again.head, GW_FIELD_HOST) == 1);
    gw_check(count_fields(&again.head, GW_FIELD_VIA) >= 1);
    check_no_hop_by_hop(&again.head);
    gw_check(count_fields(&again.head, GW_FIELD_UPGRADE) == request->websocket);
    gw_check(count_fields(&again.head, GW_FIELD_CONNECTION) == request->websocket);
    unsigned stamped = 0;
    for (uint32_t i = 0; i < again.head.field_count; i++)
        stamped += gw_header_is_twin(gw_http_name(&again.head.fields[i], again.text), stamp.header);
    gw_check(stamped == 1);
    /* Looped back to the first gateway it is recognised. */
    gw_check(gw_request_read(&again.head, again.text, VIA, &again.request) == GW_REASON_LOOP);
    (void)gw_request_read(&again.head, again.text, SECOND_VIA, &again.request);
    if (request->max_forwards < 0) {
        /* Its own line comes behind ours, wherever that is; a requester's would be a loop. */
        static const char line[] = "\r\nVia: 1.1 " SECOND_VIA "\r\n";
        const size_t length =
            sizeof line - 1 - 2; /* the second CRLF ends the line before it, too */
        rewrite(&again, tls, port, SECOND_VIA, &twice);
        struct gw_slice all = gw_buffer_slice(&twice);
        const char *at = memmem(all.data, all.length, line, sizeof line - 1);
        gw_check(at != NULL && all.length == sent.length + length);
        size_t before = (size_t)(at - all.data);
        gw_check(memcmp(all.data, sent.data, before) == 0);
        gw_check(memcmp(at + length, sent.data + before, sent.length - before) == 0);
        gw_buffer_fini(&twice);
    }
    reading_free(&again);
    limits = narrow;
}

static void check_cut(const struct reading *whole, struct gw_slice bytes, size_t cut,
                      struct gw_slice sent, bool tls, uint16_t port)
{
    struct reading parts;
    reading_make(&parts, bytes, cut, VIA);
    check_same_head(&whole->head, whole->result, &parts.head, parts.result);
    gw_check(whole->reason == parts.reason);
    if (is_relayed(&parts)) {
        struct gw_buffer out;
        rewrite(&parts, tls, port, VIA, &out);
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
    bool tls = data[2] & 1;
    gw_limits_init(&limits);
    if (data[2] & 2) {
        gw_limit(&limits, REQUEST_LINE_BYTES) = 64;
        gw_limit(&limits, HEAD_BYTES) = 256;
        gw_limit(&limits, HEAD_FIELDS) = 4;
    }
    struct gw_slice bytes = { (const char *)data + 3, size - 3 };
    reading_make(&whole, bytes, CUT_NOWHERE, VIA);
    uint16_t port = whole.request.authority.port;
    if (port == 0)
        port = tls ? 443 : 80;
    if (is_relayed(&whole)) {
        rewrite(&whole, tls, port, VIA, &out);
        check_sent(&whole, gw_buffer_slice(&out), tls, port);
    }
    struct gw_slice sent = gw_buffer_slice(&out);
    check_cut(&whole, bytes, cut % bytes.length, sent, tls, port);
    if (bytes.length <= 1024)
        check_cut(&whole, bytes, CUT_EVERYWHERE, sent, tls, port);
    gw_buffer_fini(&out);
    reading_free(&whole);
    return 0;
}
