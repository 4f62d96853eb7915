/* tests/unit/policy/ip_screen_test.c */
#include "policy/ip_screen.h"

#include <stdio.h>
#include <string.h>

#include "fixture.h"

/* The table once more, as text and in the order of specification 2.3, so that a slip in the bytes
 * of ip_range_table.h is a difference here. `inner`: where an IPv4 address is judged first. */
static const struct expected {
    const char *range, *kind;
    int inner; /* first byte of the embedded IPv4 address, or 0 */
} expected[] = {
    { "0.0.0.0/8", "this-host", 0 },
    { "10.0.0.0/8", "private", 0 },
    { "172.16.0.0/12", "private", 0 },
    { "192.168.0.0/16", "private", 0 },
    { "100.64.0.0/10", "shared-address-space", 0 },
    { "127.0.0.0/8", "loopback", 0 },
    { "169.254.0.0/16", "link-local", 0 },
    { "198.18.0.0/15", "benchmarking", 0 },
    { "224.0.0.0/4", "multicast", 0 },
    { "240.0.0.0/4", "reserved", 0 },
    { "192.0.0.0/24", "ietf-protocol", 0 },
    { "192.0.2.0/24", "documentation", 0 },
    { "198.51.100.0/24", "documentation", 0 },
    { "203.0.113.0/24", "documentation", 0 },
    { "192.88.99.0/24", "deprecated-relay", 0 },
    { "168.63.129.16/32", "platform-endpoint", 0 },
    { "::/128", "unspecified", 0 },
    { "::1/128", "loopback", 0 },
    { "mapped", "global", 12 }, /* ::ffff:0:0/96, which no range can be written for */
    { "::/96", "ipv4-compatible", 12 },
    { "::ffff:0:0:0/96", "ipv4-translated", 12 },
    { "64:ff9b::/96", "global", 12 },
    { "64:ff9b:1::/48", "nat64-local", 0 },
    { "2002::/16", "6to4", 2 },
    { "2001::/32", "teredo", -1 },
    { "2001:2::/48", "benchmarking", 0 },
    { "2001:10::/28", "orchid", 0 },
    { "2001:20::/28", "orchid", 0 },
    { "2001:db8::/32", "documentation", 0 },
    { "3fff::/20", "documentation", 0 },
    { "2001::/23", "ietf-protocol", 0 },
    { "100::/64", "discard", 0 },
    { "100:0:0:1::/64", "reserved", 0 },
    { "5f00::/16", "srv6-sid", 0 },
    { "fc00::/7", "unique-local", 0 },
    { "fe80::/10", "link-local", 0 },
    { "ff00::/8", "multicast", 0 },
    { "fec0::/10", "site-local", 0 },
    { "::/3", "not-global-unicast", 0 },
    { "4000::/2", "not-global-unicast", 0 },
    { "8000::/1", "not-global-unicast", 0 },
};

static struct gw_cidr expected_range(size_t index)
{
    if (strcmp(expected[index].range, "mapped") != 0)
        return range(expected[index].range);
    return (struct gw_cidr){ { 6, { [10] = 0xff, [11] = 0xff } }, 96 };
}

/* Bit by bit, sharing nothing with the code under test. */
static bool lies_in(const struct gw_ip_address *one, const struct gw_cidr *held)
{
    if (one->family != held->address.family)
        return false;
    for (unsigned bit = 0; bit < held->prefix; bit++)
        if (((one->bytes[bit / 8] ^ held->address.bytes[bit / 8]) & (0x80 >> bit % 8)) != 0)
            return false;
    return true;
}

static const char *expected_kind(const struct gw_ip_address *one);

static const char *expected_inner(const struct gw_ip_address *one, int at, uint8_t flip)
{
    struct gw_ip_address inner = { .family = 4 };
    for (int i = 0; i < 4; i++)
        inner.bytes[i] = one->bytes[at + i] ^ flip;
    return expected_kind(&inner);
}

static const char *expected_kind(const struct gw_ip_address *one)
{
    for (size_t i = 0; i < GW_COUNT(expected); i++) {
        struct gw_cidr held = expected_range(i);
        if (!lies_in(one, &held))
            continue;
        const char *inner = "global";
        if (expected[i].inner > 0)
            inner = expected_inner(one, expected[i].inner, 0);
        else if (expected[i].inner < 0) {
            inner = expected_inner(one, 12, 0xff);
            if (strcmp(inner, "global") == 0)
                inner = expected_inner(one, 4, 0);
        }
        return strcmp(inner, "global") != 0 ? inner : expected[i].kind;
    }
    if (one->family == 6 && (one->bytes[8] & 0xfd) == 0 && one->bytes[9] == 0
        && one->bytes[10] == 0x5e && one->bytes[11] == 0xfe)
        return expected_inner(one, 12, 0);
    return "global";
}

static void check(struct gw_ip_address one)
{
    const char *kind = gw_address_kind_text(gw_ip_screen(&one)), *right = expected_kind(&one);
    char text[GW_IP_ADDRESS_TEXT_MAX];
    gw_ip_address_print(&one, text, sizeof text);
    if (strcmp(kind, right) != 0)
        fail_msg("%s is %s, not %s", text, right, kind);
}

/* Adds -1 or +1 to an address; it wraps, which is harmless. */
static struct gw_ip_address step(struct gw_ip_address one, int by)
{
    for (int i = one.family == 4 ? 3 : 15; i >= 0; i--) {
        one.bytes[i] = (uint8_t)(one.bytes[i] + by);
        if (one.bytes[i] != (by > 0 ? 0x00 : 0xff))
            break;
    }
    return one;
}

static struct gw_ip_address last_of(const struct gw_cidr *held)
{
    struct gw_ip_address last = held->address;
    for (unsigned bit = held->prefix; bit < (last.family == 4 ? 32u : 128u); bit++)
        last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    return last;
}

/* A public neighbour that is refused is as much of a defect as an inward one that passes. */
static void both_sides_of_every_edge_are_right(void **state)
{
    struct gw_ip_range row;
    size_t rows = 0;
    (void)state;
    for (; gw_ip_range_at(rows, &row); rows++) {
        struct gw_ip_address last = last_of(&row.range);
        check(step(row.range.address, -1));
        check(row.range.address);
        check(last);
        check(step(last, 1));
    }
    assert_int_equal(rows, GW_COUNT(expected));
    for (size_t i = 0; i < GW_COUNT(expected); i++) {
        struct gw_cidr held = expected_range(i);
        struct gw_ip_address last = last_of(&held);
        check(step(held.address, -1));
        check(held.address);
        check(last);
        check(step(last, 1));
    }
}

/* Every edge of the IPv4 table again, inside each form that carries an IPv4 address. */
static void embedded_addresses_are_judged_at_their_edges_too(void **state)
{
    static const struct {
        const char *prefix;
        int at;
        uint8_t flip;
    } forms[] = {
        { "::ffff:0:0", 12, 0 },  { "::ffff:0:0:0", 12, 0 },   { "::", 12, 0 },
        { "64:ff9b::", 12, 0 },   { "2002::1", 2, 0 },         { "2001::", 12, 0xff },
        { "2001::", 4, 0 },       { "2a00::5efe:0:0", 12, 0 }, { "2a00::200:5efe:0:0", 12, 0 },
        { "64:ff9b:1::", 12, 0 }, { "fd00::5efe:0:0", 12, 0 }, { "2a00::100:5efe:0:0", 12, 0 },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(expected); i++) {
        struct gw_cidr held = expected_range(i);
        if (held.address.family != 4)
            continue;
        struct gw_ip_address edges[4] = { step(held.address, -1), held.address, last_of(&held),
                                          step(last_of(&held), 1) };
        for (size_t f = 0; f < GW_COUNT(forms); f++)
            for (size_t e = 0; e < GW_COUNT(edges); e++) {
                struct gw_ip_address one = address(forms[f].prefix);
                if (strcmp(forms[f].prefix, "2001::") == 0 && forms[f].at == 4)
                    memset(one.bytes + 12, 0xf7, 4); /* a client in public space: 8.8.8.8 */
                for (int k = 0; k < 4; k++)
                    one.bytes[forms[f].at + k] = edges[e].bytes[k] ^ forms[f].flip;
                check(one);
            }
    }
}

static void text_with_a_zone_is_never_global(void **state)
{
    static const struct {
        const char *text, *kind, *why;
    } cases[] = {
        { "fe80::1%eth0", "link-local", "the kind without the zone says more" },
        { "2606:4700::1%eth0", "zone-id", "else the zone itself is the reason" },
        { "%eth0", "unparseable", "a zone of nothing" },
        { "::1%", "loopback", "an empty zone" },
        { "64:ff9c::1", "not-global-unicast", "the next prefix to NAT64 is not handed out" },
        { "2001:470::5efe:8.8.8.8", "global", "ISATAP to a public address" },
        { "2002:808:808::5efe:10.0.0.1", "6to4", "the prefix decides before the identifier" },
        { "", "unparseable", "fail closed" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        const char *kind = gw_address_kind_text(gw_ip_screen_text(gw_slice_of(cases[i].text)));
        if (strcmp(kind, cases[i].kind) != 0)
            fail_msg("%s is %s: %s", cases[i].text, kind, cases[i].why);
    }
}

static void an_address_of_no_family_is_refused(void **state)
{
    struct gw_ip_address none = { .family = 0 };
    (void)state;
    assert_int_equal(gw_ip_screen(&none), GW_KIND_UNPARSEABLE);
}

static void embedded_addresses_are_found(void **state)
{
    static const struct {
        const char *text, *first, *second;
    } cases[] = {
        { "10.0.0.1", NULL, NULL },
        { "2606:4700::1", NULL, NULL },
        { "::1", NULL, NULL },
        { "::ffff:10.0.0.1", "10.0.0.1", NULL },
        { "::10.0.0.1", "10.0.0.1", NULL },
        { "::ffff:0:10.0.0.1", "10.0.0.1", NULL },
        { "64:ff9b::10.0.0.1", "10.0.0.1", NULL },
        { "2002:a00:1::", "10.0.0.1", NULL },
        { "2001:0:808:808:8000:0:80ff:fffe", "127.0.0.1", "8.8.8.8" },
        { "2001:470::200:5efe:10.0.0.1", "10.0.0.1", NULL },
        { "64:ff9b:1:a00:0:100::", "0.0.0.0", "10.0.0.1" }, /* RFC 6052 2.2, 48 bits */
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ip_address one = address(cases[i].text), out[2];
        size_t count = gw_ip_embedded(&one, out);
        size_t right = (cases[i].first != NULL) + (size_t)(cases[i].second != NULL);
        char text[GW_IP_ADDRESS_TEXT_MAX];
        if (count != right)
            fail_msg("%s: %zu embedded", cases[i].text, count);
        for (size_t k = 0; k < count; k++) {
            gw_ip_address_print(&out[k], text, sizeof text);
            assert_string_equal(text, k == 0 ? cases[i].first : cases[i].second);
        }
    }
}

static void metadata_services_are_known_in_every_form(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } cases[] = {
        { "169.254.169.254", true },
        { "169.254.169.253", false },
        { "100.100.100.200", true },
        { "168.63.129.16", true },
        { "192.0.0.192", true },
        { "fd00:ec2::254", true },
        { "fd00:ec2::253", false },
        { "::ffff:169.254.169.254", true },
        { "64:ff9b::a9fe:a9fe", true },
        { "2002:a9fe:a9fe::1", true },
        { "64:ff9b:1::a9fe:a9fe", true },
        { "64:ff9b:1:a9fe:a9:fe00::", true },
        { "fd00::5efe:100.100.100.200", true },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ip_address one = address(cases[i].text);
        if (gw_ip_is_metadata(&one) != cases[i].is)
            fail_msg("%s", cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_of_every_edge_are_right),
        cmocka_unit_test(embedded_addresses_are_judged_at_their_edges_too),
        cmocka_unit_test(text_with_a_zone_is_never_global),
        cmocka_unit_test(an_address_of_no_family_is_refused),
        cmocka_unit_test(embedded_addresses_are_found),
        cmocka_unit_test(metadata_services_are_known_in_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
