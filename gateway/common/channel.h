/* gateway/common/channel.h - how the supervisor and its children talk.
 *
 * One SOCK_SEQPACKET socketpair a child, raw sendmsg/recvmsg, whole messages of at most
 * GW_CHANNEL_PAYLOAD_MAX bytes and GW_CHANNEL_FDS_MAX descriptors; anything larger goes into a
 * sealed memfd whose descriptor travels. Versioned: a message of another version, an unknown type
 * or a broken length is refused and the peer is treated as broken. Nothing that a sandbox can
 * trigger is sent here (log records have sockets of their own), so control is never queued behind
 * it.
 *
 * Sending and receiving never block: FULL and EMPTY say that the socket would have. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

#define GW_CHANNEL_VERSION 1
#define GW_CHANNEL_PAYLOAD_MAX 32768
#define GW_CHANNEL_FDS_MAX 16

/* Payloads are gw_wire blocks. */
enum gw_message_type {
    /* supervisor -> launcher */
    GW_MSG_START = 1, /* u32 ticket, u8 role, bytes process name, u8 change user, u32 uid, u32 gid
                         (role.h, gw_role_confinement); fds: the child's 3, 4, 5, … */
    /* launcher -> supervisor */
    GW_MSG_STARTED,      /* u32 ticket, u32 pid; fd: pidfd */
    GW_MSG_START_FAILED, /* u32 ticket, bytes why */
    GW_MSG_EXITED,       /* u32 pid, u32 wait status */
    /* supervisor -> log writer */
    GW_MSG_LOG_TARGETS, /* u8 has access, u8 has running; fds: access, running */
    GW_MSG_LOG_SOURCE,  /* bytes process name; fd: the reading end of its log socket */
    /* supervisor -> proxy: what the next install refers to; each may be sent long before */
    GW_MSG_IMAGE,      /* bytes digest (32); fd: sealed memfd */
    GW_MSG_CA_BUNDLE,  /* bytes id; fd: sealed memfd with PEM certificates */
    GW_MSG_CREDENTIAL, /* u64 credential id, bytes field value ("Bearer x"), bytes secret ("x");
                          both ends wipe their copies */
    GW_MSG_LISTENER,   /* u32 listener id; fd: listening socket */
    GW_MSG_INSTALL,    /* u64 generation; fd: sealed memfd with the snapshot (snapshot.h) */
    GW_MSG_LOCAL_ADDRESSES, /* u32 count, each u8 family, bytes address (16) */
    GW_MSG_DRAIN,           /* u32 milliseconds: accept nothing more, finish, exit */
    /* proxy -> supervisor */
    GW_MSG_READY,     /* u32 pid: confined, waiting for its first install */
    GW_MSG_INSTALLED, /* u64 generation, u32 tunnels cut, u32 exchanges cut, u32 pooled closed */
    GW_MSG_INSTALL_FAILED, /* u64 generation, bytes why; the old one stays in force */
    GW_MSG_HEARTBEAT,      /* u64 loop turns; proxies and the log writer, once a second */
    GW_MSG_DRAINED,        /* u32 connections that had to be cut */
    GW_MESSAGE_TYPES
};

struct gw_message {
    enum gw_message_type type;
    struct gw_slice payload; /* borrowed: the channel's receive buffer, until the next receive */
    int fds[GW_CHANNEL_FDS_MAX]; /* owned by the receiver once it takes them (sets to -1) */
    size_t fd_count;
};

enum gw_channel_result {
    GW_CHANNEL_OK,
    GW_CHANNEL_WOULD_BLOCK,
    GW_CHANNEL_CLOSED,
    GW_CHANNEL_BROKEN
};

/* Two connected, non-blocking, close-on-exec ends. */
bool gw_channel_pair(int ends[2], struct gw_error *err);

/* Borrows `fds` (the kernel duplicates them). Payloads over the limit are a broken promise. */
enum gw_channel_result gw_channel_send(int end, enum gw_message_type type, struct gw_slice payload,
                                       const int *fds, size_t fd_count, struct gw_error *err);

struct gw_channel_buffer {
    _Alignas(8) unsigned char bytes[GW_CHANNEL_PAYLOAD_MAX + 64];
};

/* Descriptors arrive close-on-exec. On OK the caller must end with gw_message_fini(). */
enum gw_channel_result gw_channel_receive(int end, struct gw_channel_buffer *buffer,
                                          struct gw_message *out, struct gw_error *err);

/* The part of it that looks at bytes alone: header and payload of one datagram, which `out` then
 * borrows. For fuzzing and tests. */
bool gw_channel_parse(struct gw_slice datagram, struct gw_message *out, struct gw_error *err);

/* Takes the descriptor out of the message; the caller owns it. -1 when there is none. */
int gw_message_take_fd(struct gw_message *message, size_t index);

/* Closes the descriptors that nobody took. */
void gw_message_fini(struct gw_message *message);
