/* gateway/proxy/relay.c */
#include "gateway/proxy/relay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/macros.h"
#include "gateway/proxy/client_hello.h"
#include "gateway/proxy/proxy.h"

/* Moved in one go before others get their turn. */
enum { TURN_BYTES = 1 << 20 };

/* From one peer to the other. */
struct half {
    struct gw_buffer pending; /* read, and not yet taken by the other side */
    uint64_t bytes;           /* taken by the other side */
    bool ended;               /* the source has sent its last byte */
    bool shut;                /* and the other side has been told */
};

struct sniffer { /* sni: log */
    struct gw_buffer seen;
    uint64_t until; /* loop milliseconds: a hello that dribbles is not waited for */
};

struct gw_relay {
    struct gw_list link;
    struct gw_grave grave;
    struct gw_proxy *proxy;
    struct gw_config *config; /* a reference */
    struct gw_watch *client, *upstream;
    struct gw_tls *tls; /* of the upstream; NULL: plain */
    struct gw_trust *trust;
    struct half up, down;
    struct sniffer *sniffer;
    struct gw_timer timer; /* looks at `moved` when it fires: moving bytes costs no timer call */
    uint64_t moved;        /* loop milliseconds */
    uint64_t began, id;    /* uv_hrtime */
    uint64_t expires;      /* loop milliseconds; 0: never */
    struct gw_durations durations;
    struct gw_ip_address address;
    uint32_t slot;
    uint16_t port, dial_port;
    int16_t status;
    bool connect, counted_tunnel, hello_matched, closed;
    bool broken; /* one side has sent a reset */
    uint8_t host_class;
    bool https;
    char *path; /* WebSocket: for asking again */
    char *sni;
    char host[]; /* NUL-terminated */
};

/* An idle tunnel holds at most 0.6 KiB of user memory, a short host name included. */
_Static_assert(sizeof(struct gw_relay) + 2 * sizeof(struct gw_watch) <= 560,
               "an idle tunnel is small");

static const struct gw_binding *binding_of(const struct gw_relay *relay)
{
    return gw_config_binding(relay->config, relay->slot);
}

static void record_end(struct gw_relay *relay, enum gw_closing closing)
{
    gw_audit_end(relay->proxy->audit, relay->slot, binding_of(relay),
                 &(struct gw_end_record){
                     .id = relay->id,
                     .connect = relay->connect,
                     .host = relay->host,
                     .port = relay->port,
                     .address = &relay->address,
                     .closing = closing,
                     .status = relay->status,
                     .bytes_up = relay->up.bytes,
                     .bytes_down = relay->down.bytes,
                     .duration_us = (uv_hrtime() - relay->began) / 1000,
                     .durations = relay->durations,
                     .sni = gw_slice_of(relay->sni),
                 });
}

static void bury(struct gw_grave *grave)
{
    struct gw_relay *relay = gw_container_of(grave, struct gw_relay, grave);
    gw_config_unref(relay->config);
    free(relay->sni);
    free(relay->path);
    free(relay);
}

static void drop_sniffer(struct gw_relay *relay)
{
    if (relay->sniffer == NULL)
        return;
    gw_buffer_fini(&relay->sniffer->seen);
    free(relay->sniffer);
    relay->sniffer = NULL;
}

/* The places that a client connection and its tunnel hold. */
static void give_back(struct gw_proxy *proxy, uint32_t slot, bool counted_tunnel)
{
    gw_count_sub(proxy->page, GW_COUNT_CLIENTS, 1);
    gw_discharge(&proxy->shared->admission[slot].connections,
                 &proxy->page->share[slot].connections);
    if (counted_tunnel) {
        gw_count_sub(proxy->page, GW_COUNT_TUNNELS, 1);
        gw_discharge(&proxy->shared->admission[slot].tunnels, &proxy->page->share[slot].tunnels);
    }
    proxy->client_count--;
    proxy->one_gone(proxy);
}

/* The one way out. Orderly: what is queued still goes; else both peers get a reset. */
static void close_relay(struct gw_relay *relay, enum gw_closing closing)
{
    struct gw_proxy *proxy = relay->proxy;
    if (relay->closed)
        return;
    relay->closed = true;
    if (closing == GW_CLOSING_DONE) {
        gw_watch_linger(relay->client, true);
        gw_watch_linger(relay->upstream, true);
    }
    record_end(relay, closing);
    gw_count_add(proxy->page, GW_COUNT_BYTES_UP, relay->up.bytes);
    gw_count_add(proxy->page, GW_COUNT_BYTES_DOWN, relay->down.bytes);
    drop_sniffer(relay);
    gw_tls_free(relay->tls);
    gw_trust_unref(relay->trust);
    gw_watch_close(relay->client);
    gw_watch_close(relay->upstream);
    gw_buffer_fini(&relay->up.pending);
    gw_buffer_fini(&relay->down.pending);
    gw_timer_stop(&relay->timer);
    gw_list_remove(&relay->link);
    gw_reactor_bury(proxy->reactor, &relay->grave, bury);
    give_back(proxy, relay->slot, relay->counted_tunnel);
}

/* ---- sni: log ---------------------------------------------------------------------------- */

/* Looks at a copy of the first bytes and never holds any. */
static void sniff(struct gw_relay *relay, struct gw_slice bytes)
{
    size_t limit = (size_t)gw_limit(&relay->config->snapshot->limits, CLIENT_HELLO_BYTES);
    unsigned char *scratch = malloc(limit);
    struct gw_client_hello_facts facts;
    struct gw_buffer *seen = &relay->sniffer->seen;
    size_t room = GW_CLIENT_HELLO_KEPT_MAX(limit) - gw_buffer_length(seen);
    if (bytes.length > room)
        bytes.length = room;
    if (scratch == NULL || !gw_buffer_append(seen, bytes)) {
        free(scratch);
        drop_sniffer(relay);
        return;
    }
    enum gw_client_hello found =
        gw_client_hello_read(gw_buffer_slice(seen), limit, scratch, &facts);
    if (found == GW_HELLO_NAMED)
        relay->sni = strndup(facts.name.data, facts.name.length);
    if (found != GW_HELLO_NEED_MORE || gw_buffer_length(seen) == GW_CLIENT_HELLO_KEPT_MAX(limit))
        drop_sniffer(relay);
    free(scratch);
}

static void set_timer(struct gw_relay *relay);

/* ---- moving bytes ------------------------------------------------------------------------ */

static enum gw_io read_from(struct gw_relay *relay, struct half *half, void *out, size_t room,
                            size_t *length)
{
    if (half == &relay->up)
        return gw_watch_read(relay->client, out, room, length);
    if (relay->tls != NULL)
        return gw_tls_read(relay->tls, out, room, length);
    return gw_watch_read(relay->upstream, out, room, length);
}

static enum gw_io write_to(struct gw_relay *relay, struct half *half, const void *data,
                           size_t length, size_t *written)
{
    if (half == &relay->down)
        return gw_watch_write(relay->client, data, length, written);
    if (relay->tls != NULL)
        return gw_tls_write(relay->tls, data, length, written);
    return gw_watch_write(relay->upstream, data, length, written);
}

/* Sends what it can of `bytes`; the rest of them is `*rest`. */
static enum gw_io push(struct gw_relay *relay, struct half *half, struct gw_slice bytes,
                       struct gw_slice *rest)
{
    enum gw_io io = GW_IO_OK;
    while (bytes.length > 0) {
        size_t written;
        io = write_to(relay, half, bytes.data, bytes.length, &written);
        if (io != GW_IO_OK)
            break;
        half->bytes += written;
        bytes.data += written;
        bytes.length -= written;
    }
    *rest = bytes;
    return io;
}

static enum gw_closing reset_by_sink(const struct gw_relay *relay, const struct half *half)
{
    return half == &relay->up ? GW_CLOSING_UPSTREAM_RESET : GW_CLOSING_CLIENT_RESET;
}

static enum gw_closing reset_by_source(const struct gw_relay *relay, const struct half *half)
{
    return half == &relay->up ? GW_CLOSING_CLIENT_RESET : GW_CLOSING_UPSTREAM_RESET;
}

/* False when the relay was closed. */
static bool send_pending(struct gw_relay *relay, struct half *half)
{
    struct gw_slice rest;
    size_t before = gw_buffer_length(&half->pending);
    if (before == 0)
        return true;
    if (push(relay, half, gw_buffer_slice(&half->pending), &rest) == GW_IO_FAILED) {
        close_relay(relay, reset_by_sink(relay, half));
        return false;
    }
    if (rest.length < before) {
        relay->moved = gw_timers_now(relay->proxy->timers);
        gw_buffer_consume(&half->pending, before - rest.length);
    }
    return true;
}

/* The source has ended and everything is sent: pass the end on. */
static void pass_end(struct gw_relay *relay, struct half *half)
{
    if (!half->ended || half->shut || gw_buffer_length(&half->pending) > 0)
        return;
    half->shut = true;
    if (half == &relay->up && relay->tls != NULL)
        gw_tls_notify_close(relay->tls);
    else
        (void)shutdown(half == &relay->up ? relay->upstream->fd : relay->client->fd, SHUT_WR);
}

/* One direction, as far as it goes. False when the relay was closed. */
static bool pump(struct gw_relay *relay, struct half *half)
{
    char *scratch = relay->proxy->scratch;
    size_t turn = 0;
    if (!send_pending(relay, half))
        return false;
    while (!half->ended && gw_buffer_length(&half->pending) == 0) {
        size_t length;
        struct gw_slice rest;
        if (turn >= TURN_BYTES) {
            gw_watch_later(half == &relay->up ? relay->client : relay->upstream);
            break;
        }
        enum gw_io io = read_from(relay, half, scratch, GW_SCRATCH_BYTES, &length);
        if (io == GW_IO_AGAIN)
            break;
        if (io == GW_IO_FAILED) {
            close_relay(relay, reset_by_source(relay, half));
            return false;
        }
        relay->moved = gw_timers_now(relay->proxy->timers);
        if (io == GW_IO_END) {
            half->ended = true;
            set_timer(relay); /* a half-closed tunnel has a limit of its own */
            break;
        }
        if (half == &relay->up && relay->sniffer != NULL)
            sniff(relay, (struct gw_slice){ scratch, length });
        turn += length;
        if (push(relay, half, (struct gw_slice){ scratch, length }, &rest) == GW_IO_FAILED) {
            close_relay(relay, reset_by_sink(relay, half));
            return false;
        }
        if (!gw_buffer_append(&half->pending, rest)) {
            close_relay(relay, GW_CLOSING_OUT_OF_MEMORY);
            return false;
        }
    }
    pass_end(relay, half);
    return true;
}

static enum gw_closing reset_by_whom(const struct gw_relay *relay)
{
    return relay->client->ready & GW_PEER_RESET ? GW_CLOSING_CLIENT_RESET
                                                : GW_CLOSING_UPSTREAM_RESET;
}

/* A reset that no read meets: its sender had ended before, or is not read from because the other
 * side takes nothing. What still moves may go on; what stands still is not waited for (K39). */
static void mind_reset(struct gw_relay *relay)
{
    unsigned bits = (unsigned)relay->client->ready | relay->upstream->ready;
    if (!(bits & GW_PEER_RESET) || relay->broken)
        return;
    const struct half *from = relay->client->ready & GW_PEER_RESET ? &relay->up : &relay->down;
    if (gw_buffer_length(&from->pending) == 0) {
        close_relay(relay, reset_by_whom(relay));
        return;
    }
    relay->broken = true;
    set_timer(relay);
}

static void on_either(struct gw_watch *watch)
{
    struct gw_relay *relay = watch->owner;
    if (!pump(relay, &relay->up) || !pump(relay, &relay->down))
        return;
    if (relay->up.shut && relay->down.shut)
        close_relay(relay, GW_CLOSING_DONE);
    else
        mind_reset(relay);
}

/* ---- time -------------------------------------------------------------------------------- */

static uint64_t idle_limit(const struct gw_relay *relay)
{
    const struct gw_limits *limits = &relay->config->snapshot->limits;
    if (relay->broken)
        return gw_limit(limits, LINGER_MS);
    uint64_t half = gw_limit(limits, HALF_CLOSED_TIMEOUT_S),
             idle = gw_limit(limits, IDLE_TIMEOUT_S);
    bool half_closed = relay->up.ended || relay->down.ended;
    return 1000 * (half_closed && half < idle ? half : idle);
}

static void set_timer(struct gw_relay *relay)
{
    uint64_t now = gw_timers_now(relay->proxy->timers), at = relay->moved + idle_limit(relay);
    if (relay->expires != 0 && relay->expires < at)
        at = relay->expires;
    if (relay->sniffer != NULL && relay->sniffer->until < at)
        at = relay->sniffer->until;
    gw_timer_start(relay->proxy->timers, &relay->timer, at > now ? at - now : 0);
}

static void on_timer(struct gw_timer *timer)
{
    struct gw_relay *relay = gw_container_of(timer, struct gw_relay, timer);
    uint64_t now = gw_timers_now(relay->proxy->timers);
    if (relay->sniffer != NULL && now >= relay->sniffer->until)
        drop_sniffer(relay);
    if (relay->expires != 0 && now >= relay->expires)
        close_relay(relay, GW_CLOSING_LIFETIME);
    else if (now >= relay->moved + idle_limit(relay))
        close_relay(relay, relay->broken ? reset_by_whom(relay) : GW_CLOSING_IDLE);
    else
        set_timer(relay);
}

/* ---- start and end ----------------------------------------------------------------------- */

/* What was read or written for the upstream before the relay keeps its place in line. False when
 * out of memory. */
static bool join(struct gw_buffer *first, struct gw_buffer *second)
{
    bool joined = gw_buffer_append(first, gw_buffer_slice(second));
    gw_buffer_fini(second);
    *second = *first;
    *first = (struct gw_buffer){ 0 };
    return joined;
}

static bool take_apart(struct gw_relay *relay, struct gw_relay_start *start)
{
    struct gw_upstream *upstream = start->upstream;
    bool joined = join(&upstream->out, &start->up);
    joined &= gw_buffer_append(&start->down, gw_buffer_slice(&upstream->in));
    gw_buffer_fini(&upstream->in);
    relay->up.pending = start->up;
    relay->down.pending = start->down;
    relay->client = start->client;
    relay->upstream = upstream->watch;
    relay->tls = upstream->tls;
    relay->trust = upstream->trust;
    relay->address = upstream->address;
    relay->dial_port = upstream->port;
    free(upstream);
    gw_watch_give(relay->client, on_either, relay);
    gw_watch_give(relay->upstream, on_either, relay);
    gw_watch_linger(relay->client, false);
    gw_watch_linger(relay->upstream, false);
    return joined;
}

/* No memory for the relay: this connection is shed, and the record says so. */
static void shed(struct gw_proxy *proxy, struct gw_relay_start *start)
{
    gw_audit_end(proxy->audit, start->slot, gw_config_binding(start->config, start->slot),
                 &(struct gw_end_record){ .id = start->id,
                                          .connect = start->connect,
                                          .host = start->host.text,
                                          .port = start->port,
                                          .closing = GW_CLOSING_OUT_OF_MEMORY,
                                          .durations = start->durations });
    gw_watch_close(start->client);
    gw_upstream_free(start->upstream);
    gw_buffer_fini(&start->up);
    gw_buffer_fini(&start->down);
    free(start->path);
    gw_config_unref(start->config);
    give_back(proxy, start->slot, start->counted_tunnel);
}

void gw_relay_start(struct gw_proxy *proxy, struct gw_relay_start *start)
{
    size_t length = start->host.length;
    struct gw_relay *relay = calloc(1, sizeof *relay + length + 1);
    if (relay == NULL) {
        shed(proxy, start);
        return;
    }
    relay->proxy = proxy;
    relay->config = start->config;
    relay->slot = start->slot;
    relay->id = start->id;
    relay->began = start->began;
    relay->connect = start->connect;
    relay->counted_tunnel = start->counted_tunnel;
    relay->hello_matched = start->hello_matched;
    relay->port = start->port;
    relay->status = (int16_t)start->status;
    relay->durations = start->durations;
    relay->host_class = (uint8_t)start->host.class;
    memcpy(relay->host, start->host.text, length);
    if (start->sni.length > 0)
        relay->sni = strndup(start->sni.data, start->sni.length);
    relay->https = start->https;
    relay->path = start->path;
    if (start->watch_hello)
        relay->sniffer = calloc(1, sizeof *relay->sniffer);
    if (relay->sniffer != NULL)
        relay->sniffer->until =
            gw_timers_now(proxy->timers)
            + gw_limit(&relay->config->snapshot->limits, CLIENT_HELLO_TIMEOUT_MS);
    bool whole = take_apart(relay, start);
    gw_list_append(&proxy->relays, &relay->link);
    relay->moved = gw_timers_now(proxy->timers);
    const struct gw_binding *binding = binding_of(relay);
    if (binding != NULL && binding->network->lifetime_s > 0)
        relay->expires = relay->moved + 1000 * binding->network->lifetime_s;
    gw_timer_init(&relay->timer, on_timer);
    set_timer(relay);
    if (!whole) {
        close_relay(relay, GW_CLOSING_OUT_OF_MEMORY);
        return;
    }
    if (relay->sniffer != NULL && gw_buffer_length(&relay->up.pending) > 0)
        sniff(relay, gw_buffer_slice(&relay->up.pending));
    gw_watch_later(relay->client);
}

static void host_of(const struct gw_relay *relay, struct gw_host *out)
{
    /* It was canonical when it came; parsing it again gives the same. */
    char text[GW_HOST_TEXT_MAX + 2];
    struct gw_host plain = { .class = (enum gw_host_class)relay->host_class };
    plain.length = (uint8_t)strlen(relay->host);
    memcpy(plain.text, relay->host, (size_t)plain.length + 1);
    size_t length = gw_host_print(&plain, text, sizeof text);
    gw_check(gw_host_parse((struct gw_slice){ text, length }, out) == GW_REASON_NONE);
}

unsigned gw_relays_sweep(struct gw_proxy *proxy,
                         bool (*stays)(void *context, uint32_t slot, const struct gw_ask *ask,
                                       const struct gw_relay_end *upstream),
                         void *context)
{
    unsigned closed = 0;
    gw_list_each (at, after, &proxy->relays) {
        struct gw_relay *relay = gw_container_of(at, struct gw_relay, link);
        struct gw_ask ask = { .kind = relay->connect ? GW_ASK_TUNNEL : GW_ASK_REQUEST,
                              .https = relay->https,
                              .authority.port = relay->port,
                              .method = GW_SLICE("GET"), /* a WebSocket's (RFC 6455 4.1) */
                              .path_and_query = gw_slice_of(relay->path) };
        struct gw_relay_end upstream = { &relay->address, relay->dial_port, relay->tls != NULL,
                                         relay->hello_matched };
        host_of(relay, &ask.authority.host);
        if (stays(context, relay->slot, &ask, &upstream))
            continue;
        close_relay(relay, GW_CLOSING_NARROWED);
        closed++;
    }
    return closed;
}

unsigned gw_relays_close(struct gw_proxy *proxy)
{
    unsigned closed = 0;
    while (!gw_list_empty(&proxy->relays)) {
        close_relay(gw_container_of(proxy->relays.next, struct gw_relay, link),
                    GW_CLOSING_SHUTDOWN);
        closed++;
    }
    return closed;
}
