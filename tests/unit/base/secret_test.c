/* tests/unit/base/secret_test.c */
#include "base/secret.h"

#include <string.h>

#include "cmocka_all.h"

static void a_secret_is_a_copy(void **state)
{
    char value[] = "REAL-KEY";
    struct gw_secret secret;
    (void)state;
    assert_true(gw_secret_init(&secret, (struct gw_slice){ value, sizeof value - 1 }));
    gw_secret_wipe(value, sizeof value);
    for (size_t i = 0; i < sizeof value; i++)
        assert_int_equal(value[i], 0);
    assert_true(gw_slice_equal(gw_secret_reveal(&secret), GW_SLICE("REAL-KEY")));
    gw_secret_fini(&secret);
    assert_null(secret.data);
    assert_int_equal(gw_secret_reveal(&secret).length, 0);
    gw_secret_fini(&secret); /* twice is harmless */
}

static void any_length_is_held(void **state)
{
    static char large[3 * 4096];
    static const size_t lengths[] = { 0, 1, 4095, 4096, 4097, sizeof large };
    (void)state;
    memset(large, 'k', sizeof large);
    for (size_t i = 0; i < GW_COUNT(lengths); i++) {
        struct gw_secret secret;
        struct gw_slice value = { large, lengths[i] };
        assert_true(gw_secret_init(&secret, value));
        assert_true(gw_slice_equal(gw_secret_reveal(&secret), value));
        gw_secret_fini(&secret);
    }
}

static void comparing_needs_every_byte(void **state)
{
    (void)state;
    assert_true(gw_secret_equal(GW_SLICE("token"), GW_SLICE("token")));
    assert_false(gw_secret_equal(GW_SLICE("token"), GW_SLICE("toked")));
    assert_false(gw_secret_equal(GW_SLICE("token"), GW_SLICE("Token")));
    assert_false(gw_secret_equal(GW_SLICE("token"), GW_SLICE("toke")));
    assert_false(gw_secret_equal(GW_SLICE("token"), GW_SLICE("")));
    assert_true(gw_secret_equal(GW_SLICE(""), GW_SLICE("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_a_copy),
        cmocka_unit_test(any_length_is_held),
        cmocka_unit_test(comparing_needs_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
