/* tests/unit/base/list_test.c */
#include "base/list.h"

#include "cmocka_all.h"

struct item {
    int number;
    struct gw_list member;
};

static int sum(struct gw_list *list) /* in base 10, in order */
{
    int result = 0;
    gw_list_each (at, after, list)
        result = result * 10 + gw_container_of(at, struct item, member)->number;
    return result;
}

static void members_keep_their_order(void **state)
{
    struct gw_list list;
    struct item items[] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
    (void)state;
    gw_list_init(&list);
    assert_true(gw_list_empty(&list));
    assert_int_equal(sum(&list), 0);
    for (size_t i = 0; i < GW_COUNT(items); i++)
        gw_list_append(&list, &items[i].member);
    assert_int_equal(sum(&list), 123);
    gw_list_remove(&items[1].member);
    assert_int_equal(sum(&list), 13);
    gw_list_remove(&items[1].member); /* twice is harmless */
    assert_int_equal(sum(&list), 13);
    gw_list_append(&list, &items[1].member);
    assert_int_equal(sum(&list), 132);
}

static void a_walk_may_remove_where_it_stands(void **state)
{
    struct gw_list list;
    struct item items[] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
    (void)state;
    gw_list_init(&list);
    for (size_t i = 0; i < GW_COUNT(items); i++)
        gw_list_append(&list, &items[i].member);
    gw_list_each (at, after, &list)
        gw_list_remove(at);
    assert_true(gw_list_empty(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_keep_their_order),
        cmocka_unit_test(a_walk_may_remove_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
