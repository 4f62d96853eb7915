/* policy/dialable.c */
#include "policy/dialable.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "policy/exemption.h"
#include "policy/ip_ranges.h"
#include "policy/own.h"

struct gw_dialable {
    struct gw_ip_address address; /* never a mapped one */
    uint16_t port;
};

struct gw_dialable_set {
    size_t count;
    struct gw_dialable all[];
};

/* ---- the screen -------------------------------------------------------------------------- */

struct screen {
    const struct gw_image *image;
    const struct gw_own *own;
    const struct gw_trace *trace;
    uint16_t port;
    enum gw_reason reason; /* LITERAL or RESOLVED, for what is refused by kind */
    struct gw_image_hits hits;
};

static bool is_denied(const struct gw_image *image, const struct gw_ip_address *address)
{
    size_t count;
    const struct gw_image_cidr *denied = gw_image_section(image, GW_IMAGE_DENIED, &count);
    for (size_t i = 0; i < count; i++) {
        struct gw_cidr range = gw_image_cidr_of(&denied[i]);
        if (gw_cidr_contains(&range, address))
            return true;
    }
    return false;
}

/* What the address is beside its kind: a property that nothing lifts. GLOBAL: none. */
static enum gw_address_kind mark_of(const struct screen *s, const struct gw_ip_address *address)
{
    if (gw_own_has_address(s->own, address))
        return GW_KIND_SELF_ADDRESS;
    if (is_denied(s->image, address))
        return GW_KIND_OPERATOR_DENIED;
    return gw_ip_is_metadata(address) ? GW_KIND_METADATA : GW_KIND_GLOBAL;
}

static void tell(const struct screen *s, const struct gw_ip_address *address,
                 enum gw_address_kind kind, const char *verdict, const char *by)
{
    char text[GW_IP_ADDRESS_TEXT_MAX];
    if (s->trace == NULL)
        return;
    gw_ip_address_print(address, text, sizeof text);
    gw_trace_step(s->trace, "screen", "%s is %s%s%s", text, gw_address_kind_text(kind), verdict,
                  by);
}

/* One record of an answer. The order is that of what a person would want to be told: the kind
 * explains more than a mark, and our own listener more than an address of this host. */
static struct gw_refusal screen_one(const struct screen *s, const struct gw_ip_address *address)
{
    struct gw_ip_address reached[1 + GW_IP_INNER_MAX] = { *address };
    size_t count = 1 + gw_ip_inner(address, reached + 1);
    enum gw_address_kind kind = gw_ip_screen(address);
    char by[GW_IMAGE_ENTRY_MAX] = "";
    if (kind != GW_KIND_GLOBAL && !gw_exemption_lifts(s->image, &s->hits, address, by)) {
        tell(s, address, kind, ": refused", "");
        return (struct gw_refusal){ s->reason, kind };
    }
    for (size_t i = 0; i < count; i++)
        if (gw_own_is_listener(s->own, &reached[i], s->port)) {
            tell(s, address, kind, ": one of the gateway's own listeners", "");
            return (struct gw_refusal){ GW_REASON_LOOP, GW_KIND_GLOBAL };
        }
    for (size_t i = 0; i < count; i++) {
        enum gw_address_kind mark = mark_of(s, &reached[i]);
        if (mark != GW_KIND_GLOBAL) {
            tell(s, address, mark, ": refused, whatever is exempted", "");
            return (struct gw_refusal){ s->reason, mark };
        }
    }
    tell(s, address, kind, kind == GW_KIND_GLOBAL ? ": passes" : ": lifted by ", by);
    return (struct gw_refusal){ GW_REASON_NONE, GW_KIND_GLOBAL };
}

static struct gw_refusal because(enum gw_reason reason)
{
    return (struct gw_refusal){ reason, GW_KIND_GLOBAL };
}

static struct gw_refusal screen_all(const struct screen *s, const struct gw_ip_address *addresses,
                                    size_t count, struct gw_ip_address *offender)
{
    if (count == 0)
        return because(GW_REASON_DNS_EMPTY);
    if (count > GW_ADDRESSES_MAX)
        return because(GW_REASON_TOO_MANY_ADDRESSES);
    for (size_t i = 0; i < count; i++) {
        struct gw_ip_address address = gw_ip_address_unmap(&addresses[i]);
        struct gw_refusal refusal = screen_one(s, &address);
        if (refusal.reason == GW_REASON_NONE)
            continue;
        if (offender != NULL)
            *offender = addresses[i];
        return refusal;
    }
    return because(GW_REASON_NONE);
}

/* ---- the set ----------------------------------------------------------------------------- */

static bool has(const struct gw_dialable *all, size_t count, const struct gw_ip_address *address)
{
    for (size_t i = 0; i < count; i++)
        if (gw_ip_address_equal(&all[i].address, address))
            return true;
    return false;
}

/* RFC 8305 4: families take turns, so that a broken one costs one attempt and not all of them. */
static struct gw_dialable_set *arrange(const struct gw_ip_address *addresses, size_t count,
                                       uint16_t port)
{
    struct gw_dialable queue[2][GW_ADDRESSES_MAX]; /* IPv6, IPv4 */
    size_t length[2] = { 0 }, longest;
    struct gw_dialable_set *set = malloc(sizeof *set + count * sizeof set->all[0]);
    if (set == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct gw_dialable one = { gw_ip_address_unmap(&addresses[i]), port };
        int family = one.address.family == 4;
        if (!has(queue[family], length[family], &one.address))
            queue[family][length[family]++] = one;
    }
    longest = length[0] > length[1] ? length[0] : length[1];
    set->count = 0;
    for (size_t i = 0; i < longest; i++)
        for (int family = 0; family < 2; family++)
            if (i < length[family])
                set->all[set->count++] = queue[family][i];
    return set;
}

static void tell_dial(const struct gw_dialable_set *set, const struct gw_trace *trace)
{
    for (size_t i = 0; i < set->count; i++) {
        char text[GW_IP_ADDRESS_TEXT_MAX];
        gw_ip_address_print(&set->all[i].address, text, sizeof text);
        gw_trace_step(trace, "dial", "%s port %u", text, set->all[i].port);
    }
}

struct gw_refusal gw_dialable_set_make(const struct gw_image *image, const struct gw_own *own,
                                       const struct gw_host *host, uint16_t port,
                                       const struct gw_ip_address *addresses, size_t count,
                                       const struct gw_trace *trace, struct gw_dialable_set **out,
                                       struct gw_ip_address *offender)
{
    struct screen screen = {
        .image = image,
        .own = own,
        .trace = trace,
        .port = port,
        .reason = host->class == GW_HOST_NAME ? GW_REASON_RESOLVED : GW_REASON_LITERAL,
    };
    gw_image_find(image, host, &screen.hits);
    if (out != NULL)
        *out = NULL;
    struct gw_refusal refusal = screen_all(&screen, addresses, count, offender);
    if (refusal.reason != GW_REASON_NONE || out == NULL)
        return refusal;
    *out = arrange(addresses, count, port);
    if (*out == NULL)
        return because(GW_REASON_INTERNAL);
    if (trace != NULL)
        tell_dial(*out, trace);
    return refusal;
}

size_t gw_localhost_addresses(const struct gw_image *image, const struct gw_host *host,
                              struct gw_ip_address out[2])
{
    static const struct gw_ip_address loopback[] = { { 4, { 127, 0, 0, 1 } }, { 6, { [15] = 1 } } };
    char by[GW_IMAGE_ENTRY_MAX];
    struct gw_image_hits hits;
    size_t count = 0;
    if (!gw_host_is_localhost(host))
        return 0;
    gw_image_find(image, host, &hits);
    for (size_t i = 0; i < 2; i++)
        if (gw_exemption_lifts(image, &hits, &loopback[i], by))
            out[count++] = loopback[i];
    return count;
}

void gw_dialable_set_free(struct gw_dialable_set *set)
{
    free(set);
}

size_t gw_dialable_count(const struct gw_dialable_set *set)
{
    return set->count;
}

const struct gw_dialable *gw_dialable_at(const struct gw_dialable_set *set, size_t index)
{
    return index < set->count ? &set->all[index] : NULL;
}

/* ---- sockets ----------------------------------------------------------------------------- */

socklen_t gw_dialable_sockaddr(const struct gw_dialable *dialable, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (dialable->address.family == 4) {
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(dialable->port) };
        memcpy(&in.sin_addr, dialable->address.bytes, sizeof in.sin_addr);
        memcpy(out, &in, sizeof in);
        return sizeof in;
    }
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(dialable->port) };
    memcpy(&in6.sin6_addr, dialable->address.bytes, sizeof in6.sin6_addr);
    memcpy(out, &in6, sizeof in6);
    return sizeof in6;
}

/* Field by field: the kernel may fill in a scope or a flow label that we did not ask for. */
bool gw_dialable_is_peer(const struct gw_dialable *dialable, const struct sockaddr_storage *peer)
{
    if (dialable->address.family == 4) {
        struct sockaddr_in in;
        memcpy(&in, peer, sizeof in);
        return in.sin_family == AF_INET && in.sin_port == htons(dialable->port)
               && memcmp(&in.sin_addr, dialable->address.bytes, sizeof in.sin_addr) == 0;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, peer, sizeof in6);
    return in6.sin6_family == AF_INET6 && in6.sin6_port == htons(dialable->port)
           && memcmp(&in6.sin6_addr, dialable->address.bytes, sizeof in6.sin6_addr) == 0;
}

struct gw_ip_address gw_dialable_address(const struct gw_dialable *dialable)
{
    return dialable->address;
}
