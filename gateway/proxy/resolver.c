#include "gateway/proxy/resolver.h"

#include <ares.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gateway/proxy/dns_cache.h"
#include "gateway/proxy/dns_channel.h"
#include "gateway/proxy/dns_settings.h"
#include "gateway/proxy/name_table.h"

struct gw_resolver {
    uv_loop_t *loop;
    struct gw_process_page *counters;
    struct gw_dns_settings *settings; /* NULL until configured */
    struct gw_dns_settings *former;   /* its static addresses may still be read in this turn */
    struct gw_dns_cache *cache;
    struct gw_name_table in_flight;      /* resolutions that may be joined */
    struct gw_list resolutions;          /* all of them */
    uint64_t running;                    /* their number */
    uint64_t asked_by[GW_NETWORK_SLOTS]; /* and by whom they were begun */
    struct gw_dns_channel *channel;      /* NULL: no servers */
    struct gw_list channels;             /* that one and those that retire */
    uv_timer_t door; /* never started: its close makes `closed` a loop's callback */
    size_t open;     /* door, channels, resolutions */
    bool closing;
    void (*closed)(void *context);
    void *context;
};

/* One of the two questions about a name: AAAA, then A. */
enum { HALVES = 2 };
struct half {
    struct gw_dns_asker asker;
    struct resolution *resolution;
};

/* A name on its way to its addresses. One timer runs: first to the deadline, sooner once the
 * answers allow it. When it fires, what has arrived is the answer; nothing later counts. Askers are
 * told from there and nowhere else, so that c-ares is never on the stack when they are. */
struct resolution {
    struct gw_resolver *resolver;
    struct gw_list member;    /* of resolver->resolutions */
    struct gw_name_node node; /* of resolver->in_flight, while `listed` */
    bool listed;              /* by the settings in force: may be joined, and its answer cached */
    struct gw_host host;
    uint32_t slot; /* whose share it takes, to its end, whoever still waits */
    struct half halves[HALVES];
    unsigned awaited; /* halves without an answer */
    uv_timer_t due;
    uint64_t deadline_ms;
    uint32_t max_ttl_s, resolution_delay_ms;
    struct gw_list waiting; /* of struct gw_lookup */
    enum gw_reason failure; /* the worst so far */
    uint32_t ttl_s;
    size_t count;
    struct gw_ip_address addresses[GW_ADDRESSES_MAX];
};

/* --- birth and configuration --- */

struct gw_resolver *gw_resolver_new(uv_loop_t *loop, struct gw_process_page *counters,
                                    struct gw_error *err)
{
    struct gw_resolver *resolver = calloc(1, sizeof *resolver);
    if (resolver == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return NULL;
    }
    if ((resolver->cache = gw_dns_cache_new(err)) == NULL) {
        free(resolver);
        return NULL;
    }
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
        gw_error_set(err, GW_ERR_MEMORY, "cannot set up c-ares");
        gw_dns_cache_free(resolver->cache);
        free(resolver);
        return NULL;
    }
    resolver->loop = loop;
    resolver->counters = counters;
    gw_list_init(&resolver->resolutions);
    gw_list_init(&resolver->channels);
    uv_timer_init(loop, &resolver->door);
    resolver->open = 1;
    return resolver;
}

static void on_part_closed(void *context)
{
    struct gw_resolver *resolver = context;
    if (--resolver->open > 0 || !resolver->closing)
        return;
    void (*closed)(void *) = resolver->closed;
    void *closed_context = resolver->context;
    gw_dns_settings_unref(resolver->settings);
    gw_dns_settings_unref(resolver->former);
    gw_dns_cache_free(resolver->cache);
    gw_name_table_fini(&resolver->in_flight);
    free(resolver);
    ares_library_cleanup();
    closed(closed_context);
}

/* Questions in flight end by the old settings: nobody joins them, nothing of them is cached. */
static void unlist_all(struct gw_resolver *resolver)
{
    gw_list_each (at, after, &resolver->resolutions)
        gw_container_of(at, struct resolution, member)->listed = false;
    gw_name_table_fini(&resolver->in_flight);
}

bool gw_resolver_configure(struct gw_resolver *resolver, const struct gw_snapshot *snapshot,
                           struct gw_error *err)
{
    struct gw_dns_channel *channel = NULL;
    struct gw_name_table in_flight = { .chains = NULL };
    bool done = false;
    struct gw_dns_settings *settings = gw_dns_settings_new(snapshot, err);
    if (settings == NULL)
        return false;
    if (resolver->settings != NULL && gw_dns_settings_same(settings, resolver->settings)) {
        gw_dns_settings_unref(settings);
        return true;
    }
    if (!gw_name_table_init(&in_flight, (size_t)settings->queries, err))
        goto out;
    if (settings->server_count > 0) {
        channel = gw_dns_channel_open(resolver->loop, settings, on_part_closed, resolver, err);
        if (channel == NULL)
            goto out;
        gw_list_append(&resolver->channels, &channel->among);
        resolver->open++;
    }
    if (!gw_dns_cache_reset(resolver->cache, (size_t)settings->cache_entries,
                            uv_now(resolver->loop), err))
        goto out;
    unlist_all(resolver);
    resolver->in_flight = in_flight;
    in_flight.chains = NULL; /* handed over */
    struct gw_dns_channel *old = resolver->channel;
    resolver->channel = channel;
    channel = old;
    gw_dns_settings_unref(resolver->former);
    resolver->former = resolver->settings;
    resolver->settings = settings;
    settings = NULL; /* handed over */
    done = true;
out:
    if (channel != NULL)
        gw_dns_channel_retire(channel); /* the old one, or the new one that is not needed */
    gw_name_table_fini(&in_flight);
    gw_dns_settings_unref(settings);
    return done;
}

/* --- asking --- */

static bool answer_now(struct gw_lookup *lookup, enum gw_reason reason,
                       const struct gw_ip_address *addresses, size_t count)
{
    lookup->reason = reason;
    lookup->addresses = addresses;
    lookup->count = count;
    lookup->cached = reason == GW_REASON_NONE;
    return true;
}

static void join(struct resolution *resolution, struct gw_lookup *lookup)
{
    lookup->in_flight = true;
    lookup->reason = GW_REASON_NONE;
    lookup->addresses = NULL;
    lookup->count = 0;
    gw_list_append(&resolution->waiting, &lookup->waiting);
}

static void on_answer(struct gw_dns_asker *asker, const struct gw_dns_answer *answer);
static void on_due(uv_timer_t *timer);

static struct resolution *resolution_new(struct gw_resolver *resolver, const struct gw_host *host,
                                         uint32_t slot)
{
    struct resolution *resolution = calloc(1, sizeof *resolution);
    if (resolution == NULL)
        return NULL;
    resolution->resolver = resolver;
    resolution->host = *host;
    resolution->slot = slot;
    gw_list_init(&resolution->waiting);
    resolution->max_ttl_s = resolution->ttl_s = resolver->settings->max_ttl_s;
    resolution->resolution_delay_ms = resolver->settings->resolution_delay_ms;
    resolution->deadline_ms = uv_now(resolver->loop) + resolver->settings->deadline_ms;
    resolution->awaited = HALVES;
    for (unsigned i = 0; i < HALVES; i++) {
        resolution->halves[i].resolution = resolution;
        resolution->halves[i].asker.answered = on_answer;
    }
    uv_timer_init(resolver->loop, &resolution->due);
    resolver->open++;
    gw_list_append(&resolver->resolutions, &resolution->member);
    resolver->running++;
    resolver->asked_by[slot]++;
    resolution->node.name = gw_host_slice(&resolution->host);
    gw_name_table_add(&resolver->in_flight, &resolution->node);
    resolution->listed = true;
    return resolution;
}

static void start(struct resolution *resolution)
{
    struct gw_resolver *resolver = resolution->resolver;
    gw_count_add(resolver->counters, GW_COUNT_DNS_QUERIES, 1);
    uv_timer_start(&resolution->due, on_due, resolver->settings->deadline_ms, 0);
    gw_dns_channel_ask(resolver->channel, &resolution->host, 6, &resolution->halves[0].asker);
    gw_dns_channel_ask(resolver->channel, &resolution->host, 4, &resolution->halves[1].asker);
}

/* RFC 6761 6.3: names below "localhost" are loopback, and no server is asked. The screen then
 * refuses them as it refuses the addresses. */
static const struct gw_ip_address loopback[] = {
    { .family = 6, .bytes = { [15] = 1 } },
    { .family = 4, .bytes = { 127, 0, 0, 1 } },
};

bool gw_resolver_ask(struct gw_resolver *resolver, const struct gw_host *host,
                     struct gw_lookup *lookup)
{
    struct gw_slice name = gw_host_slice(host);
    const struct gw_ip_address *addresses;
    size_t count;
    gw_check(host->class == GW_HOST_NAME && !lookup->in_flight && !resolver->closing);
    if (resolver->settings == NULL)
        return answer_now(lookup, GW_REASON_DNS_FAILED, NULL, 0);
    const struct gw_dns_static *entry = gw_dns_settings_host(resolver->settings, name);
    if (entry != NULL)
        return answer_now(lookup, entry->count > 0 ? GW_REASON_NONE : GW_REASON_DNS_EMPTY,
                          entry->addresses, entry->count);
    if (gw_host_is_localhost(host))
        return answer_now(lookup, GW_REASON_NONE, loopback, GW_COUNT(loopback));
    if (gw_dns_cache_find(resolver->cache, name, uv_now(resolver->loop), &addresses, &count)) {
        gw_count_add(resolver->counters, GW_COUNT_DNS_CACHED, 1);
        return answer_now(lookup, GW_REASON_NONE, addresses, count);
    }
    struct gw_name_node *node = gw_name_table_find(&resolver->in_flight, name);
    if (node != NULL) {
        lookup->cached = true;
        join(gw_container_of(node, struct resolution, node), lookup);
        return false;
    }
    if (resolver->channel == NULL)
        return answer_now(lookup, GW_REASON_DNS_FAILED, NULL, 0);
    gw_check(lookup->slot < GW_NETWORK_SLOTS);
    if (resolver->running >= resolver->settings->queries
        || resolver->asked_by[lookup->slot] >= resolver->settings->share
        || !gw_dns_channel_has_room(resolver->channel, HALVES))
        return answer_now(lookup, GW_REASON_OVERLOADED, NULL, 0);
    struct resolution *resolution = resolution_new(resolver, host, lookup->slot);
    if (resolution == NULL)
        return answer_now(lookup, GW_REASON_INTERNAL, NULL, 0);
    lookup->cached = false;
    join(resolution, lookup);
    start(resolution);
    return false;
}

void gw_lookup_cancel(struct gw_lookup *lookup)
{
    if (!lookup->in_flight)
        return;
    lookup->in_flight = false;
    gw_list_remove(&lookup->waiting); /* the resolution goes on: its answer may be cached */
}

/* --- answers --- */

/* What to say when neither half brought an address. A half that failed could have held one, so it
 * outweighs a half that says there is none: NXDOMAIN and "no data" are said only if nothing failed,
 * and NXDOMAIN only if both halves say it (some servers answer so for a type they do not know,
 * RFC 4074 4.2). A failure that the server reported tells more than its silence. */
static enum gw_reason worse(enum gw_reason a, enum gw_reason b)
{
    static const enum gw_reason order[] = {
        GW_REASON_TOO_MANY_ADDRESSES, GW_REASON_INTERNAL,    GW_REASON_DNS_SERVFAIL,
        GW_REASON_DNS_FAILED,         GW_REASON_DNS_TIMEOUT, GW_REASON_DNS_EMPTY,
        GW_REASON_DNS_NXDOMAIN,
    };
    for (size_t i = 0; i < GW_COUNT(order); i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return GW_REASON_NONE;
}

static void take_addresses(struct resolution *resolution, const struct gw_dns_answer *answer)
{
    if (resolution->count + answer->count > GW_ADDRESSES_MAX) {
        resolution->failure = GW_REASON_TOO_MANY_ADDRESSES;
        return;
    }
    for (size_t i = 0; i < answer->count; i++)
        resolution->addresses[resolution->count++] = answer->addresses[i];
    if (answer->ttl_s < resolution->ttl_s)
        resolution->ttl_s = answer->ttl_s;
}

static void on_answer(struct gw_dns_asker *asker, const struct gw_dns_answer *answer)
{
    struct resolution *resolution = gw_container_of(asker, struct half, asker)->resolution;
    uint64_t now_ms = uv_now(resolution->resolver->loop), wait_ms = 0;
    resolution->awaited--;
    if (answer->reason == GW_REASON_NONE)
        take_addresses(resolution, answer);
    else
        resolution->failure = worse(resolution->failure, answer->reason);
    if (resolution->awaited > 0 && resolution->failure != GW_REASON_TOO_MANY_ADDRESSES) {
        if (resolution->count == 0)
            return; /* the other half is awaited up to the deadline */
        uint64_t left_ms = resolution->deadline_ms > now_ms ? resolution->deadline_ms - now_ms : 0;
        wait_ms =
            resolution->resolution_delay_ms < left_ms ? resolution->resolution_delay_ms : left_ms;
    }
    uv_timer_start(&resolution->due, on_due, wait_ms, 0);
}

static void on_resolution_closed(uv_handle_t *handle)
{
    struct resolution *resolution = gw_container_of((uv_timer_t *)handle, struct resolution, due);
    struct gw_resolver *resolver = resolution->resolver;
    free(resolution);
    on_part_closed(resolver);
}

/* Its memory stays until the loop has closed the timer. */
static void leave(struct resolution *resolution)
{
    struct gw_resolver *resolver = resolution->resolver;
    for (unsigned i = 0; i < HALVES; i++)
        gw_dns_asker_abandon(&resolution->halves[i].asker);
    if (resolution->listed)
        gw_name_table_remove(&resolver->in_flight, &resolution->node);
    gw_list_remove(&resolution->member);
    resolver->running--;
    resolver->asked_by[resolution->slot]--;
    uv_close((uv_handle_t *)&resolution->due, on_resolution_closed);
}

static void tell_all(struct resolution *resolution, enum gw_reason reason)
{
    while (!gw_list_empty(&resolution->waiting)) {
        struct gw_lookup *lookup =
            gw_container_of(resolution->waiting.next, struct gw_lookup, waiting);
        gw_list_remove(&lookup->waiting);
        lookup->in_flight = false;
        lookup->reason = reason;
        lookup->addresses = reason == GW_REASON_NONE ? resolution->addresses : NULL;
        lookup->count = reason == GW_REASON_NONE ? resolution->count : 0;
        lookup->done(lookup); /* it may free the lookup, cancel others, ask, close */
    }
}

static void on_due(uv_timer_t *timer)
{
    struct resolution *resolution = gw_container_of(timer, struct resolution, due);
    struct gw_resolver *resolver = resolution->resolver;
    enum gw_reason reason = resolution->failure;
    if (reason != GW_REASON_TOO_MANY_ADDRESSES) {
        if (resolution->count > 0)
            reason = GW_REASON_NONE; /* one family will do, whatever became of the other */
        else if (resolution->awaited > 0)
            reason = worse(reason, GW_REASON_DNS_TIMEOUT);
    }
    if (reason == GW_REASON_NONE && resolution->listed)
        gw_dns_cache_put(resolver->cache, gw_host_slice(&resolution->host), resolution->addresses,
                         resolution->count, resolution->ttl_s, uv_now(resolver->loop));
    leave(resolution);
    tell_all(resolution, reason);
}

/* --- the way out --- */

static void on_door_closed(uv_handle_t *handle)
{
    on_part_closed(gw_container_of((uv_timer_t *)handle, struct gw_resolver, door));
}

void gw_resolver_close(struct gw_resolver *resolver, void (*closed)(void *context), void *context)
{
    gw_check(!resolver->closing);
    resolver->closing = true;
    resolver->closed = closed;
    resolver->context = context;
    resolver->channel = NULL;
    gw_list_each (at, after, &resolver->resolutions) {
        struct resolution *resolution = gw_container_of(at, struct resolution, member);
        gw_check(gw_list_empty(&resolution->waiting));
        leave(resolution);
    }
    gw_list_each (at, after, &resolver->channels)
        gw_dns_channel_close(gw_container_of(at, struct gw_dns_channel, among));
    uv_close((uv_handle_t *)&resolver->door, on_door_closed);
}
