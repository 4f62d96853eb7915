/* tests/unit/config/errors_file_test.c - what is wrong with the file as a whole: every one, where
 * it is, and in the order of the file. */
#include "config_support.h"

/* clang-format off */
#define VERSION "version: 1\n"
#define POLICIES "policies: {p: {kind: deny-all}}\n"
#define NETWORKS "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"

static const struct support_case cases[] = {
    { "",
      "1:1: the file is empty; it begins with \"version: 1\"\n",
      "an empty file is no policy (CONF-07)" },
    { "# nothing\n",
      "1:1: the file is empty; it begins with \"version: 1\"\n",
      "nor is one of comments" },
    { "~\n",
      "1:1: a configuration is a mapping; it begins with \"version: 1\"\n",
      "nor nothing, spelled out" },
    { "[]\n",
      "1:1: a configuration is a mapping; it begins with \"version: 1\"\n",
      "a list has no keys" },
    { POLICIES NETWORKS,
      "1:1: the key \"version\" is missing\n",
      "no version" },
    { "version: 2\n" POLICIES NETWORKS,
      "1:10: \"version\": this gateway reads version 1, not 2\n",
      "a version to come" },
    { "version: \"1\"\n" POLICIES NETWORKS,
      "1:10: \"version\": this gateway reads version 1, not the text 1\n",
      "text is not a number" },
    { "version: 01\n" POLICIES NETWORKS,
      "1:10: \"version\": this gateway reads version 1, not 01\n",
      "one spelling" },
    { "version: [1]\n" POLICIES NETWORKS,
      "1:10: \"version\": this gateway reads version 1, a number\n",
      "of the wrong form" },
    { VERSION POLICIES,
      "1:1: the key \"networks\" is missing\n",
      "nothing would listen" },
    { VERSION POLICIES "networks: {}\n",
      "3:11: \"networks\": none, so that nothing would listen\n",
      "nor here" },
    { VERSION POLICIES "networks:\n",
      "3:10: \"networks\": expected names, and what each is\n",
      "nor here" },
    { VERSION POLICIES "networks: [n]\n",
      "3:11: \"networks\": expected names, and what each is\n",
      "a list instead of names" },
    { VERSION POLICIES NETWORKS "plugins: []\n",
      "4:1: \"plugins\": not in this version\n",
      "a key of a later version" },
    { VERSION "gateway:\n" POLICIES NETWORKS,
      "2:9: \"gateway\": expected keys with values, and there is nothing\n",
      "a key without a value" },
    { VERSION "gateway: 1\n" "policies: 2\n" "credentials: 3\n" NETWORKS,
      "2:10: \"gateway\": expected keys with values\n"
      "3:11: \"policies\": expected names, and what each is\n"
      "4:14: \"credentials\": expected names, and what each is\n",
      "wrong forms, in the order of the file" },
    { VERSION POLICIES NETWORKS "polices: {}\n" "allow: [api.test]\n",
      "4:1: unknown key \"polices\"; did you mean \"policies\"?\n"
      "5:1: unknown key \"allow\"\n",
      "a near miss, and one that is none" },
    { VERSION POLICIES NETWORKS VERSION,
      "4:1: key \"version\" is given twice, on lines 1 and 4; keep one\n",
      "a key given twice (CONF-01)" },
    { VERSION
      "gateway:\n"
      "  log: {level: info}\n"
      "  tls: {}\n"
      "  log: {}\n"
      POLICIES
      NETWORKS,
      "5:3: key \"log\" is given twice, on lines 3 and 5; keep one\n",
      "and below" },
    { VERSION
      POLICIES
      "networks:\n"
      "  n:\n"
      "    listen: 127.0.0.1:3128\n"
      "    policy: p\n"
      "    \"listen\": 127.0.0.1:3129\n",
      "7:5: key \"listen\" is given twice, on lines 5 and 7; keep one\n",
      "quotes do not make another key" },
    { VERSION "gateway: {tls: {min_version: 1.2, min_version: 1.3}}\n" POLICIES NETWORKS,
      "2:35: key \"min_version\" is given twice on line 2; keep one\n",
      "on one line" },
    { VERSION "x: &x {kind: deny-all}\n" "policies:\n" "  p:\n" "    <<: *x\n" NETWORKS,
      "2:1: unknown key \"x\"\n"
      "5:5: merge keys (<<) are not supported; write the keys out\n"
      "5:5: \"p\": the key \"kind\" is missing\n",
      "merge keys would hide duplicates" },
    { VERSION "policies: {p: {kind: !!str deny-all}}\n" NETWORKS,
      "2:22: the tag tag:yaml.org,2002:str has no meaning here; remove it\n",
      "a tag" },
    { VERSION
      "policies: {p: {kind: &k deny-all}, q: {kind: *k}}\n"
      "networks: {n: {listen: 127.0.0.1:1, policy: *z}}\n",
      "3:45: alias *z: there is no anchor &z before it\n",
      "an alias without its anchor" },
    { VERSION "policies: &a {p: *a}\n" NETWORKS,
      "2:18: alias *a refers to what it is a part of\n",
      "an alias of what it is in (CONF-03)" },
    { VERSION "policies: {p: &a {kind: deny-all}, q: &a {kind: deny-all}}\n" NETWORKS,
      "2:39: anchor &a is defined twice\n",
      "an anchor defined twice" },
    { VERSION "policies: {p: &a {kind: deny-all, q: 1}, r: *a}\n" NETWORKS,
      "2:35: unknown key \"q\"\n",
      "what is wrong once is said once" },
    { VERSION "? [a]\n" ": b\n" POLICIES NETWORKS,
      "2:3: a key must be text\n",
      "a key that is no text" },
    { VERSION POLICIES NETWORKS "---\n" VERSION,
      "4:1: a second document begins here; a configuration is one document\n",
      "two documents" },
    { VERSION POLICIES NETWORKS "...\n",
      "",
      "accepted" },
    { VERSION "policies:\n" "\tp: {kind: deny-all}\n" NETWORKS,
      "3:1: not valid YAML: a tab cannot stand here; indent with spaces\n",
      "a tab" },
    { VERSION "policies: {p: {kind: deny-all}\n" NETWORKS,
      "3:1: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping that began on line 2\n",
      "a brace that is never closed" },
    { VERSION "policies:\n" "  p: {kind: deny-all}\n" " q: {kind: deny-all}\n" NETWORKS,
      "4:2: not valid YAML: did not find expected key while parsing a block mapping that began on line 1\n",
      "bad indentation" },
    { VERSION
      "policies:\n"
      "  p:\n"
      "    kind: static\n"
      "    allowed_hosts:\n"
      "      - *.example.com\n"
      NETWORKS,
      "6:9: not valid YAML: \"*\" begins an alias; the entry for all names below a domain is written .example.com\n",
      "what YAML takes for an alias" },
    { VERSION "policies: {\"p\\0\": {kind: deny-all}}\n" NETWORKS,
      "2:12: text with a NUL character\n",
      "a NUL by escape" },
    { VERSION
      "policies: {p: {kind: deny-all}, \"a b\": {kind: deny-all}, \"\": {kind: deny-all}, .x: {kind: deny-all}}\n"
      NETWORKS,
      "2:33: \"a b\" cannot name a policy: 1 to 64 letters, digits, \"-\", \"_\" and \".\", a letter or digit first\n"
      "2:58: \"\" cannot name a policy: 1 to 64 letters, digits, \"-\", \"_\" and \".\", a letter or digit first\n"
      "2:80: \".x\" cannot name a policy: 1 to 64 letters, digits, \"-\", \"_\" and \".\", a letter or digit first\n",
      "names that are none" },
    { VERSION
      "policies:\n"
      "  p: {kind: deny-all}\n"
      "  long-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: {kind: deny-all}\n"
      NETWORKS,
      "4:3: \"long-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\" cannot name a policy: 1 to 64 letters, digits, \"-\", \"_\" and \".\", a letter or digit first\n",
      "a name that is too long" },
};
/* clang-format on */

static void a_file_that_is_no_configuration_is_refused(void **state)
{
    (void)state;
    support_check(cases, GW_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_no_configuration_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
