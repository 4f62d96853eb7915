/* gateway/proxy/client.c */
#include "gateway/proxy/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/macros.h"
#include "gateway/proxy/exchange.h"

/* Connections over their network's limit that are answered at leisure, out of the descriptors that
 * a process keeps in reserve. */
enum { READ_BYTES = 8192, TURNED_AWAY_MAX = 16 };

enum event {
    FIRST_BYTE,
    HEAD_READ,
    GOES_ON,   /* answered; the connection stays */
    BODY_LEFT, /* answered; a rest of the body has to be thrown away first */
    LAST_WORD, /* answered; the connection ends */
    THROWN_AWAY,
    TIMED_OUT,
    PEER_GONE,
    TAKEN, /* by a relay */
    EVENTS
};

/* Where each event leads. PEER_GONE and TAKEN lead to GONE from everywhere. */
/* clang-format off */
static const enum gw_client_state next[GW_CLIENT_STATES][EVENTS] = {
    [GW_CLIENT_IDLE] = { [FIRST_BYTE] = GW_CLIENT_READING, [TIMED_OUT] = GW_CLIENT_GONE,
                         [LAST_WORD] = GW_CLIENT_LINGERING },
    [GW_CLIENT_READING] = { [HEAD_READ] = GW_CLIENT_ANSWERING, [LAST_WORD] = GW_CLIENT_LINGERING },
    [GW_CLIENT_ANSWERING] = { [GOES_ON] = GW_CLIENT_IDLE, [BODY_LEFT] = GW_CLIENT_DISCARDING,
                              [LAST_WORD] = GW_CLIENT_LINGERING },
    [GW_CLIENT_DISCARDING] = { [THROWN_AWAY] = GW_CLIENT_IDLE, [TIMED_OUT] = GW_CLIENT_GONE },
    [GW_CLIENT_LINGERING] = { [TIMED_OUT] = GW_CLIENT_GONE },
};
/* clang-format on */

static void start_idle(struct gw_client *client);
static void start_reading(struct gw_client *client);
static void start_answering(struct gw_client *client);
static void start_discarding(struct gw_client *client);
static void start_lingering(struct gw_client *client);
static void start_gone(struct gw_client *client);

static void (*const enter[GW_CLIENT_STATES])(struct gw_client *client) = {
    [GW_CLIENT_IDLE] = start_idle,           [GW_CLIENT_READING] = start_reading,
    [GW_CLIENT_ANSWERING] = start_answering, [GW_CLIENT_DISCARDING] = start_discarding,
    [GW_CLIENT_LINGERING] = start_lingering, [GW_CLIENT_GONE] = start_gone,
};

static void tell(struct gw_client *client, enum event event) /* the last act of a callback */
{
    if (client->state == GW_CLIENT_GONE)
        return;
    enum gw_client_state to =
        event == PEER_GONE || event == TAKEN ? GW_CLIENT_GONE : next[client->state][event];
    gw_check(to != 0);
    client->state = to;
    enter[to](client);
}

static const struct gw_limits *limits_of(const struct gw_client *client)
{
    return client->config != NULL ? &client->config->snapshot->limits
                                  : gw_proxy_limits(client->proxy);
}

static void set_timer(struct gw_client *client, uint64_t milliseconds)
{
    gw_timer_start(client->proxy->timers, &client->timer, milliseconds);
}

/* ---- one way out ------------------------------------------------------------------------- */

static void bury(struct gw_grave *grave)
{
    free(gw_container_of(grave, struct gw_client, grave));
}

static void drop_head(struct gw_client *client)
{
    if (client->head != NULL)
        gw_http_head_fini(client->head);
    free(client->head);
    client->head = NULL;
}

static void give_places_back(struct gw_client *client)
{
    struct gw_proxy *proxy = client->proxy;
    gw_count_sub(proxy->page, GW_COUNT_CLIENTS, 1);
    gw_discharge(&proxy->shared->admission[client->slot].connections,
                 &proxy->page->share[client->slot].connections);
    proxy->client_count--;
}

static void start_gone(struct gw_client *client)
{
    struct gw_proxy *proxy = client->proxy;
    if (client->exchange != NULL)
        gw_exchange_abort(client->exchange, GW_CLOSING_CLIENT_GONE);
    gw_timer_stop(&client->timer);
    gw_list_remove(&client->link);
    gw_watch_close(client->watch);
    if (client->turned_away)
        proxy->turned_away--;
    else if (client->watch != NULL) /* else a relay has it, and the places with it */
        give_places_back(client);
    drop_head(client);
    free(client->fixed);
    gw_buffer_fini(&client->in);
    gw_buffer_fini(&client->out);
    gw_config_unref(client->config);
    client->config = NULL;
    gw_reactor_bury(proxy->reactor, &client->grave, bury);
    proxy->one_gone(proxy);
}

/* ---- reading heads ----------------------------------------------------------------------- */

static void start_idle(struct gw_client *client)
{
    gw_config_unref(client->config);
    client->config = NULL;
    if (client->proxy->draining) {
        tell(client, LAST_WORD);
        return;
    }
    set_timer(client, gw_limit(limits_of(client), CLIENT_IDLE_TIMEOUT_MS));
    /* What was pipelined, or came while we were busy, is looked at in the next turn. */
    gw_watch_later(client->watch);
}

/* The deadline for a head counts from its first byte and is not moved by later ones. */
static void start_reading(struct gw_client *client)
{
    client->config = gw_config_ref(client->proxy->config);
    client->head = calloc(1, sizeof *client->head);
    if (client->head == NULL) {
        gw_count_add(client->proxy->page, GW_COUNT_SHED, 1);
        tell(client, PEER_GONE);
        return;
    }
    gw_http_head_init(client->head, false, limits_of(client));
    set_timer(client, gw_limit(limits_of(client), HEAD_TIMEOUT_MS));
}

static void start_answering(struct gw_client *client)
{
    gw_timer_stop(&client->timer);
    struct gw_http_head *head = client->head;
    client->head = NULL;
    /* Judged by what is in force now that it is whole, not by what was when it began. */
    if (client->config != client->proxy->config) {
        gw_config_unref(client->config);
        client->config = gw_config_ref(client->proxy->config);
        head->limits = limits_of(client);
    }
    gw_exchange_start(client, head); /* takes the head, and its text out of `in` */
}

/* Refused before there is anything to exchange. */
static void refuse_head(struct gw_client *client, enum gw_reason reason)
{
    struct gw_proxy *proxy = client->proxy;
    struct gw_refusal refusal = { .reason = reason };
    struct gw_reply reply = { .refusal = refusal, .close = true };
    const struct gw_binding *binding = gw_config_binding(client->config, client->slot);
    gw_count_add(proxy->page, GW_COUNT_MALFORMED, 1);
    gw_audit_decision(proxy->audit, client->slot, binding,
                      &(struct gw_decision_record){ .id = proxy->next_id++,
                                                    .refusal = refusal,
                                                    .status = gw_reason_status(reason),
                                                    .client = &client->address });
    drop_head(client);
    if (client->fixed != NULL && reason == GW_REASON_BAD_REQUEST)
        reply.refusal.reason = GW_REASON_NOT_HTTP;
    if (!gw_reply_write(&reply, &client->out))
        tell(client, PEER_GONE);
    else
        tell(client, LAST_WORD);
}

static void feed_head(struct gw_client *client)
{
    switch (gw_http_head_feed(client->head, gw_buffer_slice(&client->in))) {
    case GW_HEAD_MORE:
        break;
    case GW_HEAD_DONE:
        tell(client, HEAD_READ);
        break;
    case GW_HEAD_BAD:
        refuse_head(client, client->head->reason);
        break;
    }
}

/* One head a turn. What came behind it waits in `in` for the next turn, which start_idle() asks
 * for, and nothing is added to it before. */
static void read_head(struct gw_client *client)
{
    if (client->state == GW_CLIENT_IDLE && gw_buffer_length(&client->in) > 0) {
        tell(client, FIRST_BYTE);
        if (client->state == GW_CLIENT_READING)
            feed_head(client);
        if (client->state != GW_CLIENT_READING)
            return;
    }
    do {
        size_t length;
        if (gw_watch_flush(client->watch, &client->out) != GW_IO_OK)
            return; /* answers are taken before more requests are; a failure shows in the next turn
                     */
        char *at = gw_buffer_reserve(&client->in, READ_BYTES);
        enum gw_io io =
            at == NULL ? GW_IO_FAILED : gw_watch_read(client->watch, at, READ_BYTES, &length);
        if (io == GW_IO_AGAIN) {
            if (gw_buffer_length(&client->in) == 0)
                gw_buffer_fini(&client->in); /* a quiet connection holds no memory */
            return;
        }
        if (io != GW_IO_OK) {
            tell(client, PEER_GONE);
            return;
        }
        gw_buffer_added(&client->in, length);
        if (client->state == GW_CLIENT_IDLE)
            tell(client, FIRST_BYTE);
        if (client->state == GW_CLIENT_READING)
            feed_head(client);
    } while (client->state == GW_CLIENT_READING);
}

/* ---- after the answer -------------------------------------------------------------------- */

static void start_discarding(struct gw_client *client)
{
    set_timer(client, gw_limit(limits_of(client), HEAD_TIMEOUT_MS));
    gw_watch_later(client->watch);
}

static void discard(struct gw_client *client)
{
    size_t length = gw_buffer_length(&client->in);
    if (length > client->discard)
        length = (size_t)client->discard;
    gw_buffer_consume(&client->in, length);
    client->discard -= length;
    while (client->discard > 0) {
        size_t room =
            client->discard < GW_SCRATCH_BYTES ? (size_t)client->discard : GW_SCRATCH_BYTES;
        enum gw_io io = gw_watch_read(client->watch, client->proxy->scratch, room, &length);
        if (io == GW_IO_AGAIN)
            return;
        if (io != GW_IO_OK) {
            tell(client, PEER_GONE);
            return;
        }
        client->discard -= length;
    }
    tell(client, THROWN_AWAY);
}

static void start_lingering(struct gw_client *client)
{
    gw_buffer_fini(&client->in);
    set_timer(client, gw_limit(limits_of(client), LINGER_MS));
    gw_watch_later(client->watch);
}

/* Closing with unread bytes would send a reset, and a reset overtakes the answer in the client's
 * kernel (RFC 9112 9.6): FIN first, then read on until the client's own, within bounds. */
static void linger(struct gw_client *client)
{
    size_t length;
    if (!client->shut) {
        client->shut = true;
        (void)shutdown(client->watch->fd, SHUT_WR);
    }
    for (unsigned turns = 0; turns < 4; turns++) {
        enum gw_io io =
            gw_watch_read(client->watch, client->proxy->scratch, GW_SCRATCH_BYTES, &length);
        if (io == GW_IO_AGAIN)
            return;
        if (io != GW_IO_OK) {
            tell(client, PEER_GONE);
            return;
        }
    }
    gw_watch_later(client->watch);
}

/* ---- events ------------------------------------------------------------------------------ */

static void on_client(struct gw_watch *watch)
{
    struct gw_client *client = watch->owner;
    if (client->state == GW_CLIENT_ANSWERING) {
        if (client->exchange != NULL)
            gw_exchange_client_ready(client->exchange);
        return;
    }
    if (gw_watch_flush(watch, &client->out) == GW_IO_FAILED) {
        tell(client, PEER_GONE);
        return;
    }
    if (gw_buffer_length(&client->out) > 0)
        return; /* nothing new before the last answer is out */
    if (client->state == GW_CLIENT_DISCARDING)
        discard(client);
    else if (client->state == GW_CLIENT_LINGERING)
        linger(client);
    else
        read_head(client);
}

static void on_timer(struct gw_timer *timer)
{
    struct gw_client *client = gw_container_of(timer, struct gw_client, timer);
    if (client->state == GW_CLIENT_READING)
        refuse_head(client, GW_REASON_SLOW_CLIENT);
    else
        tell(client, TIMED_OUT);
}

/* More connections than the network may have: said at once, before a byte is read. */
static void refuse_connection(struct gw_client *client, enum gw_reason reason)
{
    struct gw_reply reply = { .refusal = { .reason = reason }, .close = true };
    client->config = gw_config_ref(client->proxy->config);
    gw_audit_decision(client->proxy->audit, client->slot,
                      gw_config_binding(client->config, client->slot),
                      &(struct gw_decision_record){ .id = client->proxy->next_id++,
                                                    .refusal = reply.refusal,
                                                    .status = gw_reason_status(reason),
                                                    .client = &client->address });
    gw_count_add(client->proxy->page, GW_COUNT_REFUSED, 1);
    bool written = gw_reply_write(&reply, &client->out);
    /* A flood of them is not waited for: what the kernel takes at once is all that they get. */
    bool lingers = client->proxy->turned_away <= TURNED_AWAY_MAX;
    if (!lingers)
        (void)gw_watch_flush(client->watch, &client->out);
    tell(client, written && lingers ? LAST_WORD : PEER_GONE);
}

void gw_client_accept(struct gw_proxy *proxy, int fd, uint32_t slot,
                      const struct gw_ip_address *address)
{
    int one = 1;
    struct gw_client *client = calloc(1, sizeof *client);
    struct gw_watch *watch =
        client == NULL ? NULL : gw_reactor_watch(proxy->reactor, fd, on_client, client);
    if (watch == NULL) {
        if (client == NULL)
            close(fd);
        free(client);
        gw_count_add(proxy->page, GW_COUNT_SHED, 1);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    client->proxy = proxy;
    client->watch = watch;
    client->slot = slot;
    client->address = *address;
    client->state = GW_CLIENT_IDLE;
    gw_timer_init(&client->timer, on_timer);
    gw_list_append(&proxy->clients, &client->link);
    gw_count_add(proxy->page, GW_COUNT_ACCEPTED, 1);
    const struct gw_binding *binding = gw_config_binding(proxy->config, slot);
    uint32_t most = binding != NULL ? binding->network->max_connections : 0;
    _Atomic uint32_t *shared = &proxy->shared->admission[slot].connections;
    _Atomic uint32_t *share = &proxy->page->share[slot].connections;
    if (!gw_admit(shared, share, most)) {
        client->turned_away = true;
        proxy->turned_away++;
        refuse_connection(client, GW_REASON_TOO_MANY);
        return;
    }
    proxy->client_count++;
    gw_count_add(proxy->page, GW_COUNT_CLIENTS, 1);
    set_timer(client, gw_limit(limits_of(client), CLIENT_IDLE_TIMEOUT_MS));
}

/* ---- for the exchange -------------------------------------------------------------------- */

void gw_client_go_on(struct gw_client *client)
{
    client->exchange = NULL;
    tell(client, GOES_ON);
}

void gw_client_close_gently(struct gw_client *client)
{
    client->exchange = NULL;
    tell(client, LAST_WORD);
}

void gw_client_cut(struct gw_client *client, bool reset)
{
    client->exchange = NULL;
    if (reset)
        gw_watch_linger(client->watch, false);
    else
        (void)gw_watch_flush(client->watch, &client->out);
    tell(client, PEER_GONE);
}

void gw_client_hand_over(struct gw_client *client)
{
    client->exchange = NULL;
    client->watch = NULL;
    tell(client, TAKEN);
}

void gw_client_refuse(struct gw_client *client, struct gw_reply *reply, bool keep_alive,
                      uint64_t unread)
{
    int status = gw_reason_status(reply->refusal.reason);
    bool ends = status == 400 || status == 408 || status == 413 || status == 414 || status == 431
                || status == 505 || status == 500 || status == 503 || client->proxy->draining;
    reply->close |= ends || !keep_alive || unread > gw_limit(limits_of(client), DRAIN_BODY_BYTES);
    client->exchange = NULL;
    client->discard = unread;
    if (!gw_reply_write(reply, &client->out))
        tell(client, PEER_GONE);
    else if (reply->close)
        tell(client, LAST_WORD);
    else
        tell(client, unread > 0 ? BODY_LEFT : GOES_ON);
}

bool gw_client_has_left(struct gw_client *client)
{
    char byte;
    if (client->watch->ready & GW_PEER_RESET)
        return true;
    if (!(client->watch->ready & GW_PEER_SHUT) || gw_buffer_length(&client->in) > 0)
        return false;
    return recv(client->watch->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* Inside CONNECT h:80, between two requests: would that CONNECT still be admitted? */
static bool tunnel_stays(const struct gw_client *client)
{
    const struct gw_proxy *proxy = client->proxy;
    const struct gw_binding *binding = gw_config_binding(proxy->config, client->slot);
    struct gw_ask ask = { .kind = GW_ASK_TUNNEL, .authority = *client->fixed };
    struct gw_verdict verdict;
    if (binding == NULL)
        return false;
    gw_decide(&binding->policy->image, &proxy->own, &ask, NULL, &verdict);
    return verdict.refusal.reason == GW_REASON_NONE && verdict.read_as_http;
}

unsigned gw_clients_sweep(struct gw_proxy *proxy)
{
    unsigned ended = 0;
    gw_list_each (at, after, &proxy->clients) {
        struct gw_client *client = gw_container_of(at, struct gw_client, link);
        bool between = client->state == GW_CLIENT_IDLE || client->state == GW_CLIENT_READING
                       || client->state == GW_CLIENT_DISCARDING;
        if (client->fixed == NULL || !between || tunnel_stays(client))
            continue;
        (void)gw_watch_flush(client->watch, &client->out); /* a refusal may be on its way */
        tell(client, PEER_GONE);
        ended++;
    }
    return ended;
}

void gw_clients_drain(struct gw_proxy *proxy)
{
    gw_list_each (at, after, &proxy->clients) {
        struct gw_client *client = gw_container_of(at, struct gw_client, link);
        if (client->state == GW_CLIENT_IDLE)
            tell(client, LAST_WORD);
    }
}

unsigned gw_clients_close(struct gw_proxy *proxy)
{
    unsigned answering = 0;
    while (!gw_list_empty(&proxy->clients)) {
        struct gw_client *client = gw_container_of(proxy->clients.next, struct gw_client, link);
        if (client->state == GW_CLIENT_ANSWERING) {
            answering++;
            gw_exchange_abort(client->exchange, GW_CLOSING_SHUTDOWN);
        }
        tell(client, PEER_GONE);
    }
    return answering;
}
