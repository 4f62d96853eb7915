/* gateway/common/channel.c
 * A datagram is a header (version, type, payload length; u32 each, little-endian) and the payload.
 * The length is redundant on a socket that keeps boundaries: it is there to notice a break. */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "gateway/common/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "gateway/common/wire.h"

#define HEADER_BYTES 12
#define SEND_BUFFER_BYTES (1 << 18)

bool gw_channel_pair(int ends[2], struct gw_error *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "socketpair: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < 2; i++) { /* the kernel may grant less; a whole message always fits */
        const int bytes = SEND_BUFFER_BYTES;
        (void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
    return true;
}

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(GW_CHANNEL_FDS_MAX * sizeof(int))];
};

static void attach(struct msghdr *header, union control *control, const int *fds, size_t count)
{
    memset(control, 0, sizeof *control);
    header->msg_control = control->bytes;
    header->msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *item = CMSG_FIRSTHDR(header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(item), fds, count * sizeof(int));
}

enum gw_channel_result gw_channel_send(int end, enum gw_message_type type, struct gw_slice payload,
                                       const int *fds, size_t fd_count, struct gw_error *err)
{
    gw_check(payload.length <= GW_CHANNEL_PAYLOAD_MAX && fd_count <= GW_CHANNEL_FDS_MAX);
    gw_check(fd_count == 0 || fds != NULL);
    unsigned char head[HEADER_BYTES];
    put_u32(head, GW_CHANNEL_VERSION);
    put_u32(head + 4, (uint32_t)type);
    put_u32(head + 8, (uint32_t)payload.length);
    struct iovec parts[] = {
        { .iov_base = head, .iov_len = sizeof head },
        { .iov_base = (char *)(uintptr_t)payload.data, .iov_len = payload.length },
    };
    struct msghdr header = { .msg_iov = parts, .msg_iovlen = GW_COUNT(parts) };
    union control control;
    if (fd_count > 0)
        attach(&header, &control, fds, fd_count);
    ssize_t sent;
    do
        sent = sendmsg(end, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)(sizeof head + payload.length))
        return GW_CHANNEL_OK;
    if (sent < 0
        && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS))
        return GW_CHANNEL_WOULD_BLOCK;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN))
        return GW_CHANNEL_CLOSED;
    gw_error_set(err, GW_ERR_SYSTEM, "cannot send on a channel: %s",
                 sent < 0 ? strerror(errno) : "only a part was taken");
    return GW_CHANNEL_BROKEN;
}

/* Every descriptor that arrived belongs to us from here on, whatever is wrong with the message. */
static void take_descriptors(struct msghdr *header, struct gw_message *out)
{
    for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item != NULL;
         item = CMSG_NXTHDR(header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
            gw_check(out->fd_count < GW_CHANNEL_FDS_MAX); /* the control buffer holds no more */
            out->fds[out->fd_count++] = fd;
        }
    }
}

bool gw_channel_parse(struct gw_slice datagram, struct gw_message *out, struct gw_error *err)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, datagram);
    uint32_t version = gw_wire_u32(&reader);
    uint32_t type = gw_wire_u32(&reader);
    uint32_t length = gw_wire_u32(&reader);
    if (reader.failed)
        gw_error_set(err, GW_ERR_PEER, "a message of %zu bytes is too short", datagram.length);
    else if (version != GW_CHANNEL_VERSION)
        gw_error_set(err, GW_ERR_PEER, "a message of version %u, ours is %u", version,
                     GW_CHANNEL_VERSION);
    else if (type < GW_MSG_START || type >= GW_MESSAGE_TYPES)
        gw_error_set(err, GW_ERR_PEER, "a message of the unknown type %u", type);
    else if (length != reader.left || length > GW_CHANNEL_PAYLOAD_MAX)
        gw_error_set(err, GW_ERR_PEER, "a message of type %u says %u bytes and has %zu", type,
                     length, reader.left);
    else {
        out->type = (enum gw_message_type)type;
        out->payload = (struct gw_slice){ (const char *)reader.at, reader.left };
        return true;
    }
    return false;
}

enum gw_channel_result gw_channel_receive(int end, struct gw_channel_buffer *buffer,
                                          struct gw_message *out, struct gw_error *err)
{
    struct iovec part = { .iov_base = buffer->bytes, .iov_len = sizeof buffer->bytes };
    union control control;
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes };
    ssize_t got;
    *out = (struct gw_message){ 0 };
    do
        got = recvmsg(end, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return GW_CHANNEL_WOULD_BLOCK;
    if (got < 0 && errno != ECONNRESET) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot receive on a channel: %s", strerror(errno));
        return GW_CHANNEL_BROKEN;
    }
    if (got < 0) /* the peer closed without reading all that we sent */
        return GW_CHANNEL_CLOSED;
    take_descriptors(&header, out);
    if (got == 0 && out->fd_count == 0)
        return GW_CHANNEL_CLOSED;
    if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        gw_error_set(err, GW_ERR_PEER,
                     "a message was larger, or had more descriptors, than we take");
    else if (gw_channel_parse((struct gw_slice){ (char *)buffer->bytes, (size_t)got }, out, err))
        return GW_CHANNEL_OK;
    gw_message_fini(out);
    return GW_CHANNEL_BROKEN;
}

int gw_message_take_fd(struct gw_message *message, size_t index)
{
    if (index >= message->fd_count)
        return -1;
    int fd = message->fds[index];
    message->fds[index] = -1;
    return fd;
}

void gw_message_fini(struct gw_message *message)
{
    for (size_t i = 0; i < message->fd_count; i++)
        if (message->fds[i] >= 0)
            close(message->fds[i]);
    message->fd_count = 0;
}
