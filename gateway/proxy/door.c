/* gateway/proxy/door.c */
#define _GNU_SOURCE /* accept4 */
#include "gateway/proxy/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "gateway/common/log.h"
#include "gateway/proxy/client.h"

enum { ACCEPTS_A_TURN = 64, PAUSE_MS = 100, TOLD_EVERY_MS = 10000 };

struct door {
    struct gw_list link;
    struct gw_doors *doors;
    uint32_t id;
    int fd;    /* owned */
    bool used; /* the configuration names it */
    uint32_t slot;
    struct gw_watch *watch; /* NULL while shut */
};

struct gw_doors {
    struct gw_proxy *proxy;
    struct gw_list list;
    struct gw_timer pause; /* after accept(2) has failed */
    bool shut;             /* full */
    bool closed;           /* for good */
    uint64_t told;         /* loop milliseconds: when fullness was last logged */
};

static void on_pause(struct gw_timer *timer)
{
    gw_doors_reconsider(gw_container_of(timer, struct gw_doors, pause));
}

struct gw_doors *gw_doors_new(struct gw_proxy *proxy)
{
    struct gw_doors *doors = calloc(1, sizeof *doors);
    if (doors == NULL)
        return NULL;
    doors->proxy = proxy;
    gw_list_init(&doors->list);
    gw_timer_init(&doors->pause, on_pause);
    return doors;
}

static void door_free(struct door *door)
{
    gw_list_remove(&door->link);
    gw_watch_forget(door->watch);
    close(door->fd);
    free(door);
}

void gw_doors_close(struct gw_doors *doors)
{
    doors->closed = true;
    gw_timer_stop(&doors->pause);
    while (!gw_list_empty(&doors->list))
        door_free(gw_container_of(doors->list.next, struct door, link));
}

void gw_doors_free(struct gw_doors *doors)
{
    if (doors == NULL)
        return;
    gw_doors_close(doors);
    free(doors);
}

bool gw_doors_take(struct gw_doors *doors, uint32_t id, int fd)
{
    struct door *door = doors->closed ? NULL : calloc(1, sizeof *door);
    if (door == NULL) {
        close(fd);
        return false;
    }
    door->doors = doors;
    door->id = id;
    door->fd = fd;
    gw_list_append(&doors->list, &door->link);
    return true;
}

static void shut(struct gw_doors *doors, const char *why)
{
    uint64_t now = gw_timers_now(doors->proxy->timers);
    doors->shut = true;
    gw_list_each (at, after, &doors->list) {
        struct door *door = gw_container_of(at, struct door, link);
        gw_watch_forget(door->watch);
        door->watch = NULL;
    }
    if (doors->told == 0 || now - doors->told >= TOLD_EVERY_MS) {
        doors->told = now;
        gw_log(GW_LOG_WARNING, "not accepting for now: %s (%llu client connections)", why,
               (unsigned long long)doors->proxy->client_count);
    }
}

static void peer_of(const struct sockaddr_storage *from, struct gw_ip_address *out)
{
    *out = (struct gw_ip_address){ 0 };
    if (from->ss_family == AF_INET) {
        out->family = 4;
        memcpy(out->bytes, &((const struct sockaddr_in *)from)->sin_addr, 4);
    } else if (from->ss_family == AF_INET6) {
        out->family = 6;
        memcpy(out->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    }
}

static void on_knock(struct gw_watch *watch)
{
    struct door *door = watch->owner;
    struct gw_doors *doors = door->doors;
    struct gw_proxy *proxy = doors->proxy;
    for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
        struct sockaddr_storage from = { 0 };
        socklen_t length = sizeof from;
        struct gw_ip_address peer;
        if (proxy->client_count >= proxy->client_most) {
            shut(doors, "limits.connections is reached");
            return;
        }
        int fd = accept4(door->fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            /* Out of something: trying again at once would spin. The rest is the peer's doing. */
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                shut(doors, strerror(errno));
                gw_timer_start(proxy->timers, &doors->pause, PAUSE_MS);
            }
            if (errno == ECONNABORTED || errno == EINTR)
                continue;
            return;
        }
        peer_of(&from, &peer);
        gw_client_accept(proxy, fd, door->slot, &peer);
    }
}

static void open_door(struct door *door)
{
    if (door->watch == NULL && door->used)
        door->watch =
            gw_reactor_watch_listener(door->doors->proxy->reactor, door->fd, on_knock, door);
}

void gw_doors_apply(struct gw_doors *doors)
{
    const struct gw_snapshot *snapshot = doors->proxy->config->snapshot;
    gw_list_each (at, after, &doors->list) {
        struct door *door = gw_container_of(at, struct door, link);
        door->used = false;
        for (uint32_t i = 0; i < snapshot->network_count; i++) {
            const struct gw_snapshot_network *network = &snapshot->networks[i];
            if (snapshot->listeners[network->listener].id != door->id)
                continue;
            door->used = true;
            door->slot = network->slot;
        }
        if (!door->used)
            door_free(door);
        else if (!doors->shut)
            open_door(door);
    }
    gw_doors_reconsider(doors);
}

void gw_doors_reconsider(struct gw_doors *doors)
{
    struct gw_proxy *proxy = doors->proxy;
    /* A little room first, so that the door does not swing with every single connection. */
    uint64_t margin = proxy->client_most / 32;
    if (!doors->shut || doors->closed || gw_timer_running(&doors->pause)
        || proxy->client_count + margin >= proxy->client_most)
        return;
    doors->shut = false;
    gw_list_each (at, after, &doors->list) {
        open_door(gw_container_of(at, struct door, link));
    }
}
