/* gateway/config/read_dns.c - the keys under `gateway.dns`. */
#include "gateway/config/read.h"
#include "gateway/config/resolv_conf.h"
#include "gateway/config/scalars.h"

#define HOSTS_MAX 10000

static const struct gw_shape server_shape = { .form = GW_FORM_TEXT,
                                              .is = "IP, IP:PORT or [IPv6]:PORT",
                                              .pattern = "^[0-9A-Fa-f:.\\[\\]]+$" };
static const struct gw_shape servers_shape = {
    .form = GW_FORM_LIST, .item = &server_shape, .min = 1, .max = 16
};

static void read_servers(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into)
{
    struct gw_settings *settings = into;
    if (!gw_reader_list(reader, key, node))
        return;
    settings->dns.servers =
        gw_reader_array(reader, node, node->length, sizeof *settings->dns.servers);
    if (settings->dns.servers == NULL)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next)
        if (gw_scalar_endpoint(reader, key->name, gw_yaml_tree_value(at), 53,
                               &settings->dns.servers[settings->dns.server_count]))
            settings->dns.server_count++;
}

void gw_read_dns_defaults(struct gw_reader *reader, const struct gw_yaml_node *at)
{
    struct gw_settings *settings = reader->settings;
    struct gw_error err = GW_ERROR_NONE;
    if (!gw_resolv_conf_read(reader->sources->resolv_conf, &settings->dns.servers,
                             &settings->dns.server_count, &err))
        gw_complain(reader, at, "%s; name the servers with gateway.dns.servers", err.text);
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static const struct gw_shape address_shape = { .form = GW_FORM_TEXT,
                                               .is = "IP address",
                                               .pattern = "^[0-9A-Fa-f:.]+$" };
static const struct gw_shape addresses_shape = {
    .form = GW_FORM_LIST, .item = &address_shape, .min = 1, .max = 64
};
static const struct gw_shape hosts_shape = {
    .form = GW_FORM_NAMED, .is = "host name", .item = &addresses_shape, .max = HOSTS_MAX
};

static bool read_host_name(struct gw_reader *reader, const struct gw_yaml_node *name,
                           struct gw_host *host)
{
    char shown[GW_SHOWN];
    gw_reader_show(name, shown);
    enum gw_reason reason = gw_host_parse(gw_yaml_tree_text(name), host);
    if (reason != GW_REASON_NONE)
        gw_complain(reader, name, "\"hosts\": \"%s\": %s", shown, gw_reason_text(reason));
    else if (host->class != GW_HOST_NAME)
        gw_complain(reader, name, "\"hosts\": \"%s\" is an address, and is never resolved", shown);
    else if (gw_host_is_localhost(host))
        gw_complain(reader, name,
                    "\"hosts\": \"%s\" is always the loopback address, and is never resolved",
                    shown);
    else
        return true;
    return false;
}

static void read_addresses(struct gw_reader *reader, const struct gw_yaml_node *node,
                           struct gw_settings_hosts *out)
{
    static const struct gw_key key = { .name = "hosts", .shape = &addresses_shape };
    char shown[GW_SHOWN];
    if (!gw_reader_list(reader, &key, node))
        return;
    out->addresses = gw_reader_array(reader, node, node->length, sizeof *out->addresses);
    if (out->addresses == NULL)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        const struct gw_yaml_node *value = gw_yaml_tree_value(at);
        if (!gw_reader_text(reader, "hosts", value))
            continue;
        struct gw_ip_address *address = &out->addresses[out->address_count];
        if (gw_ip_address_parse(gw_yaml_tree_text(value), address))
            out->address_count++;
        else
            gw_complain(reader, value, "\"hosts\": \"%s\" is not an IP address",
                        gw_reader_show(value, shown));
    }
}

static void read_hosts(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    struct gw_settings *settings = into;
    if (node->kind != GW_YAML_MAP) {
        gw_complain(reader, node, "\"%s\": expected names with lists of addresses", key->name);
        return;
    }
    if (node->length > HOSTS_MAX) {
        gw_complain(reader, node, "\"%s\": more than %d names", key->name, HOSTS_MAX);
        return;
    }
    settings->dns.hosts = gw_reader_array(reader, node, node->length, sizeof *settings->dns.hosts);
    if (settings->dns.hosts == NULL)
        return;
    for (const struct gw_yaml_node *name = node->first; name != NULL; name = name->next->next) {
        struct gw_settings_hosts *entry = &settings->dns.hosts[settings->dns.host_count];
        if (read_host_name(reader, name, &entry->host))
            for (size_t i = 0; i < settings->dns.host_count; i++)
                if (gw_host_equal(&settings->dns.hosts[i].host, &entry->host))
                    gw_complain(reader, name, "\"hosts\": \"%s\" is given twice", entry->host.text);
        read_addresses(reader, gw_yaml_tree_value(name->next), entry);
        settings->dns.host_count++;
    }
}

/* ---- dns ------------------------------------------------------------------------------------ */

static const struct gw_shape timeout_shape = { .form = GW_FORM_NUMBER, .min = 10, .max = 60000 };
static const struct gw_shape tries_shape = { .form = GW_FORM_NUMBER, .min = 1, .max = 10 };
static const struct gw_shape ttl_shape = { .form = GW_FORM_NUMBER, .min = 0, .max = 86400 };
static const struct gw_shape delay_shape = { .form = GW_FORM_NUMBER, .min = 0, .max = 10000 };

/* clang-format off */
#define AT(field) offsetof(struct gw_settings, dns.field)
static const struct gw_key dns_keys[] = {
    { "servers", read_servers, 0, &servers_shape, NULL,
      "name servers, port 53 unless one is written; without the key those of /etc/resolv.conf", 0 },
    { "timeout_ms", gw_read_number32, AT(timeout_ms), &timeout_shape, "2000",
      "wait for one answer of one server", 0 },
    { "tries", gw_read_number32, AT(tries), &tries_shape, "2",
      "how often each server is asked", 0 },
    { "deadline_ms", gw_read_number32, AT(deadline_ms), &timeout_shape, "5000",
      "for a whole resolution", 0 },
    { "max_ttl_s", gw_read_number32, AT(max_ttl_s), &ttl_shape, "300",
      "answers are kept for their own time to live, and no longer than this; 0: never kept", 0 },
    { "resolution_delay_ms", gw_read_number32, AT(resolution_delay_ms), &delay_shape, "50",
      "once there are addresses of one family, wait for the other (RFC 8305)", 0 },
    { "hosts", read_hosts, 0, &hosts_shape, "{}",
      "names with fixed addresses, for which no server is asked", 0 },
    { .name = NULL },
};
#undef AT
/* clang-format on */
const struct gw_shape gw_dns_shape = { .form = GW_FORM_MAP, .keys = dns_keys };

void gw_read_dns(struct gw_reader *reader, const struct gw_key *key,
                 const struct gw_yaml_node *node, void *into)
{
    gw_reader_map(reader, key->name, dns_keys, node, into);
}
