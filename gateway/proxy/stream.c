/* gateway/proxy/stream.c - a readable request goes up, its answer comes down.
 * Both directions move in one function that does whatever is possible and returns: reading stops
 * while the other side has bytes to take, so that nothing is buffered beyond one read. */
#include <stdlib.h>

#include "base/text.h"
#include "gateway/proxy/exchange.h"

enum { READ_BYTES = 16384, TURN_BYTES = 1 << 20 };

/* A step either went as far as it could, or ended the exchange (which is then freed). */
enum step { STEP_ON, STEP_ENDED };

static const struct gw_limits *limits_of(const struct gw_exchange *exchange)
{
    return &exchange->config->snapshot->limits;
}

static void touch(struct gw_exchange *exchange)
{
    exchange->moved = gw_timers_now(exchange->proxy->timers);
}

static enum step finish(struct gw_exchange *exchange, enum gw_exchange_outcome outcome,
                        enum gw_closing closing)
{
    gw_exchange_finish(exchange, outcome, closing);
    return STEP_ENDED;
}

static enum step out_of_memory(struct gw_exchange *exchange)
{
    exchange->reset = true;
    return finish(exchange, GW_X_CUT, GW_CLOSING_OUT_OF_MEMORY);
}

/* The answer cannot be completed. Before its head: an error of our own. After: the connection ends
 * in a way that nobody takes for success; a body that ends with the connection needs a reset. */
static enum step upstream_failed(struct gw_exchange *exchange, enum gw_reason reason,
                                 enum gw_closing closing)
{
    if (!exchange->response_begun) {
        gw_exchange_refuse(exchange, reason);
        return STEP_ENDED;
    }
    exchange->reset = exchange->framing == GW_FRAMING_CLOSE;
    return finish(exchange, GW_X_CUT, closing);
}

static bool is_idempotent(const struct gw_exchange *exchange)
{
    static const char *const safe[] = { "GET", "HEAD", "OPTIONS", "PUT", "DELETE" };
    for (size_t i = 0; i < sizeof safe / sizeof safe[0]; i++)
        if (gw_slice_equal(exchange->ask.method, gw_slice_of(safe[i])))
            return true;
    return false;
}

/* A kept connection may be closed by its server at the very moment that it is used (RFC
 * 9112 9.3.1): what is safe to send twice, and is still at hand, goes once more over a fresh one.
 */
static bool can_retry(const struct gw_exchange *exchange)
{
    return exchange->upstream->reused && !exchange->retried && !exchange->response_bytes
           && exchange->interims == 0 && !exchange->body_begun && is_idempotent(exchange);
}

static enum step upstream_lost(struct gw_exchange *exchange)
{
    if (!can_retry(exchange))
        return upstream_failed(exchange, GW_REASON_UPSTREAM_TRUNCATED,
                               GW_CLOSING_UPSTREAM_TRUNCATED);
    exchange->retried = true;
    gw_timer_stop(&exchange->timer);
    gw_timer_stop(&exchange->continue_timer);
    gw_upstream_free(exchange->upstream);
    exchange->upstream = NULL;
    exchange->request_sent = false;
    gw_http_head_fini(&exchange->response_head);
    gw_exchange_tell(exchange, GW_X_LOST_POOLED);
    return STEP_ENDED;
}

static enum step client_lost(struct gw_exchange *exchange)
{
    return finish(exchange, GW_X_CUT, GW_CLOSING_CLIENT_GONE);
}

/* ---- bodies, written anew ---------------------------------------------------------------- */

static bool put_chunk(struct gw_buffer *out, struct gw_slice data)
{
    char size[24];
    struct gw_text text;
    if (data.length == 0)
        return true; /* a chunk of size 0 would end the body */
    gw_text_init(&text, size, sizeof size);
    gw_text_addf(&text, "%zx\r\n", data.length);
    return gw_buffer_append(out, gw_text_slice(&text)) && gw_buffer_append(out, data)
           && gw_buffer_append(out, GW_SLICE("\r\n"));
}

static bool put_last_chunk(struct gw_buffer *out, const struct gw_buffer *trailers)
{
    return gw_buffer_append(out, GW_SLICE("0\r\n"))
           && gw_buffer_append(out, gw_buffer_slice(trailers))
           && gw_buffer_append(out, GW_SLICE("\r\n"));
}

/* ---- up: from the client to the upstream ------------------------------------------------- */

static enum step read_client(struct gw_exchange *exchange, bool *got)
{
    struct gw_client *client = exchange->client;
    size_t length;
    char *at = gw_buffer_reserve(&client->in, READ_BYTES);
    *got = false;
    if (at == NULL)
        return out_of_memory(exchange);
    enum gw_io io = gw_watch_read(client->watch, at, READ_BYTES, &length);
    if (io == GW_IO_OK) {
        gw_buffer_added(&client->in, length);
        touch(exchange);
        *got = true;
        return STEP_ON;
    }
    if (gw_buffer_length(&client->in) == 0)
        gw_buffer_fini(&client->in);
    return io == GW_IO_AGAIN ? STEP_ON : client_lost(exchange);
}

/* The rest of the body is not taken. What is already up there must not look whole: that connection
 * is closed. */
static enum step refuse_body(struct gw_exchange *exchange, enum gw_reason reason,
                             enum gw_closing closing)
{
    if (exchange->response_begun)
        return finish(exchange, GW_X_CUT, closing);
    gw_exchange_refuse(exchange, reason);
    return STEP_ENDED;
}

/* What `in` holds of the body goes into the upstream's buffer. */
static enum step move_body_up(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    struct gw_body *body = &exchange->request_body;
    struct gw_buffer *out = &exchange->upstream->out;
    struct gw_slice pieces[GW_BODY_PIECES_MAX];
    size_t used, count;
    bool put = true;
    exchange->body_begun = true;
    if (gw_body_read(body, gw_buffer_slice(&client->in), &used, pieces, &count) != GW_BODY_OK)
        return refuse_body(exchange, GW_REASON_BAD_REQUEST, GW_CLOSING_BAD_BODY);
    uint64_t most = gw_limit(limits_of(exchange), REQUEST_BODY_BYTES);
    if (most != 0 && body->total > most) {
        exchange->refusal.reason = GW_REASON_TOO_LARGE; /* for the record, too */
        return refuse_body(exchange, GW_REASON_TOO_LARGE, GW_CLOSING_FAILED);
    }
    for (size_t i = 0; i < count; i++)
        put = put
              && (body->kind == GW_BODY_CHUNKED ? put_chunk(out, pieces[i])
                                                : gw_buffer_append(out, pieces[i]));
    if (body->complete && body->kind == GW_BODY_CHUNKED)
        put = put && put_last_chunk(out, &body->trailers);
    gw_buffer_consume(&client->in, used);
    return put ? STEP_ON : out_of_memory(exchange);
}

static enum step flush_up(struct gw_exchange *exchange)
{
    size_t before = gw_buffer_length(&exchange->upstream->out);
    if (before == 0)
        return STEP_ON;
    enum gw_io io = gw_upstream_flush(exchange->upstream);
    if (gw_buffer_length(&exchange->upstream->out) != before)
        touch(exchange);
    /* It may have answered before it closed: that answer comes first. */
    if (io == GW_IO_FAILED) {
        gw_buffer_fini(&exchange->upstream->out);
        exchange->may_send_body = false;
        exchange->closes = true;
        if (!(exchange->upstream->watch->ready & GW_CAN_READ))
            return upstream_lost(exchange);
    }
    return STEP_ON;
}

static enum step pump_up(struct gw_exchange *exchange)
{
    size_t turn = 0;
    if (flush_up(exchange) == STEP_ENDED)
        return STEP_ENDED;
    while (!exchange->request_body.complete && exchange->may_send_body
           && gw_buffer_length(&exchange->upstream->out) == 0) {
        bool got = true;
        if (gw_buffer_length(&exchange->client->in) == 0
            && read_client(exchange, &got) == STEP_ENDED)
            return STEP_ENDED;
        if (!got)
            break;
        turn += gw_buffer_length(&exchange->client->in);
        if (move_body_up(exchange) == STEP_ENDED || flush_up(exchange) == STEP_ENDED)
            return STEP_ENDED;
        if (turn > TURN_BYTES) {
            gw_watch_later(exchange->client->watch); /* others get their turn */
            break;
        }
    }
    exchange->request_sent =
        exchange->request_body.complete && gw_buffer_length(&exchange->upstream->out) == 0;
    return STEP_ON;
}

/* ---- down: from the upstream to the client ----------------------------------------------- */

static enum step flush_down(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    size_t before = gw_buffer_length(&client->out);
    if (before == 0)
        return STEP_ON;
    enum gw_io io = gw_watch_flush(client->watch, &client->out);
    if (gw_buffer_length(&client->out) != before)
        touch(exchange);
    return io == GW_IO_FAILED ? client_lost(exchange) : STEP_ON;
}

static enum step switch_protocols(struct gw_exchange *exchange)
{
    struct gw_slice path = exchange->ask.path_and_query;
    struct gw_relay_start start = {
        .https = exchange->request.https,
        .path = strndup(path.data, path.length),
        .status = 101,
    };
    gw_exchange_hand_over(exchange, &start);
    return STEP_ENDED;
}

/* 1xx (RFC 9110 15.2): in order, to clients that know them, and not without end. */
static enum step on_interim(struct gw_exchange *exchange)
{
    struct gw_response *response = &exchange->response;
    const char *text = exchange->upstream->in.memory + exchange->upstream->in.start;
    bool is_continue = response->status == 100;
    if (++exchange->interims > gw_limit(limits_of(exchange), INTERIM_RESPONSES))
        return upstream_failed(exchange, GW_REASON_UPSTREAM_PROTOCOL, GW_CLOSING_UPSTREAM_PROTOCOL);
    /* A 100 that nobody asked for, or that we gave already, goes no further. */
    bool relayed =
        !exchange->request.minor0
        && (!is_continue || (exchange->request.expects_continue && !exchange->may_send_body));
    if (relayed
        && !gw_rewrite_response(&exchange->response_head, text, &exchange->request, response,
                                GW_FRAMING_NONE, false, exchange->stamps,
                                exchange->verdict.credential_count, &exchange->client->out))
        return out_of_memory(exchange);
    if (is_continue) {
        exchange->may_send_body = true;
        gw_timer_stop(&exchange->continue_timer);
        /* The body may be waiting already, and no edge will tell. */
        gw_watch_later(exchange->client->watch);
    }
    return STEP_ON;
}

static void choose_framing(struct gw_exchange *exchange)
{
    const struct gw_request *request = &exchange->request;
    enum gw_body_kind kind = exchange->response.body;
    exchange->framing = kind == GW_BODY_NONE     ? GW_FRAMING_NONE
                        : kind == GW_BODY_LENGTH ? GW_FRAMING_LENGTH
                        : request->minor0        ? GW_FRAMING_CLOSE
                                                 : GW_FRAMING_CHUNKED;
    /* A final answer before the whole body: the rest of it is nobody's, and must not be read as the
     * next request (RFC 9112 9.3). */
    exchange->closes |= !request->keep_alive || exchange->framing == GW_FRAMING_CLOSE
                        || exchange->proxy->draining || !exchange->request_body.complete;
}

static enum step on_final_head(struct gw_exchange *exchange)
{
    struct gw_upstream *upstream = exchange->upstream;
    struct gw_response *response = &exchange->response;
    const char *text = upstream->in.memory + upstream->in.start;
    choose_framing(exchange);
    gw_timer_stop(&exchange->continue_timer);
    if (!gw_rewrite_response(&exchange->response_head, text, &exchange->request, response,
                             exchange->framing, exchange->closes && !response->websocket,
                             exchange->stamps, exchange->verdict.credential_count,
                             &exchange->client->out))
        return out_of_memory(exchange);
    exchange->status = (int)response->status;
    exchange->response_begun = true;
    if (exchange->framing == GW_FRAMING_CLOSE) /* should we die, a FIN would look like the end */
        gw_watch_linger(exchange->client->watch, false);
    touch(exchange);
    gw_body_init(&exchange->response_body, response->body, response->body_length,
                 &exchange->response_head);
    if (response->body == GW_BODY_CHUNKED
        && !gw_connection_copy(&exchange->response_head, text, &exchange->response_body.named))
        return out_of_memory(exchange);
    return STEP_ON;
}

static enum step on_response_head(struct gw_exchange *exchange)
{
    struct gw_upstream *upstream = exchange->upstream;
    struct gw_http_head *head = &exchange->response_head;
    const char *text = upstream->in.memory + upstream->in.start;
    if (gw_response_read(head, text, &exchange->request, &exchange->response) != GW_REASON_NONE)
        return upstream_failed(exchange, GW_REASON_UPSTREAM_PROTOCOL, GW_CLOSING_UPSTREAM_PROTOCOL);
    bool interim = exchange->response.status / 100 == 1 && !exchange->response.websocket;
    if (exchange->response.status == 101 && interim)
        return upstream_failed(exchange, GW_REASON_UPSTREAM_PROTOCOL, GW_CLOSING_UPSTREAM_PROTOCOL);
    enum step step = interim ? on_interim(exchange) : on_final_head(exchange);
    if (step == STEP_ENDED)
        return step;
    gw_buffer_consume(&upstream->in, head->length);
    if (exchange->response.websocket)
        return switch_protocols(exchange);
    if (interim) {
        gw_http_head_fini(head);
        gw_http_head_init(head, true, limits_of(exchange));
    }
    return STEP_ON;
}

/* More of the answer's head; `*got` false when there is nothing to read now. */
static enum step read_head(struct gw_exchange *exchange, bool *got)
{
    struct gw_upstream *upstream = exchange->upstream;
    size_t length;
    *got = true;
    if (gw_buffer_length(&upstream->in) == 0 || exchange->response_head.fed > 0) {
        char *at = gw_buffer_reserve(&upstream->in, READ_BYTES);
        if (at == NULL)
            return out_of_memory(exchange);
        enum gw_io io = gw_upstream_read(upstream, at, READ_BYTES, &length);
        if (io == GW_IO_AGAIN) {
            *got = false;
            if (gw_buffer_length(&upstream->in) == 0)
                gw_buffer_fini(&upstream->in);
            return STEP_ON;
        }
        if (io != GW_IO_OK)
            return upstream_lost(exchange);
        gw_buffer_added(&upstream->in, length);
        /* Not touch(): a head that dribbles does not move its own deadline. */
        if (!exchange->response_bytes) {
            exchange->response_bytes = true;
            exchange->durations.first_byte = (int64_t)((uv_hrtime() - exchange->began) / 1000);
        }
    }
    switch (gw_http_head_feed(&exchange->response_head, gw_buffer_slice(&upstream->in))) {
    case GW_HEAD_MORE:
        return STEP_ON;
    case GW_HEAD_DONE:
        return on_response_head(exchange);
    case GW_HEAD_BAD:
        break;
    }
    return upstream_failed(exchange, GW_REASON_UPSTREAM_PROTOCOL, GW_CLOSING_UPSTREAM_PROTOCOL);
}

static bool put_down(struct gw_exchange *exchange, struct gw_slice piece)
{
    struct gw_client *client = exchange->client;
    if (exchange->framing == GW_FRAMING_CHUNKED)
        return put_chunk(&client->out, piece);
    /* Nothing in front of it: straight from the read buffer to the socket. */
    if (gw_buffer_length(&client->out) == 0) {
        size_t written = 0;
        if (gw_watch_write(client->watch, piece.data, piece.length, &written) == GW_IO_OK) {
            piece.data += written;
            piece.length -= written;
        }
    }
    return gw_buffer_append(&client->out, piece);
}

static enum step move_body_down(struct gw_exchange *exchange, struct gw_slice bytes, size_t *used)
{
    struct gw_slice pieces[GW_BODY_PIECES_MAX];
    struct gw_body *body = &exchange->response_body;
    *used = 0;
    while (bytes.length > 0 && !body->complete) {
        size_t taken, count;
        if (gw_body_read(body, bytes, &taken, pieces, &count) != GW_BODY_OK)
            return upstream_failed(exchange, GW_REASON_UPSTREAM_PROTOCOL,
                                   GW_CLOSING_UPSTREAM_PROTOCOL);
        for (size_t i = 0; i < count; i++)
            if (!put_down(exchange, pieces[i]))
                return out_of_memory(exchange);
        bytes.data += taken;
        bytes.length -= taken;
        *used += taken;
    }
    return STEP_ON;
}

static enum step read_body(struct gw_exchange *exchange, bool *got, size_t *turn)
{
    struct gw_upstream *upstream = exchange->upstream;
    size_t length = 0, used;
    *got = true;
    if (gw_buffer_length(&upstream->in) > 0) { /* what came along with the head */
        if (move_body_down(exchange, gw_buffer_slice(&upstream->in), &used) == STEP_ENDED)
            return STEP_ENDED;
        gw_buffer_consume(&upstream->in, used);
        return STEP_ON;
    }
    char *scratch = exchange->proxy->scratch;
    enum gw_io io = gw_upstream_read(upstream, scratch, GW_SCRATCH_BYTES, &length);
    if (io == GW_IO_AGAIN) {
        *got = false;
        return STEP_ON;
    }
    if (io == GW_IO_END && exchange->response_body.kind == GW_BODY_TO_EOF) {
        exchange->response_body.complete = true;
        return STEP_ON;
    }
    if (io != GW_IO_OK)
        return upstream_failed(exchange, GW_REASON_UPSTREAM_TRUNCATED,
                               io == GW_IO_END || upstream->tls != NULL
                                   ? GW_CLOSING_UPSTREAM_TRUNCATED
                                   : GW_CLOSING_UPSTREAM_RESET);
    touch(exchange);
    *turn += length;
    if (move_body_down(exchange, (struct gw_slice){ scratch, length }, &used) == STEP_ENDED)
        return STEP_ENDED;
    /* Bytes behind the end belong to no answer: the connection will not be kept. */
    exchange->response.keep_alive &= used == length;
    return STEP_ON;
}

static enum step answer_complete(struct gw_exchange *exchange)
{
    if (exchange->framing == GW_FRAMING_CHUNKED) {
        struct gw_buffer *trailers = &exchange->response_body.trailers;
        if (gw_buffer_length(trailers) > 0)
            gw_stamps_mask(exchange->stamps, exchange->verdict.credential_count,
                           trailers->memory + trailers->start, gw_buffer_length(trailers));
        if (!put_last_chunk(&exchange->client->out, trailers))
            return out_of_memory(exchange);
    }
    if (exchange->framing == GW_FRAMING_CLOSE)
        gw_watch_linger(exchange->client->watch, true);
    (void)gw_watch_flush(exchange->client->watch, &exchange->client->out);
    return finish(exchange, exchange->closes ? GW_X_CLOSE : GW_X_KEEP, GW_CLOSING_DONE);
}

static enum step pump_down(struct gw_exchange *exchange)
{
    size_t turn = 0;
    if (flush_down(exchange) == STEP_ENDED)
        return STEP_ENDED;
    while (gw_buffer_length(&exchange->client->out) == 0) {
        bool got = true;
        if (exchange->response_begun && exchange->response_body.complete)
            return answer_complete(exchange);
        enum step step =
            exchange->response_begun ? read_body(exchange, &got, &turn) : read_head(exchange, &got);
        if (step == STEP_ENDED || flush_down(exchange) == STEP_ENDED)
            return STEP_ENDED;
        if (!got)
            break;
        if (turn > TURN_BYTES) {
            gw_watch_later(exchange->upstream->watch);
            break;
        }
    }
    return STEP_ON;
}

/* ---- time -------------------------------------------------------------------------------- */

static uint64_t patience(const struct gw_exchange *exchange)
{
    const struct gw_limits *limits = limits_of(exchange);
    return exchange->request_sent && !exchange->response_begun
               ? gw_limit(limits, RESPONSE_TIMEOUT_MS)
               : gw_limit(limits, BODY_IDLE_TIMEOUT_MS);
}

static void set_timer(struct gw_exchange *exchange)
{
    uint64_t now = gw_timers_now(exchange->proxy->timers);
    uint64_t due = exchange->moved + patience(exchange);
    gw_timer_start(exchange->proxy->timers, &exchange->timer, due > now ? due - now : 0);
}

void gw_stream_timed_out(struct gw_exchange *exchange)
{
    uint64_t now = gw_timers_now(exchange->proxy->timers);
    if (now < exchange->moved + patience(exchange)) {
        set_timer(exchange); /* something has moved since: moving bytes costs no timer call */
        return;
    }
    if (exchange->response_begun) {
        exchange->reset = exchange->framing == GW_FRAMING_CLOSE;
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_IDLE);
        return;
    }
    bool client_stalls = !exchange->request_body.complete && exchange->may_send_body
                         && gw_buffer_length(&exchange->upstream->out) == 0;
    gw_exchange_refuse(exchange,
                       client_stalls ? GW_REASON_SLOW_CLIENT : GW_REASON_UPSTREAM_TIMEOUT);
}

/* ---- start, and everything that may have happened ---------------------------------------- */

void gw_stream_pump(struct gw_exchange *exchange)
{
    bool was_sent = exchange->request_sent, had_begun = exchange->response_begun;
    if (pump_up(exchange) == STEP_ENDED || pump_down(exchange) == STEP_ENDED)
        return;
    if (gw_client_has_left(exchange->client)) {
        client_lost(exchange);
        return;
    }
    if (was_sent != exchange->request_sent || had_begun != exchange->response_begun)
        set_timer(exchange); /* now the answer is what is waited for, or its body */
}

void gw_stream_start(struct gw_exchange *exchange)
{
    struct gw_upstream *upstream = exchange->upstream;
    if (!gw_exchange_restamp(exchange)) {
        gw_exchange_refuse(exchange, GW_REASON_POLICY_NARROWED);
        return;
    }
    gw_exchange_record(exchange, NULL, 0);
    gw_watch_give(upstream->watch, gw_exchange_upstream_ready, exchange);
    gw_http_head_init(&exchange->response_head, true, limits_of(exchange));
    touch(exchange);
    set_timer(exchange);
    /* A death or a sweep must not leave the kernel to send on what is queued of a body. */
    if (exchange->request_body.kind != GW_BODY_NONE)
        gw_watch_linger(upstream->watch, false);
    if (!gw_buffer_append(&upstream->out, gw_buffer_slice(&exchange->request_head))
        || !gw_rewrite_stamp(exchange->stamps, exchange->verdict.credential_count,
                             &upstream->out)) {
        out_of_memory(exchange);
        return;
    }
    if (exchange->verdict.credential_count > 0)
        gw_count_add(exchange->proxy->page, GW_COUNT_STAMPED, 1);
    if (!exchange->may_send_body && exchange->request_body.kind != GW_BODY_NONE)
        gw_timer_start(exchange->proxy->timers, &exchange->continue_timer,
                       gw_limit(limits_of(exchange), CONTINUE_TIMEOUT_MS));
    gw_stream_pump(exchange);
}
