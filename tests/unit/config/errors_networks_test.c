/* tests/unit/config/errors_networks_test.c - mistakes under `networks`: every one, where it is, and
 * in the order of the file. */
#include "config_support.h"

/* clang-format off */
#define VERSION "version: 1\n"
#define POLICIES "policies: {p: {kind: deny-all}}\n"

static const struct support_case cases[] = {
    { VERSION POLICIES "networks:\n" "  n: {}\n",
      "4:6: \"n\": the key \"listen\" is missing\n"
      "4:6: \"n\": the key \"policy\" is missing\n",
      "nothing" },
    { VERSION POLICIES "networks:\n" "  n: 127.0.0.1:3128\n",
      "4:6: \"n\": expected keys with values\n",
      "of the wrong form" },
    { VERSION POLICIES "networks:\n" "  n: {listen: unix:/run/x.sock, policy: p}\n",
      "4:15: \"listen: unix:\": not in this version\n",
      "a listener of a later version" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:0, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"127.0.0.1:0\"\n",
      "any port is no port" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"127.0.0.1\"\n",
      "no port" },
    { VERSION POLICIES "networks:\n" "  n: {listen: \"::1\", policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"::1\"\n",
      "no port" },
    { VERSION POLICIES "networks:\n" "  n: {listen: localhost:3128, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"localhost:3128\"\n",
      "a name" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 3128, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"3128\"\n",
      "no address" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:03128, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"127.0.0.1:03128\"\n",
      "a leading zero" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.1:3128, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"127.1:3128\"\n",
      "half an address" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:70000, policy: p}\n",
      "4:15: \"listen\": expected an IP address and a port, such as 127.0.0.1:3128 or \"[::1]:3128\", not \"127.0.0.1:70000\"\n",
      "past the last port" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 224.0.0.1:3128, policy: p}\n",
      "4:15: \"listen\": nothing can listen on a multicast address\n",
      "multicast" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:3128, policy: pp}\n",
      "4:39: \"policy\": there is no policy \"pp\" under policies; did you mean \"p\"?\n",
      "an undefined policy, and its near miss" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:3128, policy: ~}\n",
      "4:39: \"policy\": expected text, and there is nothing\n",
      "no policy" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:3128, policy: [p]}\n",
      "4:39: \"policy\": expected text\n",
      "of the wrong form" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n: {listen: 127.0.0.1:3128, policy: p, identify: [token, source, client_cert]}\n",
      "4:53: \"identify: token\": not in this version\n"
      "4:60: \"identify: source\": not in this version\n"
      "4:68: \"identify: client_cert\": not in this version\n",
      "identities of later versions" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:3128, policy: p, identify: []}\n",
      "4:52: \"identify\": an empty list says nothing; leave the key out\n",
      "nobody" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n: {listen: 127.0.0.1:3128, policy: p, identify: [listner]}\n",
      "4:53: \"identify\": \"listner\" is not one of listener; did you mean \"listener\"?\n",
      "a near miss" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n: {listen: 127.0.0.1:3128, policy: p, identify: [listener, listener]}\n",
      "4:52: \"identify\": name listener once\n",
      "twice" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n: {listen: 127.0.0.1:3128, policy: p, audit: refuse}\n",
      "4:49: \"audit: refuse\": not in this version\n",
      "an answer of a later version" },
    { VERSION POLICIES "networks:\n" "  n: {listen: 127.0.0.1:3128, policy: p, audit: block}\n",
      "4:49: \"audit\": \"block\" is not one of drop\n",
      "and one of none" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n: {listen: 127.0.0.1:3128, policy: p, tls: {}, proxy_protocol: {}}\n",
      "4:42: \"tls\": not in this version\n"
      "4:51: \"proxy_protocol\": not in this version\n",
      "keys of later versions" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n: {listen: 127.0.0.1:3128, policy: p, limits: {bytes_up: 0, bytes_down: 1, tunels: 3, connections: -1, lifetime_s: 1h}}\n",
      "4:51: \"bytes_up\": not in this version\n"
      "4:64: \"bytes_down\": not in this version\n"
      "4:79: unknown key \"tunels\"; did you mean \"tunnels\"?\n"
      "4:103: \"connections\": expected a whole number from 0 to 1000000 in decimal digits, not \"-1\"\n"
      "4:119: \"lifetime_s\": expected a whole number from 0 to 31536000 in decimal digits, not \"1h\"\n",
      "limits" },
    { VERSION
      POLICIES
      "networks:\n"
      "  a: {listen: 127.0.0.1:3128, policy: p}\n"
      "  b: {listen: 127.0.0.1:3128, policy: p}\n",
      "5:15: \"listen\": network \"a\" listens there already (line 4); each network has an address or a port of its own\n",
      "one place for two" },
    { VERSION
      POLICIES
      "networks:\n"
      "  a: {listen: 127.0.0.1:3128, policy: p}\n"
      "  b: {listen: 0.0.0.0:3128, policy: p}\n",
      "5:15: \"listen\": network \"a\" listens there already (line 4); each network has an address or a port of its own\n",
      "a wildcard beside it" },
    { VERSION
      POLICIES
      "networks:\n"
      "  a: {listen: '[::1]:3128', policy: p}\n"
      "  b: {listen: '[0:0::1]:3128', policy: p}\n"
      "  c: {listen: 127.0.0.1:3128, policy: p}\n",
      "5:15: \"listen\": network \"a\" listens there already (line 4); each network has an address or a port of its own\n",
      "another spelling; another family is another place" },
    { VERSION
      POLICIES
      "networks:\n"
      "  a: {listen: 127.0.0.1:3128, policy: p}\n"
      "  b: {listen: '[::ffff:127.0.0.1]:3128', policy: p}\n",
      "5:15: \"listen\": network \"a\" listens there already (line 4); each network has an address or a port of its own\n",
      "the same, mapped" },
};
/* clang-format on */

static void mistakes_under_networks_are_refused(void **state)
{
    (void)state;
    support_check(cases, GW_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_under_networks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
