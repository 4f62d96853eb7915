/* Request targets: tests/data/target.tsv. The column "method" is CONNECT or "other". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/request_target.h"
#include "tests/support/refusal_text.h"
#include "tests/support/table.h"

/* "origin /a", "http example.com 8080 /a", "authority example.com 443"; a port that was not
 * written is "-", an empty path and query is left out with its blank. */
static void describe(const struct gw_request_target *target, char *out, size_t room)
{
    char host[GW_HOST_TEXT_MAX + 4], port[8] = "-";
    struct gw_slice path = target->path_and_query;
    const char *blank = path.length > 0 ? " " : "";
    if (target->form == GW_TARGET_ORIGIN) {
        snprintf(out, room, "origin%s%.*s", blank, (int)path.length, path.data);
        return;
    }
    (void)gw_host_print(&target->authority.host, host, sizeof host);
    if (target->authority.port != 0)
        snprintf(port, sizeof port, "%u", (unsigned)target->authority.port);
    if (target->form == GW_TARGET_AUTHORITY)
        snprintf(out, room, "authority %s %s", host, port);
    else
        snprintf(out, room, "%s %s %s%s%.*s", target->https ? "https" : "http", host, port, blank,
                 (int)path.length, path.data);
}

static void check_case(struct gw_table *table)
{
    struct gw_slice expected = gw_table_get(table, "expected");
    struct gw_slice method = gw_table_get(table, "method");
    bool is_connect = gw_slice_equal(method, GW_SLICE("CONNECT"));
    struct gw_request_target target;
    char got[1024];
    if (!is_connect && !gw_slice_equal(method, GW_SLICE("other")))
        fail_msg("the method is CONNECT or other");
    const struct gw_refusal refusal = {
        .reason = gw_request_target_parse(gw_table_bytes(table, "text"), is_connect, &target),
    };
    if (refusal.reason != GW_REASON_NONE) {
        if (!gw_refusal_text_is(expected, refusal))
            gw_table_wrong(table, "%s, expected %s", gw_reason_code(refusal.reason), expected.data);
        return;
    }
    describe(&target, got, sizeof got);
    if (!gw_slice_equal(expected, gw_slice_of(got)))
        gw_table_wrong(table, "\"%s\", expected \"%s\"", got, expected.data);
}

static void a_target_has_one_meaning_or_none(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("target.tsv");
    while (gw_table_next(table))
        check_case(table);
    gw_table_expect_series(table, "P", 2, 21, 38);
    gw_table_close(table, 125);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_has_one_meaning_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
