/* tests/unit/config/errors_gateway_test.c - mistakes under `gateway`: every one, where it is, and
 * in the order of the file. */
#include "config_support.h"

/* clang-format off */
#define VERSION "version: 1\n"
#define POLICIES "policies: {p: {kind: deny-all}}\n"
#define NETWORKS "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"

static const struct support_case cases[] = {
    { VERSION "gateway: {processes: 0}\n" POLICIES NETWORKS,
      "2:22: \"processes\": expected auto, or a whole number from 1 to 64 in decimal digits, not \"0\"\n",
      "0 is not auto" },
    { VERSION "gateway: {processes: 0x10, user: 7}\n" POLICIES NETWORKS,
      "2:22: \"processes\": expected auto, or a whole number from 1 to 64 in decimal digits, not \"0x10\"\n"
      "2:34: \"user\": \"7\" is not a user name; write auto, or a name\n",
      "hexadecimal" },
    { VERSION "gateway: {processes: -1}\n" POLICIES NETWORKS,
      "2:22: \"processes\": expected auto, or a whole number from 1 to 64 in decimal digits, not \"-1\"\n",
      "a sign" },
    { VERSION "gateway: {processes: AUTO}\n" POLICIES NETWORKS,
      "2:22: \"processes\": expected auto, or a whole number from 1 to 64 in decimal digits, not \"AUTO\"\n",
      "words are lower case" },
    { VERSION "gateway: {processes: ~}\n" POLICIES NETWORKS,
      "2:22: \"processes\": expected auto, or a whole number from 1 to 64\n",
      "nothing" },
    { VERSION "gateway: {processes: [4]}\n" POLICIES NETWORKS,
      "2:22: \"processes\": expected auto, or a whole number from 1 to 64\n",
      "of the wrong form" },
    { VERSION "gateway: {limits: {drain_s: 0o17}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"0o17\"\n",
      "octal (CONF-02)" },
    { VERSION "gateway: {limits: {drain_s: 010}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"010\"\n",
      "octal, as others write it" },
    { VERSION "gateway: {limits: {drain_s: 08080}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"08080\"\n",
      "a leading zero" },
    { VERSION "gateway: {limits: {drain_s: 1e3}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"1e3\"\n",
      "an exponent" },
    { VERSION "gateway: {limits: {drain_s: 1_000}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"1_000\"\n",
      "an underscore" },
    { VERSION "gateway: {limits: {drain_s: 30s}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"30s\"\n",
      "a unit" },
    { VERSION "gateway: {limits: {drain_s: 1.5}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"1.5\"\n",
      "a fraction" },
    { VERSION "gateway: {limits: {drain_s: '30'}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits without quotes, not \"30\"\n",
      "quoted, it is text" },
    { VERSION "gateway: {limits: {drain_s: 86401}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"86401\"\n",
      "past its bound" },
    { VERSION "gateway: {limits: {drain_s: 99999999999999999999}}\n" POLICIES NETWORKS,
      "2:29: \"drain_s\": expected a whole number from 0 to 86400 in decimal digits, not \"99999999999999999999\"\n",
      "past any bound" },
    { VERSION "gateway: {limits: {head_timeout_ms: 9}}\n" POLICIES NETWORKS,
      "2:37: \"head_timeout_ms\": expected a whole number from 10 to 3600000 in decimal digits, not \"9\"\n",
      "below its bound" },
    { VERSION "gateway: {limits: {head_timeout_ms: auto}}\n" POLICIES NETWORKS,
      "2:37: \"head_timeout_ms\": expected a whole number from 10 to 3600000 in decimal digits, not \"auto\"\n",
      "auto is for connections alone" },
    { VERSION "gateway: {limits: {max_conections: 5}}\n" POLICIES NETWORKS,
      "2:20: unknown key \"max_conections\"; did you mean \"connections\"?\n",
      "a misspelt key (CONF-09)" },
    { VERSION "gateway: {limits: {conect_timeout_ms: 5}}\n" POLICIES NETWORKS,
      "2:20: unknown key \"conect_timeout_ms\"; did you mean \"connect_timeout_ms\"?\n",
      "and another" },
    { VERSION "gateway: {limits: {connections: 451}}\n" POLICIES NETWORKS,
      "2:33: \"connections\": 451 connections need 1002 descriptors, and the hard limit is 1000; raise it (LimitNOFILE=, ulimit -Hn), or write auto\n",
      "more descriptors than there can be" },
    { VERSION "gateway: {limits: {connections: 450}}\n" POLICIES NETWORKS,
      "",
      "accepted" },
    { VERSION "gateway: {limits: {request_line_bytes: 65536}}\n" POLICIES NETWORKS,
      "2:40: \"request_line_bytes\": the request line is part of the head, and head_bytes is 32768\n",
      "a limit that another one hides" },
    { VERSION "gateway: {user: nobody}\n" POLICIES NETWORKS,
      "2:17: \"user\": the proxies do not run as nobody, which is shared with others; write auto, or a user made for them\n",
      "a user that others are" },
    { VERSION "gateway: {user: root}\n" POLICIES NETWORKS,
      "2:17: \"user\": the proxies do not run as root, which they must not be; write auto, or a user made for them\n",
      "the proxies are confined" },
    { VERSION "gateway: {user: 65534}\n" POLICIES NETWORKS,
      "2:17: \"user\": \"65534\" is not a user name; write auto, or a name\n",
      "a number is no name" },
    { VERSION "gateway: {user: Some.One}\n" POLICIES NETWORKS,
      "2:17: \"user\": \"Some.One\" is not a user name; write auto, or a name\n",
      "nor is this" },
    { VERSION "gateway: {user: ''}\n" POLICIES NETWORKS,
      "2:17: \"user\": expected text, and there is nothing\n",
      "nor nothing" },
    { VERSION "gateway: {user: {}}\n" POLICIES NETWORKS,
      "2:17: \"user\": expected text\n",
      "of the wrong form" },
    { VERSION "gateway: {state_dir: state}\n" POLICIES NETWORKS,
      "2:22: \"state_dir\": expected a path that begins with \"/\", not \"state\"; where a relative one leads depends on who starts the gateway\n",
      "relative to what?" },
    { VERSION "gateway: {state_dir: \"/var/a\\nb\"}\n" POLICIES NETWORKS,
      "2:22: \"state_dir\": a control character in a path\n",
      "a line end in a path" },
    { VERSION "gateway: {state_dir: []}\n" POLICIES NETWORKS,
      "2:22: \"state_dir\": expected text\n",
      "of the wrong form" },
    { VERSION "gateway: {log: {access: access.log, running: off}}\n" POLICIES NETWORKS,
      "2:25: \"access\": expected a path that begins with \"/\", not \"access.log\"; where a relative one leads depends on who starts the gateway\n"
      "2:46: \"running\": expected a path that begins with \"/\", not \"off\"; where a relative one leads depends on who starts the gateway\n",
      "relative; and what is never off" },
    { VERSION "gateway: {log: {format: text, level: warn}}\n" POLICIES NETWORKS,
      "2:25: \"format\": \"text\" is not one of json\n"
      "2:38: \"level\": \"warn\" is not one of error, warning, info, debug; did you mean \"warning\"?\n",
      "words" },
    { VERSION "gateway: {log: {level: trace, rotate: daily}}\n" POLICIES NETWORKS,
      "2:24: \"level\": \"trace\" is not one of error, warning, info, debug\n"
      "2:31: unknown key \"rotate\"\n",
      "one that is near to none, and an unknown key" },
    { VERSION "gateway: {log: -}\n" POLICIES NETWORKS,
      "2:16: \"log\": expected keys with values\n",
      "of the wrong form" },
    { VERSION "gateway: {dns: {servers: []}}\n" POLICIES NETWORKS,
      "2:26: \"servers\": an empty list says nothing; leave the key out\n",
      "no server" },
    { VERSION "gateway: {dns: {servers: 192.0.2.1}}\n" POLICIES NETWORKS,
      "2:26: \"servers\": expected a list; put [ ] around a single entry\n",
      "not a list" },
    { VERSION
      "gateway: {dns: {servers: [dns.test, 192.0.2.1:0, \"[192.0.2.1]:53\", \"2001:db8::1:\", \"[::1]53\", ~, fe80::1%eth0]}}\n"
      POLICIES
      NETWORKS,
      "2:27: \"servers\": expected an IP address with or without a port, such as 127.0.0.1:53 or \"[::1]:53\", not \"dns.test\"\n"
      "2:37: \"servers\": expected an IP address with or without a port, such as 127.0.0.1:53 or \"[::1]:53\", not \"192.0.2.1:0\"\n"
      "2:50: \"servers\": expected an IP address with or without a port, such as 127.0.0.1:53 or \"[::1]:53\", not \"[192.0.2.1]:53\"\n"
      "2:68: \"servers\": expected an IP address with or without a port, such as 127.0.0.1:53 or \"[::1]:53\", not \"2001:db8::1:\"\n"
      "2:84: \"servers\": expected an IP address with or without a port, such as 127.0.0.1:53 or \"[::1]:53\", not \"[::1]53\"\n"
      "2:95: \"servers\": expected text, and there is nothing\n"
      "2:98: \"servers\": expected an IP address with or without a port, such as 127.0.0.1:53 or \"[::1]:53\", not \"fe80::1%eth0\"\n",
      "what is no address" },
    { VERSION
      "gateway: {dns: {servers: [192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1, 192.0.2.1]}}\n"
      POLICIES
      NETWORKS,
      "2:26: \"servers\": more than 16\n",
      "more than are asked" },
    { VERSION
      "gateway: {dns: {tries: 0, timeout_ms: 5, deadline_ms: x, max_ttl_s: -1, resolution_delay_ms: 10001}}\n"
      POLICIES
      NETWORKS,
      "2:24: \"tries\": expected a whole number from 1 to 10 in decimal digits, not \"0\"\n"
      "2:39: \"timeout_ms\": expected a whole number from 10 to 60000 in decimal digits, not \"5\"\n"
      "2:55: \"deadline_ms\": expected a whole number from 10 to 60000 in decimal digits, not \"x\"\n"
      "2:69: \"max_ttl_s\": expected a whole number from 0 to 86400 in decimal digits, not \"-1\"\n"
      "2:94: \"resolution_delay_ms\": expected a whole number from 0 to 10000 in decimal digits, not \"10001\"\n",
      "bounds" },
    { VERSION "gateway: {dns: {server: 192.0.2.1}}\n" POLICIES NETWORKS,
      "2:17: unknown key \"server\"; did you mean \"servers\"?\n",
      "a near miss" },
    { VERSION "gateway: {dns: {hosts: [a.test]}}\n" POLICIES NETWORKS,
      "2:24: \"hosts\": expected names with lists of addresses\n",
      "of the wrong form" },
    { VERSION
      "gateway: {dns: {hosts: {a.test: 192.0.2.1, b.test: [], c.test: [d.test, ~]}}}\n"
      POLICIES
      NETWORKS,
      "2:33: \"hosts\": expected a list; put [ ] around a single entry\n"
      "2:52: \"hosts\": an empty list says nothing; leave the key out\n"
      "2:65: \"hosts\": \"d.test\" is not an IP address\n"
      "2:73: \"hosts\": expected text, and there is nothing\n",
      "addresses are a list of addresses" },
    { VERSION
      "gateway: {dns: {hosts: {'*.test': [192.0.2.1], 192.0.2.7: [192.0.2.1], x.localhost: [192.0.2.1]}}}\n"
      POLICIES
      NETWORKS,
      "2:25: \"hosts\": \"*.test\": the host is not a valid name or address\n"
      "2:48: \"hosts\": \"192.0.2.7\" is an address, and is never resolved\n"
      "2:72: \"hosts\": \"x.localhost\" is always the loopback address, and is never resolved\n",
      "names that are not resolved" },
    { VERSION
      "gateway: {dns: {hosts: {a.test: [192.0.2.1], A.test.: [192.0.2.2]}}}\n"
      POLICIES
      NETWORKS,
      "2:46: \"hosts\": \"a.test\" is given twice\n",
      "one name, two spellings" },
    { VERSION "gateway: {tls: {ca_file: $DATA/none.pem}}\n" POLICIES NETWORKS,
      "2:26: \"ca_file\": cannot open $DATA/none.pem: No such file or directory\n",
      "a CA file that is not there" },
    { VERSION "gateway: {tls: {ca_file: $DATA/no-ca.pem}}\n" POLICIES NETWORKS,
      "2:26: \"ca_file\": $DATA/no-ca.pem: it holds no certificate (-----BEGIN CERTIFICATE-----)\n",
      "that holds no certificate" },
    { VERSION "gateway: {tls: {ca_file: $DATA}}\n" POLICIES NETWORKS,
      "2:26: \"ca_file\": $DATA is not a regular file\n",
      "that is no file" },
    { VERSION "gateway: {tls: {ca_file: ca.pem}}\n" POLICIES NETWORKS,
      "2:26: \"ca_file\": expected a path that begins with \"/\", not \"ca.pem\"; where a relative one leads depends on who starts the gateway\n",
      "relative" },
    { VERSION "gateway: {tls: {min_version: 1.1}}\n" POLICIES NETWORKS,
      "2:30: \"min_version\": \"1.1\" is not one of 1.2, 1.3; did you mean \"1.2\"?\n",
      "a version that is too old" },
    { VERSION "gateway: {tls: {min_version: 1.30, verify: false}}\n" POLICIES NETWORKS,
      "2:30: \"min_version\": \"1.30\" is not one of 1.2, 1.3; did you mean \"1.3\"?\n"
      "2:36: unknown key \"verify\"\n",
      "as text it is another one; and what cannot be turned off" },
    { VERSION
      "gateway: {deny_cidrs: [10.0.0.1/8, 10.0.0.0/33, example.com, ~]}\n"
      POLICIES
      NETWORKS,
      "2:24: \"deny_cidrs\": \"10.0.0.1/8\" is not an address range such as 10.0.0.0/8 or fd00::/8 (bits behind the prefix must be 0)\n"
      "2:36: \"deny_cidrs\": \"10.0.0.0/33\" is not an address range such as 10.0.0.0/8 or fd00::/8 (bits behind the prefix must be 0)\n"
      "2:49: \"deny_cidrs\": \"example.com\" is not an address range such as 10.0.0.0/8 or fd00::/8 (bits behind the prefix must be 0)\n"
      "2:62: \"deny_cidrs\": expected text, and there is nothing\n",
      "ranges that are none" },
    { VERSION "gateway: {deny_cidrs: 10.0.0.0/8}\n" POLICIES NETWORKS,
      "2:23: \"deny_cidrs\": expected a list; put [ ] around a single entry\n",
      "not a list" },
    { VERSION
      "gateway: {command_user: hooks, confinement: required, admin: {socket: /x}, metrics: {listen: 127.0.0.1:1}}\n"
      POLICIES
      NETWORKS,
      "2:11: \"command_user\": not in this version\n"
      "2:32: \"confinement\": not in this version\n"
      "2:55: \"admin\": not in this version\n"
      "2:76: \"metrics\": not in this version\n",
      "keys of later versions" },
};
/* clang-format on */

static void mistakes_under_gateway_are_refused(void **state)
{
    (void)state;
    support_check(cases, GW_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_under_gateway_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
