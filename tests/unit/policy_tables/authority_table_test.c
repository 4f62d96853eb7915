/* Splitting host and port: tests/data/authority.tsv. A case names the port rules that it is to be
 * read under, and is read under each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/authority.h"
#include "tests/support/refusal_text.h"
#include "tests/support/table.h"

static enum gw_port_rule rule_of(struct gw_slice name)
{
    if (gw_slice_equal(name, GW_SLICE("required")))
        return GW_PORT_REQUIRED;
    if (gw_slice_equal(name, GW_SLICE("optional")))
        return GW_PORT_OPTIONAL;
    if (!gw_slice_equal(name, GW_SLICE("empty-ok")))
        fail_msg("unknown port rule \"%.*s\"", (int)name.length, name.data);
    return GW_PORT_EMPTY_OK;
}

static const char *class_name(enum gw_host_class class)
{
    switch (class) {
    case GW_HOST_NAME:
        return "name";
    case GW_HOST_V4:
        return "v4";
    case GW_HOST_V6:
        return "v6";
    }
    return "?";
}

/* "name example.com 443"; a port that was not written is "-". */
static void describe(const struct gw_authority *authority, char *out, size_t room)
{
    char port[8] = "-";
    if (authority->port != 0)
        snprintf(port, sizeof port, "%u", (unsigned)authority->port);
    snprintf(out, room, "%s %s %s", class_name(authority->host.class), authority->host.text, port);
}

static void check_round_trip(struct gw_table *table, const struct gw_authority *authority)
{
    char text[GW_AUTHORITY_TEXT_MAX + 4];
    struct gw_authority again;
    size_t length = gw_authority_print(authority, text, sizeof text);
    if (gw_authority_parse((struct gw_slice){ text, length }, GW_PORT_OPTIONAL, &again)
            != GW_REASON_NONE
        || !gw_authority_equal(authority, &again))
        gw_table_wrong(table, "prints as \"%.*s\", which is another", (int)length, text);
}

static void check_case(struct gw_table *table, struct gw_slice rule)
{
    struct gw_slice expected = gw_table_get(table, "expected");
    struct gw_authority authority;
    char got[GW_AUTHORITY_TEXT_MAX + 16];
    const struct gw_refusal refusal = {
        .reason = gw_authority_parse(gw_table_bytes(table, "text"), rule_of(rule), &authority),
    };
    if (refusal.reason != GW_REASON_NONE) {
        if (!gw_refusal_text_is(expected, refusal))
            gw_table_wrong(table, "%.*s: %s, expected %s", (int)rule.length, rule.data,
                           gw_reason_code(refusal.reason), expected.data);
        return;
    }
    describe(&authority, got, sizeof got);
    if (!gw_slice_equal(expected, gw_slice_of(got)))
        gw_table_wrong(table, "%.*s: \"%s\", expected \"%s\"", (int)rule.length, rule.data, got,
                       expected.data);
    check_round_trip(table, &authority);
}

static void an_authority_is_read_strictly(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("authority.tsv");
    while (gw_table_next(table)) {
        struct gw_slice rules = gw_table_get(table, "rules"), rule;
        while (gw_table_split(&rules, ',', &rule))
            check_case(table, rule);
    }
    gw_table_expect_series(table, "A", 2, 1, 38);
    gw_table_close(table, 96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_authority_is_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
