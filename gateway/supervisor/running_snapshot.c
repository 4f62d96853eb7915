/* gateway/supervisor/running_snapshot.c
 * The snapshot that is filled here borrows every text from the settings; only its arrays are its
 * own, and they are freed as soon as it is encoded. */
#include "gateway/supervisor/running_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/common/sealed.h"
#include "gateway/common/snapshot.h"

static void *array(size_t count, size_t size, bool *failed)
{
    void *made = calloc(count + 1, size); /* one more: calloc(0) may be NULL */
    *failed = *failed || made == NULL;
    return made;
}

static void fill_dns(const struct gw_settings *settings, struct gw_snapshot *s)
{
    for (size_t i = 0; i < settings->dns.server_count; i++)
        s->dns.servers[i] = (struct gw_snapshot_server){
            .address = settings->dns.servers[i].address,
            .port = settings->dns.servers[i].port,
        };
    for (size_t i = 0; i < settings->dns.host_count; i++)
        s->dns.hosts[i] = (struct gw_snapshot_hosts){
            .host = settings->dns.hosts[i].host,
            .addresses = settings->dns.hosts[i].addresses,
            .address_count = (uint32_t)settings->dns.hosts[i].address_count,
        };
    s->dns.server_count = (uint32_t)settings->dns.server_count;
    s->dns.host_count = (uint32_t)settings->dns.host_count;
    s->dns.timeout_ms = settings->dns.timeout_ms;
    s->dns.tries = settings->dns.tries;
    s->dns.deadline_ms = settings->dns.deadline_ms;
    s->dns.max_ttl_s = settings->dns.max_ttl_s;
    s->dns.resolution_delay_ms = settings->dns.resolution_delay_ms;
}

static void fill_networks(const struct gw_running *running, struct gw_snapshot *s)
{
    const struct gw_settings *settings = running->settings;
    for (size_t i = 0; i < settings->network_count; i++) {
        const struct gw_settings_network *network = &settings->networks[i];
        const struct gw_settings_policy *policy = &settings->policies[network->policy];
        const struct gw_running_network *own = &running->networks[i];
        s->listeners[i] = (struct gw_snapshot_listener){
            .id = own->listener->id,
            .address = network->listen.address,
            .wildcard = network->wildcard,
            .port = own->listener->port,
        };
        s->networks[i] = (struct gw_snapshot_network){
            .name = network->name,
            .policy = policy->name,
            .image = policy->digest,
            .listener = (uint32_t)i,
            .slot = own->slot,
            .max_connections = network->max_connections,
            .max_tunnels = network->max_tunnels,
            .lifetime_s = network->lifetime_s,
        };
    }
    s->listener_count = s->network_count = (uint32_t)settings->network_count;
}

static void fill_credentials(const struct gw_running *running, struct gw_snapshot *s)
{
    s->credential_count = (uint32_t)running->settings->credential_count;
    for (uint32_t i = 0; i < s->credential_count; i++)
        s->credentials[i] = (struct gw_snapshot_credential){
            .id = running->credentials[i].id,
            .name = running->settings->credentials[i].name,
        };
}

static int seal(const struct gw_snapshot *s, struct gw_error *err)
{
    unsigned char *bytes = NULL;
    size_t length = 0;
    int fd = -1;
    if (!gw_snapshot_encode(s, &bytes, &length, err))
        return -1;
    struct gw_slice encoded = { (const char *)bytes, length };
    struct gw_snapshot *again = gw_snapshot_decode(encoded, err);
    if (again != NULL)
        fd = gw_sealed_make("namzu-gw-snapshot", encoded, err);
    gw_snapshot_free(again);
    free(bytes);
    return fd;
}

int gw_running_snapshot(const struct gw_running *running, const char *via_token,
                        struct gw_error *err)
{
    const struct gw_settings *settings = running->settings;
    bool failed = false;
    int fd = -1;
    struct gw_snapshot s = {
        .generation = running->generation,
        .log_level = settings->log.level,
        .limits = settings->limits,
        .dns.servers = array(settings->dns.server_count, sizeof *s.dns.servers, &failed),
        .dns.hosts = array(settings->dns.host_count, sizeof *s.dns.hosts, &failed),
        .listeners = array(settings->network_count, sizeof *s.listeners, &failed),
        .networks = array(settings->network_count, sizeof *s.networks, &failed),
        .credentials = array(settings->credential_count, sizeof *s.credentials, &failed),
        .tls.default_ca = settings->cas[settings->tls.ca].id,
        .tls.min_tls13 = settings->tls.min_tls13,
    };
    memcpy(s.via_token, via_token, sizeof s.via_token);
    if (failed)
        gw_error_set(err, GW_ERR_MEMORY, "no memory for a snapshot");
    else {
        fill_dns(settings, &s);
        fill_networks(running, &s);
        fill_credentials(running, &s);
        fd = seal(&s, err);
    }
    free(s.dns.servers);
    free(s.dns.hosts);
    free(s.listeners);
    free(s.networks);
    free(s.credentials);
    return fd;
}
