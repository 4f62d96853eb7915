/* What a name resolved to: tests/data/resolved.tsv.
 * Addresses are separated by ','; "93.184.216.1+65" is that one and the 64 behind it, "garbage" is
 * a record that is no address. Expected is a refusal, or "ok" and the addresses in the order in
 * which they are to be dialled, or "ok #64" for so many. The column "offender" is the address that
 * the operator is told of, "-" where none is asked for. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number.h"
#include "policy/dialable.h"
#include "tests/support/policy_text.h"
#include "tests/support/refusal_text.h"
#include "tests/support/table.h"

#define ADDRESSES_MAX 128

struct question {
    struct gw_image image;
    struct gw_own_text own;
    struct gw_host host;
    uint16_t port;
    struct gw_ip_address addresses[ADDRESSES_MAX];
    size_t count;
};

static void add_addresses(struct question *q, struct gw_slice text)
{
    struct gw_slice first;
    struct gw_ip_address address;
    uint64_t count = 1;
    (void)gw_table_split(&text, '+', &first);
    if (text.data != NULL && !gw_number_parse(text, 1, ADDRESSES_MAX, &count))
        fail_msg("not a count: %.*s", (int)text.length, text.data);
    if (gw_slice_equal(first, GW_SLICE("garbage")))
        memset(&address, 0, sizeof address);
    else if (!gw_ip_address_parse(first, &address))
        fail_msg("not an address: %.*s", (int)first.length, first.data);
    for (; count > 0; count--) {
        assert_true(q->count < ADDRESSES_MAX);
        q->addresses[q->count++] = address;
        address.bytes[address.family == 4 ? 3 : 15]++;
    }
}

static void read_question(struct gw_table *table, struct question *q)
{
    struct gw_slice list = gw_table_get(table, "addresses"), part;
    uint64_t port = 0;
    if (gw_host_parse(gw_table_get(table, "host"), &q->host) != GW_REASON_NONE)
        fail_msg("not a host: %s", gw_table_text(table, "host"));
    if (!gw_number_parse(gw_table_get(table, "port"), 1, UINT16_MAX, &port))
        fail_msg("not a port: %s", gw_table_text(table, "port"));
    q->port = (uint16_t)port;
    gw_own_text_parse(gw_table_get(table, "own"), &q->own);
    while (!gw_slice_equal(list, GW_SLICE("-")) && gw_table_split(&list, ',', &part))
        add_addresses(q, part);
}

/* The other ways in which a screened address can be looked at say the same. */
static void check_dialable(struct gw_table *table, const struct question *q,
                           const struct gw_dialable *dialable)
{
    struct sockaddr_storage socket_address, other;
    memset(&socket_address, 0, sizeof socket_address);
    struct gw_ip_address address = gw_dialable_address(dialable);
    socklen_t length = gw_dialable_sockaddr(dialable, &socket_address);
    bool is_v4 = address.family == 4;
    const struct sockaddr_in *v4 = (const void *)&socket_address;
    const struct sockaddr_in6 *v6 = (const void *)&socket_address;
    const void *bytes = is_v4 ? (const void *)&v4->sin_addr : (const void *)&v6->sin6_addr;

    if (length != (is_v4 ? sizeof *v4 : sizeof *v6)
        || socket_address.ss_family != (is_v4 ? AF_INET : AF_INET6)
        || (is_v4 ? v4->sin_port : v6->sin6_port) != htons(q->port)
        || memcmp(bytes, address.bytes, is_v4 ? 4 : 16) != 0)
        gw_table_wrong(table, "the socket address is not what was screened");
    if (!gw_dialable_is_peer(dialable, &socket_address))
        gw_table_wrong(table, "does not know itself as a peer");

    other = socket_address;
    if (is_v4)
        ((struct sockaddr_in *)(void *)&other)->sin_port ^= htons(1);
    else
        ((struct sockaddr_in6 *)(void *)&other)->sin6_port ^= htons(1);
    if (gw_dialable_is_peer(dialable, &other))
        gw_table_wrong(table, "takes another port for its peer");

    other = socket_address;
    if (is_v4)
        ((struct sockaddr_in *)(void *)&other)->sin_addr.s_addr ^= htonl(1);
    else
        ((struct sockaddr_in6 *)(void *)&other)->sin6_addr.s6_addr[15] ^= 1;
    if (gw_dialable_is_peer(dialable, &other))
        gw_table_wrong(table, "takes another address for its peer");

    memset(&other, 0, sizeof other);
    if (gw_dialable_is_peer(dialable, &other))
        gw_table_wrong(table, "takes no address at all for its peer");
}

static void check_set(struct gw_table *table, const struct question *q,
                      const struct gw_dialable_set *set)
{
    struct gw_slice expected = gw_table_get(table, "expected");
    char got[ADDRESSES_MAX * GW_IP_ADDRESS_TEXT_MAX] = "ok", count[16];
    size_t used = 2, total = gw_dialable_count(set);
    for (size_t i = 0; i < total; i++) {
        struct gw_ip_address address = gw_dialable_address(gw_dialable_at(set, i));
        got[used++] = i == 0 ? ' ' : ',';
        used += gw_ip_address_print(&address, got + used, sizeof got - used);
        check_dialable(table, q, gw_dialable_at(set, i));
    }
    snprintf(count, sizeof count, "ok #%zu", total);
    if (!gw_slice_equal(expected, gw_slice_of(got))
        && !gw_slice_equal(expected, gw_slice_of(count)))
        gw_table_wrong(table, "\"%s\", expected \"%s\"", got, expected.data);
}

static void check_refusal(struct gw_table *table, struct gw_refusal refusal,
                          const struct gw_ip_address *offender)
{
    char got[GW_REASON_CODE_MAX], text[GW_IP_ADDRESS_TEXT_MAX];
    struct gw_slice expected = gw_table_get(table, "expected");
    struct gw_slice told = gw_table_get(table, "offender");
    (void)gw_refusal_print(refusal, got, sizeof got);
    if (!gw_refusal_text_is(expected, refusal)) {
        gw_table_wrong(table, "%s, expected \"%s\"", got, expected.data);
        return;
    }
    if (gw_slice_equal(told, GW_SLICE("-")))
        return;
    (void)gw_ip_address_print(offender, text, sizeof text);
    if (!gw_slice_equal(told, gw_slice_of(text)))
        gw_table_wrong(table, "the operator is told of %s, not of %s", text, told.data);
}

static void check_case(struct gw_table *table)
{
    struct question q = { .count = 0 };
    struct gw_error err = GW_ERROR_NONE;
    struct gw_dialable_set *set = NULL;
    struct gw_ip_address offender = { .family = 4 };
    void *bytes = NULL;
    read_question(table, &q);
    if (!gw_policy_text_build(gw_table_get(table, "policy"), &bytes, &q.image, &err)) {
        if (!gw_slice_equal(gw_table_get(table, "expected"), GW_SLICE("bad-policy")))
            gw_table_wrong(table, "the policy is refused: %s", err.text);
        goto out;
    }
    struct gw_refusal refusal = gw_dialable_set_make(&q.image, &q.own.own, &q.host, q.port,
                                                     q.addresses, q.count, NULL, &set, &offender);
    struct gw_refusal again = gw_dialable_set_make(&q.image, &q.own.own, &q.host, q.port,
                                                   q.addresses, q.count, NULL, NULL, NULL);
    if (refusal.reason != again.reason || refusal.kind != again.kind)
        gw_table_wrong(table, "to screen only gives another answer");
    if (refusal.reason == GW_REASON_NONE)
        check_set(table, &q, set);
    else
        check_refusal(table, refusal, &offender);
out:
    gw_dialable_set_free(set);
    free(bytes);
}

static void only_what_passes_the_screen_is_dialled(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("resolved.tsv");
    while (gw_table_next(table))
        check_case(table);
    gw_table_expect_series(table, "R", 2, 1, 7);
    gw_table_expect_series(table, "R", 2, 10, 12);
    gw_table_expect_series(table, "R", 2, 16, 25);
    gw_table_expect_series(table, "R", 2, 27, 27);
    gw_table_expect_series(table, "R", 2, 29, 31);
    gw_table_close(table, 117);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_passes_the_screen_is_dialled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
