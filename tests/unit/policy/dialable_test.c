/* tests/unit/policy/dialable_test.c - what resolution may lead to. */
#include "policy/dialable.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

/* Allows names under .acme.test, exempts some of them. */
static struct built the_policy(void)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    const struct gw_cidr narrow[] = { range("10.1.2.0/24"), range("127.0.0.0/8") };
    const struct gw_cidr everything[] = { range("0.0.0.0/0"), range("::/0") };
    const struct gw_cidr relay[] = { range("2002::/16") };
    const struct gw_cidr loopback[] = { range("127.0.0.0/8") };
    const struct gw_cidr loopback6[] = { range("::1") };
    const struct gw_cidr denied[] = { range("93.184.216.0/24"), range("2a00:1:2::/48") };
    MUST(gw_image_builder_inward(b, GW_SLICE("plain.acme.test"), NULL, 0, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE(".tree.acme.test"), NULL, 0, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("narrow.acme.test"), narrow, 2, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("any.acme.test"), everything, 2, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("any.acme.test"), NULL, 0, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("relay.acme.test"), relay, 1, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("10.0.0.5"), NULL, 0, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("localhost"), loopback, 1, &err));
    MUST(gw_image_builder_inward(b, GW_SLICE("six.localhost"), loopback6, 1, &err));
    for (size_t i = 0; i < GW_COUNT(denied); i++)
        MUST(gw_image_builder_deny_cidr(b, &denied[i], &err));
    return build(b);
}

/* A gateway that listens on 10.0.0.1:3128, on every address with port 9464, and on ::1:7. */
static const struct gw_own_listener listeners[] = {
    { { 4, { 10, 0, 0, 1 } }, false, 3128 },
    { { 4, { 0, 0, 0, 0 } }, true, 9464 },
    { { 6, { [15] = 1 } }, false, 7 },
};
static const struct gw_ip_address locals[] = {
    { 4, { 127, 0, 0, 1 } }, { 6, { [15] = 1 } },        { 4, { 10, 0, 0, 1 } },
    { 4, { 10, 0, 0, 2 } },  { 4, { 45, 33, 32, 156 } }, { 6, { 0x2a, 0x00, 0, 7, [15] = 1 } },
};
static const struct gw_own own = { locals, GW_COUNT(locals), listeners, GW_COUNT(listeners) };

static const struct {
    const char *host, *addresses; /* separated by blanks */
    uint16_t port;
    const char *refusal; /* "" passes */
    const char *offender;
    const char *why;
} cases[] = {
    { "a.acme.test", "45.33.32.1", 443, "", NULL, "public" },
    { "a.acme.test", "10.0.0.5", 443, "resolved:private", "10.0.0.5", "inward" },
    { "a.acme.test", "45.33.32.1 127.0.0.1", 443, "resolved:loopback", "127.0.0.1",
      "one bad record refuses all" },
    { "a.acme.test", "127.0.0.1 45.33.32.1", 443, "resolved:loopback", "127.0.0.1",
      "whatever the order" },
    { "a.acme.test", "45.33.32.1 64:ff9b::a9fe:a9fe", 443, "resolved:link-local",
      "64:ff9b::a9fe:a9fe", "NAT64 is looked through" },
    { "a.acme.test", "", 443, "dns-empty", NULL, "no address" },
    /* exemptions without ranges: private, unique-local, shared */
    { "plain.acme.test", "10.0.0.5 fd00::5 100.64.0.5", 443, "", NULL, "the default kinds" },
    { "b.tree.acme.test", "10.9.9.9", 443, "", NULL, "a suffix" },
    { "neighbour.acme.test", "10.0.0.5", 443, "resolved:private", "10.0.0.5",
      "neighbours get none" },
    { "x.plain.acme.test", "10.0.0.5", 443, "resolved:private", "10.0.0.5", "exact is exact" },
    { "plain.acme.test", "10.0.0.5 127.0.0.1", 443, "resolved:loopback", "127.0.0.1",
      "not lifted by default" },
    { "plain.acme.test", "::ffff:10.0.0.5 64:ff9b::a00:5", 443, "", NULL,
      "spellings of an IPv4 address are that address" },
    { "plain.acme.test", "2002:a00:5::", 443, "resolved:private",
      "2002:a00:5::", "what would be lifted is 6to4" },
    { "plain.acme.test", "2a00:99::5efe:10.0.0.5", 443, "resolved:private", "2a00:99::5efe:a00:5",
      "what would be lifted is ISATAP" },
    /* with ranges: any kind but those that nothing lifts */
    { "narrow.acme.test", "10.1.2.9 127.0.0.9", 443, "", NULL, "inside" },
    { "narrow.acme.test", "10.1.3.9", 443, "resolved:private", "10.1.3.9", "outside" },
    { "narrow.acme.test", "64:ff9b::a01:209", 443, "", NULL, "NAT64 of an address inside" },
    { "narrow.acme.test", "2002:a01:209::", 443, "resolved:private",
      "2002:a01:209::", "6to4 has to be named itself" },
    { "relay.acme.test", "2002:a01:209::", 443, "", NULL, "as it is here" },
    { "relay.acme.test", "2002:a9fe:101::", 443, "resolved:link-local",
      "2002:a9fe:101::", "but never to what nothing lifts" },
    { "any.acme.test", "192.0.2.1 198.18.0.1 192.88.99.1 2001:db8::1 100::1 fec0::1", 443, "", NULL,
      "every kind that can be" },
    { "any.acme.test", "169.254.1.1", 443, "resolved:link-local", "169.254.1.1", "never" },
    { "any.acme.test", "0.0.0.0", 443, "resolved:this-host", "0.0.0.0", "never" },
    { "any.acme.test", "::", 443, "resolved:unspecified", "::", "never" },
    { "any.acme.test", "224.0.0.1", 443, "resolved:multicast", "224.0.0.1", "never" },
    { "any.acme.test", "255.255.255.255", 443, "resolved:reserved", "255.255.255.255", "never" },
    { "any.acme.test", "168.63.129.16", 443, "resolved:platform-endpoint", "168.63.129.16",
      "never" },
    { "any.acme.test", "fd00::5efe:169.254.1.1", 443, "resolved:unique-local",
      "fd00::5efe:a9fe:101", "nor what leads to such" },
    /* marks */
    { "any.acme.test", "100.100.100.200", 443, "resolved:metadata", "100.100.100.200",
      "shared space is lifted, a metadata service is not" },
    { "plain.acme.test", "fd00:ec2::254", 443, "resolved:metadata", "fd00:ec2::254", "the same" },
    { "any.acme.test", "192.0.0.192", 443, "resolved:metadata", "192.0.0.192", "the same" },
    { "any.acme.test", "64:ff9b:1::6464:64c8", 443, "resolved:metadata", "64:ff9b:1::6464:64c8",
      "embedded" },
    { "a.acme.test", "93.184.216.34", 443, "resolved:operator-denied", "93.184.216.34",
      "public, but denied" },
    { "any.acme.test", "::ffff:93.184.216.34", 443, "resolved:operator-denied",
      "::ffff:93.184.216.34", "in any spelling" },
    { "any.acme.test", "2002:5db8:d822::", 443, "resolved:operator-denied",
      "2002:5db8:d822::", "embedded" },
    { "a.acme.test", "2a00:1:2::3", 443, "resolved:operator-denied", "2a00:1:2::3", "IPv6" },
    { "a.acme.test", "45.33.32.156", 443, "resolved:self-address", "45.33.32.156",
      "this host's public address" },
    { "any.acme.test", "10.0.0.2", 443, "resolved:self-address", "10.0.0.2", "lifted, but ours" },
    { "plain.acme.test", "64:ff9b::a00:2", 443, "resolved:self-address", "64:ff9b::a00:2",
      "embedded" },
    { "a.acme.test", "10.0.0.2", 443, "resolved:private", "10.0.0.2",
      "what is not lifted is told by its kind" },
    { "narrow.acme.test", "127.0.0.1", 443, "", NULL, "loopback is no self-address" },
    /* loop: an own listener, after the lift */
    { "plain.acme.test", "10.0.0.1", 3128, "loop", "10.0.0.1", "our own listener" },
    { "a.acme.test", "10.0.0.1", 3128, "resolved:private", "10.0.0.1",
      "before the lift: the kind" },
    { "plain.acme.test", "10.0.0.2", 3128, "resolved:self-address", "10.0.0.2",
      "our own address, but nothing of ours listens there" },
    { "plain.acme.test", "10.0.0.2", 9464, "loop", "10.0.0.2", "a wildcard is every address" },
    { "a.acme.test", "45.33.32.156", 9464, "loop", "45.33.32.156", "a public one too" },
    { "a.acme.test", "2a00:7::1", 9464, "loop", "2a00:7::1", "and of the other family" },
    { "a.acme.test", "45.33.32.1", 9464, "", NULL, "another host's port of that number" },
    { "narrow.acme.test", "127.0.0.2", 3128, "loop", "127.0.0.2", "any loopback, any own port" },
    { "any.acme.test", "::1", 3128, "loop", "::1", "any loopback, any own port" },
    { "narrow.acme.test", "127.0.0.1", 8080, "", NULL, "another port is somebody else's" },
    /* literals */
    { "10.0.0.5", "10.0.0.5", 443, "", NULL, "an exempt literal" },
    { "[::ffff:10.0.0.5]", "10.0.0.5", 443, "", NULL, "in another spelling" },
    { "10.0.0.6", "10.0.0.6", 443, "literal:private", "10.0.0.6", "its neighbour" },
    { "[2a00:1:2::3]", "2a00:1:2::3", 443, "literal:operator-denied", "2a00:1:2::3", "a mark" },
};

static size_t read_addresses(const char *text, struct gw_ip_address *out)
{
    char copy[256], *rest = NULL;
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *at = strtok_r(copy, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest))
        out[count++] = address(at);
    return count;
}

static void the_whole_set_is_screened(void **state)
{
    struct built built = the_policy();
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_ip_address addresses[8], offender = { 0 };
        size_t count = read_addresses(cases[i].addresses, addresses);
        struct gw_authority asked = authority(cases[i].host);
        struct gw_dialable_set *set;
        char code[GW_REASON_CODE_MAX], text[GW_IP_ADDRESS_TEXT_MAX] = "";
        struct gw_refusal refusal =
            gw_dialable_set_make(&built.image, &own, &asked.host, cases[i].port, addresses, count,
                                 NULL, &set, &offender);
        gw_refusal_print(refusal, code, sizeof code);
        if (offender.family != 0)
            gw_ip_address_print(&offender, text, sizeof text);
        if (strcmp(code, cases[i].refusal) != 0
            || strcmp(text, cases[i].offender == NULL ? "" : cases[i].offender) != 0)
            fail_msg("%s -> %s: \"%s\" (%s): %s", cases[i].host, cases[i].addresses, code, text,
                     cases[i].why);
        assert_int_equal(set != NULL, refusal.reason == GW_REASON_NONE);
        if (set != NULL)
            assert_int_equal(gw_dialable_count(set), count);
        gw_dialable_set_free(set);
        /* Screening alone gives the same answer: a pooled connection is asked that way. */
        struct gw_refusal again = gw_dialable_set_make(
            &built.image, &own, &asked.host, cases[i].port, addresses, count, NULL, NULL, NULL);
        assert_int_equal(again.reason, refusal.reason);
        assert_int_equal(again.kind, refusal.kind);
    }
    free(built.bytes);
}

static void without_knowing_ourselves_nothing_is_ours(void **state)
{
    struct built built = the_policy();
    struct gw_authority asked = authority("a.acme.test");
    struct gw_ip_address public = address("45.33.32.156");
    (void)state;
    assert_int_equal(
        gw_dialable_set_make(&built.image, NULL, &asked.host, 9464, &public, 1, NULL, NULL, NULL)
            .reason,
        GW_REASON_NONE);
    free(built.bytes);
}

static void there_is_a_limit_of_records(void **state)
{
    struct built built = the_policy();
    struct gw_authority asked = authority("a.acme.test");
    struct gw_ip_address many[GW_ADDRESSES_MAX + 1];
    struct gw_dialable_set *set;
    (void)state;
    for (size_t i = 0; i < GW_COUNT(many); i++)
        many[i] = (struct gw_ip_address){ 4, { 45, 33, 33, (uint8_t)i } };
    struct gw_refusal refusal = gw_dialable_set_make(&built.image, NULL, &asked.host, 443, many,
                                                     GW_ADDRESSES_MAX + 1, NULL, &set, NULL);
    assert_int_equal(refusal.reason, GW_REASON_TOO_MANY_ADDRESSES);
    assert_null(set);
    refusal = gw_dialable_set_make(&built.image, NULL, &asked.host, 443, many, GW_ADDRESSES_MAX,
                                   NULL, &set, NULL);
    assert_int_equal(refusal.reason, GW_REASON_NONE);
    assert_int_equal(gw_dialable_count(set), GW_ADDRESSES_MAX);
    gw_dialable_set_free(set);
    free(built.bytes);
}

static void families_take_turns(void **state)
{
    struct built built = the_policy();
    struct gw_authority asked = authority("a.acme.test");
    struct gw_ip_address addresses[8];
    static const char *const order[] = { "2a00:5::1", "45.33.32.1", "2a00:5::2", "45.33.32.2",
                                         "45.33.32.3" };
    size_t count = read_addresses(
        "45.33.32.1 ::ffff:45.33.32.2 2a00:5::1 45.33.32.1 45.33.32.3 2a00:5::2 45.33.32.2",
        addresses);
    struct gw_dialable_set *set;
    (void)state;
    assert_int_equal(gw_dialable_set_make(&built.image, NULL, &asked.host, 443, addresses, count,
                                          NULL, &set, NULL)
                         .reason,
                     GW_REASON_NONE);
    assert_int_equal(gw_dialable_count(set), GW_COUNT(order));
    for (size_t i = 0; i < GW_COUNT(order); i++) {
        struct gw_ip_address one = gw_dialable_address(gw_dialable_at(set, i));
        char text[GW_IP_ADDRESS_TEXT_MAX];
        gw_ip_address_print(&one, text, sizeof text);
        assert_string_equal(text, order[i]);
    }
    assert_null(gw_dialable_at(set, GW_COUNT(order)));
    gw_dialable_set_free(set);
    free(built.bytes);
}

static void the_peer_is_the_address_that_was_screened(void **state)
{
    struct built built = the_policy();
    struct gw_authority asked = authority("a.acme.test");
    struct gw_ip_address addresses[2] = { address("2a00:5::1"), address("::ffff:45.33.32.1") };
    struct gw_dialable_set *set;
    struct sockaddr_storage peer;
    (void)state;
    (void)gw_dialable_set_make(&built.image, NULL, &asked.host, 8443, addresses, 2, NULL, &set,
                               NULL);
    const struct gw_dialable *six = gw_dialable_at(set, 0), *four = gw_dialable_at(set, 1);
    assert_int_equal(gw_dialable_sockaddr(six, &peer), sizeof(struct sockaddr_in6));
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;
    assert_int_equal(in6->sin6_port, htons(8443));
    assert_true(gw_dialable_is_peer(six, &peer));
    assert_false(gw_dialable_is_peer(four, &peer));
    in6->sin6_port = htons(8444);
    assert_false(gw_dialable_is_peer(six, &peer));
    in6->sin6_port = htons(8443);
    in6->sin6_addr.s6_addr[15] ^= 1;
    assert_false(gw_dialable_is_peer(six, &peer));
    assert_int_equal(gw_dialable_sockaddr(four, &peer), sizeof(struct sockaddr_in));
    struct sockaddr_in *in = (struct sockaddr_in *)&peer;
    assert_int_equal(in->sin_family, AF_INET); /* mapped, dialled as IPv4 */
    assert_true(gw_dialable_is_peer(four, &peer));
    in->sin_addr.s_addr ^= htonl(1);
    assert_false(gw_dialable_is_peer(four, &peer));
    memset(&peer, 0, sizeof peer);
    assert_false(gw_dialable_is_peer(four, &peer));
    assert_false(gw_dialable_is_peer(six, &peer));
    gw_dialable_set_free(set);
    free(built.bytes);
}

static void localhost_stands_for_what_is_lifted(void **state)
{
    struct built built = the_policy();
    static const struct {
        const char *host;
        size_t count;
        const char *first;
    } names[] = { { "localhost", 1, "127.0.0.1" },
                  { "six.localhost", 1, "::1" },
                  { "other.localhost", 0, NULL },
                  { "narrow.acme.test", 0, NULL } };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        struct gw_authority asked = authority(names[i].host);
        struct gw_ip_address out[2];
        char text[GW_IP_ADDRESS_TEXT_MAX];
        assert_int_equal(gw_localhost_addresses(&built.image, &asked.host, out), names[i].count);
        if (names[i].count == 0)
            continue;
        gw_ip_address_print(&out[0], text, sizeof text);
        assert_string_equal(text, names[i].first);
    }
    free(built.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_set_is_screened),
        cmocka_unit_test(without_knowing_ourselves_nothing_is_ours),
        cmocka_unit_test(there_is_a_limit_of_records),
        cmocka_unit_test(families_take_turns),
        cmocka_unit_test(the_peer_is_the_address_that_was_screened),
        cmocka_unit_test(localhost_stands_for_what_is_lifted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
