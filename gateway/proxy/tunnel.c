/* gateway/proxy/tunnel.c - CONNECT to an opaque port: 200, the first bytes, and the hand-over.
 * With sni: match nothing goes up before a whole ClientHello names the target; nothing is
 * decrypted. RFC 9110 9.3.6, RFC 6066 3. */
#include <stdlib.h>

#include "gateway/proxy/client_hello.h"
#include "gateway/proxy/exchange.h"

enum { READ_BYTES = 4096 };

static const struct gw_limits *limits_of(const struct gw_exchange *exchange)
{
    return &exchange->config->snapshot->limits;
}

static void hand_over(struct gw_exchange *exchange, struct gw_slice sni)
{
    char name[GW_HOST_TEXT_MAX];
    size_t length = sni.length < sizeof name ? sni.length : sizeof name;
    if (length > 0)
        memcpy(name, sni.data, length); /* it lies in the buffer that is handed over */
    struct gw_relay_start start = {
        .connect = true,
        .watch_hello = exchange->verdict.sni == GW_SNI_LOG,
        .hello_matched = exchange->verdict.sni == GW_SNI_MATCH,
        .sni = { name, length },
        .status = 200,
    };
    gw_exchange_hand_over(exchange, &start);
}

void gw_tunnel_open(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    gw_exchange_record(exchange, NULL, 0);
    exchange->status = 200;
    /* No body, no framing fields; the version is ours (RFC 9110 9.3.6). */
    if (!gw_buffer_append(&client->out, GW_SLICE("HTTP/1.1 200 Connection Established\r\n\r\n"))) {
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_OUT_OF_MEMORY);
        return;
    }
    if (exchange->verdict.sni == GW_SNI_MATCH)
        gw_exchange_tell(exchange, GW_X_OPENED);
    else
        hand_over(exchange, (struct gw_slice){ 0 });
}

void gw_tunnel_hold(struct gw_exchange *exchange)
{
    gw_timer_start(exchange->proxy->timers, &exchange->timer,
                   gw_limit(limits_of(exchange), CLIENT_HELLO_TIMEOUT_MS));
    gw_tunnel_client_ready(exchange);
}

static void refuse_hello(struct gw_exchange *exchange, enum gw_closing closing)
{
    struct gw_slice alert = { (const char *)gw_tls_unrecognized_name_alert,
                              sizeof gw_tls_unrecognized_name_alert };
    bool tls = closing != GW_CLOSING_NOT_TLS;
    if (tls)
        (void)gw_buffer_append(&exchange->client->out, alert);
    /* Gently: a reset would overtake the alert. */
    gw_exchange_finish(exchange, GW_X_CLOSE, closing);
}

static void refuse_name(struct gw_exchange *exchange, struct gw_slice name)
{
    size_t length = name.length < sizeof exchange->sni ? name.length : sizeof exchange->sni - 1;
    memcpy(exchange->sni, name.data, length);
    exchange->sni_length = (uint8_t)length;
    refuse_hello(exchange, GW_CLOSING_SNI_MISMATCH);
}

/* True: look again when more has come. */
static bool judge_hello(struct gw_exchange *exchange)
{
    size_t limit = (size_t)gw_limit(limits_of(exchange), CLIENT_HELLO_BYTES);
    unsigned char *scratch = malloc(limit);
    struct gw_client_hello_facts facts = { 0 };
    if (scratch == NULL) {
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_OUT_OF_MEMORY);
        return false;
    }
    enum gw_client_hello found =
        gw_client_hello_read(gw_buffer_slice(&exchange->client->in), limit, scratch, &facts);
    const struct gw_host *target = &exchange->request.authority.host;
    bool literal = target->class != GW_HOST_NAME, again = found == GW_HELLO_NEED_MORE;
    if ((found == GW_HELLO_NAMED && gw_client_hello_matches(&facts, target))
        || (found == GW_HELLO_UNNAMED && literal))
        hand_over(exchange, facts.name);
    else if (found == GW_HELLO_NAMED)
        refuse_name(exchange, facts.name);
    else if (found == GW_HELLO_UNNAMED)
        refuse_hello(exchange, GW_CLOSING_SNI_MISSING);
    else if (!again)
        refuse_hello(exchange, GW_CLOSING_NOT_TLS);
    free(scratch);
    return again;
}

void gw_tunnel_client_ready(struct gw_exchange *exchange)
{
    struct gw_client *client = exchange->client;
    size_t limit = (size_t)gw_limit(limits_of(exchange), CLIENT_HELLO_BYTES);
    if (gw_watch_flush(client->watch, &client->out) == GW_IO_FAILED) {
        gw_exchange_finish(exchange, GW_X_CUT, GW_CLOSING_CLIENT_GONE);
        return;
    }
    if (gw_buffer_length(&client->in) > 0 && !judge_hello(exchange))
        return;
    while (gw_buffer_length(&client->in) < GW_CLIENT_HELLO_KEPT_MAX(limit)) {
        size_t length;
        char *at = gw_buffer_reserve(&client->in, READ_BYTES);
        enum gw_io io =
            at == NULL ? GW_IO_FAILED : gw_watch_read(client->watch, at, READ_BYTES, &length);
        if (io == GW_IO_AGAIN)
            return;
        if (io != GW_IO_OK) {
            gw_exchange_finish(exchange, GW_X_CUT,
                               gw_buffer_length(&client->in) > 0 ? GW_CLOSING_NOT_TLS
                                                                 : GW_CLOSING_CLIENT_GONE);
            return;
        }
        gw_buffer_added(&client->in, length);
        if (!judge_hello(exchange))
            return;
    }
    refuse_hello(exchange, GW_CLOSING_NOT_TLS);
}
