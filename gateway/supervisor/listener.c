/* gateway/supervisor/listener.c */
#define _GNU_SOURCE /* SOCK_CLOEXEC under -std=c11 */
#include "gateway/supervisor/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"

#define BACKLOG 4096

bool gw_endpoint_equal(const struct gw_endpoint *a, const struct gw_endpoint *b)
{
    return a->port == b->port && gw_ip_address_equal(&a->address, &b->address);
}

void gw_endpoint_print(const struct gw_endpoint *endpoint, uint16_t port, char *out)
{
    char address[GW_IP_ADDRESS_TEXT_MAX];
    struct gw_text text;
    gw_ip_address_print(&endpoint->address, address, sizeof address);
    gw_text_init(&text, out, GW_ENDPOINT_TEXT_MAX);
    gw_text_addf(&text, endpoint->address.family == 6 ? "[%s]:%u" : "%s:%u", address, port);
}

static socklen_t fill(const struct gw_endpoint *wanted, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (wanted->address.family == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(wanted->port);
        memcpy(&v4->sin_addr, wanted->address.bytes, 4);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(wanted->port);
    memcpy(&v6->sin6_addr, wanted->address.bytes, 16);
    return sizeof *v6;
}

static bool bind_and_listen(int fd, const struct gw_endpoint *wanted)
{
    struct sockaddr_storage address;
    const int on = 1;
    socklen_t length = fill(wanted, &address);
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0
           && (wanted->address.family == 4
               || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0)
           && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    gw_check(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    /* NOLINTNEXTLINE(clang-analyzer-core.*): getsockname() has filled it */
    return ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
                                              : ((struct sockaddr_in6 *)&address)->sin6_port);
}

struct gw_listener *gw_listener_new(const struct gw_endpoint *wanted, struct gw_error *err)
{
    static uint32_t last_id;
    char text[GW_ENDPOINT_TEXT_MAX];
    struct gw_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory for a listener");
        return NULL;
    }
    listener->fd = socket(wanted->address.family == 4 ? AF_INET : AF_INET6,
                          SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd < 0 || !bind_and_listen(listener->fd, wanted)) {
        int why = errno;
        gw_endpoint_print(wanted, wanted->port, text);
        gw_error_set(err, GW_ERR_SYSTEM, "cannot listen on %s: %s%s", text, strerror(why),
                     why == EACCES ? " (ports below 1024 need root or CAP_NET_BIND_SERVICE)" : "");
        if (listener->fd >= 0)
            close(listener->fd);
        free(listener);
        return NULL;
    }
    listener->references = 1;
    listener->id = ++last_id;
    listener->wanted = *wanted;
    listener->port = bound_port(listener->fd);
    return listener;
}

struct gw_listener *gw_listener_ref(struct gw_listener *listener)
{
    listener->references++;
    return listener;
}

void gw_listener_unref(struct gw_listener *listener)
{
    if (listener == NULL || --listener->references > 0)
        return;
    gw_listener_close(listener);
    free(listener);
}

void gw_listener_close(struct gw_listener *listener)
{
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}
