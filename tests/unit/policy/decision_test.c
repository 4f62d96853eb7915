/* tests/unit/policy/decision_test.c */
#include "policy/decision.h"

#include <stdio.h>
#include <string.h>

#include "fixture.h"

static void add_rules(struct gw_image_builder *b)
{
    static const char *const get[] = { "GET" }, *const post[] = { "POST" };
    static const char *const v1[] = { "/v1" }, *const slash[] = { "/s" };
    static const struct gw_rule_source read_v1 = { get, 1, v1, 1, false };
    static const struct gw_rule_source write = { post, 1, NULL, 0, false };
    static const struct gw_rule_source encoded = { NULL, 0, slash, 1, true };
    static const struct gw_rule_source read = { get, 1, NULL, 0, false };
    MUST(gw_image_builder_rule(b, GW_SLICE("ruled.acme.test"), &read_v1, &err));
    MUST(gw_image_builder_rule(b, GW_SLICE(".ruled.acme.test"), &write, &err));
    MUST(gw_image_builder_rule(b, GW_SLICE("ruled.acme.test"), &encoded, &err));
    MUST(gw_image_builder_rule(b, GW_SLICE("read.acme.test"), &read, &err));
}

static struct built the_policy(void)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    static const uint16_t plain[] = { 80, 8080 };
    static const uint16_t ports[] = { 443, 80, 8080, 8443, 3128, 9464 };
    static const struct gw_credential_source token = { "token", "authorization", false };
    static const struct gw_credential_source open = { "open", "x-open", true };
    const struct gw_cidr loopback = range("127.0.0.0/8");
    MUST(gw_image_builder_ports(b, ports, GW_COUNT(ports), &err));
    MUST(gw_image_builder_plain_ports(b, plain, GW_COUNT(plain), &err));
    ALLOW(b, ".acme.test");
    ALLOW(b, "only.example:5432");
    ALLOW(b, "both.example:5432");
    ALLOW(b, "both.example");
    ALLOW(b, "eighty.example:80");
    ALLOW(b, "127.0.0.1");
    ALLOW(b, "169.254.169.254");
    ALLOW(b, "10.0.0.5");
    ALLOW(b, "[2606:4700:4700::1111]");
    ALLOW(b, "localhost");
    ALLOW(b, "lifted.localhost");
    MUST(gw_image_builder_plaintext(b, GW_SLICE(".plain.acme.test"), &err));
    MUST(gw_image_builder_upstream_tls(b, GW_SLICE(".ca.acme.test"), "wide", &err));
    MUST(gw_image_builder_upstream_tls(b, GW_SLICE("a.ca.acme.test"), "near", &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("10.0.0.5"), NULL, 0, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("lifted.localhost"), &loopback, 1, &err));
    MUST(gw_image_builder_credential(b, GW_SLICE("llm.acme.test"), &token, &err));
    MUST(gw_image_builder_credential(b, GW_SLICE(".acme.test"), &open, &err));
    MUST(gw_image_builder_credential(b, GW_SLICE("secret.plain.acme.test"), &token, &err));
    /* To be collected, and then refused by the screen. */
    MUST(gw_image_builder_credential(b, GW_SLICE("169.254.169.254"), &open, &err));
    add_rules(b);
    return build(b);
}

static const struct gw_own_listener listeners[] = {
    { { 4, { 127, 0, 0, 1 } }, false, 3128 },
    { { 4, { 0 } }, true, 9464 },
    { { 4, { 10, 9, 9, 9 } }, false, 443 },
    { { 4, { 10, 9, 9, 8 } }, false, 80 },
};
static const struct gw_ip_address locals[] = { { 4, { 127, 0, 0, 1 } },
                                               { 4, { 10, 9, 9, 9 } },
                                               { 4, { 45, 33, 32, 156 } } };
static const struct gw_own own = { locals, GW_COUNT(locals), listeners, GW_COUNT(listeners) };

/* "GET http://h/p" asks a request, "CONNECT h:443" a tunnel. */
static struct gw_ask ask_of(const char *text)
{
    struct gw_ask ask = { .kind = GW_ASK_REQUEST };
    const char *blank = strchr(text, ' ');
    ask.method = (struct gw_slice){ text, (size_t)(blank - text) };
    const char *at = blank + 1;
    if (strncmp(text, "CONNECT ", 8) == 0)
        ask.kind = GW_ASK_TUNNEL;
    else {
        ask.https = strncmp(at, "https", 5) == 0;
        at += ask.https ? 8 : 7;
    }
    size_t length = strcspn(at, "/");
    if (gw_authority_parse((struct gw_slice){ at, length }, GW_PORT_OPTIONAL, &ask.authority)
        != GW_REASON_NONE)
        fail_msg("%s", text);
    ask.path_and_query = gw_slice_of(at + length);
    return ask;
}

static const struct {
    const char *ask, *refusal, *why;
} verdicts[] = {
    { "GET http://a.acme.test/", "", "allowed" },
    { "GET http://evil.test/", "not-allowed", "not listed" },
    { "GET http://a.acme.test.evil.test/", "not-allowed", "an entry is no prefix" },
    { "CONNECT a.acme.test:443", "", "allowed" },
    { "CONNECT evil.test:443", "not-allowed", "not listed" },
    { "CONNECT a.acme.test:22", "port-not-allowed", "no port of the policy" },
    { "GET http://a.acme.test:22/", "port-not-allowed", "no port of the policy" },
    { "GET http://only.example:5432/", "", "the entry's own port" },
    { "GET http://only.example/", "port-not-allowed", "443 is not the entry's port" },
    { "CONNECT only.example:443", "port-not-allowed", "nor for a tunnel" },
    { "CONNECT both.example:5432", "", "one entry" },
    { "CONNECT both.example:443", "", "and the other" },
    { "GET http://eighty.example/", "port-not-allowed", "443 is what would be dialled" },
    { "CONNECT eighty.example:80", "port-not-allowed", "443 is what would be dialled" },
    { "TRACE http://a.acme.test/", "method", "echoes the credential" },
    { "track http://a.acme.test/", "method", "a lenient server ignores case" },
    { "TRACE http://evil.test/", "not-allowed", "the name is judged first" },
    /* rules */
    { "CONNECT ruled.acme.test:443", "rule-needs-plain", "a tunnel hides what rules are about" },
    { "CONNECT ruled.acme.test:80", "", "what is read can be judged" },
    { "CONNECT x.ruled.acme.test:443", "rule-needs-plain", "a suffix rule" },
    { "GET http://ruled.acme.test/v1/x", "", "method and path" },
    { "GET http://ruled.acme.test/v2", "path-not-allowed", "no path" },
    { "POST http://ruled.acme.test/v2", "", "the rule for the suffix takes any path" },
    { "PUT http://ruled.acme.test/v1", "path-not-allowed", "its method is admitted for /s alone" },
    { "PUT http://ruled.acme.test/s", "", "any method there" },
    { "GET http://ruled.acme.test/v1/../x", "path-ambiguous", "dots" },
    { "POST http://ruled.acme.test/a/../x", "path-ambiguous", "even where any path would do" },
    { "GET http://ruled.acme.test/s/a%2fb", "", "that rule takes encoded slashes" },
    { "GET http://ruled.acme.test/v1/a%2fb", "path-ambiguous", "that one does not" },
    { "GET http://ruled.acme.test/s/a%2f..%2fb", "path-ambiguous", "nor any that hide dots" },
    { "GET http://x.ruled.acme.test/", "method-not-allowed", "only POST below" },
    { "POST http://x.ruled.acme.test/a/../b", "", "no rule speaks of paths here" },
    { "GET http://read.acme.test/a//b", "", "nor here" },
    { "PUT http://read.acme.test/", "method-not-allowed", "no rule's method" },
    { "get http://read.acme.test/", "method-not-allowed", "methods have a letter case" },
    { "GET http://a.acme.test/a/../b", "", "a host without rules: the path goes on as it is" },
    /* credentials over plaintext */
    { "GET http://secret.plain.acme.test/", "plaintext-credential", "it may not leave in clear" },
    { "GET https://secret.plain.acme.test/", "", "https stays TLS" },
    { "GET http://b.plain.acme.test/", "", "x-open may" },
    { "CONNECT secret.plain.acme.test:80", "", "the requests inside are judged one by one" },
    /* literals and localhost */
    { "GET http://169.254.169.254/", "literal:link-local", "listed, and screened all the same" },
    { "CONNECT 127.0.0.1:8443", "literal:loopback", "the same for a tunnel" },
    { "CONNECT 10.0.0.5:443", "", "exempt" },
    { "CONNECT [::ffff:10.0.0.5]:443", "", "in another spelling" },
    { "CONNECT [2606:4700:4700::1111]:443", "", "public" },
    { "CONNECT [::1]:8443", "not-allowed", "not listed: the policy comes first" },
    { "CONNECT localhost:8443", "resolved:loopback", "a name, refused without a query" },
    { "GET http://x.localhost:8443/", "not-allowed", "not listed" },
    { "GET http://lifted.localhost:8080/", "", "loopback, when a range names it" },
    /* loop, before policy */
    { "GET http://127.0.0.1:3128/", "loop", "our own listener" },
    { "GET http://127.0.0.2:3128/", "loop", "all of 127/8 may lead to it" },
    { "GET http://localhost.:3128/", "loop", "its name" },
    { "GET http://x.LOCALHOST:3128/", "loop", "any of its names" },
    { "CONNECT [::1]:3128", "loop", "the other family" },
    { "CONNECT 0.0.0.0:3128", "loop", "unspecified is this host" },
    { "CONNECT [::]:3128", "loop", "unspecified is this host" },
    { "CONNECT [::ffff:127.0.0.1]:3128", "loop", "in another spelling" },
    { "CONNECT 45.33.32.156:9464", "loop", "a wildcard is every address" },
    { "CONNECT 45.33.32.156:3128", "not-allowed", "where nothing of ours listens" },
    { "GET http://10.9.9.9/", "loop", "80 is named, 443 would be dialled" },
    { "CONNECT 10.9.9.9:80", "loop", "the same" },
    { "GET http://10.9.9.8/", "loop", "443 would be dialled, 80 is named" },
    { "GET http://a.acme.test:3128/", "", "names are judged by what they resolve to" },
};

static void requests_are_judged(void **state)
{
    struct built built = the_policy();
    (void)state;
    for (size_t i = 0; i < GW_COUNT(verdicts); i++) {
        const char *right = verdicts[i].refusal;
        struct gw_verdict verdict;
        char code[GW_REASON_CODE_MAX];
        struct gw_ask ask = ask_of(verdicts[i].ask);
        gw_decide(&built.image, &own, &ask, NULL, &verdict);
        gw_refusal_print(verdict.refusal, code, sizeof code);
        if (strcmp(code, right) != 0)
            fail_msg("%s: \"%s\", not \"%s\": %s", verdicts[i].ask, code, right, verdicts[i].why);
        if (verdict.refusal.reason != GW_REASON_NONE)
            assert_int_equal(verdict.credential_count, 0);
    }
    free(built.bytes);
}

static void a_tunnel_names_its_port(void **state)
{
    struct built built = the_policy();
    struct gw_ask ask = { .kind = GW_ASK_TUNNEL, .authority = authority("a.acme.test") };
    struct gw_verdict verdict;
    (void)state;
    gw_decide(&built.image, NULL, &ask, NULL, &verdict);
    assert_int_equal(verdict.refusal.reason, GW_REASON_BAD_PORT);
    free(built.bytes);
}

/* Decision 14.3, row by row. */
static void what_is_dialled_follows_the_table(void **state)
{
    static const struct {
        const char *ask;
        uint16_t named, dialled;
        bool tls, as_http;
    } cases[] = {
        { "GET http://a.acme.test/", 80, 443, true, false },
        { "GET http://a.acme.test:80/", 80, 443, true, false },
        { "GET http://a.plain.acme.test/", 80, 80, false, false },
        { "GET http://a.acme.test:8443/", 8443, 8443, true, false },
        { "GET http://a.plain.acme.test:8443/", 8443, 8443, false, false },
        { "GET https://a.acme.test/", 443, 443, true, false },
        { "GET https://a.acme.test:80/", 80, 80, true, false },
        { "GET https://a.plain.acme.test:8443/", 8443, 8443, true, false },
        { "CONNECT a.acme.test:80", 80, 443, true, true },
        { "CONNECT a.plain.acme.test:80", 80, 80, false, true },
        { "CONNECT a.acme.test:8080", 8080, 8080, true, true },
        { "CONNECT a.plain.acme.test:8080", 8080, 8080, false, true },
        { "CONNECT a.acme.test:443", 443, 443, false, false },
        { "CONNECT a.plain.acme.test:443", 443, 443, false, false },
        { "CONNECT a.acme.test:8443", 8443, 8443, false, false },
    };
    struct built built = the_policy();
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ask ask = ask_of(cases[i].ask);
        struct gw_verdict verdict;
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        if (verdict.refusal.reason != GW_REASON_NONE || verdict.named_port != cases[i].named
            || verdict.dial_port != cases[i].dialled || verdict.tls != cases[i].tls
            || verdict.read_as_http != cases[i].as_http)
            fail_msg("%s: named %u, dials %u, tls %d, as http %d", cases[i].ask, verdict.named_port,
                     verdict.dial_port, verdict.tls, verdict.read_as_http);
    }
    free(built.bytes);
}

static void credentials_go_to_their_host_and_no_other(void **state)
{
    static const struct {
        const char *ask, *names;
    } cases[] = {
        { "GET http://llm.acme.test/", "token open" },
        { "GET http://LLM.acme.test./", "token open" },
        { "GET http://x.llm.acme.test/", "open" },
        { "GET http://api.acme.test/", "open" },
        { "GET http://b.plain.acme.test/", "open" },
        { "GET http://both.example/", "" },
        { "CONNECT llm.acme.test:443", "" },
        { "CONNECT llm.acme.test:80", "" },
    };
    struct built built = the_policy();
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ask ask = ask_of(cases[i].ask);
        struct gw_verdict verdict;
        char names[64] = "";
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        assert_int_equal(verdict.refusal.reason, GW_REASON_NONE);
        for (uint32_t k = 0; k < verdict.credential_count; k++) {
            struct gw_slice name = gw_image_credential(&built.image, verdict.credentials[k]).name;
            strcat(names, k == 0 ? "" : " ");
            strncat(names, name.data, name.length);
        }
        if (strcmp(names, cases[i].names) != 0)
            fail_msg("%s: \"%s\"", cases[i].ask, names);
    }
    free(built.bytes);
}

static void the_nearest_ca_is_used_with_tls_alone(void **state)
{
    static const struct {
        const char *ask, *ca;
    } cases[] = {
        { "GET http://a.ca.acme.test/", "near" }, { "GET http://b.ca.acme.test/", "wide" },
        { "GET http://ca.acme.test/", "wide" },   { "GET http://other.acme.test/", NULL },
        { "CONNECT a.ca.acme.test:80", "near" },  { "CONNECT a.ca.acme.test:443", NULL },
    };
    struct built built = the_policy();
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ask ask = ask_of(cases[i].ask);
        struct gw_verdict verdict;
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        assert_int_equal(verdict.ca >= 0, cases[i].ca != NULL);
        if (verdict.ca >= 0)
            assert_true(gw_slice_equal(gw_image_ca(&built.image, (size_t)verdict.ca),
                                       gw_slice_of(cases[i].ca)));
    }
    free(built.bytes);
}

static void the_nearest_entry_decides_the_sni_mode(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    static const uint16_t ports[] = { 443, 8443 };
    static const struct {
        const char *entry;
        enum gw_sni_mode sni;
    } entries[] = {
        { ".acme.test", GW_SNI_DEFAULT },          { ".off.acme.test", GW_SNI_OFF },
        { "exact.off.acme.test", GW_SNI_LOG },     { ".near.off.acme.test", GW_SNI_MATCH },
        { ".off.acme.test:8443", GW_SNI_MATCH },   { "exact.off.acme.test:443", GW_SNI_MATCH },
        { "plain.off.acme.test", GW_SNI_DEFAULT },
    };
    static const struct {
        const char *ask;
        enum gw_sni_mode sni;
        const char *why;
    } cases[] = {
        { "CONNECT a.acme.test:443", GW_SNI_MATCH, "the default on 443" },
        { "CONNECT a.acme.test:8443", GW_SNI_LOG, "and elsewhere" },
        { "CONNECT a.off.acme.test:443", GW_SNI_OFF, "the longer suffix" },
        { "CONNECT a.off.acme.test:8443", GW_SNI_MATCH, "with a port before without" },
        { "CONNECT a.near.off.acme.test:443", GW_SNI_MATCH, "longer still" },
        { "CONNECT a.near.off.acme.test:8443", GW_SNI_MATCH, "longer before with a port" },
        { "CONNECT exact.off.acme.test:443", GW_SNI_MATCH, "exact, with a port" },
        { "CONNECT exact.off.acme.test:8443", GW_SNI_LOG, "exact before a suffix with a port" },
        { "CONNECT plain.off.acme.test:443", GW_SNI_MATCH, "its own default, not the suffix's" },
        { "CONNECT a.acme.test:80", GW_SNI_DEFAULT, "nothing to look at: read as HTTP" },
        { "GET http://a.acme.test/", GW_SNI_DEFAULT, "no tunnel" },
    };
    (void)state;
    MUST(gw_image_builder_ports(b, ports, GW_COUNT(ports), &err));
    for (size_t i = 0; i < GW_COUNT(entries); i++)
        MUST(gw_image_builder_allow(b, gw_slice_of(entries[i].entry), entries[i].sni, &err));
    struct built built = build(b);
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ask ask = ask_of(cases[i].ask);
        struct gw_verdict verdict;
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        if (verdict.refusal.reason != GW_REASON_NONE || verdict.sni != cases[i].sni)
            fail_msg("%s: %d: %s", cases[i].ask, verdict.sni, cases[i].why);
    }
    free(built.bytes);
}

static void the_policys_own_mode_beats_the_default(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_ALLOW_ALL);
    struct gw_ask ask = ask_of("CONNECT a.test:443");
    struct gw_verdict verdict;
    (void)state;
    gw_image_builder_sni(b, GW_SNI_OFF);
    MUST(gw_image_builder_allow(b, GW_SLICE("b.test"), GW_SNI_MATCH, &err));
    struct built built = build(b);
    gw_decide(&built.image, NULL, &ask, NULL, &verdict);
    assert_int_equal(verdict.sni, GW_SNI_OFF);
    ask = ask_of("CONNECT b.test:443");
    gw_decide(&built.image, NULL, &ask, NULL, &verdict);
    assert_int_equal(verdict.sni, GW_SNI_MATCH);
    free(built.bytes);
}

static void allow_all_has_ports_and_a_screen(void **state)
{
    struct built built = build(gw_image_builder_new(GW_POLICY_ALLOW_ALL));
    static const char *const cases[][2] = {
        { "GET http://any.test/", "" },
        { "CONNECT any.test:443", "" },
        { "CONNECT any.test:22", "port-not-allowed" },
        { "GET http://10.0.0.1/", "literal:private" },
        { "GET http://localhost/", "resolved:loopback" },
        { "GET http://127.0.0.1/", "literal:loopback" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ask ask = ask_of(cases[i][0]);
        struct gw_verdict verdict;
        char code[GW_REASON_CODE_MAX];
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        gw_refusal_print(verdict.refusal, code, sizeof code);
        assert_string_equal(code, cases[i][1]);
    }
    free(built.bytes);
}

/* ---- trace ------------------------------------------------------------------------------- */

struct heard {
    char text[1024];
};

static void hear(void *context, const char *step, const char *finding)
{
    struct heard *heard = context;
    size_t length = strlen(heard->text);
    assert_null(strchr(finding, '\n'));
    snprintf(heard->text + length, sizeof heard->text - length, "%s: %s\n", step, finding);
}

static void each_step_is_told(void **state)
{
    static const struct {
        const char *ask, *told;
    } cases[] = {
        { "GET http://llm.acme.test/", "target: llm.acme.test port 80, dials port 443 with TLS\n"
                                       "policy: static, 11 entries\n"
                                       "allowlist: matched by .acme.test\n"
                                       "port: 443 is admitted\n"
                                       "credentials: token\n"
                                       "credentials: open\n" },
        { "GET http://evil.test/", "target: evil.test port 80, dials port 443 with TLS\n"
                                   "policy: static, 11 entries\n"
                                   "allowlist: no entry matches evil.test\n" },
        { "CONNECT 10.0.0.5:443", "target: 10.0.0.5 port 443, an opaque tunnel to port 443\n"
                                  "policy: static, 11 entries\n"
                                  "allowlist: matched by 10.0.0.5\n"
                                  "port: 443 is admitted\n"
                                  "sni: match\n"
                                  "screen: 10.0.0.5 is private: lifted by 10.0.0.5\n" },
        { "CONNECT 169.254.169.254:80",
          "target: 169.254.169.254 port 80, read as HTTP; dials port 443 with TLS\n"
          "policy: static, 11 entries\n"
          "allowlist: matched by 169.254.169.254\n"
          "port: 443 is admitted\n"
          "screen: 169.254.169.254 is link-local: refused\n" },
        { "GET http://ruled.acme.test/v2\n%",
          "target: ruled.acme.test port 80, dials port 443 with TLS\n"
          "policy: static, 11 entries\n"
          "allowlist: matched by .acme.test\n"
          "port: 443 is admitted\n"
          "rule: the path /v2%0A%25 can be read in two ways\n" },
    };
    struct built built = the_policy();
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct heard heard = { "" };
        struct gw_trace trace = { hear, &heard };
        struct gw_ask ask = ask_of(cases[i].ask);
        struct gw_verdict verdict, silent;
        gw_decide(&built.image, &own, &ask, &trace, &verdict);
        assert_string_equal(heard.text, cases[i].told);
        gw_decide(&built.image, &own, &ask, NULL, &silent);
        assert_int_equal(verdict.refusal.reason, silent.refusal.reason);
    }
    free(built.bytes);
}

static void the_screen_and_the_dial_are_told(void **state)
{
    struct built built = the_policy();
    struct heard heard = { "" };
    struct gw_trace trace = { hear, &heard };
    struct gw_authority asked = authority("lifted.localhost");
    struct gw_ip_address addresses[] = { address("127.0.0.1"), address("2606:4700::1") };
    struct gw_dialable_set *set;
    (void)state;
    (void)gw_dialable_set_make(&built.image, NULL, &asked.host, 443, addresses, 2, &trace, &set,
                               NULL);
    gw_dialable_set_free(set);
    assert_string_equal(heard.text, "screen: 127.0.0.1 is loopback: lifted by lifted.localhost\n"
                                    "screen: 2606:4700::1 is global: passes\n"
                                    "dial: 2606:4700::1 port 443\n"
                                    "dial: 127.0.0.1 port 443\n");
    free(built.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_judged),
        cmocka_unit_test(a_tunnel_names_its_port),
        cmocka_unit_test(what_is_dialled_follows_the_table),
        cmocka_unit_test(credentials_go_to_their_host_and_no_other),
        cmocka_unit_test(the_nearest_ca_is_used_with_tls_alone),
        cmocka_unit_test(the_nearest_entry_decides_the_sni_mode),
        cmocka_unit_test(the_policys_own_mode_beats_the_default),
        cmocka_unit_test(allow_all_has_ports_and_a_screen),
        cmocka_unit_test(each_step_is_told),
        cmocka_unit_test(the_screen_and_the_dial_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
