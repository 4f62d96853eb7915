/* tests/unit/common/wire_test.c */
#include "gateway/common/wire.h"

#include <string.h>

#include "support.h"

static void what_was_written_is_read(void **state)
{
    static char large[5000];
    struct gw_wire_writer w;
    struct gw_wire_reader r;
    (void)state;
    memset(large, 'l', sizeof large);
    gw_wire_writer_init(&w);
    gw_wire_put_u8(&w, 0xfe);
    gw_wire_put_u16(&w, 0xfedc);
    gw_wire_put_u32(&w, 0xfedcba98);
    gw_wire_put_u64(&w, 0xfedcba9876543210);
    gw_wire_put_bytes(&w, GW_SLICE("text"));
    gw_wire_put_bytes(&w, (struct gw_slice){ NULL, 0 });
    gw_wire_put_bytes(&w, (struct gw_slice){ large, sizeof large });
    assert_false(w.failed);
    gw_wire_reader_init(&r, gw_wire_written(&w));
    assert_int_equal(gw_wire_u8(&r), 0xfe);
    assert_int_equal(gw_wire_u16(&r), 0xfedc);
    assert_int_equal(gw_wire_u32(&r), 0xfedcba98);
    assert_true(gw_wire_u64(&r) == 0xfedcba9876543210);
    assert_true(gw_slice_equal(gw_wire_bytes(&r), GW_SLICE("text")));
    assert_int_equal(gw_wire_bytes(&r).length, 0);
    assert_false(gw_wire_done(&r));
    assert_int_equal(gw_wire_bytes(&r).length, sizeof large);
    assert_true(gw_wire_done(&r));
    gw_wire_writer_fini(&w);
}

static void numbers_are_little_endian_without_padding(void **state)
{
    static const unsigned char expected[] = { 1, 2, 1, 4, 3, 2, 1, 2, 0, 0, 0, 'h', 'i' };
    struct gw_wire_writer w;
    (void)state;
    gw_wire_writer_init(&w);
    gw_wire_put_u8(&w, 1);
    gw_wire_put_u16(&w, 0x0102);
    gw_wire_put_u32(&w, 0x01020304);
    gw_wire_put_bytes(&w, GW_SLICE("hi"));
    assert_int_equal(gw_wire_written(&w).length, sizeof expected);
    assert_memory_equal(gw_wire_written(&w).data, expected, sizeof expected);
    gw_wire_writer_fini(&w);
}

static void running_over_the_end_fails_for_good(void **state)
{
    static const char bytes[] = { 5, 0, 0, 0, 'a', 'b', 'c', 'd' };
    struct gw_wire_reader r;
    (void)state;
    gw_wire_reader_init(&r, (struct gw_slice){ bytes, sizeof bytes });
    struct gw_slice text = gw_wire_bytes(&r); /* says 5, has 4 */
    assert_int_equal(text.length, 0);
    assert_true(r.failed);
    assert_int_equal(gw_wire_u8(&r), 0); /* although a byte is there */
    assert_false(gw_wire_done(&r));

    gw_wire_reader_init(&r, (struct gw_slice){ bytes, 7 });
    assert_true(gw_wire_u64(&r) == 0);
    assert_true(r.failed);
}

static void a_count_that_cannot_be_is_refused_before_anything_is_made(void **state)
{
    static const char four[] = { 4, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const char huge[] = { -1, -1, -1, -1, 1, 2, 3, 4 };
    struct gw_wire_reader r;
    (void)state;
    gw_wire_reader_init(&r, (struct gw_slice){ four, sizeof four });
    assert_int_equal(gw_wire_count(&r, 2), 4);
    gw_wire_reader_init(&r, (struct gw_slice){ four, sizeof four });
    assert_int_equal(gw_wire_count(&r, 3), 0);
    assert_true(r.failed);
    gw_wire_reader_init(&r, (struct gw_slice){ huge, sizeof huge });
    assert_int_equal(gw_wire_count(&r, 1), 0);
    assert_true(r.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(numbers_are_little_endian_without_padding),
        cmocka_unit_test(running_over_the_end_fails_for_good),
        cmocka_unit_test(a_count_that_cannot_be_is_refused_before_anything_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
