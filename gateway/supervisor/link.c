/* gateway/supervisor/link.c */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC under -std=c11 */
#include "gateway/supervisor/link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"

/* Others want their turn too; the loop comes back while there is more. */
#define MESSAGES_A_TURN 32

struct waiting {
    struct gw_list list;
    enum gw_message_type type;
    int fds[GW_CHANNEL_FDS_MAX]; /* owned */
    size_t fd_count, length;
    char payload[];
};

/* One loop, one thread, and no receive inside a callback: one buffer serves all links. */
static struct gw_channel_buffer buffer;

static void free_waiting(struct gw_link *link, struct waiting *w)
{
    gw_list_remove(&w->list);
    link->waiting_count--;
    for (size_t i = 0; i < w->fd_count; i++)
        close(w->fds[i]);
    gw_secret_wipe(w->payload, w->length);
    free(w);
}

static struct waiting *keep(enum gw_message_type type, struct gw_slice payload, const int *fds,
                            size_t fd_count)
{
    struct waiting *w = malloc(sizeof *w + payload.length);
    if (w == NULL)
        return NULL;
    *w = (struct waiting){ .type = type, .length = payload.length };
    gw_list_init(&w->list);
    if (payload.length > 0)
        memcpy(w->payload, payload.data, payload.length);
    while (w->fd_count < fd_count) {
        int copy = fcntl(fds[w->fd_count], F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
            break;
        w->fds[w->fd_count++] = copy;
    }
    if (w->fd_count == fd_count)
        return w;
    for (size_t i = 0; i < w->fd_count; i++)
        close(w->fds[i]);
    gw_secret_wipe(w->payload, w->length);
    free(w);
    return NULL;
}

static void flush(struct gw_link *link)
{
    gw_list_each (at, after, &link->waiting) {
        struct waiting *w = gw_container_of(at, struct waiting, list);
        struct gw_error err = GW_ERROR_NONE;
        struct gw_slice payload = { w->payload, w->length };
        enum gw_channel_result result =
            gw_channel_send(link->end, w->type, payload, w->fds, w->fd_count, &err);
        if (result == GW_CHANNEL_WOULD_BLOCK)
            return;
        link->failed = link->failed || result == GW_CHANNEL_BROKEN;
        free_waiting(link, w);
        link->waiting_since_ms = uv_now(link->poll.loop); /* it moves */
    }
}

static void lose(struct gw_link *link, const char *why)
{
    link->lost = true;
    uv_poll_stop(&link->poll);
    link->on_lost(link, why);
}

static void receive(struct gw_link *link)
{
    for (int i = 0; i < MESSAGES_A_TURN && link->end >= 0; i++) {
        struct gw_message message;
        struct gw_error err = GW_ERROR_NONE;
        enum gw_channel_result result = gw_channel_receive(link->end, &buffer, &message, &err);
        if (result == GW_CHANNEL_WOULD_BLOCK)
            return;
        if (result != GW_CHANNEL_OK) {
            lose(link, result == GW_CHANNEL_BROKEN ? err.text : "it closed its channel");
            return;
        }
        link->on_message(link, &message);
        gw_message_fini(&message);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct gw_link *link)
{
    int events = UV_READABLE | (gw_list_empty(&link->waiting) ? 0 : UV_WRITABLE);
    if (link->end >= 0 && !link->lost && uv_poll_start(&link->poll, events, on_poll) != 0)
        link->failed = true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct gw_link *link = gw_container_of(poll, struct gw_link, poll);
    if (status < 0) {
        lose(link, uv_strerror(status));
        return;
    }
    if ((events & UV_WRITABLE) != 0)
        flush(link);
    if ((events & UV_READABLE) != 0)
        receive(link);
    watch(link);
}

void gw_link_catch_up(struct gw_link *link)
{
    if (link->end < 0 || link->lost)
        return;
    flush(link);
    receive(link);
    watch(link);
}

bool gw_link_open(struct gw_link *link, uv_loop_t *loop, int end, struct gw_error *err)
{
    int failed = uv_poll_init(loop, &link->poll, end);
    gw_list_init(&link->waiting);
    link->end = end;
    if (failed != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot poll a channel: %s", uv_strerror(failed));
        close(end);
        link->end = -1;
        return false;
    }
    watch(link);
    return true;
}

void gw_link_send(struct gw_link *link, enum gw_message_type type, struct gw_slice payload,
                  const int *fds, size_t fd_count)
{
    struct gw_error err = GW_ERROR_NONE;
    if (link->end < 0 || link->failed || link->lost)
        return;
    if (gw_list_empty(&link->waiting)) {
        enum gw_channel_result result =
            gw_channel_send(link->end, type, payload, fds, fd_count, &err);
        link->failed = result == GW_CHANNEL_BROKEN;
        if (result != GW_CHANNEL_WOULD_BLOCK)
            return; /* CLOSED: the poll will tell */
        link->waiting_since_ms = uv_now(link->poll.loop);
    }
    struct waiting *w =
        link->waiting_count < GW_LINK_WAITING_MAX ? keep(type, payload, fds, fd_count) : NULL;
    if (w == NULL) {
        link->failed = true;
        return;
    }
    gw_list_append(&link->waiting, &w->list);
    link->waiting_count++;
    watch(link);
}

uint64_t gw_link_waiting_since(const struct gw_link *link)
{
    return link->end < 0 || link->lost || gw_list_empty(&link->waiting) ? 0
                                                                        : link->waiting_since_ms;
}

void gw_link_close(struct gw_link *link, uv_close_cb on_closed)
{
    if (link->closed)
        return;
    link->closed = true;
    gw_list_each (at, after, &link->waiting)
        free_waiting(link, gw_container_of(at, struct waiting, list));
    uv_close((uv_handle_t *)&link->poll, on_closed);
    if (link->end >= 0)
        close(link->end);
    link->end = -1;
}
