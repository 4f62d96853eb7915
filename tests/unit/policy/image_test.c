/* tests/unit/policy/image_test.c - the image as a block of bytes: one for one policy, safe when it
 * is damaged, and large when it has to be. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "policy/image_format.h"

/* ---- one policy, one image --------------------------------------------------------------- */

static const char *const hosts[] = { "api.acme.test", ".pkgs.test.example", "db.acme.test:5432",
                                     "203.0.113.9",   "[2001:db8::1]:443",  ".acme.example:8443",
                                     ".acme.example", "acme.example" };

enum { PARTS = 10 };

static void add_part(struct gw_image_builder *b, size_t part)
{
    static const char *const methods[] = { "POST", "GET", "GET" }, *const paths[] = { "/v1", "/a" };
    static const struct gw_rule_source rules[] = { { methods, 3, paths, 2, false },
                                                   { NULL, 0, paths, 1, true } };
    static const struct gw_credential_source credentials[] = { { "one", "authorization", false },
                                                               { "two", "x-api-key", true } };
    const struct gw_cidr ranges[] = { range("127.0.0.0/8"), range("10.0.0.0/8"),
                                      range("fd00::/8") };
    const struct gw_cidr denied[] = { range("198.51.100.0/24"), range("2001:db8::/32") };
    switch (part) {
    case 0:
    case 1:
        MUST(gw_image_builder_rule(b, GW_SLICE("api.acme.test"), &rules[part], &err));
        break;
    case 2:
    case 3:
        MUST(gw_image_builder_credential(b, GW_SLICE("api.acme.test"), &credentials[part - 2],
                                         &err));
        break;
    case 4:
        MUST(gw_image_builder_inward(b, GW_SLICE(".acme.example"), ranges, 3, &err));
        break;
    case 5:
        MUST(gw_image_builder_inward(b, GW_SLICE("acme.example"), NULL, 0, &err));
        break;
    case 6:
        MUST(gw_image_builder_upstream_tls(b, GW_SLICE(".acme.example"), "ca-b", &err));
        MUST(gw_image_builder_upstream_tls(b, GW_SLICE("x.acme.example"), "ca-a", &err));
        break;
    case 7:
    case 8:
        MUST(gw_image_builder_deny_cidr(b, &denied[part - 7], &err));
        MUST(gw_image_builder_deny_cidr(b, &denied[part - 7], &err));
        break;
    default:
        MUST(gw_image_builder_plaintext(b, GW_SLICE("acme.example"), &err));
    }
}

/* Everything that a policy can say, the hosts from `first` on and round, then the rest so. */
static struct gw_image_builder *full_builder(size_t first)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    for (size_t i = 0; i < GW_COUNT(hosts); i++)
        ALLOW(b, hosts[(first + i) % GW_COUNT(hosts)]);
    for (size_t i = 0; i < PARTS; i++)
        add_part(b, (first + i) % PARTS);
    return b;
}

static void the_order_of_adding_leaves_no_trace(void **state)
{
    struct built first = build(full_builder(0));
    (void)state;
    for (size_t i = 1; i < PARTS; i++) {
        struct built other = build(full_builder(i));
        assert_int_equal(first.length, other.length);
        assert_memory_equal(first.bytes, other.bytes, first.length);
        free(other.bytes);
    }
    free(first.bytes);
}

static void every_setting_is_in_the_bytes(void **state)
{
    struct built same = build(full_builder(0));
    (void)state;
    for (int change = 0; change < 5; change++) {
        struct gw_image_builder *b = full_builder(0);
        const uint16_t ports[] = { 443 };
        const struct gw_cidr more = range("192.0.2.0/24");
        if (change == 0)
            gw_image_builder_sni(b, GW_SNI_LOG);
        else if (change == 1)
            MUST(gw_image_builder_ports(b, ports, 1, &err));
        else if (change == 2)
            MUST(gw_image_builder_plain_ports(b, NULL, 0, &err));
        else if (change == 3)
            MUST(gw_image_builder_deny_cidr(b, &more, &err));
        else
            ALLOW(b, "more.test");
        struct built other = build(b);
        assert_false(other.length == same.length
                     && memcmp(other.bytes, same.bytes, same.length) == 0);
        free(other.bytes);
    }
    free(same.bytes);
}

static void an_empty_policy_has_an_image(void **state)
{
    (void)state;
    for (int kind = GW_POLICY_DENY_ALL; kind <= GW_POLICY_STATIC; kind++) {
        struct built built = build(gw_image_builder_new((enum gw_policy_kind)kind));
        struct gw_ask ask = { .kind = GW_ASK_REQUEST,
                              .authority = authority("a.test"),
                              .method = GW_SLICE("GET") };
        struct gw_verdict verdict;
        assert_int_equal(gw_image_host_count(&built.image), 0);
        gw_decide(&built.image, NULL, &ask, NULL, &verdict);
        assert_int_equal(verdict.refusal.reason,
                         kind == GW_POLICY_ALLOW_ALL ? GW_REASON_NONE : GW_REASON_NOT_ALLOWED);
        free(built.bytes);
    }
}

/* ---- damage ------------------------------------------------------------------------------ */

/* Every kind of lookup, for hosts that are there, below, and absent. What it says of a damaged
 * image does not matter; that it stays inside does, and the sanitizer watches. */
static void look_around(const struct gw_image *image)
{
    static const char *const asked[] = { "api.acme.test:80",  "a.pkgs.test.example",
                                         "db.acme.test:5432", "203.0.113.9",
                                         "[2001:db8::1]",     "x.acme.example:8443",
                                         "acme.example",      "absent.test",
                                         "localhost" };
    for (size_t i = 0; i < GW_COUNT(asked); i++)
        for (int kind = 0; kind < 4; kind++) {
            struct gw_ask ask = { .kind = kind & 1 ? GW_ASK_TUNNEL : GW_ASK_REQUEST,
                                  .https = kind & 2,
                                  .authority = authority(asked[i]),
                                  .method = GW_SLICE("GET"),
                                  .path_and_query = GW_SLICE("/v1/x") };
            struct gw_ip_address answer[] = { address("10.1.2.3"), address("93.184.216.34") };
            struct gw_verdict verdict;
            if (ask.authority.port == 0)
                ask.authority.port = 443;
            gw_decide(image, NULL, &ask, NULL, &verdict);
            for (uint32_t k = 0; k < verdict.credential_count; k++)
                (void)gw_image_credential(image, verdict.credentials[k]);
            if (verdict.ca >= 0)
                (void)gw_image_ca(image, (size_t)verdict.ca);
            (void)gw_dialable_set_make(image, NULL, &ask.authority.host, 443, answer, 2, NULL, NULL,
                                       NULL);
        }
}

/* On the heap and of the exact size, so that a byte too far is seen. */
static bool try_open(const void *bytes, size_t length)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image image;
    void *copy = malloc(length == 0 ? 1 : length);
    memcpy(copy, bytes, length);
    bool opened = gw_image_open(copy, length, &image, &err);
    if (opened)
        look_around(&image);
    else
        assert_int_equal(err.code, GW_ERR_CORRUPT);
    free(copy);
    return opened;
}

static void a_cut_image_is_refused(void **state)
{
    struct built built = build(full_builder(0));
    char *longer = calloc(1, built.length + 8);
    (void)state;
    for (size_t length = 0; length < built.length; length++)
        assert_false(try_open(built.bytes, length));
    assert_true(try_open(built.bytes, built.length));
    memcpy(longer, built.bytes, built.length);
    for (size_t more = 1; more <= 8; more++)
        assert_false(try_open(longer, built.length + more));
    free(longer);
    free(built.bytes);
}

/* A changed port or SNI mode is another valid policy, so not every change can be refused; but a
 * change of any name, offset or count is. */
static void a_damaged_image_is_refused_or_harmless(void **state)
{
    struct built built = build(full_builder(0));
    unsigned char *bytes = built.bytes;
    size_t refused = 0, tried = 0;
    (void)state;
    for (size_t i = 0; i < built.length; i++) {
        unsigned char before = bytes[i];
        static const unsigned char flips[] = { 0x01, 0x80, 0x20, 0xff };
        for (size_t k = 0; k < GW_COUNT(flips); k++, tried++) {
            bytes[i] = before ^ flips[k];
            refused += !try_open(bytes, built.length);
        }
        bytes[i] = before;
    }
    assert_true(refused * 2 > tried);
    const struct gw_image_header *head = built.bytes;
    struct gw_image_span text = head->section[GW_IMAGE_TEXT];
    struct gw_image_span nodes = head->section[GW_IMAGE_NODES];
    struct gw_image_node last;
    memcpy(&last, bytes + nodes.first + (nodes.count - 1) * sizeof last, sizeof last);
    for (size_t i = text.first; i < text.first + last.name; i++) {
        bytes[i] ^= 1;
        assert_false(try_open(bytes, built.length));
        bytes[i] ^= 1;
    }
    free(built.bytes);
}

static void every_offset_and_count_is_checked(void **state)
{
    struct built built = build(full_builder(0));
    struct gw_image_header *head = built.bytes;
    static const uint32_t values[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8 };
    (void)state;
    for (int id = 0; id < GW_IMAGE_SECTIONS; id++)
        for (size_t i = 0; i < GW_COUNT(values); i++) {
            struct gw_image_span before = head->section[id];
            if (values[i] != before.first) {
                head->section[id].first = values[i];
                assert_false(try_open(built.bytes, built.length));
                head->section[id] = before;
            }
            if (values[i] != before.count) {
                head->section[id].count = values[i];
                assert_false(try_open(built.bytes, built.length));
                head->section[id] = before;
            }
        }
    free(built.bytes);
}

static void an_image_that_lies_askew_is_refused(void **state)
{
    struct built built = build(full_builder(0));
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image image;
    char *room = malloc(built.length + 8);
    (void)state;
    memcpy(room + 4, built.bytes, built.length);
    assert_false(gw_image_open(room + 4, built.length, &image, &err));
    assert_false(gw_image_open(NULL, 0, &image, &err));
    free(room);
    free(built.bytes);
}

/* ---- size -------------------------------------------------------------------------------- */

static void name_of(int i, char *out, size_t room)
{
    snprintf(out, room, "host-%d.pkgs-%d.example.test", i, i % 1000);
}

static enum gw_reason ask_for(const struct gw_image *image, const char *host)
{
    struct gw_ask ask = { .kind = GW_ASK_REQUEST,
                          .authority = authority(host),
                          .method = GW_SLICE("GET") };
    struct gw_verdict verdict;
    gw_decide(image, NULL, &ask, NULL, &verdict);
    return verdict.refusal.reason;
}

static void a_million_hosts_are_found_and_no_other(void **state)
{
    enum { HOSTS = 1000000 };
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    char text[80];
    (void)state;
    for (int i = 0; i < HOSTS; i++) {
        text[0] = '.';
        name_of(i, text + 1, sizeof text - 1);
        ALLOW(b, i % 2 == 0 ? text : text + 1);
    }
    struct built built = build(b);
    const struct gw_image_header *head = built.bytes;
    assert_int_equal(gw_image_host_count(&built.image), HOSTS);
    assert_true(built.length < (size_t)HOSTS * 80);
    assert_true(head->fullest <= 16); /* so many names are compared at most, for each label */
    for (int i = 0; i < HOSTS; i += 97) {
        name_of(i, text, sizeof text);
        assert_int_equal(ask_for(&built.image, text), GW_REASON_NONE);
        char below[96];
        snprintf(below, sizeof below, "x.%s", text);
        assert_int_equal(ask_for(&built.image, below),
                         i % 2 == 0 ? GW_REASON_NONE : GW_REASON_NOT_ALLOWED);
        name_of(HOSTS + i, text, sizeof text);
        assert_int_equal(ask_for(&built.image, text), GW_REASON_NOT_ALLOWED);
    }
    assert_int_equal(ask_for(&built.image, "example.test"), GW_REASON_NOT_ALLOWED);
    free(built.bytes);
}

/* A host with every port of its own is found by search, and so is the last one. */
static void a_host_may_have_many_ports(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    char entry[32];
    (void)state;
    for (int port = 1000; port < 5000; port++) {
        snprintf(entry, sizeof entry, "%sa.test.example:%d", port % 2 == 0 ? "." : "", port);
        ALLOW(b, entry);
    }
    struct built built = build(b);
    for (int port = 999; port <= 5000; port++) {
        snprintf(entry, sizeof entry, "a.test.example:%d", port);
        assert_int_equal(ask_for(&built.image, entry),
                         port > 999 && port < 5000 ? GW_REASON_NONE : GW_REASON_PORT_NOT_ALLOWED);
        snprintf(entry, sizeof entry, "x.a.test.example:%d", port);
        assert_int_equal(ask_for(&built.image, entry), port > 999 && port < 5000 && port % 2 == 0
                                                           ? GW_REASON_NONE
                                                           : GW_REASON_PORT_NOT_ALLOWED);
    }
    free(built.bytes);
}

/* 127 labels, each of which has an entry: the longest walk that a name can ask for. */
static void the_deepest_name_is_walked_to_its_end(void **state)
{
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    char name[256] = "a.test", entry[260];
    (void)state;
    while (strlen(name) + 2 <= 253) {
        memmove(name + 2, name, strlen(name) + 1);
        memcpy(name, "a.", 2);
        snprintf(entry, sizeof entry, ".%s", name);
        ALLOW(b, entry);
    }
    struct built built = build(b);
    assert_int_equal(ask_for(&built.image, name), GW_REASON_NONE);
    name[0] = 'b';
    assert_int_equal(ask_for(&built.image, name), GW_REASON_NONE);
    assert_int_equal(ask_for(&built.image, "a.test"), GW_REASON_NOT_ALLOWED);
    free(built.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_adding_leaves_no_trace),
        cmocka_unit_test(every_setting_is_in_the_bytes),
        cmocka_unit_test(an_empty_policy_has_an_image),
        cmocka_unit_test(a_cut_image_is_refused),
        cmocka_unit_test(a_damaged_image_is_refused_or_harmless),
        cmocka_unit_test(every_offset_and_count_is_checked),
        cmocka_unit_test(an_image_that_lies_askew_is_refused),
        cmocka_unit_test(a_million_hosts_are_found_and_no_other),
        cmocka_unit_test(a_host_may_have_many_ports),
        cmocka_unit_test(the_deepest_name_is_walked_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
