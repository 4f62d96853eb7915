/* tests/unit/proxy/credential_test.c - names that an application reads as one, and values that must
 * not come back. Rows refer to spec/specification 9.7 and cases/case list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/proxy/credential.h"

static void names_that_fold_together_are_twins(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool twins;
        const char *why;
    } rows[] = {
        { "authorization", "authorization", true, "the same" },
        { "authorization", "AUTHORIZATION", true, "CRED-03: any case" },
        { "x-api-key", "X_Api_Key", true, "C15: '_' reads as '-'" },
        { "x-api-key", "x-api_key", true, "C15: mixed" },
        { "x_api_key", "x-api-key", true, "either way" },
        { "x-api-key", "xapikey", false, "another name" },
        { "x-api-key", "x-api-keys", false, "longer" },
        { "x-api-key", "x-api-ke", false, "shorter" },
        { "x-api-key", "x.api.key", false, "a dot is not folded" },
        { "", "", true, "nothing" },
        { "", "x", false, "nothing and something" },
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        if (gw_header_is_twin(gw_slice_of(rows[i].a), gw_slice_of(rows[i].b)) != rows[i].twins)
            fail_msg("%s, %s: %s", rows[i].a, rows[i].b, rows[i].why);
    /* No other pair of bytes folds together. */
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            char left = (char)a, right = (char)b;
            bool letters = (a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z';
            bool dashes = (a == '-' || a == '_') && (b == '-' || b == '_');
            if (gw_header_is_twin((struct gw_slice){ &left, 1 }, (struct gw_slice){ &right, 1 })
                != (a == b || letters || dashes))
                fail_msg("bytes %02x and %02x", a, b);
        }
}

static void a_stamp_owns_its_twins(void **state)
{
    (void)state;
    static const struct gw_stamp stamps[] = {
        { .header = { "authorization", 13 } },
        { .header = { "x-api-key", 9 } },
    };
    assert_true(gw_stamps_name(stamps, 2, GW_SLICE("Authorization")));
    assert_true(gw_stamps_name(stamps, 2, GW_SLICE("X_API_KEY")));
    assert_false(gw_stamps_name(stamps, 1, GW_SLICE("X_API_KEY")));
    assert_false(gw_stamps_name(stamps, 2, GW_SLICE("X-Api-Keys")));
    assert_false(gw_stamps_name(NULL, 0, GW_SLICE("Authorization")));
}

static void masked_values_are_gone(void **state)
{
    (void)state;
    static const struct {
        const char *value, *bare, *text, *expected, *why;
    } rows[] = {
        { "Bearer abcdef", "abcdef", "x: Bearer abcdef\r\n", "x: *************\r\n", "whole" },
        { "Bearer abcdef", "abcdef", "x: abcdef;Bearer ab\r\n", "x: ******;Bearer ab\r\n", "bare" },
        { "abcdef", "abcdef", "abcdef", "******", "nothing around it" },
        { "abcdef", "abcdef", "abcdefabcdefabcde", "************abcde", "in a row" },
        { "aaaaaa", "aaaaaa", "aaaaaaaaa", "******aaa", "overlapping: none is whole any more" },
        { "abcdef", "abcdef", "ABCDEF", "ABCDEF", "exact bytes" },
        { "Basic dTpwdw==", "u:password", "a dTpwdw== u:password", "a ******** **********",
          "what is sent, and what is in it" },
        { "short", "short", "short", "short", "too short to be told from other text" },
        { "Bearer x", "x", "x Bearer x", "x ********", "short, but not the whole of it" },
        { "abcdef", "abcdef", "", "", "nothing" },
        { "abcdef", "abcdef", "abcde", "abcde", "shorter than the value" },
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        size_t length = strlen(rows[i].text);
        struct gw_stamp stamp = { .header = GW_SLICE("authorization"),
                                  .credential = gw_credential_new(1, gw_slice_of(rows[i].value),
                                                                  gw_slice_of(rows[i].bare)) };
        char *copy = malloc(length == 0 ? 1 : length); /* the exact size: ASan */
        assert_true(copy != NULL && stamp.credential != NULL);
        memcpy(copy, rows[i].text, length);
        gw_stamps_mask(&stamp, 1, copy, length);
        if (memcmp(copy, rows[i].expected, length) != 0)
            fail_msg("%s: got '%.*s'", rows[i].why, (int)length, copy);
        free(copy);
        gw_credential_unref(stamp.credential);
    }
}

static void every_stamp_is_masked_and_none_masks_nothing(void **state)
{
    (void)state;
    struct gw_stamp stamps[2] = {
        { .credential = gw_credential_new(1, GW_SLICE("first-1"), GW_SLICE("first-1")) },
        { .credential = gw_credential_new(2, GW_SLICE("second-2"), GW_SLICE("second-2")) },
    };
    char text[] = "a first-1 b second-2 c";
    gw_stamps_mask(stamps, 0, text, strlen(text));
    assert_string_equal(text, "a first-1 b second-2 c");
    gw_stamps_mask(stamps, 2, text, strlen(text));
    assert_string_equal(text, "a ******* b ******** c");
    gw_credential_unref(stamps[0].credential);
    gw_credential_unref(stamps[1].credential);
}

/* It keeps a copy: the caller wipes its own. */
static void a_value_is_held_until_the_last_reference(void **state)
{
    (void)state;
    char value[] = "Bearer abcdef", bare[] = "abcdef";
    struct gw_credential *credential = gw_credential_new(7, gw_slice_of(value), gw_slice_of(bare));
    assert_non_null(credential);
    memset(value, 0, sizeof value);
    memset(bare, 0, sizeof bare);
    assert_ptr_equal(gw_credential_ref(credential), credential);
    gw_credential_unref(credential);
    assert_int_equal(credential->id, 7);
    assert_true(gw_slice_equal(gw_secret_reveal(&credential->value), GW_SLICE("Bearer abcdef")));
    assert_true(gw_slice_equal(gw_secret_reveal(&credential->bare), GW_SLICE("abcdef")));
    gw_credential_unref(credential);
    gw_credential_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_fold_together_are_twins),
        cmocka_unit_test(a_stamp_owns_its_twins),
        cmocka_unit_test(masked_values_are_gone),
        cmocka_unit_test(every_stamp_is_masked_and_none_masks_nothing),
        cmocka_unit_test(a_value_is_held_until_the_last_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
