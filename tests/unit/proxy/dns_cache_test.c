/* tests/unit/proxy/dns_cache_test.c - least recently used goes first; what was handed out stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/proxy/dns_cache.h"

static const struct gw_ip_address one = { .family = 4, .bytes = { 192, 0, 2, 1 } };
static const struct gw_ip_address two[] = { { .family = 4, .bytes = { 192, 0, 2, 2 } },
                                            { .family = 6, .bytes = { 0x20, 1 } } };

static struct gw_dns_cache *cache_of(size_t entries)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_dns_cache *cache = gw_dns_cache_new(&err);
    assert_non_null(cache);
    assert_true(gw_dns_cache_reset(cache, entries, 0, &err));
    return cache;
}

static bool has(struct gw_dns_cache *cache, const char *name, uint64_t now_ms)
{
    const struct gw_ip_address *addresses;
    size_t count;
    return gw_dns_cache_find(cache, gw_slice_of(name), now_ms, &addresses, &count);
}

static void put(struct gw_dns_cache *cache, const char *name, uint32_t ttl_s, uint64_t now_ms)
{
    gw_dns_cache_put(cache, gw_slice_of(name), &one, 1, ttl_s, now_ms);
}

static void the_least_recently_used_makes_room(void **state)
{
    struct gw_dns_cache *cache = cache_of(3);
    (void)state;
    put(cache, "a", 60, 1);
    put(cache, "b", 60, 2);
    put(cache, "c", 60, 3);
    assert_true(has(cache, "a", 4)); /* now "b" is the oldest */
    put(cache, "d", 60, 5);
    assert_true(has(cache, "a", 6) && has(cache, "c", 6) && has(cache, "d", 6));
    assert_false(has(cache, "b", 6));
    assert_int_equal(gw_dns_cache_count(cache), 3);
    put(cache, "a", 60, 7); /* replaces itself, nobody else */
    assert_true(has(cache, "c", 8) && has(cache, "d", 8));
    gw_dns_cache_free(cache);
}

static void an_entry_lives_as_long_as_its_ttl(void **state)
{
    struct gw_dns_cache *cache = cache_of(3);
    (void)state;
    put(cache, "a", 2, 1000);
    put(cache, "zero", 0, 1000);
    assert_true(has(cache, "a", 2999));
    assert_false(has(cache, "a", 3000));
    assert_false(has(cache, "zero", 1000));
    assert_false(has(cache, "A", 1000)); /* names come in canonical form */
    put(cache, "a", 2, 3000);
    assert_true(has(cache, "a", 4999));
    gw_dns_cache_free(cache);
}

static void what_was_handed_out_can_be_read_for_the_rest_of_the_turn(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_dns_cache *cache = cache_of(1);
    const struct gw_ip_address *addresses, *others;
    size_t count;
    (void)state;
    gw_dns_cache_put(cache, gw_slice_of("a"), two, 2, 60, 10);
    assert_true(gw_dns_cache_find(cache, gw_slice_of("a"), 20, &addresses, &count));
    put(cache, "b", 60, 20); /* evicts */
    assert_true(gw_dns_cache_find(cache, gw_slice_of("b"), 20, &others, &count));
    assert_int_equal(count, 1);
    put(cache, "b", 60, 20); /* replaces */
    assert_true(gw_dns_cache_reset(cache, 4, 20, &err));
    assert_true(gw_ip_address_equal(&addresses[1], &two[1])); /* ASan would tell */
    assert_true(gw_ip_address_equal(&others[0], &one));
    assert_false(has(cache, "b", 20));
    put(cache, "c", 60, 21);
    assert_int_equal(gw_dns_cache_count(cache), 1);
    gw_dns_cache_free(cache);
}

static void many_names_are_all_found(void **state)
{
    enum { MANY = 5000 };
    struct gw_dns_cache *cache = cache_of(MANY);
    char name[32];
    (void)state;
    for (unsigned i = 0; i < 2 * MANY; i++) {
        snprintf(name, sizeof name, "host-%u.example.test", i);
        put(cache, name, 60, i);
    }
    assert_int_equal(gw_dns_cache_count(cache), MANY);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        snprintf(name, sizeof name, "host-%u.example.test", i);
        if (has(cache, name, 2 * MANY) != (i >= MANY))
            fail_msg("%s", name);
    }
    gw_dns_cache_free(cache);
}

static void a_cache_of_none_keeps_none(void **state)
{
    struct gw_dns_cache *cache = cache_of(0);
    (void)state;
    put(cache, "a", 60, 1);
    assert_false(has(cache, "a", 1));
    gw_dns_cache_free(cache);
    gw_dns_cache_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_makes_room),
        cmocka_unit_test(an_entry_lives_as_long_as_its_ttl),
        cmocka_unit_test(what_was_handed_out_can_be_read_for_the_rest_of_the_turn),
        cmocka_unit_test(many_names_are_all_found),
        cmocka_unit_test(a_cache_of_none_keeps_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
