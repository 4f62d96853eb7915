/* tests/unit/config/errors_policies_test.c - mistakes under `policies`: every one, where it is, and
 * in the order of the file. */
#include "config_support.h"

/* clang-format off */
#define VERSION "version: 1\n"
#define NETWORKS "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"

static const struct support_case cases[] = {
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {}\n"
      NETWORKS,
      "4:6: \"p\": the key \"kind\" is missing\n",
      "no kind: never unrestricted (L11)" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: static\n"
      NETWORKS,
      "4:6: \"p\": expected keys with values\n",
      "of the wrong form" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: statc}\n"
      NETWORKS,
      "4:13: \"kind\": \"statc\" is not one of deny-all, allow-all, static; did you mean \"static\"?\n",
      "an unknown kind (L14)" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: open}\n"
      NETWORKS,
      "4:13: \"kind\": \"open\" is not one of deny-all, allow-all, static\n",
      "and one that is near to none" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: resolver, resolver: {command: [x]}}\n"
      NETWORKS,
      "4:13: \"kind: resolver\": not in this version\n"
      "4:23: \"resolver\": not in this version\n",
      "a kind of a later version" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, alow: [api.acme.test]}\n"
      NETWORKS,
      "4:21: unknown key \"alow\"; did you mean \"allowed_hosts\"?\n",
      "a misspelt key (CONF-09)" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [no, on, 1.10, 010.20.30.40, 12:30, ~, 1e3, 0x7f.1, 2130706433]}\n"
      NETWORKS,
      "4:45: \"allowed_hosts\": \"1.10\": the host looks like an address but is not a dotted quad; an address has four decimal parts without leading zeros\n"
      "4:51: \"allowed_hosts\": \"010.20.30.40\": the host looks like an address but is not a dotted quad; an address has four decimal parts without leading zeros\n"
      "4:65: \"allowed_hosts\": \"12:30\": the host looks like an address but is not a dotted quad; an address has four decimal parts without leading zeros\n"
      "4:72: \"allowed_hosts\": expected text, and there is nothing\n"
      "4:80: \"allowed_hosts\": \"0x7f.1\": the host looks like an address but is not a dotted quad; an address has four decimal parts without leading zeros\n"
      "4:88: \"allowed_hosts\": \"2130706433\": the host looks like an address but is not a dotted quad; an address has four decimal parts without leading zeros\n",
      "text stays text (CONF-02)" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [\"\"]}\n"
      NETWORKS,
      "4:37: \"allowed_hosts\": expected text, and there is nothing\n",
      "an empty entry (CONF-07)" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [ok.acme.test, [x.acme.test], {sni: off}, {host: a.acme.test, sni: of}, {host: b.acme.test, prot: 1}, {host: c.acme.test, sni: off}, {host: c.acme.test, sni: log}]}\n"
      NETWORKS,
      "4:51: \"allowed_hosts\": expected text\n"
      "4:66: \"allowed_hosts\": the key \"host\" is missing\n"
      "4:103: \"sni\": \"of\" is not one of match, log, off; did you mean \"off\"?\n"
      "4:128: unknown key \"prot\"\n"
      "4:176: \"allowed_hosts\": \"c.acme.test\" is listed twice, with two sni modes\n",
      "entries of wrong forms" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: api.acme.test}\n"
      NETWORKS,
      "4:36: \"allowed_hosts\": expected a list; put [ ] around a single entry\n",
      "one entry, and no list" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: ['*', '*.a.acme.test', .com, 'https://a.acme.test/x', a.acme.test/x, a.acme.test:0, a.acme.test:99999, user@a.acme.test, 10.0.0.0/8, \"::1:443x\", a..test, .0.0.1]}\n"
      NETWORKS,
      "4:37: \"allowed_hosts\": \"*\" is not a host; a policy of kind \"allow-all\" admits every one\n"
      "4:42: \"allowed_hosts\": \"*.a.acme.test\": there are no wildcards: write \".a.acme.test\", which covers the name itself and every name below it\n"
      "4:59: \"allowed_hosts\": \".com\" would cover a whole top-level domain; a suffix has at least two labels\n"
      "4:65: \"allowed_hosts\": \"https://a.acme.test/x\": an entry is a host, not a URL: write \"a.acme.test\"\n"
      "4:90: \"allowed_hosts\": \"a.acme.test/x\": an entry is a host, not a URL: write \"a.acme.test\"\n"
      "4:105: \"allowed_hosts\": \"a.acme.test:0\": the port is not a number from 1 to 65535\n"
      "4:120: \"allowed_hosts\": \"a.acme.test:99999\": the port is not a number from 1 to 65535\n"
      "4:139: \"allowed_hosts\": \"user@a.acme.test\": an entry is a host, not a URL: write \"a.acme.test\"\n"
      "4:157: \"allowed_hosts\": \"10.0.0.0/8\" is a range of addresses, not a host\n"
      "4:169: \"allowed_hosts\": \"::1:443x\": the host is not a valid name or address\n"
      "4:181: \"allowed_hosts\": \"a..test\": the host is not a valid name or address\n"
      "4:190: \"allowed_hosts\": \".0.0.1\": an address has no suffixes\n",
      "every bad entry is named" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [bücher.pkgs.test, xn--bcher-kva.pkgs.test]}\n"
      NETWORKS,
      "4:37: \"allowed_hosts\": \"bücher.pkgs.test\": clients send the ASCII form of such a name: write \"xn--bcher-kva.pkgs.test\"\n",
      "a name in Unicode (HOST-13)" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: deny-all, allowed_hosts: [], ports: [443], credentials: [c]}\n"
      NETWORKS,
      "4:38: \"allowed_hosts\": deny-all admits nothing, so that this would have no effect; remove it\n"
      "4:49: \"ports\": deny-all admits nothing, so that this would have no effect; remove it\n"
      "4:69: \"credentials\": deny-all admits nothing, so that this would have no effect; remove it\n",
      "deny-all with what it would not apply" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: allow-all, allowed_hosts: ['*'], allowed_hosts_file: $DATA/hosts.txt, credentials: [c]}\n"
      NETWORKS,
      "4:39: \"allowed_hosts\": allow-all admits every host, so that this would have no effect; remove it\n"
      "4:40: \"allowed_hosts\": \"*\" is not a host; a policy of kind \"allow-all\" admits every one\n"
      "4:66: \"allowed_hosts_file\": allow-all admits every host, so that this would have no effect; remove it\n",
      "allow-all with a list" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts_file: $DATA/hosts-bad.txt}\n"
      NETWORKS,
      "4:41: \"allowed_hosts_file\": $DATA/hosts-bad.txt:2: \"*.example.com\": there are no wildcards: write \".example.com\", which covers the name itself and every name below it\n"
      "4:41: \"allowed_hosts_file\": $DATA/hosts-bad.txt:4: \"https://example.org/x\": an entry is a host, not a URL: write \"example.org\"\n",
      "a file with bad lines" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts_file: $DATA/none.txt}\n"
      NETWORKS,
      "4:41: \"allowed_hosts_file\": cannot open $DATA/none.txt: No such file or directory\n",
      "that is not there" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts_file: hosts.txt}\n"
      NETWORKS,
      "4:41: \"allowed_hosts_file\": expected a path that begins with \"/\", not \"hosts.txt\"; where a relative one leads depends on who starts the gateway\n",
      "relative" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], ports: [], plain_ports: [0, 65536, 080, '80', http]}\n"
      NETWORKS,
      "4:57: \"ports\": an empty list says nothing; leave the key out\n"
      "4:75: \"plain_ports\": expected a whole number from 1 to 65535 in decimal digits, not \"0\"\n"
      "4:78: \"plain_ports\": expected a whole number from 1 to 65535 in decimal digits, not \"65536\"\n"
      "4:85: \"plain_ports\": expected a whole number from 1 to 65535 in decimal digits, not \"080\"\n"
      "4:90: \"plain_ports\": expected a whole number from 1 to 65535 in decimal digits without quotes, not \"80\"\n"
      "4:96: \"plain_ports\": expected a whole number from 1 to 65535 in decimal digits, not \"http\"\n",
      "ports" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], ports: 443, plain_ports: ~}\n"
      NETWORKS,
      "4:57: \"ports\": expected a list; put [ ] around a single entry\n"
      "4:75: \"plain_ports\": expected a list, and there is nothing\n",
      "not lists" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], sni: strict}\n"
      NETWORKS,
      "4:55: \"sni\": \"strict\" is not one of match, log, off\n",
      "a mode that there is not" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], plaintext_upstream: [other.example, a.acme.test:80, '*']}\n"
      NETWORKS,
      "4:71: \"plaintext_upstream\": no entry of the allowlist admits \"other.example\", so that this would have no effect; allow it, or remove this\n"
      "4:86: \"plaintext_upstream\": \"a.acme.test:80\": a port has no meaning here; leave it out\n"
      "4:102: \"plaintext_upstream\": \"*\" is not a host; a policy of kind \"allow-all\" admits every one\n",
      "settings for hosts that nothing admits" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: \n"
      "    kind: static\n"
      "    allowed_hosts: [.acme.test]\n"
      "    upstream_tls:\n"
      "      - {host: other.example, ca_file: $DATA/ca.pem}\n"
      "      - {host: a.acme.test}\n"
      "      - {ca_file: $DATA/none.pem}\n"
      "      - a.acme.test\n"
      NETWORKS,
      "8:16: \"upstream_tls\": no entry of the allowlist admits \"other.example\", so that this would have no effect; allow it, or remove this\n"
      "9:9: \"upstream_tls\": the key \"ca_file\" is missing\n"
      "10:9: \"upstream_tls\": the key \"host\" is missing\n"
      "10:19: \"ca_file\": cannot open $DATA/none.pem: No such file or directory\n"
      "11:9: \"upstream_tls\": expected keys with values\n",
      "and so for their CA" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: \n"
      "    kind: static\n"
      "    allowed_hosts: [.acme.test]\n"
      "    upstream_tls:\n"
      "      - {host: a.acme.test, ca_file: $DATA/ca.pem}\n"
      "      - {host: a.acme.test, ca_file: $DATA/ca-other.pem}\n"
      NETWORKS,
      "9:16: \"upstream_tls\": \"a.acme.test\" has two CA bundles\n",
      "two CAs for one host" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [a.acme.test], allow_inward_for: [b.acme.test, {host: a.acme.test, cidrs: []}, {host: a.acme.test, cidrs: [127.0.0.1/8]}, {host: a.acme.test, cidrs: [169.254.0.0/16]}, {cidrs: [10.0.0.0/8]}]}\n"
      NETWORKS,
      "4:70: \"allow_inward_for\": no entry of the allowlist admits \"b.acme.test\", so that this would have no effect; allow it, or remove this\n"
      "4:110: \"cidrs\": an empty list says nothing; leave the key out\n"
      "4:143: \"cidrs\": \"127.0.0.1/8\" is not an address range such as 10.0.0.0/8 or fd00::/8 (bits behind the prefix must be 0)\n"
      "4:165: \"allow_inward_for\": 169.254.0.0/16 holds only addresses that no exemption opens; take it out\n"
      "4:204: \"allow_inward_for\": the key \"host\" is missing\n",
      "exemptions" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [a.acme.test], deny_cidrs: [10.0.0.1/8]}\n"
      NETWORKS,
      "4:64: \"deny_cidrs\": \"10.0.0.1/8\" is not an address range such as 10.0.0.0/8 or fd00::/8 (bits behind the prefix must be 0)\n",
      "a range with bits behind its prefix" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], credentials: [d, c, ~]}\n"
      NETWORKS,
      "4:64: \"credentials\": there is no credential \"d\" under credentials; did you mean \"c\"?\n"
      "4:70: \"credentials\": expected text, and there is nothing\n",
      "a credential that there is not" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], credentials: [c, c]}\n"
      NETWORKS,
      "4:67: \"credentials\": credential \"c\": another one sets the header \"x-key\" for \"api.acme.test\"\n",
      "one named twice" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [a.acme.test], credentials: [c]}\n"
      NETWORKS,
      "4:65: \"credentials\": credential \"c\": no entry of this policy covers all of \"api.acme.test\"\n",
      "a credential for a host that is not covered (C07)" },
    { VERSION
      "credentials:\n"
      "  a: {host: .api.acme.test, header: X-Key, value: {env: A}}\n"
      "  b: {host: v1.api.acme.test, header: x-key, value: {env: B}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [a, b]}}\n"
      NETWORKS,
      "5:76: \"credentials\": credential \"b\": another one sets the header \"x-key\" for \".api.acme.test\"\n",
      "the same header for overlapping hosts (C07)" },
    { VERSION
      "credentials: {a: {host: '*', header: x, value: {env: A}}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [a]}}\n"
      NETWORKS,
      "2:25: \"host\": \"*\" is not a host; a policy of kind \"allow-all\" admits every one\n",
      "a credential with a mistake is not undefined" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], rules: [{methods: [GET]}, {host: b.example}, {host: a.acme.test:80}]}\n"
      NETWORKS,
      "4:58: \"rules\": the key \"host\" is missing\n"
      "4:83: \"rules\": no entry of the allowlist admits \"b.example\", so that this would have no effect; allow it, or remove this\n"
      "4:102: \"host\": \"a.acme.test:80\": a port has no meaning here; leave it out\n",
      "rules for hosts" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], rules: [{host: a.acme.test, methods: [get, CONNECT, TRACE, 'G T', GET, ~]}, {host: a.acme.test, methods: []}]}\n"
      NETWORKS,
      "4:88: \"methods\": \"get\" is not a method in upper case\n"
      "4:93: \"methods\": CONNECT asks for a tunnel, which a host with a rule never gets\n"
      "4:102: \"methods\": TRACE is never relayed\n"
      "4:109: \"methods\": \"G T\" is not a method in upper case\n"
      "4:121: \"methods\": expected text, and there is nothing\n"
      "4:155: \"methods\": an empty list says nothing; leave the key out\n",
      "methods" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], rules: [{host: a.acme.test, paths: [v1, /a/../b, /a//b, /a?b, /a%2fb, \"/a b\", /%2e%2e/, '/ü', /v1]}, {host: a.acme.test, paths: []}]}\n"
      NETWORKS,
      "4:86: \"paths\": \"v1\": a path begins with \"/\"\n"
      "4:90: \"paths\": \"/a/../b\": this path can be read in two ways (dot segments, empty segments, a backslash, an encoded slash), so that requests for it are always refused\n"
      "4:99: \"paths\": \"/a//b\": this path can be read in two ways (dot segments, empty segments, a backslash, an encoded slash), so that requests for it are always refused\n"
      "4:106: \"paths\": \"/a?b\": a rule looks at the path alone, not at a query or fragment\n"
      "4:112: \"paths\": \"/a%2fb\": this path can be read in two ways (dot segments, empty segments, a backslash, an encoded slash), so that requests for it are always refused\n"
      "4:120: \"paths\": \"/a b\": a path has no blanks, control characters or letters beyond ASCII; write them as %XX\n"
      "4:128: \"paths\": \"/%2e%2e/\": this path can be read in two ways (dot segments, empty segments, a backslash, an encoded slash), so that requests for it are always refused\n"
      "4:138: \"paths\": \"/ü\": a path has no blanks, control characters or letters beyond ASCII; write them as %XX\n"
      "4:178: \"paths\": an empty list says nothing; leave the key out\n",
      "paths" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], rules: [{host: a.acme.test, paths: [/a%2fb], encoded_slash: allow}]}\n"
      NETWORKS,
      "",
      "accepted" },
    { VERSION
      "credentials: {c: {host: api.acme.test, header: x-key, value: {env: A}}}\n"
      "policies:\n"
      "  p: {kind: static, allowed_hosts: [.acme.test], rules: [{host: a.acme.test, encoded_slash: maybe, header: x}]}\n"
      NETWORKS,
      "4:93: \"encoded_slash\": \"maybe\" is not one of refuse, allow\n"
      "4:100: unknown key \"header\"\n",
      "other keys of a rule" },
    { VERSION "policies: [p]\n" NETWORKS,
      "2:11: \"policies\": expected names, and what each is\n",
      "a list instead of names" },
};
/* clang-format on */

static void mistakes_under_policies_are_refused(void **state)
{
    (void)state;
    support_check(cases, GW_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_under_policies_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
