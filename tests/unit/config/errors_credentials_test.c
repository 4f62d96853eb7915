/* tests/unit/config/errors_credentials_test.c - mistakes under `credentials`: every one, where it
 * is, and in the order of the file. */
#include "config_support.h"

/* clang-format off */
#define VERSION "version: 1\n"
#define POLICIES "policies: {p: {kind: deny-all}}\n"
#define NETWORKS "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"

static const struct support_case cases[] = {
    { VERSION
      "credentials:\n"
      "  c: {}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:6: \"c\": the key \"host\" is missing\n"
      "3:6: \"c\": the key \"header\" is missing\n"
      "3:6: \"c\": the key \"value\" is missing\n",
      "nothing" },
    { VERSION
      "credentials:\n"
      "  c: secret\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:6: \"c\": expected keys with values\n",
      "of the wrong form" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x-key, value: hunter2}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:50: \"value\": a secret does not stand in this file; say where it is, as in { env: NAME } or { file: /path }\n",
      "a secret in the file is not repeated" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x-key, value: {}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:50: \"value\": give one of env and file\n",
      "a value from nowhere" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x-key, value: {env: A, file: /b}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:65: \"value\": give one of env and file, not both\n",
      "from two places" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x-key, value: {env: sk-123}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:56: \"env\": not the name of a variable (the value itself does not belong here)\n",
      "a value instead of a variable" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x-key, value: {file: key.txt}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:57: \"file\": expected a path that begins with \"/\" (the value itself does not belong here)\n",
      "a relative path" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x-key, value: {command: [x]}, refresh_s: 5}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:51: \"command\": not in this version\n"
      "3:66: \"refresh_s\": not in this version\n",
      "keys of later versions" },
    { VERSION
      "credentials:\n"
      "  c: {host: '*.acme.test', header: x-key, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:13: \"host\": \"*.acme.test\": there are no wildcards: write \".acme.test\", which covers the name itself and every name below it\n",
      "a wildcard" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test:443, header: x-key, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:13: \"host\": \"api.acme.test:443\": a port has no meaning here; leave it out\n",
      "a port" },
    { VERSION
      "credentials:\n"
      "  c: {host: http://api.acme.test/, header: x-key, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:13: \"host\": \"http://api.acme.test/\": an entry is a host, not a URL: write \"api.acme.test\"\n",
      "a URL" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: x key, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"x key\" is not a header name\n",
      "no token" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: 'x-key:', value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"x-key:\" is not a header name\n",
      "no token" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: Host, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"Host\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: content-length, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"content-length\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: Transfer-Encoding, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"Transfer-Encoding\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: connection, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"connection\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: te, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"te\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: trailer, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"trailer\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: upgrade, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"upgrade\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: expect, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"expect\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: keep-alive, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"keep-alive\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: via, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"via\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: proxy-authorization, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"proxy-authorization\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: Proxy-X, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:36: \"header\": \"Proxy-X\" says how a message is framed or relayed, and cannot carry a credential\n",
      "a field of framing, routing or relaying (C13)" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: authorization, scheme: digest, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:59: \"scheme\": \"digest\" is not one of raw, bearer, basic\n",
      "an unknown scheme" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: authorization, scheme: basic, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:6: \"c\": scheme basic needs the key \"user\"\n",
      "basic without a user" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: authorization, scheme: bearer, user: me, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:73: \"user\": only scheme basic has one\n",
      "a user that nobody asks for" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: authorization, scheme: basic, user: 'a:b', value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:72: \"user\": a user name has no \":\" and no control characters (RFC 7617)\n",
      "a colon in a user name" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: authorization, allow_plaintext: yes, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:68: \"allow_plaintext\": expected true or false\n",
      "yes is text" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, header: authorization, allow_plaintext: 'true', value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:68: \"allow_plaintext\": expected true or false\n",
      "and so is this" },
    { VERSION
      "credentials:\n"
      "  c: {host: api.acme.test, heeder: authorization, value: {env: A}}\n"
      "policies: {p: {kind: static, allowed_hosts: [.acme.test], credentials: [c]}}\n"
      NETWORKS,
      "3:6: \"c\": the key \"header\" is missing\n"
      "3:28: unknown key \"heeder\"; did you mean \"header\"?\n",
      "a near miss, and what it leaves missing" },
    { VERSION "credentials: [c]\n" POLICIES NETWORKS,
      "2:14: \"credentials\": expected names, and what each is\n",
      "a list instead of names" },
};
/* clang-format on */

static void mistakes_under_credentials_are_refused(void **state)
{
    (void)state;
    support_check(cases, GW_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_under_credentials_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
