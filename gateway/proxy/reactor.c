/* gateway/proxy/reactor.c */
#define _GNU_SOURCE /* EPOLLEXCLUSIVE, EPOLLRDHUP */
#include "gateway/proxy/reactor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/check.h"
#include "base/macros.h"

enum { EVENTS_A_TURN = 256 };

struct gw_reactor {
    int epoll;
    uv_poll_t poll;      /* on the epoll descriptor */
    uv_idle_t again;     /* runs while something waits in `later` */
    uv_check_t turn_end; /* buries the dead */
    struct gw_list later;
    struct gw_grave *graves;
    int open_handles;
    void (*closed)(void *context);
    void *context;
};

static void deliver(struct gw_watch *watch)
{
    if (watch->fd >= 0 && watch->on_ready != NULL)
        watch->on_ready(watch);
}

static void on_epoll(uv_poll_t *poll, int status, int events)
{
    struct gw_reactor *reactor = poll->data;
    struct epoll_event ready[EVENTS_A_TURN];
    (void)status;
    (void)events;
    int count = epoll_wait(reactor->epoll, ready, EVENTS_A_TURN, 0);
    for (int i = 0; i < count; i++) {
        struct gw_watch *watch = ready[i].data.ptr;
        uint32_t bits = ready[i].events;
        if (bits & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            watch->ready |= GW_CAN_READ;
        if (bits & (EPOLLOUT | EPOLLHUP | EPOLLERR))
            watch->ready |= GW_CAN_WRITE;
        if (bits & (EPOLLRDHUP | EPOLLHUP))
            watch->ready |= GW_PEER_SHUT;
        if (bits & EPOLLERR)
            watch->ready |= GW_PEER_RESET;
        deliver(watch);
    }
}

static void on_again(uv_idle_t *idle)
{
    struct gw_reactor *reactor = idle->data;
    struct gw_list now;
    /* Only what was queued before this turn: who queues itself again waits for the next. */
    gw_list_init(&now);
    while (!gw_list_empty(&reactor->later)) {
        struct gw_list *first = reactor->later.next;
        gw_list_remove(first);
        gw_list_append(&now, first);
    }
    while (!gw_list_empty(&now)) {
        struct gw_watch *watch = gw_container_of(now.next, struct gw_watch, later);
        gw_list_remove(&watch->later);
        watch->queued = false;
        deliver(watch);
    }
    if (gw_list_empty(&reactor->later))
        uv_idle_stop(idle);
}

static void on_turn_end(uv_check_t *check)
{
    struct gw_reactor *reactor = check->data;
    /* A burial may close and bury others; they go in the same sweep. */
    while (reactor->graves != NULL) {
        struct gw_grave *grave = reactor->graves;
        reactor->graves = grave->next;
        grave->bury(grave);
    }
    uv_check_stop(check);
}

struct gw_reactor *gw_reactor_new(uv_loop_t *loop, struct gw_error *err)
{
    struct gw_reactor *reactor = calloc(1, sizeof *reactor);
    if (reactor == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return NULL;
    }
    reactor->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reactor->epoll < 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "epoll_create1: %s", strerror(errno));
        free(reactor);
        return NULL;
    }
    gw_list_init(&reactor->later);
    int status = uv_poll_init(loop, &reactor->poll, reactor->epoll);
    if (status != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "uv_poll_init: %s", uv_strerror(status));
        close(reactor->epoll);
        free(reactor);
        return NULL;
    }
    uv_idle_init(loop, &reactor->again);
    uv_check_init(loop, &reactor->turn_end);
    reactor->open_handles = 3;
    reactor->poll.data = reactor->again.data = reactor->turn_end.data = reactor;
    uv_poll_start(&reactor->poll, UV_READABLE, on_epoll);
    return reactor;
}

static struct gw_watch *watch_new(struct gw_reactor *reactor, int fd, uint32_t events,
                                  void (*on_ready)(struct gw_watch *watch), void *owner)
{
    struct gw_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    *watch =
        (struct gw_watch){ .fd = fd, .on_ready = on_ready, .owner = owner, .reactor = reactor };
    gw_list_init(&watch->later);
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl(reactor->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(watch);
        return NULL;
    }
    return watch;
}

struct gw_watch *gw_reactor_watch(struct gw_reactor *reactor, int fd,
                                  void (*on_ready)(struct gw_watch *watch), void *owner)
{
    struct gw_watch *watch =
        watch_new(reactor, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, on_ready, owner);
    if (watch == NULL)
        close(fd);
    return watch;
}

struct gw_watch *gw_reactor_watch_listener(struct gw_reactor *reactor, int fd,
                                           void (*on_ready)(struct gw_watch *watch), void *owner)
{
    return watch_new(reactor, fd, EPOLLIN | EPOLLEXCLUSIVE, on_ready, owner);
}

void gw_watch_give(struct gw_watch *watch, void (*on_ready)(struct gw_watch *watch), void *owner)
{
    watch->on_ready = on_ready;
    watch->owner = owner;
}

void gw_watch_later(struct gw_watch *watch)
{
    if (watch->queued || watch->fd < 0)
        return;
    watch->queued = true;
    gw_list_append(&watch->reactor->later, &watch->later);
    uv_idle_start(&watch->reactor->again, on_again);
}

/* The watch's own memory is a grave too, so that a close needs no allocation: `later` is not used
 * any more once the watch is closed, and a grave fits into it. */
_Static_assert(sizeof(struct gw_grave) <= sizeof(struct gw_list), "a watch is its own grave");

static void bury_watch(struct gw_grave *grave)
{
    free(gw_container_of((struct gw_list *)(void *)grave, struct gw_watch, later));
}

void gw_watch_forget(struct gw_watch *watch)
{
    if (watch == NULL)
        return;
    struct gw_reactor *reactor = watch->reactor;
    if (watch->fd >= 0)
        epoll_ctl(reactor->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
    gw_list_remove(&watch->later);
    gw_reactor_bury(reactor, (struct gw_grave *)(void *)&watch->later, bury_watch);
}

void gw_watch_close(struct gw_watch *watch)
{
    if (watch == NULL)
        return;
    struct gw_reactor *reactor = watch->reactor;
    close(watch->fd); /* the only descriptor of the socket: the kernel takes it out of the set */
    watch->fd = -1;
    gw_list_remove(&watch->later);
    gw_reactor_bury(reactor, (struct gw_grave *)(void *)&watch->later, bury_watch);
}

void gw_reactor_bury(struct gw_reactor *reactor, struct gw_grave *grave,
                     void (*bury)(struct gw_grave *grave))
{
    grave->bury = bury;
    grave->next = reactor->graves;
    reactor->graves = grave;
    /* The check phase follows the poll phase, in which all our events come; a grave that is dug in
     * a timer lies until the check of the same turn. */
    uv_check_start(&reactor->turn_end, on_turn_end);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct gw_reactor *reactor = handle->data;
    if (--reactor->open_handles > 0)
        return;
    void (*closed)(void *context) = reactor->closed;
    void *context = reactor->context;
    close(reactor->epoll);
    free(reactor);
    closed(context);
}

void gw_reactor_close(struct gw_reactor *reactor, void (*closed)(void *context), void *context)
{
    on_turn_end(&reactor->turn_end);
    reactor->closed = closed;
    reactor->context = context;
    uv_close((uv_handle_t *)&reactor->poll, on_handle_closed);
    uv_close((uv_handle_t *)&reactor->again, on_handle_closed);
    uv_close((uv_handle_t *)&reactor->turn_end, on_handle_closed);
}
