/* tests/unit/config/flipped_keys_test.c - every key that is accepted changes the settings
 * (CONF-09). A row gives a key another value than its default; the settings, as text, must then
 * hold what the row says, and must not without it. The tables of the reader tell which keys there
 * are: one without a row fails. */
#define _GNU_SOURCE /* open_memstream */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config_support.h"
#include "gateway/config/key_table.h"

/* ---- settings as text ----------------------------------------------------------------------- */

static void dump_endpoint(FILE *out, const char *name, const struct gw_endpoint *endpoint)
{
    char text[GW_IP_ADDRESS_TEXT_MAX];
    gw_ip_address_print(&endpoint->address, text, sizeof text);
    fprintf(out, "%s=%s port %u\n", name, text, endpoint->port);
}

static void dump_gateway(FILE *out, const struct gw_settings *s)
{
    char text[GW_CIDR_TEXT_MAX];
    fprintf(out, "processes=%u\nuser=%s\nstate_dir=%s\naccess=%s\nrunning=%s\nlevel=%d\n",
            s->processes, s->user == NULL ? "auto" : s->user,
            s->state_dir == NULL ? "none" : s->state_dir,
            s->log.access == NULL ? "none" : s->log.access, s->log.running, (int)s->log.level);
    fprintf(out, "timeout_ms=%u\ntries=%u\ndeadline_ms=%u\nmax_ttl_s=%u\nresolution_delay_ms=%u\n",
            s->dns.timeout_ms, s->dns.tries, s->dns.deadline_ms, s->dns.max_ttl_s,
            s->dns.resolution_delay_ms);
    for (size_t i = 0; i < s->dns.server_count; i++)
        dump_endpoint(out, "server", &s->dns.servers[i]);
    for (size_t i = 0; i < s->dns.host_count; i++)
        for (size_t j = 0; j < s->dns.hosts[i].address_count; j++) {
            gw_ip_address_print(&s->dns.hosts[i].addresses[j], text, sizeof text);
            fprintf(out, "host %s=%s\n", s->dns.hosts[i].host.text, text);
        }
    fprintf(out, "ca=%s\nmin_tls13=%d\n", strrchr(s->cas[s->tls.ca].path, '/'), s->tls.min_tls13);
    for (size_t i = 0; i < s->deny_cidr_count; i++) {
        gw_cidr_print(&s->deny_cidrs[i], text, sizeof text);
        fprintf(out, "deny=%s\n", text);
    }
}

static void dump_rest(FILE *out, const struct gw_settings *s)
{
    for (size_t i = 0; i < s->credential_count; i++) {
        const struct gw_settings_credential *c = &s->credentials[i];
        fprintf(out, "credential=%s host=%s header=%s scheme=%d user=%s from=%d:%s plain=%d\n",
                c->name, c->host, c->header, (int)c->scheme, c->user == NULL ? "" : c->user,
                (int)c->source, c->source_name, c->allow_plaintext);
    }
    for (size_t i = 0; i < s->policy_count; i++) {
        const struct gw_settings_policy *p = &s->policies[i];
        char digest[GW_DIGEST_TEXT];
        gw_digest_print(&p->digest, digest);
        fprintf(out, "policy=%s kind=%d image=%s\n", p->name, (int)p->kind, digest);
    }
    for (size_t i = 0; i < s->network_count; i++) {
        const struct gw_settings_network *n = &s->networks[i];
        dump_endpoint(out, "listen", &n->listen);
        fprintf(out, "network=%s wildcard=%d policy=%s\n", n->name, n->wildcard,
                s->policies[n->policy].name);
        fprintf(out, "connections=%u\ntunnels=%u\nlifetime_s=%" PRIu64 "\n", n->max_connections,
                n->max_tunnels, n->lifetime_s);
    }
}

static char *dump(const char *yaml)
{
    char *text = NULL;
    size_t length;
    struct gw_settings *settings = support_load(yaml);
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    dump_gateway(out, settings);
    dump_rest(out, settings);
    fclose(out);
    gw_settings_free(settings);
    return text;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* clang-format off */
#define DOCUMENT(gateway, credential, policy, network) \
    "version: 1\n" \
    "gateway: {" gateway "}\n" \
    "credentials: {c: {" credential "}}\n" \
    "policies: {p: {" policy "}, q: {kind: deny-all}}\n" \
    "networks: {n: {" network "}}\n"
#define CREDENTIAL_ "host: api.acme.test, header: x-key, value: {env: A}"
#define POLICY_ "kind: static, allowed_hosts: [.acme.test], credentials: [c]"
#define NETWORK_ "listen: 127.0.0.1:3128, policy: p"
#define GATEWAY(text) DOCUMENT(text, CREDENTIAL_, POLICY_, NETWORK_)
#define CREDENTIAL(text) DOCUMENT("", text, POLICY_, NETWORK_)
#define POLICY(text) DOCUMENT("", CREDENTIAL_, text, NETWORK_)
#define NETWORK(text) DOCUMENT("", CREDENTIAL_, POLICY_, text)

/* Another image than the policy has without the key. */
#define IMAGE NULL
/* There is only one value, which is accepted and changes nothing. */
#define ONE_VALUE ""

static const struct {
    const char *key, *yaml, *holds;
} rows[] = {
    { "version", GATEWAY(""), ONE_VALUE },
    { "gateway.processes", GATEWAY("processes: 3"), "processes=3\n" },
    { "gateway.user", GATEWAY("user: namzu-proxy"), "user=namzu-proxy\n" },
    { "gateway.state_dir", GATEWAY("state_dir: /var/lib/namzu-gw"), "state_dir=/var/lib/namzu-gw\n" },
    { "gateway.log.access", GATEWAY("log: {access: /var/log/a}"), "access=/var/log/a\n" },
    { "gateway.log.access", GATEWAY("log: {access: off}"), "access=none\n" },
    { "gateway.log.running", GATEWAY("log: {running: /var/log/r}"), "running=/var/log/r\n" },
    { "gateway.log.format", GATEWAY("log: {format: json}"), ONE_VALUE },
    { "gateway.log.level", GATEWAY("log: {level: debug}"), "level=3\n" },
    { "gateway.log.level", GATEWAY("log: {level: error}"), "level=0\n" },
    { "gateway.dns.servers", GATEWAY("dns: {servers: [192.0.2.1, 192.0.2.2:5353, '[2001:db8::1]:54', 2001:db8::2]}"),
      "server=192.0.2.1 port 53\nserver=192.0.2.2 port 5353\nserver=2001:db8::1 port 54\nserver=2001:db8::2 port 53\n" },
    { "gateway.dns.timeout_ms", GATEWAY("dns: {timeout_ms: 10}"), "\ntimeout_ms=10\n" },
    { "gateway.dns.tries", GATEWAY("dns: {tries: 10}"), "\ntries=10\n" },
    { "gateway.dns.deadline_ms", GATEWAY("dns: {deadline_ms: 60000}"), "\ndeadline_ms=60000\n" },
    { "gateway.dns.max_ttl_s", GATEWAY("dns: {max_ttl_s: 0}"), "\nmax_ttl_s=0\n" },
    { "gateway.dns.resolution_delay_ms", GATEWAY("dns: {resolution_delay_ms: 0}"), "\nresolution_delay_ms=0\n" },
    { "gateway.dns.hosts", GATEWAY("dns: {hosts: {Origin.test.: [127.0.0.1, '::1']}}"), "host origin.test=127.0.0.1\nhost origin.test=::1\n" },
    { "gateway.tls.ca_file", GATEWAY("tls: {ca_file: $DATA/ca-other.pem}"), "ca=/ca-other.pem\n" },
    { "gateway.tls.min_version", GATEWAY("tls: {min_version: 1.3}"), "min_tls13=1\n" },
    { "gateway.tls.min_version", GATEWAY("tls: {min_version: '1.3'}"), "min_tls13=1\n" },
    { "gateway.deny_cidrs", GATEWAY("deny_cidrs: [198.51.100.0/24, 'fd00::/8', 203.0.113.9]"),
      "deny=198.51.100.0/24\ndeny=fd00::/8\ndeny=203.0.113.9/32\n" },
    { "gateway.deny_cidrs", GATEWAY("deny_cidrs: [198.51.100.0/24]"), IMAGE },
    { "credentials.NAME.host", CREDENTIAL("host: .api.acme.test, header: x-key, value: {env: A}"), "host=.api.acme.test " },
    { "credentials.NAME.header", CREDENTIAL("host: api.acme.test, header: Authorization, value: {env: A}"), "header=authorization " },
    { "credentials.NAME.header", CREDENTIAL("host: api.acme.test, header: Authorization, value: {env: A}"), IMAGE },
    { "credentials.NAME.scheme", CREDENTIAL("host: api.acme.test, header: x-key, scheme: bearer, value: {env: A}"), "scheme=1 " },
    { "credentials.NAME.user", CREDENTIAL("host: api.acme.test, header: x-key, scheme: basic, user: me, value: {env: A}"), "scheme=2 user=me " },
    { "credentials.NAME.value.env", CREDENTIAL("host: api.acme.test, header: x-key, value: {env: _B2}"), "from=0:_B2 " },
    { "credentials.NAME.value.file", CREDENTIAL("host: api.acme.test, header: x-key, value: {file: /run/key}"), "from=1:/run/key " },
    { "credentials.NAME.allow_plaintext", CREDENTIAL(CREDENTIAL_ ", allow_plaintext: true"), "plain=1\n" },
    { "credentials.NAME.allow_plaintext", CREDENTIAL(CREDENTIAL_ ", allow_plaintext: true"), IMAGE },
    { "policies.NAME.kind", POLICY("kind: deny-all"), "policy=p kind=1 " },
    { "policies.NAME.kind", POLICY("kind: allow-all"), "policy=p kind=2 " },
    { "policies.NAME.allowed_hosts", POLICY("kind: static, allowed_hosts: [.acme.test, x.test, no, on], credentials: [c]"), IMAGE },
    { "policies.NAME.allowed_hosts[].host", POLICY("kind: static, allowed_hosts: [.acme.test, {host: x.test}], credentials: [c]"), IMAGE },
    { "policies.NAME.allowed_hosts[].sni", POLICY("kind: static, allowed_hosts: [{host: .acme.test, sni: off}], credentials: [c]"), IMAGE },
    { "policies.NAME.allowed_hosts_file", POLICY(POLICY_ ", allowed_hosts_file: $DATA/hosts.txt"), IMAGE },
    { "policies.NAME.ports", POLICY(POLICY_ ", ports: [8443]"), IMAGE },
    { "policies.NAME.plain_ports", POLICY(POLICY_ ", plain_ports: []"), IMAGE },
    { "policies.NAME.sni", POLICY(POLICY_ ", sni: off"), IMAGE },
    { "policies.NAME.plaintext_upstream", POLICY(POLICY_ ", plaintext_upstream: [a.acme.test]"), IMAGE },
    { "policies.NAME.upstream_tls[].host", POLICY(POLICY_ ", upstream_tls: [{host: a.acme.test, ca_file: $DATA/ca.pem}]"), IMAGE },
    { "policies.NAME.upstream_tls[].ca_file", POLICY(POLICY_ ", upstream_tls: [{host: a.acme.test, ca_file: $DATA/ca-other.pem}]"), IMAGE },
    { "policies.NAME.allow_inward_for", POLICY(POLICY_ ", allow_inward_for: [.acme.test]"), IMAGE },
    { "policies.NAME.allow_inward_for[].host", POLICY(POLICY_ ", allow_inward_for: [{host: a.acme.test}]"), IMAGE },
    { "policies.NAME.allow_inward_for[].cidrs", POLICY(POLICY_ ", allow_inward_for: [{host: a.acme.test, cidrs: [127.0.0.0/8]}]"), IMAGE },
    { "policies.NAME.deny_cidrs", POLICY(POLICY_ ", deny_cidrs: [203.0.113.0/24]"), IMAGE },
    { "policies.NAME.credentials", POLICY("kind: static, allowed_hosts: [.acme.test]"), IMAGE },
    { "policies.NAME.rules[].host", POLICY(POLICY_ ", rules: [{host: a.acme.test}]"), IMAGE },
    { "policies.NAME.rules[].methods", POLICY(POLICY_ ", rules: [{host: a.acme.test, methods: [GET]}]"), IMAGE },
    { "policies.NAME.rules[].encoded_slash", POLICY(POLICY_ ", rules: [{host: a.acme.test, encoded_slash: allow}]"), IMAGE },
    { "policies.NAME.rules[].paths", POLICY(POLICY_ ", rules: [{host: a.acme.test, paths: [/v1]}]"), IMAGE },
    { "networks.NAME.listen", NETWORK("listen: '[::]:8080', policy: p"), "listen=:: port 8080\nnetwork=n wildcard=1 " },
    { "networks.NAME.policy", NETWORK("listen: 127.0.0.1:3128, policy: q"), "wildcard=0 policy=q\n" },
    { "networks.NAME.identify", NETWORK(NETWORK_ ", identify: [listener]"), ONE_VALUE },
    { "networks.NAME.limits.tunnels", NETWORK(NETWORK_ ", limits: {tunnels: 5}"), "\ntunnels=5\n" },
    { "networks.NAME.limits.connections", NETWORK(NETWORK_ ", limits: {connections: 6}"), "\nconnections=6\n" },
    { "networks.NAME.limits.lifetime_s", NETWORK(NETWORK_ ", limits: {lifetime_s: 7}"), "\nlifetime_s=7\n" },
    { "networks.NAME.audit", NETWORK(NETWORK_ ", audit: drop"), ONE_VALUE },
};
/* clang-format on */

/* The line of policy p. */
static const char *image_of(const char *text, size_t *length)
{
    const char *at = strstr(text, "policy=p kind");
    assert_non_null(at);
    *length = strcspn(at, "\n");
    return at;
}

static bool is_same_image(const char *a, const char *b)
{
    size_t a_length, b_length;
    const char *a_image = image_of(a, &a_length), *b_image = image_of(b, &b_length);
    return a_length == b_length && memcmp(a_image, b_image, a_length) == 0;
}

static void a_key_with_another_value_changes_the_settings(void **state)
{
    (void)state;
    char *base = dump(GATEWAY(""));
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        char *text = dump(rows[i].yaml);
        if (rows[i].holds == NULL && is_same_image(text, base))
            fail_msg("%s does not change the image", rows[i].key);
        if (rows[i].holds != NULL && rows[i].holds[0] == '\0' && strcmp(text, base) != 0)
            fail_msg("%s has one value, and changes something", rows[i].key);
        if (rows[i].holds != NULL && rows[i].holds[0] != '\0'
            && (strstr(text, rows[i].holds) == NULL || strstr(base, rows[i].holds) != NULL))
            fail_msg("%s: \"%s\" expected in\n%s", rows[i].key, rows[i].holds, text);
        free(text);
    }
    free(base);
}

static void rows_of_one_policy_have_images_of_their_own(void **state)
{
    (void)state;
    for (size_t i = 1; i < GW_COUNT(rows); i++) {
        if (rows[i].holds != NULL || rows[i - 1].holds != NULL)
            continue;
        char *here = dump(rows[i].yaml), *before = dump(rows[i - 1].yaml);
        if (is_same_image(here, before))
            fail_msg("%s and %s make the same image", rows[i - 1].key, rows[i].key);
        free(here);
        free(before);
    }
}

static void every_limit_is_read_into_its_own_place(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GW_LIMITS; i++) {
        const struct gw_limit_row *row = gw_limit_row((enum gw_limit_name)i);
        uint64_t value = row->initial == row->min ? row->initial + 3 : row->min;
        char yaml[1024];
        snprintf(yaml, sizeof yaml,
                 "version: 1\n"
                 "gateway: {limits: {%s: %" PRIu64 "%s}}\n"
                 "policies: {p: {kind: deny-all}}\n"
                 "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n",
                 row->key, value, i == GW_LIMIT_HEAD_BYTES ? ", request_line_bytes: 64" : "");
        struct gw_settings *settings = support_load(yaml);
        for (unsigned j = 0; j < GW_LIMITS; j++) {
            bool helper = i == GW_LIMIT_HEAD_BYTES && j == GW_LIMIT_REQUEST_LINE_BYTES;
            uint64_t expected = j == i ? value : gw_limit_row((enum gw_limit_name)j)->initial;
            if (!helper && settings->limits.value[j] != expected)
                fail_msg("%s: %s is %" PRIu64, row->key, gw_limit_row((enum gw_limit_name)j)->key,
                         settings->limits.value[j]);
        }
        gw_settings_free(settings);
    }
}

/* ---- no key without a row ------------------------------------------------------------------- */

static void look_for_row(const char *path)
{
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        if (strcmp(rows[i].key, path) == 0)
            return;
    fail_msg("no row flips %s", path);
}

static void look_for_rows(const char *path, const struct gw_shape *shape)
{
    char inner[256];
    const struct gw_shape *item = shape->item;
    bool leaf = shape->keys == NULL;
    if (strcmp(path, "gateway.limits") == 0) /* every_limit_is_read_into_its_own_place */
        return;
    if (item != NULL && item->form == GW_FORM_EITHER)
        item = item->other;
    if (item != NULL && item->keys != NULL) {
        snprintf(inner, sizeof inner, "%s%s", path, shape->form == GW_FORM_NAMED ? ".NAME" : "[]");
        look_for_rows(inner, item);
        leaf = shape->item != item; /* text too */
    }
    if (leaf)
        look_for_row(path);
    for (const struct gw_key *key = shape->keys; key != NULL && key->name != NULL; key++) {
        snprintf(inner, sizeof inner, "%s%s%s", path, path[0] == '\0' ? "" : ".", key->name);
        if (key->read != NULL)
            look_for_rows(inner, key->shape);
    }
}

static void every_key_of_the_tables_has_a_row(void **state)
{
    (void)state;
    static const struct gw_shape root = { .form = GW_FORM_MAP, .keys = gw_root_keys };
    look_for_rows("", &root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_with_another_value_changes_the_settings),
        cmocka_unit_test(rows_of_one_policy_have_images_of_their_own),
        cmocka_unit_test(every_limit_is_read_into_its_own_place),
        cmocka_unit_test(every_key_of_the_tables_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
