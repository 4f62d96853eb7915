/* tests/unit/common/snapshot_test.c */
#include "gateway/common/snapshot.h"

#include <string.h>

#include "gateway/common/counters.h"
#include "support.h"

static const struct gw_ip_address loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };
static const struct gw_ip_address documentation = { .family = 6, .bytes = { 0x20, 1, 0xd, 0xb8 } };

/* Two of everything. Static memory: nothing of it is freed. */
static struct gw_snapshot *sample(void)
{
    static struct gw_snapshot_server servers[2];
    static struct gw_ip_address addresses[2];
    static struct gw_snapshot_hosts hosts[2];
    static struct gw_snapshot_listener listeners[2];
    static struct gw_own_port own_ports[2];
    static struct gw_snapshot_network networks[2];
    static struct gw_snapshot_credential credentials[2];
    static char build[] = "build", local[] = "local", fleet[] = "fleet", token[] = "token",
                other[] = "other", ca[] = "0123";
    static struct gw_snapshot s;
    servers[0] = (struct gw_snapshot_server){ loopback, 53 };
    servers[1] = (struct gw_snapshot_server){ documentation, 5353 };
    addresses[0] = loopback;
    addresses[1] = documentation;
    hosts[0] = (struct gw_snapshot_hosts){ .addresses = addresses, .address_count = 2 };
    assert_int_equal(gw_host_parse(GW_SLICE("origin.test"), &hosts[0].host), GW_REASON_NONE);
    assert_int_equal(gw_host_parse(GW_SLICE("empty.test"), &hosts[1].host), GW_REASON_NONE);
    listeners[0] = (struct gw_snapshot_listener){ 3, loopback, false, 3128 };
    listeners[1] = (struct gw_snapshot_listener){ 9, documentation, true, 8080 };
    own_ports[0] = (struct gw_own_port){ loopback, false, 9464 };
    own_ports[1] = (struct gw_own_port){ documentation, true, 9465 };
    networks[0] = (struct gw_snapshot_network){ .name = local,
                                                .policy = build,
                                                .image.bytes = { 1, 2, 3 },
                                                .listener = 1,
                                                .slot = GW_NETWORK_SLOTS - 1,
                                                .max_connections = 10,
                                                .max_tunnels = 20,
                                                .lifetime_s = 1ull << 40 };
    networks[1] = (struct gw_snapshot_network){ .name = fleet, .policy = build };
    credentials[0] = (struct gw_snapshot_credential){ 1ull << 50, token };
    credentials[1] = (struct gw_snapshot_credential){ 2, other };
    s = (struct gw_snapshot){ .generation = 77,
                              .via_token = "0123456789abcdef0123456789abcdef",
                              .log_level = GW_LOG_DEBUG,
                              .dns = { servers, 2, 2000, 2, 5000, 300, 50, hosts, 2 },
                              .tls = { ca, true },
                              .listeners = listeners,
                              .listener_count = 2,
                              .own_ports = own_ports,
                              .own_port_count = 2,
                              .networks = networks,
                              .network_count = 2,
                              .credentials = credentials,
                              .credential_count = 2 };
    gw_limits_init(&s.limits);
    gw_limit(&s.limits, DRAIN_S) = 5;
    return &s;
}

static struct gw_slice encode(const struct gw_snapshot *s)
{
    unsigned char *bytes = NULL;
    size_t length = 0;
    struct gw_error err = GW_ERROR_NONE;
    assert_true(gw_snapshot_encode(s, &bytes, &length, &err));
    return (struct gw_slice){ (char *)bytes, length };
}

static void what_was_encoded_is_decoded(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    struct gw_slice first = encode(sample());
    struct gw_snapshot *s = gw_snapshot_decode(first, &err);
    assert_non_null(s);
    assert_true(s->generation == 77);
    assert_string_equal(s->via_token, "0123456789abcdef0123456789abcdef");
    assert_int_equal(s->log_level, GW_LOG_DEBUG);
    assert_true(gw_limit(&s->limits, DRAIN_S) == 5);
    assert_int_equal(s->dns.server_count, 2);
    assert_true(gw_ip_address_equal(&s->dns.servers[1].address, &documentation));
    assert_int_equal(s->dns.servers[1].port, 5353);
    assert_int_equal(s->dns.resolution_delay_ms, 50);
    assert_string_equal(s->dns.hosts[0].host.text, "origin.test");
    assert_int_equal(s->dns.hosts[0].address_count, 2);
    assert_int_equal(s->dns.hosts[1].address_count, 0);
    assert_string_equal(s->tls.default_ca, "0123");
    assert_true(s->tls.min_tls13);
    assert_int_equal(s->listeners[1].id, 9);
    assert_true(s->listeners[1].wildcard);
    assert_int_equal(s->own_ports[1].port, 9465);
    assert_string_equal(s->networks[0].name, "local");
    assert_int_equal(s->networks[0].image.bytes[2], 3);
    assert_int_equal(s->networks[0].slot, GW_NETWORK_SLOTS - 1);
    assert_true(s->networks[0].lifetime_s == 1ull << 40);
    assert_true(s->credentials[0].id == 1ull << 50);
    struct gw_slice second = encode(s);
    assert_true(gw_slice_equal(first, second));
    gw_snapshot_free(s);
    free((void *)(uintptr_t)first.data);
    free((void *)(uintptr_t)second.data);
}

static void assert_refused(struct gw_slice bytes, const char *why)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_snapshot *s = gw_snapshot_decode(bytes, &err);
    if (s != NULL) {
        gw_snapshot_free(s);
        fail_msg("accepted: %s", why);
    }
    assert_true(err.text[0] != '\0');
}

static void every_part_of_it_alone_is_refused(void **state)
{
    (void)state;
    struct gw_slice whole = encode(sample());
    for (size_t length = 0; length < whole.length; length++)
        assert_refused((struct gw_slice){ whole.data, length }, "cut off");
    char *longer = malloc(whole.length + 1);
    memcpy(longer, whole.data, whole.length);
    longer[whole.length] = 0;
    assert_refused((struct gw_slice){ longer, whole.length + 1 }, "a byte left over");
    free(longer);
    free((void *)(uintptr_t)whole.data);
}

static char too_long[300], with_control[] = "a\nb", nothing[] = "";

/* Each changes one thing of the sample. */
static void no_listener(struct gw_snapshot *s)
{
    s->networks[1].listener = 2;
}
static void no_slot(struct gw_snapshot *s)
{
    s->networks[1].slot = GW_NETWORK_SLOTS;
}
static void no_port(struct gw_snapshot *s)
{
    s->listeners[0].port = 0;
}
static void no_family(struct gw_snapshot *s)
{
    s->dns.servers[0].address.family = 5;
}
static void dirty_address(struct gw_snapshot *s)
{
    s->dns.servers[0].address.bytes[9] = 1;
}
static void long_name(struct gw_snapshot *s)
{
    memset(too_long, 'n', sizeof too_long - 1);
    s->networks[0].name = too_long;
}
static void control_name(struct gw_snapshot *s)
{
    s->networks[0].policy = with_control;
}
static void empty_name(struct gw_snapshot *s)
{
    s->credentials[0].name = nothing;
}
static void high_limit(struct gw_snapshot *s)
{
    gw_limit(&s->limits, HEAD_FIELDS) = 1000000;
}
static void low_limit(struct gw_snapshot *s)
{
    gw_limit(&s->limits, HEAD_TIMEOUT_MS) = 0;
}
static void other_level(struct gw_snapshot *s)
{
    s->log_level = GW_LOG_LEVELS;
}
static void upper_host(struct gw_snapshot *s)
{
    s->dns.hosts[0].host.text[0] = 'O';
}
static void bad_token(struct gw_snapshot *s)
{
    s->via_token[5] = 'G';
}

static void what_does_not_fit_together_is_refused(void **state)
{
    static const struct {
        void (*change)(struct gw_snapshot *s);
        const char *why;
    } cases[] = {
        { no_listener, "a network without its listener" },
        { no_slot, "a slot past the last" },
        { no_port, "port 0" },
        { no_family, "an address of no family" },
        { dirty_address, "IPv4 with more than 4 bytes" },
        { long_name, "a name of 299 bytes" },
        { control_name, "a name that would break a log line" },
        { empty_name, "no name" },
        { high_limit, "a limit over its bound" },
        { low_limit, "a limit under its bound" },
        { other_level, "a log level past the last" },
        { upper_host, "a host that is not canonical would never match" },
        { bad_token, "a Via token that is not hexadecimal" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_snapshot *s = sample();
        cases[i].change(s);
        struct gw_slice bytes = encode(s);
        assert_refused(bytes, cases[i].why);
        free((void *)(uintptr_t)bytes.data);
    }
}

static void any_flipped_byte_is_refused_or_decodes_to_itself(void **state)
{
    (void)state;
    struct gw_slice whole = encode(sample());
    char *bytes = (char *)(uintptr_t)whole.data;
    for (size_t i = 0; i < whole.length; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            struct gw_error err = GW_ERROR_NONE;
            bytes[i] ^= (char)(1 << bit);
            struct gw_snapshot *s = gw_snapshot_decode(whole, &err);
            if (s != NULL) {
                struct gw_slice again = encode(s);
                assert_true(gw_slice_equal(whole, again));
                free((void *)(uintptr_t)again.data);
                gw_snapshot_free(s);
            }
            bytes[i] ^= (char)(1 << bit);
        }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_encoded_is_decoded),
        cmocka_unit_test(every_part_of_it_alone_is_refused),
        cmocka_unit_test(what_does_not_fit_together_is_refused),
        cmocka_unit_test(any_flipped_byte_is_refused_or_decodes_to_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
