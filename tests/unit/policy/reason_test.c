/* tests/unit/policy/reason_test.c */
#include "policy/reason.h"

#include <ctype.h>
#include <string.h>

#include "fixture.h"

/* Codes go into headers, logs and metric labels: one spelling, no two alike. */
static void every_code_is_a_token_of_its_own(void **state)
{
    (void)state;
    for (int a = 1; a < GW_REASONS; a++) {
        const char *code = gw_reason_code((enum gw_reason)a);
        assert_true(code[0] != '\0');
        for (const char *at = code; *at != '\0'; at++)
            assert_true(islower((unsigned char)*at) || *at == '-');
        for (int b = a + 1; b < GW_REASONS; b++)
            assert_string_not_equal(code, gw_reason_code((enum gw_reason)b));
    }
}

static void every_reason_has_a_text_and_a_fitting_status(void **state)
{
    (void)state;
    for (int i = 1; i < GW_REASONS; i++) {
        enum gw_reason reason = (enum gw_reason)i;
        int status = gw_reason_status(reason);
        assert_true(status == 0 || (status >= 400 && status < 600));
        /* What is answered is explained; what is only logged has no Proxy-Status of its own. */
        assert_true(gw_reason_text(reason)[0] != '\0');
        assert_int_equal(gw_reason_proxy_status(reason) != NULL, status != 0);
    }
    assert_int_equal(gw_reason_status(GW_REASON_NOT_ALLOWED), 403);
    assert_int_equal(gw_reason_status(GW_REASON_LOOP), 421);
    assert_int_equal(gw_reason_status(GW_REASON_METHOD), 405);
}

static void a_value_outside_the_table_is_nothing_and_no_crash(void **state)
{
    (void)state;
    assert_string_equal(gw_reason_code((enum gw_reason)1000), "");
    assert_string_equal(gw_reason_code(GW_REASON_NONE), "");
    assert_int_equal(gw_reason_status((enum gw_reason)1000), 0);
    assert_string_equal(gw_address_kind_text((enum gw_address_kind)1000), "unknown");
    assert_int_equal(gw_address_kind_lift((enum gw_address_kind)1000), GW_LIFT_NEVER);
}

static void only_addresses_print_their_kind(void **state)
{
    static const struct {
        struct gw_refusal refusal;
        const char *text;
    } cases[] = {
        { { GW_REASON_NOT_ALLOWED, GW_KIND_GLOBAL }, "not-allowed" },
        { { GW_REASON_RESOLVED, GW_KIND_LOOPBACK }, "resolved:loopback" },
        { { GW_REASON_LITERAL, GW_KIND_SHARED }, "literal:shared-address-space" },
        { { GW_REASON_LOOP, GW_KIND_LOOPBACK }, "loop" },
    };
    char text[GW_REASON_CODE_MAX], small[5];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        size_t length = gw_refusal_print(cases[i].refusal, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(length, strlen(text));
    }
    gw_refusal_print(cases[1].refusal, small, sizeof small);
    assert_string_equal(small, "reso");
}

static void every_refusal_fits_its_room(void **state)
{
    char text[4 * GW_REASON_CODE_MAX];
    (void)state;
    for (int reason = 0; reason < GW_REASONS; reason++)
        for (int kind = 0; kind < GW_KINDS; kind++) {
            struct gw_refusal refusal = { (enum gw_reason)reason, (enum gw_address_kind)kind };
            assert_true(gw_refusal_print(refusal, text, sizeof text) < GW_REASON_CODE_MAX);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_a_token_of_its_own),
        cmocka_unit_test(every_reason_has_a_text_and_a_fitting_status),
        cmocka_unit_test(a_value_outside_the_table_is_nothing_and_no_crash),
        cmocka_unit_test(only_addresses_print_their_kind),
        cmocka_unit_test(every_refusal_fits_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
