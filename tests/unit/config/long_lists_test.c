/* tests/unit/config/long_lists_test.c - lists of 200,000 entries, in the file and beside it
 * (CONF-15). */
#define _GNU_SOURCE /* open_memstream, mkstemp */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_support.h"
#include "policy/decision.h"

#define EACH 100000

static bool admits(const struct gw_settings_policy *policy, const char *host)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image image;
    struct gw_verdict verdict;
    struct gw_ask ask = { .kind = GW_ASK_TUNNEL, .authority.port = 443 };
    assert_true(gw_image_open(policy->image, policy->image_length, &image, &err));
    assert_int_equal(gw_host_parse(gw_slice_of(host), &ask.authority.host), GW_REASON_NONE);
    gw_decide(&image, NULL, &ask, NULL, &verdict);
    return verdict.refusal.reason == GW_REASON_NONE;
}

static void check(const struct gw_settings_policy *policy)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image image;
    assert_true(gw_image_open(policy->image, policy->image_length, &image, &err));
    assert_int_equal(gw_image_host_count(&image), 2 * EACH);
    assert_true(admits(policy, "h0.exact.test"));
    assert_true(admits(policy, "h99999.exact.test"));
    assert_false(admits(policy, "h100000.exact.test"));
    assert_false(admits(policy, "a.h0.exact.test"));
    assert_true(admits(policy, "d0.dotted.test"));
    assert_true(admits(policy, "x.d99999.dotted.test"));
    assert_false(admits(policy, "d100000.dotted.test"));
}

static void a_list_in_the_file(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    fputs("version: 1\n"
          "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"
          "policies:\n"
          "  p:\n"
          "    kind: static\n"
          "    allow_inward_for: [h99999.exact.test, d7.dotted.test]\n"
          "    allowed_hosts:\n",
          out);
    for (int i = 0; i < EACH; i++)
        fprintf(out, "      - h%d.exact.test\n      - .d%d.dotted.test\n", i, i);
    fclose(out);
    struct gw_settings *settings = support_load(text);
    check(&settings->policies[0]);
    gw_settings_free(settings);
    free(text);
}

static void a_list_beside_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/namzu-gw-hosts-XXXXXX", yaml[512];
    int file = mkstemp(path);
    FILE *out = fdopen(file, "w");
    assert_non_null(out);
    for (int i = 0; i < EACH; i++)
        fprintf(out, "h%d.exact.test\r\n.d%d.dotted.test # below too\r\n\r\n", i, i);
    fclose(out);
    snprintf(yaml, sizeof yaml,
             "version: 1\n"
             "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"
             "policies: {p: {kind: static, allowed_hosts_file: %s}}\n",
             path);
    struct gw_settings *settings = support_load(yaml);
    check(&settings->policies[0]);
    gw_settings_free(settings);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_in_the_file),
        cmocka_unit_test(a_list_beside_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
