/* gateway/proxy/upstream.c */
#include "gateway/proxy/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum gw_io gw_watch_read(struct gw_watch *watch, void *out, size_t room, size_t *length)
{
    ssize_t got;
    do
        got = recv(watch->fd, out, room, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        *length = (size_t)got;
        return GW_IO_OK;
    }
    if (got == 0)
        return GW_IO_END;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return GW_IO_FAILED;
    watch->ready &= (uint8_t)~GW_CAN_READ;
    return GW_IO_AGAIN;
}

enum gw_io gw_watch_write(struct gw_watch *watch, const void *data, size_t length, size_t *written)
{
    ssize_t sent;
    do
        sent = send(watch->fd, data, length, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
        *written = (size_t)sent;
        return GW_IO_OK;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return GW_IO_FAILED;
    watch->ready &= (uint8_t)~GW_CAN_WRITE;
    return GW_IO_AGAIN;
}

enum gw_io gw_watch_flush(struct gw_watch *watch, struct gw_buffer *out)
{
    while (gw_buffer_length(out) > 0) {
        struct gw_slice rest = gw_buffer_slice(out);
        size_t written;
        enum gw_io io = gw_watch_write(watch, rest.data, rest.length, &written);
        if (io != GW_IO_OK)
            return io;
        gw_buffer_consume(out, written);
    }
    return GW_IO_OK;
}

void gw_watch_linger(struct gw_watch *watch, bool on)
{
    struct linger linger = { .l_onoff = !on, .l_linger = 0 };
    (void)setsockopt(watch->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

struct gw_upstream *gw_upstream_new(struct gw_watch *watch, const struct gw_ip_address *address,
                                    const struct gw_host *host, uint16_t port,
                                    struct gw_trust *trust)
{
    struct gw_upstream *upstream = calloc(1, sizeof *upstream);
    if (upstream == NULL) {
        gw_watch_close(watch);
        return NULL;
    }
    upstream->watch = watch;
    upstream->address = *address;
    upstream->host = *host;
    upstream->port = port;
    gw_list_init(&upstream->link);
    gw_timer_init(&upstream->idle, NULL);
    if (trust != NULL) {
        upstream->trust = gw_trust_ref(trust);
        upstream->tls = gw_tls_new(trust, host, port, watch);
        if (upstream->tls == NULL) {
            gw_upstream_free(upstream);
            return NULL;
        }
    }
    return upstream;
}

void gw_upstream_free(struct gw_upstream *upstream)
{
    if (upstream == NULL)
        return;
    gw_list_remove(&upstream->link);
    gw_timer_stop(&upstream->idle);
    gw_tls_free(upstream->tls);
    gw_trust_unref(upstream->trust);
    gw_watch_close(upstream->watch);
    gw_buffer_fini(&upstream->out);
    gw_buffer_fini(&upstream->in);
    free(upstream);
}

enum gw_io gw_upstream_flush(struct gw_upstream *upstream)
{
    if (upstream->tls == NULL)
        return gw_watch_flush(upstream->watch, &upstream->out);
    while (gw_buffer_length(&upstream->out) > 0) {
        struct gw_slice rest = gw_buffer_slice(&upstream->out);
        size_t written;
        enum gw_io io = gw_tls_write(upstream->tls, rest.data, rest.length, &written);
        if (io != GW_IO_OK)
            return io;
        gw_buffer_consume(&upstream->out, written);
    }
    return GW_IO_OK;
}

enum gw_io gw_upstream_read(struct gw_upstream *upstream, void *out, size_t room, size_t *length)
{
    return upstream->tls == NULL ? gw_watch_read(upstream->watch, out, room, length)
                                 : gw_tls_read(upstream->tls, out, room, length);
}
