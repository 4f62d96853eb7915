/* gateway/proxy/exchange.h - one request, from its head to the end of its answer; or one CONNECT,
 * up to the open tunnel. The order: parse, identify, target, policy, screen,
 * dial, verify, stamp. Three files: exchange.c (up to a usable upstream, and the end), stream.c (a
 * readable request and its answer), tunnel.c (CONNECT: 200, the held ClientHello, the hand-over).
 */
#pragma once
#include "gateway/proxy/body.h"
#include "gateway/proxy/client.h"
#include "gateway/proxy/dial.h"
#include "gateway/proxy/relay.h"
#include "gateway/proxy/rewrite.h"

struct gw_exchange;

/* Takes the head; what was read of the client stays in client->in. */
void gw_exchange_start(struct gw_client *client, struct gw_http_head *head);
/* The client's socket has become ready. */
void gw_exchange_client_ready(struct gw_exchange *exchange);
/* The client is gone, or everything ends: clean up without touching the client. */
void gw_exchange_abort(struct gw_exchange *exchange, enum gw_closing closing);
/* Ends those that the configuration now in force would refuse; returns how many. */
unsigned gw_exchanges_sweep(struct gw_proxy *proxy);

/* ---- shared by the three files ----------------------------------------------------------- */

enum gw_exchange_state {
    GW_X_JUDGING = 1,
    GW_X_RESOLVING,
    GW_X_DIALING,
    GW_X_SECURING,  /* TLS with the upstream */
    GW_X_STREAMING, /* request up, answer down */
    GW_X_HOLDING,   /* tunnel: 200 given, the ClientHello is awaited */
    GW_X_ENDED,
    GW_X_STATES
};

enum gw_exchange_event {
    GW_X_NAME_NEEDED,
    GW_X_GOT_ADDRESSES, /* screened */
    GW_X_GOT_POOLED,
    GW_X_CONNECTED,
    GW_X_CONNECTED_TLS, /* now TLS is to be set up */
    GW_X_OPENED,        /* a tunnel whose ClientHello is to be checked */
    GW_X_SECURED,
    GW_X_LOST_POOLED, /* a kept connection was closed under the request: once more, afresh */
    GW_X_REFUSED,     /* `refusal` says why; an answer can still be given */
    GW_X_FINISHED,    /* `outcome` says how */
    GW_X_EVENTS
};

enum gw_exchange_outcome {
    GW_X_REFUSE,       /* answer with `refusal` */
    GW_X_KEEP,         /* the connection may serve the next request */
    GW_X_CLOSE,        /* it ends after what is in client->out */
    GW_X_CUT,          /* it ends at once; `reset` when a FIN would look like success */
    GW_X_HAND_OVER,    /* a relay has it */
    GW_X_ABORT,        /* the client is gone already */
    GW_X_PLAIN_TUNNEL, /* 200 given; requests follow on this connection */
};

struct gw_exchange {
    struct gw_client *client;
    struct gw_proxy *proxy;
    struct gw_config *config;         /* a reference: what this request is judged by */
    const struct gw_binding *binding; /* of it; NULL: no policy for this listener */
    enum gw_exchange_state state;
    enum gw_exchange_outcome outcome;
    struct gw_refusal refusal;
    enum gw_closing closing;
    bool reset;

    struct gw_http_head *head; /* owned */
    struct gw_request request; /* slices are valid in gw_exchange_start() only */
    struct gw_buffer ask_text; /* method and path, for asking again */
    struct gw_ask ask;         /* its slices lie in ask_text */
    struct gw_verdict verdict;
    struct gw_stamp stamps[GW_VERDICT_CREDENTIALS_MAX];
    uint64_t stamp_key;
    struct gw_buffer request_head; /* without stamps and the empty line */

    struct gw_lookup lookup;
    struct gw_dialable_set *dialables; /* screened, on the way to the dialer */
    struct gw_dial dial;
    struct gw_upstream *upstream;
    struct gw_ip_address address; /* of the upstream, or the offending one */
    struct gw_timer timer, continue_timer;
    uint64_t moved; /* loop milliseconds: when something last moved */

    struct gw_http_head response_head;
    struct gw_response response;
    struct gw_body request_body, response_body;
    enum gw_client_framing framing;
    unsigned interims;
    bool may_send_body, request_sent, response_begun, response_bytes, retried, closes;
    bool counted_tunnel, body_begun;
    bool decided; /* the decision is recorded */
    bool allowed; /* and it was: yes */

    uint64_t id, began, step_began; /* uv_hrtime */
    struct gw_durations durations;
    int status;                 /* answered */
    char sni[GW_HOST_TEXT_MAX]; /* of a ClientHello that was refused */
    uint8_t sni_length;
    char detail[160]; /* for the operator */
};

/* The upstream's socket has become ready; the watch's owner is the exchange. */
void gw_exchange_upstream_ready(struct gw_watch *watch);
void gw_exchange_tell(struct gw_exchange *exchange, enum gw_exchange_event event);
/* Sets the reason (the first one stays) and tells REFUSED. */
void gw_exchange_refuse(struct gw_exchange *exchange, enum gw_reason reason);
void gw_exchange_finish(struct gw_exchange *exchange, enum gw_exchange_outcome outcome,
                        enum gw_closing closing);
/* Ends the exchange and starts a relay on its two connections. `start` says what sort of relay
 * (connect, watch_hello, https, path, sni, status); the rest is filled in here. */
void gw_exchange_hand_over(struct gw_exchange *exchange, struct gw_relay_start *start);
/* One decision record, once. */
void gw_exchange_record(struct gw_exchange *exchange, const struct gw_ip_address *records,
                        size_t count);
/* Would the configuration in force admit this exchange (and the address, if it has one)? */
bool gw_exchange_still_admitted(struct gw_exchange *exchange);

/* Just before stamping: should the configuration have changed since the decision, the values in
 * force now are taken. False when it would not stamp the same fields any more. */
bool gw_exchange_restamp(struct gw_exchange *exchange);

void gw_stream_start(struct gw_exchange *exchange);
void gw_stream_pump(struct gw_exchange *exchange);
void gw_stream_timed_out(struct gw_exchange *exchange);
void gw_tunnel_open(struct gw_exchange *exchange); /* the upstream is connected */
void gw_tunnel_hold(struct gw_exchange *exchange);
void gw_tunnel_client_ready(struct gw_exchange *exchange);
