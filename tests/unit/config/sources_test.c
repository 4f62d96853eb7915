/* tests/unit/config/sources_test.c - what a configuration takes from other files: name servers, CA
 * certificates; and what an operator is told at start. */
#define _GNU_SOURCE /* mkstemp */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_support.h"
#include "gateway/config/ca_file.h"
#include "gateway/config/near_miss.h"
#include "gateway/config/resolv_conf.h"

#define DATA GW_TEST_DATA "/config"
#define MINIMAL                         \
    "version: 1\n"                      \
    "policies: {p: {kind: deny-all}}\n" \
    "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"

/* ---- name servers --------------------------------------------------------------------------- */

static const struct {
    const char *text, *servers, *why;
} resolv_confs[] = {
    { "nameserver 192.0.2.1\nnameserver 2001:db8::1\n", "192.0.2.1 2001:db8::1 ", "both families" },
    { "nameserver\t192.0.2.1 # c\r\n", "192.0.2.1 ", "a tab, a comment, CRLF" },
    { "#nameserver 192.0.2.1\n;nameserver 192.0.2.2\nnameserver 192.0.2.3", "192.0.2.3 ",
      "comments; no line end at the end" },
    { "nameservers 192.0.2.1\nnameserver\nnameserver fe80::1%eth0\nnameserver dns.test\n", "",
      "none that can be used" },
    { "nameserver ::ffff:192.0.2.1\n", "192.0.2.1 ", "mapped" },
    { "", "", "an empty file" },
};

static void name_servers_come_from_the_resolver_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(resolv_confs); i++) {
        char path[] = "/tmp/namzu-gw-resolv-XXXXXX", found[256] = "";
        struct gw_endpoint *servers = NULL;
        struct gw_error err = GW_ERROR_NONE;
        size_t count = 0, length = strlen(resolv_confs[i].text);
        int file = mkstemp(path);
        assert_int_equal(write(file, resolv_confs[i].text, length), length);
        close(file);
        bool fine = gw_resolv_conf_read(path, &servers, &count, &err);
        unlink(path);
        for (size_t j = 0; j < count; j++) {
            gw_ip_address_print(&servers[j].address, found + strlen(found), 64);
            strcat(found, " ");
            assert_int_equal(servers[j].port, 53);
        }
        free(servers);
        if (strcmp(found, resolv_confs[i].servers) != 0 || fine != (found[0] != '\0')
            || fine != (err.code == GW_ERR_NONE))
            fail_msg("%s: %s", resolv_confs[i].why, found);
    }
}

static struct gw_settings *parse(struct gw_config_sources sources, const char *yaml,
                                 struct gw_config_errors *errors)
{
    return gw_config_parse_with("x.yaml", gw_slice_of(yaml), &sources, errors);
}

static void what_the_system_does_not_have_is_an_error_with_a_remedy(void **state)
{
    (void)state;
    struct gw_config_sources sources;
    struct gw_config_errors errors;
    support_sources(&sources);
    sources.resolv_conf = DATA "/none.conf";
    sources.ca_file = DATA "/none.pem";
    assert_null(parse(sources, MINIMAL, &errors));
    assert_int_equal(errors.count, 2);
    assert_non_null(strstr(errors.list[0].text, "none.conf: No such file"));
    assert_non_null(strstr(errors.list[0].text, "gateway.dns.servers"));
    assert_non_null(strstr(errors.list[1].text, "none.pem: No such file"));
    assert_non_null(strstr(errors.list[1].text, "package ca-certificates"));
    assert_non_null(strstr(errors.list[1].text, "gateway.tls.ca_file"));
    gw_config_errors_fini(&errors);
}

static void what_the_file_names_itself_is_not_asked_of_the_system(void **state)
{
    (void)state;
    struct gw_config_sources sources;
    struct gw_config_errors errors;
    support_sources(&sources);
    sources.resolv_conf = sources.ca_file = DATA "/none";
    struct gw_settings *settings =
        parse(sources,
              "gateway: {dns: {servers: [192.0.2.1]}, tls: {ca_file: " DATA "/ca.pem}}\n" MINIMAL,
              &errors);
    assert_non_null(settings);
    assert_int_equal(settings->dns.server_count, 1);
    assert_int_equal(settings->ca_count, 1);
    gw_settings_free(settings);
    gw_config_errors_fini(&errors);
}

/* ---- certificates --------------------------------------------------------------------------- */

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"
#define LINE "MIIBlDCCATugAwIBAgIUfcQecDJPkMZxwZwmuYC2gtsNAgIwCgYIKoZIzj0EAwIw\n"

static const struct {
    const char *pem;
    size_t certificates;
    const char *error, *why;
} bundles[] = {
    { BEGIN LINE LINE END, 1, "", "one" },
    { "# some CA\r\n" BEGIN LINE LINE END "\n" BEGIN LINE LINE END, 2, "", "two, and comments" },
    { "", 0, "it holds no certificate (-----BEGIN CERTIFICATE-----)", "nothing" },
    { BEGIN LINE LINE, 0, "the certificate that begins on line 1 is damaged", "cut short" },
    { BEGIN LINE "!!\n" LINE END, 0, "the certificate that begins on line 1 is damaged",
      "no base64" },
    { BEGIN LINE LINE END BEGIN END, 0, "the certificate that begins on line 5 is damaged",
      "an empty one behind a good one" },
    { BEGIN "xx" LINE LINE END, 0, "the certificate that begins on line 1 is damaged",
      "what is no DER" },
    { BEGIN LINE LINE END "-----BEGIN EC PRIVATE "
                          "KEY-----\n",
      0, "line 5 begins a private key, which does not belong among CA certificates", "a key" },
};

static void a_bundle_is_told_from_another_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(bundles); i++) {
        struct gw_error err = GW_ERROR_NONE;
        size_t count = gw_ca_file_check(gw_slice_of(bundles[i].pem), &err);
        if (count != bundles[i].certificates || strcmp(err.text, bundles[i].error) != 0)
            fail_msg("%s: %zu, %s", bundles[i].why, count, err.text);
    }
}

static void the_same_certificates_are_kept_once(void **state)
{
    (void)state;
    struct gw_settings *settings =
        support_load("version: 1\n"
                     "policies:\n"
                     "  p:\n"
                     "    kind: static\n"
                     "    allowed_hosts: [a.test, b.test, c.test]\n"
                     "    upstream_tls:\n"
                     "      - {host: a.test, ca_file: $DATA/ca.pem}\n"
                     "      - {host: b.test, ca_file: $DATA/ca-other.pem}\n"
                     "      - {host: c.test, ca_file: $DATA/ca-other.pem}\n"
                     "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n");
    assert_int_equal(settings->ca_count, 2);
    assert_int_equal(strlen(settings->cas[0].id), GW_DIGEST_TEXT - 1);
    assert_int_equal(strlen(settings->cas[0].pem), settings->cas[0].length);
    struct gw_image image;
    struct gw_error err = GW_ERROR_NONE;
    assert_true(gw_image_open(settings->policies[0].image, settings->policies[0].image_length,
                              &image, &err));
    assert_int_equal(gw_image_ca_count(&image), 2);
    gw_settings_free(settings);
}

/* ---- warnings ------------------------------------------------------------------------------- */

static void an_operator_hears_of_what_is_open_or_idle(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "policy open: allow-all admits every host; only addresses are screened",
        "policy none: static, but without an entry: it admits nothing",
        "network n: it listens on every address, and whoever reaches one has policy open",
        "credential c: no policy names it",
        "policy none: no network has it",
        "policy empty: no network has it",
    };
    struct gw_settings *settings =
        support_load("version: 1\n"
                     "credentials: {c: {host: a.test, header: x, value: {env: A}}}\n"
                     "policies:\n"
                     "  open: {kind: allow-all}\n"
                     "  none: {kind: static}\n"
                     "  empty: {kind: static, allowed_hosts: []}\n"
                     "networks: {n: {listen: 0.0.0.0:3128, policy: open}}\n");
    assert_int_equal(settings->warning_count, GW_COUNT(expected));
    for (size_t i = 0; i < GW_COUNT(expected); i++)
        assert_string_equal(settings->warnings[i], expected[i]);
    gw_settings_free(settings);
}

static void an_empty_allowlist_and_none_are_the_same_policy(void **state)
{
    (void)state;
    struct gw_settings *settings =
        support_load("version: 1\n"
                     "policies:\n"
                     "  a: {kind: static, allowed_hosts: []}\n"
                     "  b: {kind: static}\n"
                     "  c:\n"
                     "    kind: static\n"
                     "    allowed_hosts:\n"
                     "  d: {kind: static, allowed_hosts_file: "
                     "$DATA/hosts-empty.txt}\n"
                     "networks: {n: {listen: 127.0.0.1:1, policy: a}}\n");
    for (size_t i = 0; i < settings->policy_count; i++) {
        struct gw_image image;
        struct gw_error err = GW_ERROR_NONE;
        assert_true(gw_image_open(settings->policies[i].image, settings->policies[i].image_length,
                                  &image, &err));
        assert_int_equal(gw_image_kind(&image), GW_POLICY_STATIC);
        assert_int_equal(gw_image_host_count(&image), 0);
    }
    gw_settings_free(settings);
}

/* ---- near misses ---------------------------------------------------------------------------- */

static const struct {
    const char *word, *best;
} misses[] = {
    { "alow", "allowed_hosts" },
    { "idel_timeout", "idle_timeout" },
    { "allowed-hosts", "allowed_hosts" },
    { "Allowed_Hosts", "allowed_hosts" },
    { "idle", "idle_timeout" },
    { "zzz", NULL },
    { "", NULL },
    { "x", NULL },
};

static void the_nearest_word_is_offered(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(misses); i++) {
        struct gw_near_miss miss;
        gw_near_miss_init(&miss, gw_slice_of(misses[i].word));
        gw_near_miss_offer(&miss, "allowed_hosts_file");
        gw_near_miss_offer(&miss, "allowed_hosts");
        gw_near_miss_offer(&miss, "idle_timeout");
        gw_near_miss_offer(&miss,
                           "idle_timeout_of_a_name_that_is_longer_than_any_word_is_looked_at");
        if (misses[i].best == NULL ? miss.best != NULL
                                   : miss.best == NULL || strcmp(miss.best, misses[i].best) != 0)
            fail_msg("%s: %s", misses[i].word, miss.best == NULL ? "nothing" : miss.best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_servers_come_from_the_resolver_file),
        cmocka_unit_test(what_the_system_does_not_have_is_an_error_with_a_remedy),
        cmocka_unit_test(what_the_file_names_itself_is_not_asked_of_the_system),
        cmocka_unit_test(a_bundle_is_told_from_another_file),
        cmocka_unit_test(the_same_certificates_are_kept_once),
        cmocka_unit_test(an_operator_hears_of_what_is_open_or_idle),
        cmocka_unit_test(an_empty_allowlist_and_none_are_the_same_policy),
        cmocka_unit_test(the_nearest_word_is_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
