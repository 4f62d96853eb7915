#include "gateway/proxy/dns_settings.h"

#include <stdlib.h>
#include <string.h>

static bool copy_servers(struct gw_dns_settings *settings, const struct gw_snapshot *snapshot)
{
    uint32_t count = snapshot->dns.server_count;
    settings->servers = calloc((size_t)count + 1, sizeof *settings->servers);
    if (settings->servers == NULL)
        return false;
    for (; settings->server_count < count; settings->server_count++)
        settings->servers[settings->server_count] = snapshot->dns.servers[settings->server_count];
    return true;
}

static bool copy_host(struct gw_dns_settings *settings, const struct gw_snapshot_hosts *from)
{
    struct gw_dns_static *to = &settings->hosts[settings->host_count];
    to->host = from->host;
    to->addresses = calloc((size_t)from->address_count + 1, sizeof *to->addresses);
    if (to->addresses == NULL)
        return false;
    settings->host_count++;
    for (; to->count < from->address_count; to->count++)
        to->addresses[to->count] = from->addresses[to->count];
    to->node.name = gw_host_slice(&to->host);
    if (gw_name_table_find(&settings->host_table, to->node.name) == NULL) /* the first counts */
        gw_name_table_add(&settings->host_table, &to->node);
    return true;
}

/* With very many networks an equal share would be nothing. */
enum { SHARE_MIN = 16 };

struct gw_dns_settings *gw_dns_settings_new(const struct gw_snapshot *snapshot,
                                            struct gw_error *err)
{
    struct gw_dns_settings *result = NULL, *settings = calloc(1, sizeof *settings);
    if (settings == NULL)
        goto out;
    settings->refs = 1;
    settings->timeout_ms = snapshot->dns.timeout_ms;
    settings->tries = snapshot->dns.tries;
    settings->deadline_ms = snapshot->dns.deadline_ms;
    settings->max_ttl_s = snapshot->dns.max_ttl_s;
    settings->resolution_delay_ms = snapshot->dns.resolution_delay_ms;
    settings->cache_entries = gw_limit(&snapshot->limits, DNS_CACHE_ENTRIES);
    settings->queries = gw_limit(&snapshot->limits, DNS_QUERIES);
    settings->share =
        settings->queries / (snapshot->network_count > 0 ? snapshot->network_count : 1);
    if (settings->share < SHARE_MIN)
        settings->share = SHARE_MIN;
    settings->hosts = calloc((size_t)snapshot->dns.host_count + 1, sizeof *settings->hosts);
    if (settings->hosts == NULL || !copy_servers(settings, snapshot)
        || !gw_name_table_init(&settings->host_table, snapshot->dns.host_count, err))
        goto out;
    for (uint32_t i = 0; i < snapshot->dns.host_count; i++)
        if (!copy_host(settings, &snapshot->dns.hosts[i]))
            goto out;
    result = settings;
    settings = NULL; /* handed over to the caller */
out:
    if (result == NULL)
        gw_error_set(err, GW_ERR_MEMORY, "out of memory for the name server settings");
    gw_dns_settings_unref(settings);
    return result;
}

struct gw_dns_settings *gw_dns_settings_ref(struct gw_dns_settings *settings)
{
    settings->refs++;
    return settings;
}

void gw_dns_settings_unref(struct gw_dns_settings *settings)
{
    if (settings == NULL || --settings->refs > 0)
        return;
    for (uint32_t i = 0; i < settings->host_count; i++)
        free(settings->hosts[i].addresses);
    gw_name_table_fini(&settings->host_table);
    free(settings->hosts);
    free(settings->servers);
    free(settings);
}

static bool same_addresses(const struct gw_dns_static *a, const struct gw_dns_static *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!gw_ip_address_equal(&a->addresses[i], &b->addresses[i]))
            return false;
    return true;
}

bool gw_dns_settings_same(const struct gw_dns_settings *a, const struct gw_dns_settings *b)
{
    if (a->timeout_ms != b->timeout_ms || a->tries != b->tries || a->deadline_ms != b->deadline_ms
        || a->max_ttl_s != b->max_ttl_s || a->resolution_delay_ms != b->resolution_delay_ms
        || a->cache_entries != b->cache_entries || a->queries != b->queries || a->share != b->share
        || a->server_count != b->server_count || a->host_count != b->host_count)
        return false;
    for (uint32_t i = 0; i < a->server_count; i++)
        if (a->servers[i].port != b->servers[i].port
            || !gw_ip_address_equal(&a->servers[i].address, &b->servers[i].address))
            return false;
    for (uint32_t i = 0; i < a->host_count; i++)
        if (!gw_host_equal(&a->hosts[i].host, &b->hosts[i].host)
            || a->hosts[i].count != b->hosts[i].count
            || !same_addresses(&a->hosts[i], &b->hosts[i]))
            return false;
    return true;
}

const struct gw_dns_static *gw_dns_settings_host(const struct gw_dns_settings *settings,
                                                 struct gw_slice name)
{
    struct gw_name_node *node = gw_name_table_find(&settings->host_table, name);
    return node == NULL ? NULL : gw_container_of(node, struct gw_dns_static, node);
}
