/* gateway/common/snapshot.h - everything that a proxy must know, as one immutable value.
 * The supervisor encodes it into a sealed memfd and sends INSTALL; what it refers to (images, CA
 * bundles, credential values, listeners) was sent before. A request keeps the snapshot that it
 * began with; a reload swaps in a whole new one or keeps the old. No secret is in it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/common/digest.h"
#include "gateway/common/limits.h"
#include "gateway/common/log.h"
#include "policy/host.h"
#include "policy/ip_address.h"

struct gw_snapshot_server { /* a name server */
    struct gw_ip_address address;
    uint16_t port;
};

struct gw_snapshot_hosts { /* a static entry of dns.hosts */
    struct gw_host host;
    struct gw_ip_address *addresses;
    uint32_t address_count;
};

struct gw_snapshot_listener {
    uint32_t id; /* of GW_MSG_LISTENER; stays the same over reloads while the address does */
    struct gw_ip_address address;
    bool wildcard;
    uint16_t port;
};

/* A network of the configuration file: one kind of binding (identity: its listener). */
struct gw_snapshot_network {
    char *name;
    char *policy;             /* name, for the log */
    struct gw_digest image;   /* of GW_MSG_IMAGE */
    uint32_t listener;        /* index into listeners */
    uint32_t slot;            /* in struct gw_shared */
    uint32_t max_connections; /* 0: no limit */
    uint32_t max_tunnels;
    uint64_t lifetime_s; /* of a tunnel; 0: no limit */
};

struct gw_snapshot_credential {
    uint64_t id; /* of GW_MSG_CREDENTIAL; a new value has a new id */
    char *name;  /* how images refer to it */
};

struct gw_snapshot {
    uint64_t generation;
    char via_token[33];
    enum gw_log_level log_level;
    struct gw_limits limits;
    struct {
        struct gw_snapshot_server *servers;
        uint32_t server_count;
        uint32_t timeout_ms, tries, deadline_ms, max_ttl_s, resolution_delay_ms;
        struct gw_snapshot_hosts *hosts;
        uint32_t host_count;
    } dns;
    struct {
        char *default_ca; /* id of GW_MSG_CA_BUNDLE */
        bool min_tls13;
    } tls;
    struct gw_snapshot_listener *listeners;
    uint32_t listener_count;
    struct gw_own_port {
        struct gw_ip_address address;
        bool wildcard;
        uint16_t port;
    } * own_ports;
    uint32_t own_port_count; /* admin, metrics and the like, beside the listeners */
    struct gw_snapshot_network *networks;
    uint32_t network_count;
    struct gw_snapshot_credential *credentials;
    uint32_t credential_count;
};

/* The encoded form; the caller frees `*bytes`. */
bool gw_snapshot_encode(const struct gw_snapshot *snapshot, unsigned char **bytes, size_t *length,
                        struct gw_error *err);
/* Everything in it is checked (counts, indexes, text); NULL and `err` otherwise. */
struct gw_snapshot *gw_snapshot_decode(struct gw_slice bytes, struct gw_error *err);
void gw_snapshot_free(struct gw_snapshot *snapshot);
