/* tests/unit/common/sealed_test.c */
#define _GNU_SOURCE /* memfd_create */
#include "gateway/common/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

static void what_was_sealed_is_mapped_and_cannot_change(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_sealed_map map;
    (void)state;
    size_t before = open_descriptors();
    int fd = gw_sealed_make("test", GW_SLICE("policy"), &err);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_true(gw_sealed_map(fd, &map, &err));
    assert_int_equal(map.length, 6);
    assert_memory_equal(map.data, "policy", 6);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 3), -1);
    assert_int_equal(ftruncate(fd, 30), -1);
    assert_true(mmap(NULL, 6, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    close(fd);
    assert_memory_equal(map.data, "policy", 6); /* the mapping outlives the descriptor */
    gw_sealed_unmap(&map);
    assert_null(map.data);
    assert_int_equal(open_descriptors(), before);
}

static void nothing_at_all_can_be_sealed(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_sealed_map map;
    (void)state;
    int fd = gw_sealed_make("test", (struct gw_slice){ NULL, 0 }, &err);
    assert_true(fd >= 0);
    assert_true(gw_sealed_map(fd, &map, &err));
    assert_null(map.data);
    assert_int_equal(map.length, 0);
    gw_sealed_unmap(&map);
    close(fd);
}

static void what_somebody_could_still_change_is_refused(void **state)
{
    static const struct {
        int seals;
        const char *why;
    } cases[] = {
        { 0, "not sealed" },
        { F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, "can be written" },
        { F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL, "can be cut: reading would be a SIGBUS" },
        { F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_SEAL, "can grow" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_error err = GW_ERROR_NONE;
        struct gw_sealed_map map;
        int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(write(fd, "text", 4), 4);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, cases[i].seals), 0);
        if (gw_sealed_map(fd, &map, &err))
            fail_msg("mapped: %s", cases[i].why);
        assert_true(err.text[0] != '\0');
        close(fd);
    }
    struct gw_error err = GW_ERROR_NONE;
    struct gw_sealed_map map;
    int fd = open("/dev/null", O_RDONLY);
    assert_false(gw_sealed_map(fd, &map, &err));
    close(fd);
    assert_false(gw_sealed_map(-1, &map, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_is_mapped_and_cannot_change),
        cmocka_unit_test(nothing_at_all_can_be_sealed),
        cmocka_unit_test(what_somebody_could_still_change_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
