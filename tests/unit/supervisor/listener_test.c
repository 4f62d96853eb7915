/* tests/unit/supervisor/listener_test.c */
#define _GNU_SOURCE /* SOCK_CLOEXEC under -std=c11 */
#include "gateway/supervisor/listener.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct gw_endpoint any_port = { { .family = 4, .bytes = { 127, 0, 0, 1 } }, 0 };

static bool can_connect(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    return connected;
}

static void it_listens_until_its_last_reference_goes(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    struct gw_listener *listener = gw_listener_new(&any_port, &err);
    assert_non_null(listener);
    uint16_t port = listener->port;
    assert_int_not_equal(port, 0);
    assert_int_equal(fcntl(listener->fd, F_GETFD), FD_CLOEXEC);
    assert_true((fcntl(listener->fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true(can_connect(port));
    gw_listener_ref(listener);
    gw_listener_unref(listener);
    assert_true(can_connect(port));
    gw_listener_unref(listener);
    assert_false(can_connect(port));
}

static void closing_refuses_at_once_whoever_has_references(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    struct gw_listener *listener = gw_listener_new(&any_port, &err);
    uint16_t port = listener->port;
    gw_listener_close(listener);
    assert_false(can_connect(port));
    gw_listener_unref(listener);
}

static void an_address_in_use_is_named(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    struct gw_listener *first = gw_listener_new(&any_port, &err);
    struct gw_endpoint taken = { any_port.address, first->port };
    assert_null(gw_listener_new(&taken, &err));
    assert_non_null(strstr(err.text, "127.0.0.1:"));
    gw_listener_unref(first);
    struct gw_listener *second = gw_listener_new(&taken, &err); /* no TIME_WAIT in the way */
    assert_non_null(second);
    assert_int_not_equal(second->id, 0);
    gw_listener_unref(second);
}

static void ipv6_leaves_ipv4_alone(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_endpoint wildcard = { { .family = 6 }, 0 };
    char text[GW_ENDPOINT_TEXT_MAX];
    (void)state;
    struct gw_listener *listener = gw_listener_new(&wildcard, &err);
    if (listener == NULL)
        skip(); /* a system without IPv6 */
    assert_false(can_connect(listener->port));
    gw_endpoint_print(&wildcard, 3128, text);
    assert_string_equal(text, "[::]:3128");
    gw_listener_unref(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_listens_until_its_last_reference_goes),
        cmocka_unit_test(closing_refuses_at_once_whoever_has_references),
        cmocka_unit_test(an_address_in_use_is_named),
        cmocka_unit_test(ipv6_leaves_ipv4_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
