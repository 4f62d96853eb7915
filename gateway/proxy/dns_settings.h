/* gateway/proxy/dns_settings.h - the part of a snapshot that resolving depends on, as a copy, with
 * the static hosts in a table. Immutable, and shared by count. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/common/snapshot.h"
#include "gateway/proxy/name_table.h"

struct gw_dns_settings {
    unsigned refs;
    struct gw_snapshot_server *servers;
    uint32_t server_count;
    uint32_t timeout_ms, tries, deadline_ms, max_ttl_s, resolution_delay_ms;
    uint64_t cache_entries, queries;
    uint64_t share; /* of `queries`, for one network: its slow names leave room for the others' */
    struct gw_dns_static *hosts; /* in the order of the snapshot */
    uint32_t host_count;
    struct gw_name_table host_table;
};

struct gw_dns_static {
    struct gw_name_node node;
    struct gw_host host;
    struct gw_ip_address *addresses;
    size_t count;
};

/* With one reference, the caller's. */
struct gw_dns_settings *gw_dns_settings_new(const struct gw_snapshot *snapshot,
                                            struct gw_error *err);
struct gw_dns_settings *gw_dns_settings_ref(struct gw_dns_settings *settings);
void gw_dns_settings_unref(struct gw_dns_settings *settings); /* NULL is fine */

bool gw_dns_settings_same(const struct gw_dns_settings *a, const struct gw_dns_settings *b);

/* The static entry of that name, or NULL. */
const struct gw_dns_static *gw_dns_settings_host(const struct gw_dns_settings *settings,
                                                 struct gw_slice name);
