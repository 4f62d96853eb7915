/* tests/unit/common/digest_test.c - the vectors of FIPS 180-4. */
#include "gateway/common/digest.h"

#include "support.h"

static void digests_are_sha256(void **state)
{
    static const struct {
        const char *bytes, *hexadecimal;
    } cases[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_digest digest;
        char text[GW_DIGEST_TEXT];
        gw_digest_of(gw_slice_of(cases[i].bytes), &digest);
        gw_digest_print(&digest, text);
        assert_string_equal(text, cases[i].hexadecimal);
    }
}

static void equal_is_every_byte(void **state)
{
    struct gw_digest a, b;
    (void)state;
    gw_digest_of(GW_SLICE("a"), &a);
    b = a;
    assert_true(gw_digest_equal(&a, &b));
    b.bytes[GW_DIGEST_BYTES - 1] ^= 1;
    assert_false(gw_digest_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_sha256),
        cmocka_unit_test(equal_is_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
