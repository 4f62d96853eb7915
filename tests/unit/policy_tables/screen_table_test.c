/* Where an address leads: tests/data/screen.tsv. The column "as" says how the text arrives:
 *   address   as an address, from a resolver
 *   host      as the host of a request: the kind, or "name" or the reason why it is none
 *   metadata  as an address: is it a metadata service? ("yes" or "no") */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/host.h"
#include "policy/ip_screen.h"
#include "tests/support/table.h"

/* The table says "pass" where the code says "global". */
static const char *kind_text(enum gw_address_kind kind)
{
    return kind == GW_KIND_GLOBAL ? "pass" : gw_address_kind_text(kind);
}

static const char *as_host(struct gw_slice text)
{
    struct gw_host host;
    enum gw_reason reason = gw_host_parse(text, &host);
    if (reason != GW_REASON_NONE)
        return gw_reason_code(reason);
    return host.class == GW_HOST_NAME ? "name" : kind_text(gw_ip_screen(&host.address));
}

static const char *as_metadata(struct gw_slice text)
{
    struct gw_ip_address address;
    if (!gw_ip_address_parse(text, &address))
        return "unparseable";
    return gw_ip_is_metadata(&address) ? "yes" : "no";
}

static const char *as_address(struct gw_table *table, struct gw_slice text)
{
    struct gw_ip_address address;
    enum gw_address_kind kind = gw_ip_screen_text(text);
    if (gw_ip_address_parse(text, &address) && gw_ip_screen(&address) != kind)
        gw_table_wrong(table, "as text %s, parsed %s", kind_text(kind),
                       kind_text(gw_ip_screen(&address)));
    return kind_text(kind);
}

static void every_address_has_its_kind(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("screen.tsv");
    while (gw_table_next(table)) {
        struct gw_slice as = gw_table_get(table, "as"), text = gw_table_bytes(table, "text");
        const char *got, *expected = gw_table_text(table, "expected");
        if (gw_slice_equal(as, GW_SLICE("host")))
            got = as_host(text);
        else if (gw_slice_equal(as, GW_SLICE("metadata")))
            got = as_metadata(text);
        else if (gw_slice_equal(as, GW_SLICE("address")))
            got = as_address(table, text);
        else
            got = "a row that says how the text arrives";
        if (!gw_slice_equal(gw_slice_of(got), gw_slice_of(expected)))
            gw_table_wrong(table, "%s, expected %s", got, expected);
    }
    gw_table_expect_series(table, "S", 3, 1, 129);
    gw_table_close(table, 290);
}

static struct gw_ip_address edge(const struct gw_cidr *range, bool last)
{
    struct gw_ip_address address = range->address;
    int bits = address.family == 4 ? 32 : 128;
    for (int bit = range->prefix; last && bit < bits; bit++)
        address.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    return address;
}

/* The address before (-1) or after (+1); wraps at the ends of the space. */
static struct gw_ip_address neighbour(struct gw_ip_address address, int step)
{
    for (int i = address.family == 4 ? 3 : 15; i >= 0; i--) {
        address.bytes[i] = (uint8_t)(address.bytes[i] + step);
        if (address.bytes[i] != (step > 0 ? 0 : 0xff))
            break;
    }
    return address;
}

static bool is_in_some_range(const struct gw_ip_address *address)
{
    struct gw_ip_range range;
    for (size_t i = 0; gw_ip_range_at(i, &range); i++)
        if (gw_cidr_contains(&range.range, address))
            return true;
    return false;
}

static void complain_of(const struct gw_ip_address *address, const char *what)
{
    char text[GW_IP_ADDRESS_TEXT_MAX];
    (void)gw_ip_address_print(address, text, sizeof text);
    fail_msg("%s: %s", text, what);
}

/* First - 1, first, last and last + 1 of every row of the table that the code has: the inner two
 * are refused, and an IPv4 address in no row at all passes. */
static void no_range_is_short_of_its_edges(void **state)
{
    (void)state;
    struct gw_ip_range row;
    size_t rows = 0;
    for (; gw_ip_range_at(rows, &row); rows++) {
        for (int last = 0; last <= 1; last++) {
            struct gw_ip_address inner = edge(&row.range, last);
            struct gw_ip_address outer = neighbour(inner, last ? 1 : -1);
            if (gw_ip_screen(&inner) == GW_KIND_GLOBAL)
                complain_of(&inner, "passes at the edge of a range");
            if (outer.family == 4 && !is_in_some_range(&outer)
                && gw_ip_screen(&outer) != GW_KIND_GLOBAL)
                complain_of(&outer, "is refused and in no range");
        }
    }
    assert_true(rows >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_has_its_kind),
        cmocka_unit_test(no_range_is_short_of_its_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
