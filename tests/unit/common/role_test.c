/* tests/unit/common/role_test.c */
#include "gateway/common/role.h"

#include "support.h"

static void every_role_prints_and_parses_back(void **state)
{
    (void)state;
    for (enum gw_role role = GW_ROLE_LAUNCHER; role < GW_ROLES; role++) {
        enum gw_role parsed;
        assert_true(gw_role_parse(gw_slice_of(gw_role_text(role)), &parsed));
        assert_int_equal(parsed, role);
    }
    enum gw_role parsed;
    assert_false(gw_role_parse(GW_SLICE("prox"), &parsed));
    assert_false(gw_role_parse(GW_SLICE(""), &parsed));
}

static void only_a_user_that_is_not_root_is_taken(void **state)
{
    static const char *const refused[] = {
        "",    ":",      "0:1",           "1:0",  "1",     "1:2:3",
        "a:b", "-1:100", "1:99999999999", "1:+2", "01:02", "4294967295:1",
    };
    (void)state;
    assert_false(gw_role_confinement().change_user);
    for (size_t i = 0; i < GW_COUNT(refused); i++)
        if (gw_role_set_user(gw_slice_of(refused[i])))
            fail_msg("taken: %s", refused[i]);
    assert_false(gw_role_confinement().change_user);
    assert_true(gw_role_set_user(GW_SLICE("61184:61185")));
    assert_true(gw_role_confinement().change_user);
    assert_int_equal(gw_role_confinement().uid, 61184);
    assert_int_equal(gw_role_confinement().gid, 61185);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_role_prints_and_parses_back),
        cmocka_unit_test(only_a_user_that_is_not_root_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
