/* tests/unit/policy/ip_address_test.c */
#include "policy/ip_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

static void text_is_read_strictly(void **state)
{
    static const struct {
        const char *text;
        bool valid;
        const char *why;
    } cases[] = {
        { "192.0.2.1", true, "the plain form" },
        { "0.0.0.0", true, "a single zero is no leading zero" },
        { "192.0.2.01", false, "inet_aton reads octal" },
        { "192.0.2.256", false, "a byte" },
        { "192.0.2", false, "inet_aton's short form" },
        { "192.0.2.1.", false, "the root dot is the host's, not the address's" },
        { "192.0.2.1 ", false, "blanks are not trimmed" },
        { "1.2.3.4.5", false, "four parts" },
        { "", false, "nothing" },
        { "::", true, "all zero" },
        { "::1", true, "loopback" },
        { "1::", true, "a gap at the end" },
        { "1:2:3:4:5:6:7::", true, "a gap may stand for one group" },
        { "1:2:3:4:5:6:7:8::", false, "but not for none" },
        { "::1:2:3:4:5:6:7:8", false, "nor in front" },
        { "1::2::3", false, "two gaps have no meaning" },
        { ":::", false, "three colons" },
        { ":1::", false, "a lone colon in front" },
        { "1:", false, "a lone colon behind" },
        { "12345::", false, "four digits a group" },
        { "::g", false, "hex digits only" },
        { "1:2:3:4:5:6:192.0.2.1", true, "a dotted quad for the last two groups" },
        { "1:2:3:4:5:6:7:192.0.2.1", false, "there is no room for it" },
        { "::192.0.2.1:1", false, "it ends the address" },
        { "::192.0.2.01", false, "it is as strict as alone" },
        { "fe80::1%eth0", false, "a zone id names an interface" },
        { "[::1]", false, "brackets are the authority's" },
        { "FE80::ABCD", true, "either letter case" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ip_address out;
        if (gw_ip_address_parse(gw_slice_of(cases[i].text), &out) != cases[i].valid)
            fail_msg("\"%s\": %s", cases[i].text, cases[i].why);
    }
}

/* A linear congruential generator: the same walk every time. */
static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static void check_against_libc(const char *text)
{
    unsigned char bytes[16] = { 0 };
    struct gw_ip_address out = { 0 };
    int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
    bool expected = inet_pton(family, text, bytes) == 1;
    if (gw_ip_address_parse(gw_slice_of(text), &out) != expected)
        fail_msg("\"%s\": inet_pton says %d", text, expected);
    if (expected && memcmp(out.bytes, bytes, family == AF_INET6 ? 16 : 4) != 0)
        fail_msg("\"%s\": other bytes than inet_pton", text);
}

/* Random text is almost never an address, so most of these are mutations of one. */
static void the_parser_agrees_with_inet_pton(void **state)
{
    static const char alphabet[] = "0123456789abcdefABCF::::....gx%";
    static const char *const seeds[] = { "2001:db8::8:800:200c:417a",
                                         "::ffff:192.0.2.128",
                                         "1:2:3:4:5:6:7:8",
                                         "192.0.2.33",
                                         "::",
                                         "fe80::1:0:0:2",
                                         "64:ff9b::192.0.2.33" };
    unsigned random = 20240501;
    (void)state;
    for (int i = 0; i < 400000; i++) {
        char text[48];
        snprintf(text, sizeof text, "%s", seeds[next_random(&random) % GW_COUNT(seeds)]);
        for (unsigned changes = next_random(&random) % 4; changes > 0; changes--) {
            size_t length = strlen(text), at = next_random(&random) % (length + 1);
            char byte = alphabet[next_random(&random) % (sizeof alphabet - 1)];
            unsigned how = next_random(&random) % 3;
            if (how == 0 && at < length) {
                text[at] = byte;
            } else if (how == 1 && at < length) {
                memmove(text + at, text + at + 1, length - at);
            } else if (length + 1 < 45) {
                memmove(text + at + 1, text + at, length - at + 1);
                text[at] = byte;
            }
        }
        check_against_libc(text);
    }
}

static void a_nul_does_not_end_the_text(void **state)
{
    struct gw_ip_address out;
    (void)state;
    assert_false(gw_ip_address_parse(GW_SLICE("192.0.2.1\0"), &out));
    assert_false(gw_ip_address_parse(GW_SLICE("::1\0.evil.test"), &out));
}

static void ipv6_prints_as_rfc_5952_says(void **state)
{
    static const struct {
        const char *text, *printed, *why;
    } cases[] = {
        { "2001:DB8:0:0:8:800:200C:417A", "2001:db8::8:800:200c:417a", "lower case, one gap" },
        { "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", "one zero group is not compressed" },
        { "2001:0:0:1:0:0:0:1", "2001:0:0:1::1", "the longest run" },
        { "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", "the first of two equal runs" },
        { "0:0:0:0:0:0:0:0", "::", "all zero" },
        { "1:0:0:0:0:0:0:0", "1::", "a gap at the end" },
        { "0:0:0:0:0:0:0:1", "::1", "a gap at the start" },
        { "0:0:0:0:0:ffff:c000:201", "::ffff:192.0.2.1", "the mapped form shows its IPv4" },
        { "::c000:201", "::c000:201", "the compatible form does not" },
        { "1:2:3:4:5:6:0:0", "1:2:3:4:5:6::", "two zero groups at the end" },
    };
    char text[GW_IP_ADDRESS_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ip_address one = address(cases[i].text);
        size_t length = gw_ip_address_print(&one, text, sizeof text);
        if (strcmp(text, cases[i].printed) != 0 || length != strlen(text))
            fail_msg("%s printed as %s: %s", cases[i].text, text, cases[i].why);
    }
}

static void what_prints_reads_back_equal(void **state)
{
    unsigned random = 7;
    char text[GW_IP_ADDRESS_TEXT_MAX];
    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct gw_ip_address one = { .family = i % 4 == 0 ? 4 : 6 }, two;
        for (int k = 0; k < (one.family == 4 ? 4 : 16); k++)
            if (next_random(&random) % 2 == 0)
                one.bytes[k] = (uint8_t)next_random(&random);
        size_t length = gw_ip_address_print(&one, text, sizeof text);
        assert_true(length < sizeof text);
        assert_true(gw_ip_address_parse((struct gw_slice){ text, length }, &two));
        assert_true(gw_ip_address_equal(&one, &two));
    }
}

static void a_range_says_what_it_means(void **state)
{
    static const struct {
        const char *text, *printed, *why;
    } cases[] = {
        { "10.0.0.0/8", "10.0.0.0/8", "as written" },
        { "10.0.0.1", "10.0.0.1/32", "an address alone" },
        { "2001:db8::1", "2001:db8::1/128", "an address alone" },
        { "0.0.0.0/0", "0.0.0.0/0", "everything" },
        { "::/0", "::/0", "everything" },
        { "fe80::/10", "fe80::/10", "a prefix inside a byte" },
        { "10.0.0.1/8", NULL, "bits behind the prefix" },
        { "fe80::1/64", NULL, "bits behind the prefix" },
        { "febf::/9", NULL, "bits behind the prefix, inside a byte" },
        { "10.0.0.0/33", NULL, "too long" },
        { "::/129", NULL, "too long" },
        { "10.0.0.0/08", NULL, "a leading zero" },
        { "10.0.0.0/", NULL, "no prefix" },
        { "10.0.0.0/8/8", NULL, "two" },
        { "10/8", NULL, "a short form" },
        { "/8", NULL, "no address" },
        { "", NULL, "nothing" },
        { "::ffff:10.0.0.0/104", "10.0.0.0/8",
          "mapped addresses are unmapped before they compare" },
        { "::ffff:10.0.0.1", "10.0.0.1/32", "the same alone" },
        { "::ffff:0:0/96", "0.0.0.0/0", "the same for all of them" },
        { "::/95", "::/95", "but not a range that only happens to hold them" },
    };
    char text[GW_CIDR_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_cidr out;
        bool valid = gw_cidr_parse(gw_slice_of(cases[i].text), &out);
        if (valid != (cases[i].printed != NULL))
            fail_msg("\"%s\": %s", cases[i].text, cases[i].why);
        if (valid && gw_cidr_print(&out, text, sizeof text) > 0
            && strcmp(text, cases[i].printed) != 0)
            fail_msg("\"%s\" printed as %s: %s", cases[i].text, text, cases[i].why);
    }
}

static void a_range_holds_its_addresses(void **state)
{
    static const struct {
        const char *range, *address;
        bool holds;
        const char *why;
    } cases[] = {
        { "10.0.0.0/8", "10.0.0.0", true, "the first" },
        { "10.0.0.0/8", "10.255.255.255", true, "the last" },
        { "10.0.0.0/8", "9.255.255.255", false, "one before" },
        { "10.0.0.0/8", "11.0.0.0", false, "one behind" },
        { "172.16.0.0/12", "172.31.255.255", true, "the last, inside a byte" },
        { "172.16.0.0/12", "172.32.0.0", false, "one behind, inside a byte" },
        { "0.0.0.0/0", "255.255.255.255", true, "no bit to compare" },
        { "0.0.0.0/0", "::1", false, "the other family" },
        { "::/0", "10.0.0.1", false, "the other family" },
        { "10.0.0.0/8", "::ffff:10.1.2.3", true, "a mapped address is that IPv4 address" },
        { "::/0", "::ffff:10.1.2.3", false, "and no IPv6 one" },
        { "192.0.2.1/32", "192.0.2.1", true, "itself" },
        { "2001:db8::/32", "2001:db8:ffff::", true, "inside" },
        { "2001:db8::/127", "2001:db8::2", false, "the last bit but one" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_cidr held = range(cases[i].range);
        struct gw_ip_address one = address(cases[i].address);
        if (gw_cidr_contains(&held, &one) != cases[i].holds)
            fail_msg("%s in %s: %s", cases[i].address, cases[i].range, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read_strictly),
        cmocka_unit_test(the_parser_agrees_with_inet_pton),
        cmocka_unit_test(a_nul_does_not_end_the_text),
        cmocka_unit_test(ipv6_prints_as_rfc_5952_says),
        cmocka_unit_test(what_prints_reads_back_equal),
        cmocka_unit_test(a_range_says_what_it_means),
        cmocka_unit_test(a_range_holds_its_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
