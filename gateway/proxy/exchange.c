/* gateway/proxy/exchange.c - from a request head to a usable upstream, and the one way out. */
#include "gateway/proxy/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/macros.h"

/* Where each event leads. FINISHED leads to ENDED from everywhere. */
/* clang-format off */
static const enum gw_exchange_state next[GW_X_STATES][GW_X_EVENTS] = {
    [GW_X_JUDGING]   = { [GW_X_NAME_NEEDED] = GW_X_RESOLVING, [GW_X_GOT_ADDRESSES] = GW_X_DIALING,
                         [GW_X_GOT_POOLED] = GW_X_STREAMING, [GW_X_REFUSED] = GW_X_ENDED },
    [GW_X_RESOLVING] = { [GW_X_GOT_ADDRESSES] = GW_X_DIALING, [GW_X_REFUSED] = GW_X_ENDED },
    [GW_X_DIALING]   = { [GW_X_CONNECTED] = GW_X_STREAMING, [GW_X_CONNECTED_TLS] = GW_X_SECURING,
                         [GW_X_OPENED] = GW_X_HOLDING, [GW_X_REFUSED] = GW_X_ENDED },
    [GW_X_SECURING]  = { [GW_X_SECURED] = GW_X_STREAMING, [GW_X_REFUSED] = GW_X_ENDED },
    [GW_X_STREAMING] = { [GW_X_LOST_POOLED] = GW_X_JUDGING, [GW_X_REFUSED] = GW_X_ENDED },
    [GW_X_HOLDING]   = { [GW_X_REFUSED] = GW_X_ENDED },
};
/* clang-format on */

static void start_judging(struct gw_exchange *exchange);
static void start_resolving(struct gw_exchange *exchange);
static void start_dialing(struct gw_exchange *exchange);
static void start_securing(struct gw_exchange *exchange);
static void end(struct gw_exchange *exchange);

static void (*const enter[GW_X_STATES])(struct gw_exchange *exchange) = {
    [GW_X_JUDGING] = start_judging,
    [GW_X_RESOLVING] = start_resolving,
    [GW_X_DIALING] = start_dialing,
    [GW_X_SECURING] = start_securing,
    [GW_X_STREAMING] = gw_stream_start,
    [GW_X_HOLDING] = gw_tunnel_hold,
    [GW_X_ENDED] = end,
};

void gw_exchange_tell(struct gw_exchange *exchange, enum gw_exchange_event event)
{
    enum gw_exchange_state to = event == GW_X_FINISHED ? GW_X_ENDED : next[exchange->state][event];
    gw_check(to != 0);
    exchange->state = to;
    enter[to](exchange);
}

void gw_exchange_refuse(struct gw_exchange *exchange, enum gw_reason reason)
{
    if (exchange->refusal.reason == GW_REASON_NONE)
        exchange->refusal.reason = reason;
    exchange->outcome = GW_X_REFUSE;
    gw_exchange_tell(exchange, GW_X_REFUSED);
}

void gw_exchange_finish(struct gw_exchange *exchange, enum gw_exchange_outcome outcome,
                        enum gw_closing closing)
{
    exchange->outcome = outcome;
    exchange->closing = closing;
    gw_exchange_tell(exchange, GW_X_FINISHED);
}

static int64_t since(uint64_t moment)
{
    return (int64_t)((uv_hrtime() - moment) / 1000);
}

/* ---- records ----------------------------------------------------------------------------- */

static void count_decision(struct gw_exchange *exchange)
{
    struct gw_process_page *page = exchange->proxy->page;
    int status = gw_reason_status(exchange->refusal.reason);
    if (exchange->refusal.reason == GW_REASON_NONE)
        gw_count_add(page, GW_COUNT_ALLOWED, 1);
    else if (status == 400 || status == 505)
        gw_count_add(page, GW_COUNT_MALFORMED, 1);
    else if (status == 0 || status >= 500)
        gw_count_add(page, GW_COUNT_FAILED, 1);
    else
        gw_count_add(page, GW_COUNT_REFUSED, 1);
}

static struct gw_slice host_of(const struct gw_exchange *exchange)
{
    return gw_host_slice(&exchange->request.authority.host);
}

static unsigned port_of(const struct gw_exchange *exchange)
{
    return exchange->verdict.named_port != 0 ? exchange->verdict.named_port
                                             : exchange->request.authority.port;
}

void gw_exchange_record(struct gw_exchange *exchange, const struct gw_ip_address *records,
                        size_t count)
{
    if (exchange->decided)
        return;
    exchange->decided = true;
    count_decision(exchange);
    bool allowed = exchange->refusal.reason == GW_REASON_NONE;
    exchange->allowed = allowed;
    gw_audit_decision(exchange->proxy->audit, exchange->client->slot, exchange->binding,
                      &(struct gw_decision_record){
                          .id = exchange->id,
                          .connect = exchange->request.is_connect,
                          .method = exchange->ask.method,
                          .host = host_of(exchange),
                          .port = port_of(exchange),
                          .dial_port = exchange->verdict.dial_port,
                          .refusal = exchange->refusal,
                          .status = allowed ? 0 : gw_reason_status(exchange->refusal.reason),
                          .client = &exchange->client->address,
                          .address = exchange->address.family != 0 ? &exchange->address : NULL,
                          .records = records,
                          .record_count = count,
                          .stamps = exchange->stamps,
                          .stamp_count = allowed ? exchange->verdict.credential_count : 0,
                          .detail = exchange->detail[0] != '\0' ? exchange->detail : NULL,
                      });
}

static void record_end(struct gw_exchange *exchange)
{
    gw_audit_end(exchange->proxy->audit, exchange->client->slot, exchange->binding,
                 &(struct gw_end_record){
                     .id = exchange->id,
                     .connect = exchange->request.is_connect,
                     .host = exchange->request.authority.host.text,
                     .port = port_of(exchange),
                     .address = exchange->address.family != 0 ? &exchange->address : NULL,
                     .closing = exchange->closing,
                     .refusal = exchange->refusal,
                     .status = exchange->status,
                     .bytes_up = exchange->request_body.total,
                     .bytes_down = exchange->response_body.total,
                     .duration_us = (uint64_t)since(exchange->began),
                     .durations = exchange->durations,
                     .sni = { exchange->sni, exchange->sni_length },
                 });
    gw_count_add(exchange->proxy->page, GW_COUNT_BYTES_UP, exchange->request_body.total);
    gw_count_add(exchange->proxy->page, GW_COUNT_BYTES_DOWN, exchange->response_body.total);
}

/* ---- the one way out --------------------------------------------------------------------- */

static void release_upstream(struct gw_exchange *exchange)
{
    struct gw_upstream *upstream = exchange->upstream;
    if (upstream == NULL)
        return;
    exchange->upstream = NULL;
    bool clean = (exchange->outcome == GW_X_KEEP || exchange->outcome == GW_X_CLOSE)
                 && exchange->closing == GW_CLOSING_DONE && exchange->response.keep_alive
                 && exchange->response_body.complete && exchange->request_body.complete
                 && gw_buffer_length(&upstream->in) == 0 && gw_buffer_length(&upstream->out) == 0;
    if (clean && exchange->request_body.kind != GW_BODY_NONE)
        gw_watch_linger(upstream->watch, true);
    if (clean)
        gw_pool_put(exchange->proxy->pool, upstream, exchange->client->slot, exchange->stamp_key);
    else
        gw_upstream_free(upstream);
}

static void give_tunnel_back(struct gw_exchange *exchange)
{
    struct gw_proxy *proxy = exchange->proxy;
    uint32_t slot = exchange->client->slot;
    if (!exchange->counted_tunnel)
        return;
    exchange->counted_tunnel = false;
    gw_count_sub(proxy->page, GW_COUNT_TUNNELS, 1);
    gw_discharge(&proxy->shared->admission[slot].tunnels, &proxy->page->share[slot].tunnels);
}

/* Everything but the client. */
static void clean_up(struct gw_exchange *exchange)
{
    gw_lookup_cancel(&exchange->lookup);
    gw_dial_cancel(&exchange->dial);
    gw_dialable_set_free(exchange->dialables);
    gw_timer_stop(&exchange->timer);
    gw_timer_stop(&exchange->continue_timer);
    release_upstream(exchange);
    give_tunnel_back(exchange);
    gw_body_fini(&exchange->request_body);
    gw_body_fini(&exchange->response_body);
    gw_http_head_fini(&exchange->response_head);
    gw_http_head_fini(exchange->head);
    free(exchange->head);
    gw_buffer_fini(&exchange->ask_text);
    gw_buffer_fini(&exchange->request_head);
    gw_config_unref(exchange->config);
    free(exchange);
}

static uint64_t unread_body(const struct gw_exchange *exchange)
{
    const struct gw_request *request = &exchange->request;
    if (request->is_connect || request->expects_continue || request->body == GW_BODY_CHUNKED
        || exchange->body_begun)
        return request->body == GW_BODY_NONE && !request->is_connect ? 0 : UINT64_MAX;
    return request->body == GW_BODY_LENGTH ? request->body_length : 0;
}

static void answer_refusal(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    struct gw_host host = exchange->request.authority.host;
    struct gw_reply reply = {
        .refusal = exchange->refusal,
        .host = gw_host_slice(&host),
        .port = port_of(exchange),
        .json = exchange->request.wants_json,
        .close = exchange->request.is_connect,
        .head = exchange->request.is_head,
        .minor0 = exchange->request.minor0,
    };
    bool keep_alive = exchange->request.keep_alive;
    uint64_t unread = unread_body(exchange);
    clean_up(exchange);
    gw_client_refuse(client, &reply, keep_alive, unread);
}

static void become_plain_tunnel(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    client->fixed = malloc(sizeof *client->fixed);
    bool opened = client->fixed != NULL
                  && gw_buffer_append(&client->out, GW_SLICE("HTTP/1.1 200 Connection "
                                                             "Established\r\n\r\n"));
    if (opened)
        *client->fixed = exchange->request.authority;
    clean_up(exchange);
    if (opened)
        gw_client_go_on(client);
    else
        gw_client_cut(client, false);
}

static void end(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    bool reset = exchange->reset;
    if (exchange->outcome == GW_X_REFUSE && exchange->allowed) {
        exchange->closing = GW_CLOSING_FAILED; /* allowed, and then it went wrong */
        exchange->status = gw_reason_status(exchange->refusal.reason);
        count_decision(exchange);
    }
    gw_exchange_record(exchange, NULL, 0);
    if (exchange->allowed && exchange->outcome != GW_X_HAND_OVER) /* a relay records its own */
        record_end(exchange);
    switch (exchange->outcome) {
    case GW_X_REFUSE:
        answer_refusal(exchange);
        break;
    case GW_X_KEEP:
        clean_up(exchange);
        gw_client_go_on(client);
        break;
    case GW_X_CLOSE:
        clean_up(exchange);
        gw_client_close_gently(client);
        break;
    case GW_X_CUT:
        clean_up(exchange);
        gw_client_cut(client, reset);
        break;
    case GW_X_HAND_OVER:
        clean_up(exchange);
        gw_client_hand_over(client);
        break;
    case GW_X_PLAIN_TUNNEL:
        become_plain_tunnel(exchange);
        break;
    case GW_X_ABORT:
        client->exchange = NULL;
        clean_up(exchange);
        break;
    }
}

void gw_exchange_hand_over(struct gw_exchange *exchange, struct gw_relay_start *start)
{
    struct gw_client *client = exchange->client;
    struct gw_proxy *proxy = exchange->proxy;
    start->client = client->watch;
    start->upstream = exchange->upstream;
    start->up = client->in;
    start->down = client->out;
    start->config = gw_config_ref(exchange->config);
    start->slot = client->slot;
    start->id = exchange->id;
    start->began = exchange->began;
    start->counted_tunnel = exchange->counted_tunnel;
    start->host = exchange->request.authority.host;
    start->port = exchange->request.authority.port;
    start->durations = exchange->durations;
    client->in = client->out = (struct gw_buffer){ 0 };
    exchange->upstream = NULL;
    exchange->counted_tunnel = false; /* the relay gives it back */
    gw_exchange_finish(exchange, GW_X_HAND_OVER, GW_CLOSING_DONE);
    gw_relay_start(proxy, start);
}

void gw_exchange_abort(struct gw_exchange *exchange, enum gw_closing closing)
{
    if (!exchange->decided)
        exchange->refusal.reason =
            closing == GW_CLOSING_SHUTDOWN ? GW_REASON_CLOSING : GW_REASON_CLIENT_GONE;
    gw_exchange_finish(exchange, GW_X_ABORT, closing);
}

/* ---- parse, identify, target, policy ----------------------------------------------------- */

/* What is needed to ask again later, out of the buffer that the next bytes overwrite. */
static bool keep_ask(struct gw_exchange *exchange)
{
    struct gw_request *request = &exchange->request;
    struct gw_slice path = request->target.path_and_query;
    if (!gw_buffer_append(&exchange->ask_text, request->method)
        || !gw_buffer_append(&exchange->ask_text, path))
        return false;
    const char *text = exchange->ask_text.memory + exchange->ask_text.start;
    exchange->ask = (struct gw_ask){
        .kind = request->is_connect ? GW_ASK_TUNNEL : GW_ASK_REQUEST,
        .https = request->https,
        .authority = request->authority,
        .method = { text, request->method.length },
        .path_and_query = { text + request->method.length, path.length },
    };
    return true;
}

/* Inside CONNECT h:80 every request is for h:80: a differing Host is rebuilt, an
 * absolute target of another authority is not for us to guess. */
static enum gw_reason apply_fixed(struct gw_exchange *exchange)
{
    struct gw_request *request = &exchange->request;
    const struct gw_authority *fixed = exchange->client->fixed;
    if (fixed == NULL)
        return GW_REASON_NONE;
    if (request->is_connect)
        return GW_REASON_BAD_REQUEST;
    if (request->target.form == GW_TARGET_ABSOLUTE) {
        struct gw_authority named = request->authority;
        if (named.port == 0)
            named.port = request->https ? 443 : 80;
        if (request->https || !gw_authority_equal(&named, fixed))
            return GW_REASON_BAD_REQUEST;
    }
    request->authority = *fixed;
    return GW_REASON_NONE;
}

static enum gw_reason judge(struct gw_exchange *exchange)
{
    const struct gw_limits *limits = &exchange->config->snapshot->limits;
    struct gw_request *request = &exchange->request;
    if (exchange->binding == NULL)
        return GW_REASON_POLICY_UNAVAILABLE;
    gw_decide(&exchange->binding->policy->image, &exchange->proxy->own, &exchange->ask, NULL,
              &exchange->verdict);
    if (exchange->verdict.refusal.reason != GW_REASON_NONE) {
        exchange->refusal = exchange->verdict.refusal;
        return exchange->refusal.reason;
    }
    uint64_t most = gw_limit(limits, REQUEST_BODY_BYTES);
    if (most != 0 && request->body == GW_BODY_LENGTH && request->body_length > most)
        return GW_REASON_TOO_LARGE;
    if (!gw_binding_stamps(exchange->binding, &exchange->verdict, exchange->stamps))
        return GW_REASON_POLICY_UNAVAILABLE;
    exchange->stamp_key = gw_binding_stamp_key(exchange->binding, &exchange->verdict);
    return GW_REASON_NONE;
}

static bool admit_tunnel(struct gw_exchange *exchange)
{
    struct gw_proxy *proxy = exchange->proxy;
    uint32_t slot = exchange->client->slot;
    if (!gw_admit(&proxy->shared->admission[slot].tunnels, &proxy->page->share[slot].tunnels,
                  exchange->binding->network->max_tunnels))
        return false;
    gw_count_add(proxy->page, GW_COUNT_TUNNELS, 1);
    exchange->counted_tunnel = true;
    return true;
}

/* OPTIONS with Max-Forwards: 0 is answered here (RFC 9110 7.6.2). */
static bool answer_options(struct gw_exchange *exchange)
{
    if (exchange->request.max_forwards != 0
        || !gw_slice_equal(exchange->ask.method, GW_SLICE("OPTIONS")))
        return false;
    bool close = !exchange->request.keep_alive || exchange->request.body != GW_BODY_NONE;
    exchange->status = 200;
    gw_exchange_record(exchange, NULL, 0);
    if (!gw_reply_write_options(close, &exchange->client->out))
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_OUT_OF_MEMORY);
    else
        gw_exchange_finish(exchange, close ? GW_X_CLOSE : GW_X_KEEP, GW_CLOSING_DONE);
    return true;
}

static void on_timer(struct gw_timer *timer)
{
    struct gw_exchange *exchange = gw_container_of(timer, struct gw_exchange, timer);
    if (exchange->state == GW_X_SECURING) {
        snprintf(exchange->detail, sizeof exchange->detail, "TLS handshake timed out");
        gw_exchange_refuse(exchange, GW_REASON_UPSTREAM_TIMEOUT);
    } else if (exchange->state == GW_X_HOLDING) {
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_NOT_TLS);
    } else {
        gw_stream_timed_out(exchange);
    }
}

static void on_continue(struct gw_timer *timer)
{
    struct gw_exchange *exchange = gw_container_of(timer, struct gw_exchange, continue_timer);
    /* The upstream keeps silent until it sees the body: the client is told to go ahead (RFC 9110
     * 10.1.1), once the checks have passed and not before. */
    exchange->may_send_body = true;
    if (!gw_buffer_append(&exchange->client->out, GW_SLICE("HTTP/1.1 100 Continue\r\n\r\n")))
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_OUT_OF_MEMORY);
    else
        gw_stream_pump(exchange);
}

static struct gw_exchange *exchange_new(struct gw_client *client, struct gw_http_head *head)
{
    struct gw_exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL)
        return NULL;
    exchange->client = client;
    exchange->proxy = client->proxy;
    exchange->config = gw_config_ref(client->config);
    exchange->binding = gw_config_binding(exchange->config, client->slot);
    exchange->state = GW_X_JUDGING;
    exchange->head = head;
    exchange->id = client->proxy->next_id++;
    exchange->began = uv_hrtime();
    exchange->durations = (struct gw_durations){ -1, -1, -1, -1 };
    gw_list_init(&exchange->lookup.waiting);
    gw_timer_init(&exchange->timer, on_timer);
    gw_timer_init(&exchange->continue_timer, on_continue);
    gw_count_add(client->proxy->page, GW_COUNT_REQUESTS, 1);
    client->exchange = exchange;
    return exchange;
}

void gw_exchange_start(struct gw_client *client, struct gw_http_head *head)
{
    struct gw_exchange *exchange = exchange_new(client, head);
    if (exchange == NULL) {
        gw_http_head_fini(head);
        free(head);
        gw_count_add(client->proxy->page, GW_COUNT_SHED, 1);
        gw_client_cut(client, false);
        return;
    }
    const char *text = client->in.memory + client->in.start;
    struct gw_request *request = &exchange->request;
    enum gw_reason reason =
        gw_request_read(head, text, exchange->config->snapshot->via_token, request);
    if (reason == GW_REASON_NONE)
        reason = apply_fixed(exchange);
    bool kept = keep_ask(exchange);
    if (reason == GW_REASON_NONE)
        reason = judge(exchange);
    if (reason == GW_REASON_NONE && !request->is_connect)
        kept = kept
               && gw_rewrite_request(head, text, request, exchange->verdict.tls,
                                     exchange->verdict.dial_port,
                                     exchange->config->snapshot->via_token, exchange->stamps,
                                     exchange->verdict.credential_count, &exchange->request_head);
    struct gw_buffer named = { 0 };
    if (request->body == GW_BODY_CHUNKED)
        kept = gw_connection_copy(head, text, &named) && kept;
    /* From here on nothing refers to the bytes of the head any more. */
    gw_buffer_consume(&client->in, head->length);
    request->method = exchange->ask.method;
    request->target.path_and_query = exchange->ask.path_and_query;
    if (reason == GW_REASON_NONE && !kept)
        reason = GW_REASON_OVERLOADED;
    if (reason == GW_REASON_NONE && client->proxy->draining)
        reason = GW_REASON_CLOSING;
    bool relays = request->websocket
                  || (exchange->ask.kind == GW_ASK_TUNNEL && !exchange->verdict.read_as_http);
    if (reason == GW_REASON_NONE && relays && !admit_tunnel(exchange))
        reason = GW_REASON_TOO_MANY;
    gw_body_init(&exchange->request_body, request->body, request->body_length, head);
    exchange->request_body.named = named;
    exchange->request_body.stamps = exchange->stamps;
    exchange->request_body.stamp_count = exchange->verdict.credential_count;
    exchange->may_send_body = !request->expects_continue || request->minor0;
    if (reason != GW_REASON_NONE)
        gw_exchange_refuse(exchange, reason);
    else if (!answer_options(exchange))
        start_judging(exchange);
}

/* ---- resolve and screen ------------------------------------------------------------------ */

static bool admits(const struct gw_exchange *exchange, const struct gw_ip_address *addresses,
                   size_t count)
{
    const struct gw_proxy *proxy = exchange->proxy;
    const struct gw_binding *binding = gw_config_binding(proxy->config, exchange->client->slot);
    struct gw_verdict verdict;
    if (binding == NULL)
        return false;
    gw_decide(&binding->policy->image, &proxy->own, &exchange->ask, NULL, &verdict);
    if (verdict.refusal.reason != GW_REASON_NONE || verdict.dial_port != exchange->verdict.dial_port
        || verdict.tls != exchange->verdict.tls)
        return false;
    /* A tunnel whose ClientHello nobody looks at, where now somebody would have to (14.7). */
    if (verdict.sni == GW_SNI_MATCH && exchange->verdict.sni != GW_SNI_MATCH)
        return false;
    if (count == 0)
        return true;
    return gw_dialable_set_make(&binding->policy->image, &proxy->own,
                                &exchange->request.authority.host, verdict.dial_port, addresses,
                                count, NULL, NULL, NULL)
               .reason
           == GW_REASON_NONE;
}

bool gw_exchange_restamp(struct gw_exchange *exchange)
{
    const struct gw_proxy *proxy = exchange->proxy;
    const struct gw_binding *binding = gw_config_binding(proxy->config, exchange->client->slot);
    struct gw_stamp stamps[GW_VERDICT_CREDENTIALS_MAX];
    struct gw_verdict verdict;
    if (exchange->config == proxy->config)
        return true;
    if (binding == NULL)
        return false;
    gw_decide(&binding->policy->image, &proxy->own, &exchange->ask, NULL, &verdict);
    if (verdict.refusal.reason != GW_REASON_NONE
        || verdict.credential_count != exchange->verdict.credential_count
        || !gw_binding_stamps(binding, &verdict, stamps))
        return false;
    for (uint32_t i = 0; i < verdict.credential_count; i++)
        if (!gw_slice_equal(stamps[i].header, exchange->stamps[i].header))
            return false;
    memcpy(exchange->stamps, stamps, sizeof stamps);
    exchange->stamp_key = gw_binding_stamp_key(binding, &verdict);
    gw_config_unref(exchange->config);
    exchange->config = gw_config_ref(proxy->config);
    exchange->binding = binding;
    exchange->verdict = verdict;
    return true;
}

bool gw_exchange_still_admitted(struct gw_exchange *exchange)
{
    bool dialled = exchange->upstream != NULL && exchange->address.family != 0;
    return admits(exchange, &exchange->address, dialled ? 1 : 0);
}

/* The whole answer of the one resolution, under the policy that this request began with; and under
 * the one in force, should it have changed since. */
static void screen(struct gw_exchange *exchange, const struct gw_ip_address *addresses,
                   size_t count)
{
    struct gw_ip_address offender = { 0 };
    exchange->refusal = gw_dialable_set_make(
        &exchange->binding->policy->image, &exchange->proxy->own, &exchange->request.authority.host,
        exchange->verdict.dial_port, addresses, count, NULL, &exchange->dialables, &offender);
    if (exchange->refusal.reason == GW_REASON_NONE && exchange->config != exchange->proxy->config
        && !admits(exchange, addresses, count))
        exchange->refusal.reason = GW_REASON_POLICY_NARROWED;
    if (exchange->refusal.reason != GW_REASON_NONE) {
        exchange->address = offender;
        gw_exchange_record(exchange, addresses, count);
        gw_exchange_refuse(exchange, exchange->refusal.reason);
        return;
    }
    gw_exchange_tell(exchange, GW_X_GOT_ADDRESSES);
}

static void take_answer(struct gw_exchange *exchange)
{
    exchange->durations.dns = since(exchange->step_began);
    if (exchange->lookup.reason != GW_REASON_NONE)
        gw_exchange_refuse(exchange, exchange->lookup.reason);
    else
        screen(exchange, exchange->lookup.addresses, exchange->lookup.count);
}

static void on_resolved(struct gw_lookup *lookup)
{
    take_answer(gw_container_of(lookup, struct gw_exchange, lookup));
}

static struct gw_upstream *take_pooled(struct gw_exchange *exchange)
{
    const struct gw_host *host = &exchange->request.authority.host;
    struct gw_trust *trust =
        exchange->verdict.tls
            ? gw_binding_trust(exchange->config, exchange->binding, &exchange->verdict)
            : NULL;
    if (exchange->ask.kind != GW_ASK_REQUEST || exchange->retried || exchange->request.websocket)
        return NULL;
    for (;;) {
        struct gw_upstream *upstream =
            gw_pool_take(exchange->proxy->pool, exchange->client->slot, host,
                         exchange->verdict.dial_port, trust, exchange->stamp_key);
        if (upstream == NULL)
            return NULL;
        exchange->address = upstream->address;
        /* Screened when it was dialled, under the policy of that moment: asked again. */
        if (admits(exchange, &upstream->address, 1)
            && gw_dialable_set_make(&exchange->binding->policy->image, &exchange->proxy->own, host,
                                    exchange->verdict.dial_port, &upstream->address, 1, NULL, NULL,
                                    NULL)
                       .reason
                   == GW_REASON_NONE)
            return upstream;
        exchange->address = (struct gw_ip_address){ 0 };
        gw_upstream_free(upstream);
    }
}

static void start_judging(struct gw_exchange *exchange)
{
    const struct gw_host *host = &exchange->request.authority.host;
    if (exchange->verdict.read_as_http) {
        gw_exchange_record(exchange, NULL, 0);
        exchange->status = 200;
        gw_exchange_finish(exchange, GW_X_PLAIN_TUNNEL, GW_CLOSING_DONE);
        return;
    }
    exchange->upstream = take_pooled(exchange);
    if (exchange->upstream != NULL) {
        gw_exchange_tell(exchange, GW_X_GOT_POOLED);
    } else if (host->class != GW_HOST_NAME) {
        struct gw_ip_address literal = host->address;
        screen(exchange, &literal, 1);
    } else {
        gw_exchange_tell(exchange, GW_X_NAME_NEEDED);
    }
}

static void start_resolving(struct gw_exchange *exchange)
{
    const struct gw_host *host = &exchange->request.authority.host;
    exchange->step_began = uv_hrtime();
    exchange->lookup.done = on_resolved;
    exchange->lookup.slot = exchange->client->slot;
    if (gw_resolver_ask(exchange->proxy->resolver, host, &exchange->lookup))
        take_answer(exchange);
}

/* ---- dial and verify --------------------------------------------------------------------- */

static void on_dialled(struct gw_dial *dial);

static void start_dialing(struct gw_exchange *exchange)
{
    struct gw_proxy *proxy = exchange->proxy;
    struct gw_dialable_set *set = exchange->dialables;
    exchange->dialables = NULL;
    exchange->step_began = uv_hrtime();
    exchange->dial.done = on_dialled;
    gw_dial_start(&exchange->dial, set, proxy->reactor, proxy->timers,
                  &exchange->config->snapshot->limits, proxy->page);
}

static void on_dialled(struct gw_dial *dial)
{
    struct gw_exchange *exchange = gw_container_of(dial, struct gw_exchange, dial);
    exchange->durations.connect = since(exchange->step_began);
    exchange->address = dial->address;
    if (dial->reason != GW_REASON_NONE) {
        if (dial->reason == GW_REASON_RESOLVED)
            exchange->refusal.kind = GW_KIND_SELF_ADDRESS;
        if (dial->error != 0)
            snprintf(exchange->detail, sizeof exchange->detail, "%s", uv_strerror(-dial->error));
        gw_exchange_refuse(exchange, dial->reason);
        return;
    }
    struct gw_trust *trust =
        exchange->verdict.tls && exchange->ask.kind == GW_ASK_REQUEST
            ? gw_binding_trust(exchange->config, exchange->binding, &exchange->verdict)
            : NULL;
    exchange->upstream =
        gw_upstream_new(dial->watch, &dial->address, &exchange->request.authority.host,
                        exchange->verdict.dial_port, trust);
    if (exchange->upstream == NULL) {
        gw_exchange_refuse(exchange, GW_REASON_OVERLOADED);
        return;
    }
    gw_watch_give(exchange->upstream->watch, gw_exchange_upstream_ready, exchange);
    if (exchange->config != exchange->proxy->config && !gw_exchange_still_admitted(exchange))
        gw_exchange_refuse(exchange, GW_REASON_POLICY_NARROWED);
    else if (exchange->ask.kind == GW_ASK_TUNNEL)
        gw_tunnel_open(exchange);
    else
        gw_exchange_tell(exchange, trust != NULL ? GW_X_CONNECTED_TLS : GW_X_CONNECTED);
}

static void go_on_securing(struct gw_exchange *exchange)
{
    struct gw_tls *tls = exchange->upstream->tls;
    enum gw_io io = gw_tls_handshake(tls);
    if (io == GW_IO_AGAIN)
        return;
    gw_timer_stop(&exchange->timer);
    exchange->durations.tls = since(exchange->step_began);
    if (io != GW_IO_OK) {
        gw_tls_failure(tls, exchange->detail, sizeof exchange->detail);
        gw_exchange_refuse(exchange, GW_REASON_TLS_FAILED);
        return;
    }
    gw_count_add(exchange->proxy->page, GW_COUNT_TLS_HANDSHAKES, 1);
    if (gw_tls_resumed(tls))
        gw_count_add(exchange->proxy->page, GW_COUNT_TLS_RESUMED, 1);
    gw_exchange_tell(exchange, GW_X_SECURED);
}

static void start_securing(struct gw_exchange *exchange)
{
    exchange->step_began = uv_hrtime();
    gw_timer_start(exchange->proxy->timers, &exchange->timer,
                   gw_limit(&exchange->config->snapshot->limits, TLS_TIMEOUT_MS));
    go_on_securing(exchange);
}

/* ---- events ------------------------------------------------------------------------------ */

void gw_exchange_upstream_ready(struct gw_watch *watch)
{
    struct gw_exchange *exchange = watch->owner;
    if (exchange->state == GW_X_SECURING)
        go_on_securing(exchange);
    else if (exchange->state == GW_X_STREAMING)
        gw_stream_pump(exchange);
}

void gw_exchange_client_ready(struct gw_exchange *exchange)
{
    if (exchange->state == GW_X_STREAMING) {
        gw_stream_pump(exchange);
    } else if (exchange->state == GW_X_HOLDING) {
        gw_tunnel_client_ready(exchange);
    } else if (gw_client_has_left(exchange->client)) {
        struct gw_client *client = exchange->client;
        gw_exchange_abort(exchange, GW_CLOSING_CLIENT_GONE);
        gw_client_cut(client, false);
    }
}

unsigned gw_exchanges_sweep(struct gw_proxy *proxy)
{
    unsigned ended = 0;
    gw_list_each (at, after, &proxy->clients) {
        struct gw_client *client = gw_container_of(at, struct gw_client, link);
        struct gw_exchange *exchange = client->exchange;
        if (exchange == NULL || exchange->config == proxy->config
            || gw_exchange_still_admitted(exchange))
            continue;
        ended++;
        exchange->reset = true;
        if (exchange->upstream != NULL) /* nor does the kernel deliver what is queued */
            gw_watch_linger(exchange->upstream->watch, false);
        if (exchange->response_begun || exchange->state == GW_X_HOLDING)
            gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_NARROWED);
        else
            gw_exchange_refuse(exchange, GW_REASON_POLICY_NARROWED);
    }
    return ended;
}
