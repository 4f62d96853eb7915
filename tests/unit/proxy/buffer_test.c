/* tests/unit/proxy/buffer_test.c - bytes on their way: what comes out is what went in, and a quiet
 * buffer holds no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/proxy/buffer.h"

static void expect(const struct gw_buffer *buffer, const char *text)
{
    struct gw_slice got = gw_buffer_slice(buffer);
    assert_int_equal(gw_buffer_length(buffer), strlen(text));
    assert_true(gw_slice_equal(got, gw_slice_of(text)));
}

static void a_quiet_buffer_holds_nothing(void **state)
{
    (void)state;
    struct gw_buffer buffer = { 0 };
    expect(&buffer, "");
    assert_true(gw_buffer_append(&buffer, GW_SLICE("")));
    assert_null(buffer.memory);
    gw_buffer_consume(&buffer, 0);
    assert_true(gw_buffer_append(&buffer, GW_SLICE("hello")));
    assert_non_null(buffer.memory);
    gw_buffer_consume(&buffer, 5);
    assert_null(buffer.memory);
    assert_int_equal(buffer.room, 0);
    expect(&buffer, "");
    gw_buffer_fini(&buffer);
    gw_buffer_fini(&buffer);
}

static void bytes_leave_in_order(void **state)
{
    (void)state;
    struct gw_buffer buffer = { 0 };
    assert_true(gw_buffer_append(&buffer, GW_SLICE("hello ")));
    assert_true(gw_buffer_append(&buffer, GW_SLICE("world")));
    expect(&buffer, "hello world");
    gw_buffer_consume(&buffer, 6);
    expect(&buffer, "world");
    assert_true(gw_buffer_append(&buffer, GW_SLICE("!")));
    expect(&buffer, "world!");
    gw_buffer_fini(&buffer);
}

static void reserved_room_can_be_written(void **state)
{
    (void)state;
    struct gw_buffer buffer = { 0 };
    for (size_t more = 1; more < 70000; more = 3 * more + 1) {
        char *at = gw_buffer_reserve(&buffer, more);
        assert_non_null(at);
        memset(at, 'x', more); /* all of it: ASan */
        gw_buffer_added(&buffer, more);
    }
    struct gw_slice all = gw_buffer_slice(&buffer);
    for (size_t i = 0; i < all.length; i++)
        assert_true(all.data[i] == 'x');
    /* Reserved and not used: nothing is there. */
    size_t length = gw_buffer_length(&buffer);
    assert_non_null(gw_buffer_reserve(&buffer, 5));
    assert_int_equal(gw_buffer_length(&buffer), length);
    gw_buffer_fini(&buffer);
}

/* A long-lived connection passes much through a buffer that is never quite empty. */
static void used_room_is_used_again(void **state)
{
    (void)state;
    struct gw_buffer buffer = { 0 };
    assert_true(gw_buffer_append(&buffer, GW_SLICE("0123456789")));
    for (unsigned i = 0; i < 100000; i++) {
        assert_true(gw_buffer_append(&buffer, GW_SLICE("0123456789")));
        gw_buffer_consume(&buffer, 10);
    }
    expect(&buffer, "0123456789");
    assert_true(buffer.room <= 16384);
    gw_buffer_fini(&buffer);
}

/* Against a plain array, with sizes that are all over the place. */
static void any_mix_keeps_the_bytes(void **state)
{
    (void)state;
    static char model[1 << 20];
    size_t from = 0, to = 0;
    uint32_t seed = 1;
    struct gw_buffer buffer = { 0 };
    while (to + 5000 < sizeof model) {
        seed = seed * 1664525u + 1013904223u;
        size_t length = (seed >> 8) % 5000;
        if (seed >> 31) {
            for (size_t i = 0; i < length; i++)
                model[to + i] = (char)(seed >> (i % 24));
            assert_true(gw_buffer_append(&buffer, (struct gw_slice){ model + to, length }));
            to += length;
        } else {
            if (length > to - from)
                length = to - from;
            gw_buffer_consume(&buffer, length);
            from += length;
        }
        assert_true(
            gw_slice_equal(gw_buffer_slice(&buffer), (struct gw_slice){ model + from, to - from }));
    }
    gw_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_buffer_holds_nothing), cmocka_unit_test(bytes_leave_in_order),
        cmocka_unit_test(reserved_room_can_be_written), cmocka_unit_test(used_room_is_used_again),
        cmocka_unit_test(any_mix_keeps_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
