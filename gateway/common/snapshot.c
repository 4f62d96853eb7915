/* gateway/common/snapshot.c
 * One put_ and one get_ function a struct, in the order of the header. What is read is checked as
 * it is read; what refers to something else (indexes, slots) once everything is there. */
#include "gateway/common/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/common/counters.h"
#include "gateway/common/wire.h"

#define FORMAT 1
#define NAME_MAX_BYTES 255
#define ADDRESS_BYTES 17
#define VIA_BYTES 32

/* ---- writing ------------------------------------------------------------------------------ */

static void put_text(struct gw_wire_writer *w, const char *text)
{
    gw_wire_put_bytes(w, gw_slice_of(text));
}

static void put_address(struct gw_wire_writer *w, const struct gw_ip_address *address)
{
    gw_wire_put_u8(w, address->family);
    for (size_t i = 0; i < sizeof address->bytes; i++)
        gw_wire_put_u8(w, address->bytes[i]);
}

static void put_dns(struct gw_wire_writer *w, const struct gw_snapshot *s)
{
    gw_wire_put_u32(w, s->dns.server_count);
    for (uint32_t i = 0; i < s->dns.server_count; i++) {
        put_address(w, &s->dns.servers[i].address);
        gw_wire_put_u16(w, s->dns.servers[i].port);
    }
    gw_wire_put_u32(w, s->dns.timeout_ms);
    gw_wire_put_u32(w, s->dns.tries);
    gw_wire_put_u32(w, s->dns.deadline_ms);
    gw_wire_put_u32(w, s->dns.max_ttl_s);
    gw_wire_put_u32(w, s->dns.resolution_delay_ms);
    gw_wire_put_u32(w, s->dns.host_count);
    for (uint32_t i = 0; i < s->dns.host_count; i++) {
        const struct gw_snapshot_hosts *entry = &s->dns.hosts[i];
        gw_wire_put_bytes(w, gw_host_slice(&entry->host));
        gw_wire_put_u32(w, entry->address_count);
        for (uint32_t k = 0; k < entry->address_count; k++)
            put_address(w, &entry->addresses[k]);
    }
}

static void put_listeners(struct gw_wire_writer *w, const struct gw_snapshot *s)
{
    gw_wire_put_u32(w, s->listener_count);
    for (uint32_t i = 0; i < s->listener_count; i++) {
        gw_wire_put_u32(w, s->listeners[i].id);
        put_address(w, &s->listeners[i].address);
        gw_wire_put_u8(w, s->listeners[i].wildcard);
        gw_wire_put_u16(w, s->listeners[i].port);
    }
    gw_wire_put_u32(w, s->own_port_count);
    for (uint32_t i = 0; i < s->own_port_count; i++) {
        put_address(w, &s->own_ports[i].address);
        gw_wire_put_u8(w, s->own_ports[i].wildcard);
        gw_wire_put_u16(w, s->own_ports[i].port);
    }
}

static void put_networks(struct gw_wire_writer *w, const struct gw_snapshot *s)
{
    gw_wire_put_u32(w, s->network_count);
    for (uint32_t i = 0; i < s->network_count; i++) {
        const struct gw_snapshot_network *network = &s->networks[i];
        put_text(w, network->name);
        put_text(w, network->policy);
        gw_wire_put_bytes(w, (struct gw_slice){ (const char *)network->image.bytes,
                                                sizeof network->image.bytes });
        gw_wire_put_u32(w, network->listener);
        gw_wire_put_u32(w, network->slot);
        gw_wire_put_u32(w, network->max_connections);
        gw_wire_put_u32(w, network->max_tunnels);
        gw_wire_put_u64(w, network->lifetime_s);
    }
}

static void put_credentials(struct gw_wire_writer *w, const struct gw_snapshot *s)
{
    gw_wire_put_u32(w, s->credential_count);
    for (uint32_t i = 0; i < s->credential_count; i++) {
        gw_wire_put_u64(w, s->credentials[i].id);
        put_text(w, s->credentials[i].name);
    }
}

bool gw_snapshot_encode(const struct gw_snapshot *s, unsigned char **bytes, size_t *length,
                        struct gw_error *err)
{
    struct gw_wire_writer w;
    gw_wire_writer_init(&w);
    gw_wire_put_u32(&w, FORMAT);
    gw_wire_put_u64(&w, s->generation);
    gw_wire_put_bytes(&w, (struct gw_slice){ s->via_token, VIA_BYTES });
    gw_wire_put_u8(&w, (uint8_t)s->log_level);
    gw_wire_put_u32(&w, GW_LIMITS);
    for (size_t i = 0; i < GW_LIMITS; i++)
        gw_wire_put_u64(&w, s->limits.value[i]);
    put_dns(&w, s);
    put_text(&w, s->tls.default_ca);
    gw_wire_put_u8(&w, s->tls.min_tls13);
    put_listeners(&w, s);
    put_networks(&w, s);
    put_credentials(&w, s);
    if (w.failed) {
        gw_wire_writer_fini(&w);
        gw_error_set(err, GW_ERR_MEMORY, "no memory for a snapshot");
        return false;
    }
    *bytes = w.data; /* handed over */
    *length = w.length;
    return true;
}

/* ---- reading ------------------------------------------------------------------------------ */

struct reader {
    struct gw_wire_reader wire;
    struct gw_error *err;
    bool failed;
};

static void refuse(struct reader *r, const char *what)
{
    gw_error_set(r->err, GW_ERR_CORRUPT, "snapshot: %s", what);
    r->failed = true;
}

static void *get_array(struct reader *r, size_t size, size_t each, uint32_t *count)
{
    uint32_t wanted = gw_wire_count(&r->wire, each);
    *count = 0;
    if (wanted == 0 || r->failed)
        return NULL;
    void *array = calloc(wanted, size);
    if (array == NULL) {
        gw_error_set(r->err, GW_ERR_MEMORY, "no memory for a snapshot");
        r->failed = true;
        return NULL;
    }
    *count = wanted;
    return array;
}

static char *get_text(struct reader *r)
{
    struct gw_slice text = gw_wire_bytes(&r->wire);
    if (text.length == 0 || text.length > NAME_MAX_BYTES) {
        refuse(r, "a name is empty or too long");
        return NULL;
    }
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f) {
            refuse(r, "a name has a control byte");
            return NULL;
        }
    char *copy = malloc(text.length + 1);
    if (copy == NULL) {
        gw_error_set(r->err, GW_ERR_MEMORY, "no memory for a snapshot");
        r->failed = true;
        return NULL;
    }
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

static bool get_bool(struct reader *r)
{
    uint8_t value = gw_wire_u8(&r->wire);
    if (value > 1)
        refuse(r, "a truth value is neither 0 nor 1");
    return value == 1;
}

static void get_address(struct reader *r, struct gw_ip_address *out)
{
    out->family = gw_wire_u8(&r->wire);
    for (size_t i = 0; i < sizeof out->bytes; i++)
        out->bytes[i] = gw_wire_u8(&r->wire);
    if (out->family != 4 && out->family != 6)
        refuse(r, "an address has no family");
    for (size_t i = 4; i < sizeof out->bytes; i++)
        if (out->family == 4 && out->bytes[i] != 0)
            refuse(r, "an IPv4 address has more than 4 bytes");
}

static uint16_t get_port(struct reader *r)
{
    uint16_t port = gw_wire_u16(&r->wire);
    if (port == 0)
        refuse(r, "a port is 0");
    return port;
}

static void get_limits(struct reader *r, struct gw_limits *limits)
{
    if (gw_wire_u32(&r->wire) != GW_LIMITS) {
        refuse(r, "another number of limits than ours");
        return;
    }
    for (enum gw_limit_name i = 0; i < GW_LIMITS; i++) {
        const struct gw_limit_row *row = gw_limit_row(i);
        limits->value[i] = gw_wire_u64(&r->wire);
        if (limits->value[i] < row->min || limits->value[i] > row->max)
            refuse(r, "a limit is out of bounds");
    }
}

static void get_hosts(struct reader *r, struct gw_snapshot_hosts *entry)
{
    struct gw_slice text = gw_wire_bytes(&r->wire);
    if (gw_host_parse(text, &entry->host) != GW_REASON_NONE
        || !gw_slice_equal(text, gw_host_slice(&entry->host)))
        refuse(r, "a static host is not in its canonical form");
    entry->addresses = get_array(r, sizeof *entry->addresses, ADDRESS_BYTES, &entry->address_count);
    for (uint32_t i = 0; i < entry->address_count; i++)
        get_address(r, &entry->addresses[i]);
}

static void get_dns(struct reader *r, struct gw_snapshot *s)
{
    s->dns.servers = get_array(r, sizeof *s->dns.servers, ADDRESS_BYTES + 2, &s->dns.server_count);
    for (uint32_t i = 0; i < s->dns.server_count; i++) {
        get_address(r, &s->dns.servers[i].address);
        s->dns.servers[i].port = get_port(r);
    }
    s->dns.timeout_ms = gw_wire_u32(&r->wire);
    s->dns.tries = gw_wire_u32(&r->wire);
    s->dns.deadline_ms = gw_wire_u32(&r->wire);
    s->dns.max_ttl_s = gw_wire_u32(&r->wire);
    s->dns.resolution_delay_ms = gw_wire_u32(&r->wire);
    s->dns.hosts = get_array(r, sizeof *s->dns.hosts, 8, &s->dns.host_count);
    for (uint32_t i = 0; i < s->dns.host_count; i++)
        get_hosts(r, &s->dns.hosts[i]);
}

static void get_listeners(struct reader *r, struct gw_snapshot *s)
{
    s->listeners = get_array(r, sizeof *s->listeners, ADDRESS_BYTES + 7, &s->listener_count);
    for (uint32_t i = 0; i < s->listener_count; i++) {
        s->listeners[i].id = gw_wire_u32(&r->wire);
        get_address(r, &s->listeners[i].address);
        s->listeners[i].wildcard = get_bool(r);
        s->listeners[i].port = get_port(r);
    }
    s->own_ports = get_array(r, sizeof *s->own_ports, ADDRESS_BYTES + 3, &s->own_port_count);
    for (uint32_t i = 0; i < s->own_port_count; i++) {
        get_address(r, &s->own_ports[i].address);
        s->own_ports[i].wildcard = get_bool(r);
        s->own_ports[i].port = get_port(r);
    }
}

static void get_networks(struct reader *r, struct gw_snapshot *s)
{
    s->networks = get_array(r, sizeof *s->networks, 36 + GW_DIGEST_BYTES, &s->network_count);
    for (uint32_t i = 0; i < s->network_count && !r->failed; i++) {
        struct gw_snapshot_network *network = &s->networks[i];
        network->name = get_text(r);
        network->policy = get_text(r);
        struct gw_slice digest = gw_wire_bytes(&r->wire);
        if (digest.length == sizeof network->image.bytes)
            memcpy(network->image.bytes, digest.data, digest.length);
        else
            refuse(r, "a digest has another length than ours");
        network->listener = gw_wire_u32(&r->wire);
        network->slot = gw_wire_u32(&r->wire);
        network->max_connections = gw_wire_u32(&r->wire);
        network->max_tunnels = gw_wire_u32(&r->wire);
        network->lifetime_s = gw_wire_u64(&r->wire);
        if (network->listener >= s->listener_count)
            refuse(r, "a network has a listener that is not there");
        if (network->slot >= GW_NETWORK_SLOTS)
            refuse(r, "a network has a slot that is not there");
    }
}

static void get_credentials(struct reader *r, struct gw_snapshot *s)
{
    s->credentials = get_array(r, sizeof *s->credentials, 12, &s->credential_count);
    for (uint32_t i = 0; i < s->credential_count && !r->failed; i++) {
        s->credentials[i].id = gw_wire_u64(&r->wire);
        s->credentials[i].name = get_text(r);
    }
}

static void get_via_token(struct reader *r, struct gw_snapshot *s)
{
    struct gw_slice token = gw_wire_bytes(&r->wire);
    if (token.length != VIA_BYTES) {
        refuse(r, "the Via token has another length than ours");
        return;
    }
    for (size_t i = 0; i < VIA_BYTES; i++)
        if (memchr("0123456789abcdef", token.data[i], 16) == NULL)
            refuse(r, "the Via token is not hexadecimal");
    memcpy(s->via_token, token.data, VIA_BYTES);
}

struct gw_snapshot *gw_snapshot_decode(struct gw_slice bytes, struct gw_error *err)
{
    struct reader r = { .err = err };
    gw_wire_reader_init(&r.wire, bytes);
    struct gw_snapshot *s = calloc(1, sizeof *s);
    if (s == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory for a snapshot");
        return NULL;
    }
    if (gw_wire_u32(&r.wire) != FORMAT)
        refuse(&r, "another format than ours");
    s->generation = gw_wire_u64(&r.wire);
    get_via_token(&r, s);
    uint8_t level = gw_wire_u8(&r.wire);
    if (level >= GW_LOG_LEVELS)
        refuse(&r, "an unknown log level");
    s->log_level = (enum gw_log_level)level;
    get_limits(&r, &s->limits);
    get_dns(&r, s);
    s->tls.default_ca = get_text(&r);
    s->tls.min_tls13 = get_bool(&r);
    get_listeners(&r, s);
    get_networks(&r, s);
    get_credentials(&r, s);
    if (!r.failed && gw_wire_done(&r.wire))
        return s;
    refuse(&r, "it is cut off, or has bytes left over");
    gw_snapshot_free(s);
    return NULL;
}

void gw_snapshot_free(struct gw_snapshot *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->dns.host_count; i++)
        free(s->dns.hosts[i].addresses);
    for (uint32_t i = 0; i < s->network_count; i++) {
        free(s->networks[i].name);
        free(s->networks[i].policy);
    }
    for (uint32_t i = 0; i < s->credential_count; i++)
        free(s->credentials[i].name);
    free(s->dns.servers);
    free(s->dns.hosts);
    free(s->tls.default_ca);
    free(s->listeners);
    free(s->own_ports);
    free(s->networks);
    free(s->credentials);
    free(s);
}
