/* gateway/proxy/sweep.c */
#include "gateway/proxy/sweep.h"

#include "gateway/proxy/exchange.h"
#include "gateway/proxy/relay.h"

static bool reaches(const struct gw_proxy *proxy, const struct gw_binding *binding,
                    const struct gw_host *host, uint16_t port, const struct gw_ip_address *address)
{
    return gw_dialable_set_make(&binding->policy->image, &proxy->own, host, port, address, 1, NULL,
                                NULL, NULL)
               .reason
           == GW_REASON_NONE;
}

static bool relay_stays(void *context, uint32_t slot, const struct gw_ask *ask,
                        const struct gw_relay_end *upstream)
{
    const struct gw_proxy *proxy = context;
    const struct gw_binding *binding = gw_config_binding(proxy->config, slot);
    struct gw_verdict verdict;
    if (binding == NULL)
        return false;
    gw_decide(&binding->policy->image, &proxy->own, ask, NULL, &verdict);
    return verdict.refusal.reason == GW_REASON_NONE && !verdict.read_as_http
           && verdict.dial_port == upstream->port && verdict.tls == upstream->tls
           && (verdict.sni != GW_SNI_MATCH || upstream->hello_matched)
           && reaches(proxy, binding, &ask->authority.host, upstream->port, upstream->address);
}

/* Kept under the same terms as a new request would get: address, TLS identity and credentials. A
 * host with method or path rules is let go, since no request is at hand to ask with. */
static bool pooled_stays(void *context, const struct gw_upstream *upstream)
{
    const struct gw_proxy *proxy = context;
    const struct gw_binding *binding = gw_config_binding(proxy->config, upstream->slot);
    struct gw_verdict verdict;
    struct gw_ask ask = { .kind = GW_ASK_REQUEST,
                          .https = upstream->trust != NULL,
                          .authority = { .host = upstream->host, .port = upstream->port },
                          .method = GW_SLICE("GET"),
                          .path_and_query = GW_SLICE("/") };
    if (binding == NULL)
        return false;
    gw_decide(&binding->policy->image, &proxy->own, &ask, NULL, &verdict);
    return verdict.refusal.reason == GW_REASON_NONE && verdict.tls == (upstream->trust != NULL)
           && verdict.dial_port == upstream->port
           && (upstream->trust == NULL
               || upstream->trust == gw_binding_trust(proxy->config, binding, &verdict))
           && gw_binding_stamp_key(binding, &verdict) == upstream->stamp_key
           && reaches(proxy, binding, &upstream->host, upstream->port, &upstream->address);
}

struct gw_swept gw_sweep(struct gw_proxy *proxy)
{
    struct gw_swept swept = { 0 };
    swept.tunnels = gw_relays_sweep(proxy, relay_stays, proxy);
    swept.exchanges = gw_exchanges_sweep(proxy);
    swept.tunnels += gw_clients_sweep(proxy);
    swept.pooled = gw_pool_sweep(proxy->pool, pooled_stays, proxy);
    gw_count_add(proxy->page, GW_COUNT_SWEPT, swept.tunnels + swept.exchanges);
    return swept;
}
