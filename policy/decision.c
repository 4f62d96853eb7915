/* policy/decision.c */
#include "policy/decision.h"

#include "base/macros.h"
#include "base/text.h"
#include "policy/dialable.h"
#include "policy/image_lookup.h"
#include "policy/own.h"
#include "policy/path_rule.h"

#define SHOWN_MAX 100 /* bytes of a method or path in a trace */

/* One question while it is answered. */
struct decision {
    const struct gw_image *image;
    const struct gw_own *own;
    const struct gw_ask *ask;
    const struct gw_trace *trace;
    const struct gw_host *host;
    struct gw_image_hits hits; /* what the policy says about the host */
    struct gw_verdict *out;
    bool opaque; /* a TUNNEL whose bytes will not be read */
};

static bool refuse(struct decision *d, enum gw_reason reason)
{
    d->out->refusal = (struct gw_refusal){ reason, GW_KIND_GLOBAL };
    return false;
}

static const struct gw_image_record *first_record(const struct decision *d, enum gw_image_what what,
                                                  struct gw_image_cursor *cursor)
{
    *cursor = (struct gw_image_cursor){ 0 };
    return gw_image_next(d->image, &d->hits, what, cursor);
}

/* Text from the requester, for a person. */
static const char *show(struct gw_slice text, char out[3 * SHOWN_MAX + 4])
{
    struct gw_text shown;
    gw_text_init(&shown, out, 3 * SHOWN_MAX + 4);
    gw_text_add_visible(&shown, text, SHOWN_MAX);
    return out;
}

/* ---- target: what would be dialled (docs/architecture.md, ports) ---------------------------- */

/* The private CA bundle, if TLS will be spoken with the host and the policy names one. */
static int32_t choose_ca(const struct decision *d)
{
    struct gw_image_cursor cursor;
    const struct gw_image_record *record = first_record(d, GW_IMAGE_UPSTREAM_TLS, &cursor);
    return record != NULL && d->out->tls ? (int32_t)record->value : -1;
}

static bool find_target(struct decision *d)
{
    struct gw_verdict *out = d->out;
    const struct gw_ask *ask = d->ask;
    struct gw_image_cursor cursor;
    bool request = ask->kind == GW_ASK_REQUEST;
    bool https = request && ask->https;
    uint16_t port = ask->authority.port;
    if (port == 0 && !request)
        return refuse(d, GW_REASON_BAD_PORT); /* CONNECT has no default port */
    out->named_port = port != 0 ? port : https ? 443 : 80;
    out->read_as_http =
        !request && gw_image_has_port(d->image, GW_IMAGE_PLAIN_PORTS, out->named_port);
    d->opaque = !request && !out->read_as_http;
    bool plaintext = !https && first_record(d, GW_IMAGE_PLAINTEXT, &cursor) != NULL;
    out->tls = !d->opaque && !plaintext;
    /* Port 80 is where plain HTTP lives; upgraded to HTTPS, that is 443. Every other port was
     * named for what listens on it. */
    bool moves = out->tls && !https && out->named_port == 80;
    out->dial_port = moves ? 443 : out->named_port;
    out->ca = choose_ca(d);
    gw_trace_step(d->trace, "target", "%s port %u, %s port %u%s", d->host->text, out->named_port,
                  d->opaque           ? "an opaque tunnel to"
                  : out->read_as_http ? "read as HTTP; dials"
                                      : "dials",
                  out->dial_port, out->tls ? " with TLS" : "");
    return true;
}

/* ---- loop -------------------------------------------------------------------------------- */

/* Before the policy: whoever sets the proxy as a server should learn just that. Names other than
 * localhost are judged by what they resolve to, in the screen. */
static bool check_loop(struct decision *d)
{
    static const struct gw_ip_address loopback = { 4, { 127, 0, 0, 1 } };
    const struct gw_ip_address *address = &d->host->address;
    if (d->host->class == GW_HOST_NAME) {
        if (!gw_host_is_localhost(d->host))
            return true;
        address = &loopback;
    }
    if (!gw_own_is_listener(d->own, address, d->out->named_port)
        && !gw_own_is_listener(d->own, address, d->out->dial_port))
        return true;
    gw_trace_step(d->trace, "loop", "this is one of the gateway's own listeners");
    return refuse(d, GW_REASON_LOOP);
}

/* ---- policy: name and port --------------------------------------------------------------- */

static bool check_name(struct decision *d)
{
    struct gw_image_cursor cursor;
    switch (gw_image_kind(d->image)) {
    case GW_POLICY_ALLOW_ALL:
        gw_trace_step(d->trace, "policy", "allow-all: every name");
        return true;
    case GW_POLICY_STATIC:
        gw_trace_step(d->trace, "policy", "static, %zu entries", gw_image_host_count(d->image));
        if (first_record(d, GW_IMAGE_ALLOW, &cursor) != NULL)
            return true;
        gw_trace_step(d->trace, "allowlist", "no entry matches %s", d->host->text);
        return refuse(d, GW_REASON_NOT_ALLOWED);
    case GW_POLICY_DENY_ALL:
    default:
        gw_trace_step(d->trace, "policy", "deny-all");
        return refuse(d, GW_REASON_NOT_ALLOWED);
    }
}

static enum gw_sni_mode choose_sni(const struct decision *d, const struct gw_image_record *entry)
{
    enum gw_sni_mode sni = entry == NULL ? GW_SNI_DEFAULT : gw_image_record_sni(entry);
    if (sni == GW_SNI_DEFAULT)
        sni = (enum gw_sni_mode)gw_image_head(d->image)->sni;
    if (sni == GW_SNI_DEFAULT)
        sni = d->out->dial_port == 443 ? GW_SNI_MATCH : GW_SNI_LOG;
    return sni;
}

static bool check_port(struct decision *d)
{
    unsigned port = d->out->dial_port, run;
    bool listed = gw_image_has_port(d->image, GW_IMAGE_PORTS, d->out->dial_port);
    const struct gw_image_record *entry =
        gw_image_find_allow(d->image, &d->hits, d->out->dial_port, listed, &run);
    if (entry != NULL) {
        char shown[GW_IMAGE_ENTRY_MAX];
        gw_image_print_entry(d->image, &d->hits, run, entry, shown);
        gw_trace_step(d->trace, "allowlist", "matched by %s", shown);
    } else if (!listed || gw_image_kind(d->image) != GW_POLICY_ALLOW_ALL) {
        gw_trace_step(d->trace, "port", "no entry admits port %u, which would be dialled", port);
        return refuse(d, GW_REASON_PORT_NOT_ALLOWED);
    }
    gw_trace_step(d->trace, "port", "%u is admitted", port);
    if (d->opaque) {
        static const char *const modes[] = { "default", "match", "log", "off" };
        d->out->sni = choose_sni(d, entry);
        gw_trace_step(d->trace, "sni", "%s", modes[d->out->sni]);
    }
    return true;
}

/* ---- rules ------------------------------------------------------------------------------- */

/* What no rule can see, no rule can judge: a control that is accepted must be applied. */
static bool check_tunnel(struct decision *d)
{
    struct gw_image_cursor cursor;
    if (!d->opaque || first_record(d, GW_IMAGE_RULE, &cursor) == NULL)
        return true;
    gw_trace_step(d->trace, "rule", "the host has rules, and a tunnel hides what they are about");
    return refuse(d, GW_REASON_RULE_NEEDS_PLAIN);
}

static bool check_method(struct decision *d)
{
    if (d->ask->kind != GW_ASK_REQUEST)
        return true;
    /* Both echo the request, credential included. In any letter case: a lenient server is what
     * would make the difference. */
    if (!gw_slice_equal_nocase(d->ask->method, GW_SLICE("TRACE"))
        && !gw_slice_equal_nocase(d->ask->method, GW_SLICE("TRACK")))
        return true;
    gw_trace_step(d->trace, "rule", "TRACE and TRACK are never relayed");
    return refuse(d, GW_REASON_METHOD);
}

static bool has_method(const struct decision *d, const struct gw_image_rule *rule)
{
    for (uint32_t i = 0; i < rule->methods.count; i++)
        if (gw_slice_equal(gw_image_word(d->image, rule->methods, i), d->ask->method))
            return true;
    return rule->methods.count == 0;
}

static bool has_path(const struct decision *d, const struct gw_image_rule *rule)
{
    for (uint32_t i = 0; i < rule->paths.count; i++)
        if (gw_path_matches(gw_image_word(d->image, rule->paths, i), d->ask->path_and_query))
            return true;
    return rule->paths.count == 0;
}

static const struct gw_image_rule *next_rule(const struct decision *d,
                                             struct gw_image_cursor *cursor)
{
    const struct gw_image_record *record = gw_image_next(d->image, &d->hits, GW_IMAGE_RULE, cursor);
    return record == NULL ? NULL : gw_image_rule_at(d->image, record->value);
}

/* Any rule admits. Where some rule of the host speaks of paths, a path that can be read in two ways
 * is admitted by none of them, not even by one that takes any path: two readers would disagree on
 * which rule it was. Only an encoded slash may be let through, by the rule that says so. */
static bool check_rules(struct decision *d)
{
    struct gw_image_cursor cursor = { 0 };
    const struct gw_image_rule *rule;
    bool any = false, about_paths = false, method = false, ambiguous = false;
    char shown[3 * SHOWN_MAX + 4];
    if (d->ask->kind != GW_ASK_REQUEST)
        return true;
    while ((rule = next_rule(d, &cursor)) != NULL) {
        any = true;
        about_paths |= rule->paths.count > 0;
    }
    if (!any)
        return true;
    bool never = about_paths && gw_path_is_ambiguous(d->ask->path_and_query, true);
    bool slash = about_paths && gw_path_is_ambiguous(d->ask->path_and_query, false);
    cursor = (struct gw_image_cursor){ 0 };
    while ((rule = next_rule(d, &cursor)) != NULL) {
        if (!has_method(d, rule))
            continue;
        method = true;
        if (never || (slash && !rule->allow_encoded_slash))
            ambiguous = true;
        else if (has_path(d, rule)) {
            gw_trace_step(d->trace, "rule", "a rule for this host admits method and path");
            return true;
        }
    }
    if (!method) {
        gw_trace_step(d->trace, "rule", "no rule admits the method %s",
                      show(d->ask->method, shown));
        return refuse(d, GW_REASON_METHOD_NOT_ALLOWED);
    }
    gw_trace_step(d->trace, "rule",
                  ambiguous ? "the path %s can be read in two ways" : "no rule admits the path %s",
                  show(d->ask->path_and_query, shown));
    return refuse(d, ambiguous ? GW_REASON_PATH_AMBIGUOUS : GW_REASON_PATH_NOT_ALLOWED);
}

/* ---- credentials ------------------------------------------------------------------------- */

static bool collect_credentials(struct decision *d)
{
    struct gw_image_cursor cursor = { 0 };
    const struct gw_image_record *record;
    if (d->ask->kind != GW_ASK_REQUEST)
        return true;
    while ((record = gw_image_next(d->image, &d->hits, GW_IMAGE_CREDENTIAL, &cursor)) != NULL) {
        struct gw_image_credential credential = gw_image_credential(d->image, record->value);
        int length = (int)credential.name.length;
        gw_trace_step(d->trace, "credentials", "%.*s", length, credential.name.data);
        if (!d->out->tls && !credential.allow_plaintext) {
            gw_trace_step(d->trace, "credentials", "%.*s may not leave over plain HTTP", length,
                          credential.name.data);
            return refuse(d, GW_REASON_PLAINTEXT_CREDENTIAL);
        }
        if (d->out->credential_count == GW_VERDICT_CREDENTIALS_MAX)
            return refuse(d, GW_REASON_INTERNAL); /* the builder sees to it that there are fewer */
        d->out->credentials[d->out->credential_count++] = record->value;
    }
    return true;
}

/* ---- screen of what needs no resolver ---------------------------------------------------- */

static bool check_literal(struct decision *d)
{
    struct gw_ip_address loopback[2];
    if (d->host->class != GW_HOST_NAME) {
        d->out->refusal = gw_dialable_set_make(d->image, d->own, d->host, d->out->dial_port,
                                               &d->host->address, 1, d->trace, NULL, NULL);
        return d->out->refusal.reason == GW_REASON_NONE;
    }
    if (!gw_host_is_localhost(d->host) || gw_localhost_addresses(d->image, d->host, loopback) > 0)
        return true;
    gw_trace_step(d->trace, "screen", "localhost is loopback, which no exemption lifts: refused");
    d->out->refusal = (struct gw_refusal){ GW_REASON_RESOLVED, GW_KIND_LOOPBACK };
    return false;
}

void gw_decide(const struct gw_image *image, const struct gw_own *own, const struct gw_ask *ask,
               const struct gw_trace *trace, struct gw_verdict *out)
{
    static bool (*const steps[])(struct decision *) = {
        find_target,  check_loop,  check_name,          check_port,   check_tunnel,
        check_method, check_rules, collect_credentials, check_literal
    };
    struct decision d = {
        .image = image,
        .own = own,
        .ask = ask,
        .trace = trace,
        .host = &ask->authority.host,
        .out = out,
    };
    *out = (struct gw_verdict){ .ca = -1 };
    gw_image_find(image, d.host, &d.hits);
    for (size_t i = 0; i < GW_COUNT(steps); i++)
        if (!steps[i](&d)) {
            out->credential_count = 0; /* nothing is stamped on what is not sent */
            return;
        }
}
