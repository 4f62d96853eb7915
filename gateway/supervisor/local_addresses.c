/* gateway/supervisor/local_addresses.c */
#define _GNU_SOURCE /* SOCK_CLOEXEC under -std=c11 */
#include "gateway/supervisor/local_addresses.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/common/channel.h"

#define EACH_BYTES 21 /* a family, and 16 bytes with their length */
#define COUNT_MAX ((GW_CHANNEL_PAYLOAD_MAX - 4) / EACH_BYTES)

static bool take(const struct sockaddr *from, struct gw_ip_address *out)
{
    memset(out, 0, sizeof *out);
    if (from != NULL && from->sa_family == AF_INET) {
        out->family = 4;
        memcpy(out->bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
        return true;
    }
    if (from != NULL && from->sa_family == AF_INET6) {
        out->family = 6;
        memcpy(out->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
        return true;
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct gw_ip_address)); /* bytes alone: there is no padding */
}

_Static_assert(sizeof(struct gw_ip_address) == 17, "compared as bytes");

static void sort(struct gw_local_addresses *addresses)
{
    size_t kept = 0;
    if (addresses->count == 0)
        return;
    qsort(addresses->list, addresses->count, sizeof *addresses->list, compare);
    for (size_t i = 1; i < addresses->count; i++)
        if (compare(&addresses->list[kept], &addresses->list[i]) != 0)
            addresses->list[++kept] = addresses->list[i];
    addresses->count = kept + 1;
}

bool gw_local_addresses_read(struct gw_local_addresses *out, struct gw_error *err)
{
    struct ifaddrs *interfaces;
    size_t room = 0;
    *out = (struct gw_local_addresses){ 0 };
    if (getifaddrs(&interfaces) != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "getifaddrs: %s", strerror(errno));
        return false;
    }
    for (struct ifaddrs *at = interfaces; at != NULL; at = at->ifa_next)
        room++;
    out->list = calloc(room + 1, sizeof *out->list);
    if (out->list != NULL)
        for (struct ifaddrs *at = interfaces; at != NULL; at = at->ifa_next)
            out->count += take(at->ifa_addr, &out->list[out->count]);
    freeifaddrs(interfaces);
    if (out->list == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory for the local addresses");
        return false;
    }
    sort(out);
    if (out->count > COUNT_MAX) {
        gw_error_set(err, GW_ERR_LIMIT,
                     "this host has %zu addresses; more than %d cannot be told "
                     "apart from others",
                     out->count, COUNT_MAX);
        gw_local_addresses_fini(out);
        return false;
    }
    return true;
}

void gw_local_addresses_fini(struct gw_local_addresses *addresses)
{
    free(addresses->list);
    *addresses = (struct gw_local_addresses){ 0 };
}

bool gw_local_addresses_equal(const struct gw_local_addresses *a,
                              const struct gw_local_addresses *b)
{
    return a->count == b->count
           && (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof *a->list) == 0);
}

void gw_local_addresses_put(const struct gw_local_addresses *addresses,
                            struct gw_wire_writer *writer)
{
    gw_wire_put_u32(writer, (uint32_t)addresses->count);
    for (size_t i = 0; i < addresses->count; i++) {
        gw_wire_put_u8(writer, addresses->list[i].family);
        gw_wire_put_bytes(writer, (struct gw_slice){ (const char *)addresses->list[i].bytes,
                                                     sizeof addresses->list[i].bytes });
    }
}

int gw_local_addresses_watch(struct gw_error *err)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK,
                                   .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    gw_error_set(err, GW_ERR_SYSTEM, "cannot watch the host's addresses: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Also after an overrun (ENOBUFS): that something changed is all that counts. */
void gw_local_addresses_drain(int watch)
{
    char data[8192];
    while (recv(watch, data, sizeof data, MSG_DONTWAIT) > 0 || errno == ENOBUFS)
        ;
}
