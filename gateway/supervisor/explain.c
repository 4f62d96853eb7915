/* gateway/supervisor/explain.c - `--explain`: the very decision code of the proxies, with a trace.
 * Nothing is resolved and nothing is dialled: a name is screened only where dns.hosts says what it
 * resolves to, and the answer says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/config/config.h"
#include "gateway/supervisor/local_addresses.h"
#include "gateway/supervisor/supervisor.h"
#include "policy/decision.h"
#include "policy/dialable.h"
#include "policy/request_target.h"

struct question {
    struct gw_settings *settings;
    struct gw_image image;
    struct gw_ask ask;
    struct gw_own own;
    struct gw_local_addresses local;
    struct gw_own_listener *listeners; /* owned; `own` borrows them */
    struct gw_trace trace;
};

static void print_step(void *context, const char *step, const char *finding)
{
    (void)context;
    printf("%-12s %s\n", step, finding);
}

static int refuse(struct gw_refusal refusal)
{
    char code[GW_REASON_CODE_MAX];
    int status = gw_reason_status(refusal.reason);
    gw_refusal_print(refusal, code, sizeof code);
    if (status != 0)
        printf("REFUSED      %s (%d): %s\n", code, status, gw_reason_text(refusal.reason));
    else
        printf("REFUSED      %s: %s\n", code, gw_reason_text(refusal.reason));
    return GW_EXIT_REFUSED;
}

static const struct gw_settings_policy *find_policy(const struct gw_settings *settings,
                                                    const char *name)
{
    for (size_t i = 0; i < settings->policy_count; i++)
        if (strcmp(settings->policies[i].name, name) == 0)
            return &settings->policies[i];
    fprintf(stderr, "namzu-gw: %s has no policy \"%s\"; it has:", settings->path, name);
    for (size_t i = 0; i < settings->policy_count; i++)
        fprintf(stderr, " %s", settings->policies[i].name);
    fprintf(stderr, "\n");
    return NULL;
}

/* A URL is what a client sends in absolute-form, anything else what it sends with CONNECT. */
static enum gw_reason read_target(struct question *q, const char *method, const char *target)
{
    struct gw_request_target parsed = { 0 };
    bool is_url = strstr(target, "://") != NULL;
    enum gw_reason reason = gw_request_target_parse(gw_slice_of(target), !is_url, &parsed);
    q->ask.kind = is_url ? GW_ASK_REQUEST : GW_ASK_TUNNEL;
    q->ask.https = parsed.https;
    q->ask.authority = parsed.authority;
    q->ask.path_and_query = parsed.path_and_query;
    if (is_url)
        q->ask.method = method == NULL ? GW_SLICE("GET") : gw_slice_of(method);
    return reason;
}

/* The listeners of the file, as if the gateway ran. */
static bool fill_own(struct question *q, struct gw_error *err)
{
    const struct gw_settings *settings = q->settings;
    q->listeners = calloc(settings->network_count + 1, sizeof *q->listeners);
    if (q->listeners == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory");
        return false;
    }
    for (size_t i = 0; i < settings->network_count; i++)
        q->listeners[i] = (struct gw_own_listener){
            .address = settings->networks[i].listen.address,
            .wildcard = settings->networks[i].wildcard,
            .port = settings->networks[i].listen.port,
        };
    if (!gw_local_addresses_read(&q->local, err))
        return false;
    q->own = (struct gw_own){ .addresses = q->local.list,
                              .address_count = q->local.count,
                              .listeners = q->listeners,
                              .listener_count = settings->network_count };
    return true;
}

static const struct gw_settings_hosts *find_static(const struct gw_settings *settings,
                                                   const struct gw_host *host)
{
    for (size_t i = 0; i < settings->dns.host_count; i++)
        if (gw_host_equal(&settings->dns.hosts[i].host, host))
            return &settings->dns.hosts[i];
    return NULL;
}

/* The rest of the decision, as far as it can be known without asking a name server. */
static struct gw_refusal screen(const struct question *q, const struct gw_verdict *verdict)
{
    const struct gw_refusal none = { .reason = GW_REASON_NONE };
    const struct gw_host *host = &q->ask.authority.host;
    const struct gw_settings_hosts *entry = find_static(q->settings, host);
    if (host->class != GW_HOST_NAME)
        return none; /* a literal has been screened already */
    if (entry == NULL) {
        printf("%-12s %s would be resolved by the name servers, and every address screened\n",
               "resolve", host->text);
        return none;
    }
    printf("%-12s %s is in gateway.dns.hosts, with %zu addresses\n", "resolve", host->text,
           entry->address_count);
    return gw_dialable_set_make(&q->image, &q->own, host, verdict->dial_port, entry->addresses,
                                entry->address_count, &q->trace, NULL, NULL);
}

static void print_allowed(const struct question *q, const struct gw_verdict *verdict)
{
    static const char *const sni[] = {
        [GW_SNI_DEFAULT] = "?", [GW_SNI_MATCH] = "match", [GW_SNI_LOG] = "log", [GW_SNI_OFF] = "off"
    };
    char host[GW_HOST_TEXT_MAX + 2];
    gw_host_print(&q->ask.authority.host, host, sizeof host);
    for (uint32_t i = 0; i < verdict->credential_count; i++) {
        struct gw_image_credential credential =
            gw_image_credential(&q->image, verdict->credentials[i]);
        printf("%-12s %.*s in the field %.*s\n", "credential", (int)credential.name.length,
               credential.name.data, (int)credential.header.length, credential.header.data);
    }
    if (q->ask.kind == GW_ASK_REQUEST)
        printf("ALLOWED      %s:%u is dialled with %s\n", host, verdict->dial_port,
               verdict->tls ? "TLS" : "plain HTTP");
    else if (verdict->read_as_http)
        printf("ALLOWED      what is inside is read as HTTP, each request is judged on its own, "
               "and %s:%u is dialled with %s\n",
               host, verdict->dial_port, verdict->tls ? "TLS" : "plain HTTP");
    else
        printf("ALLOWED      %s:%u is dialled and the bytes are relayed unread; sni: %s\n", host,
               verdict->dial_port, sni[verdict->sni]);
}

static int answer(struct question *q, const char *method, const char *target)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_verdict verdict;
    enum gw_reason reason = read_target(q, method, target);
    if (reason != GW_REASON_NONE)
        return refuse((struct gw_refusal){ .reason = reason });
    if (!fill_own(q, &err)) {
        fprintf(stderr, "namzu-gw: %s\n", err.text);
        return GW_EXIT_SYSTEM;
    }
    gw_decide(&q->image, &q->own, &q->ask, &q->trace, &verdict);
    if (verdict.refusal.reason == GW_REASON_NONE)
        verdict.refusal = screen(q, &verdict);
    if (verdict.refusal.reason != GW_REASON_NONE)
        return refuse(verdict.refusal);
    print_allowed(q, &verdict);
    return GW_EXIT_OK;
}

int gw_supervisor_explain(const char *config_path, const char *policy_name, const char *method,
                          const char *target)
{
    struct gw_config_errors errors = { 0 };
    struct gw_error err = GW_ERROR_NONE;
    struct question q = { .trace.told = print_step };
    const struct gw_settings_policy *policy = NULL;
    int status = GW_EXIT_CONFIG;
    q.settings = gw_config_load(config_path, &errors);
    if (q.settings == NULL)
        gw_config_errors_print(&errors, stderr);
    else
        policy = find_policy(q.settings, policy_name);
    if (policy == NULL)
        status = q.settings == NULL ? GW_EXIT_CONFIG : GW_EXIT_USAGE;
    else if (!gw_image_open(policy->image, policy->image_length, &q.image, &err))
        fprintf(stderr, "namzu-gw: policy %s: %s\n", policy_name, err.text);
    else
        status = answer(&q, method, target);
    gw_local_addresses_fini(&q.local);
    free(q.listeners);
    gw_settings_free(q.settings);
    gw_config_errors_fini(&errors);
    return status;
}
