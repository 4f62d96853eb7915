#include "gateway/config/reference_text.h"

#include <string.h>

#include "base/macros.h"

/* clang-format off */
const char gw_reference_text_intro[] =
    "# Configuration\n"
    "\n"
    "<!-- Made from the key tables in gateway/config/; edit those. A test compares. -->\n"
    "\n"
    "One YAML file: `namzu-gw --config FILE`. `--check` reads it in full and starts nothing.\n"
    "[namzu-gw.schema.json](namzu-gw.schema.json) is the same for editors, as a JSON Schema; the\n"
    "files under `examples/` are a beginning.\n"
    "\n"
    "Every mistake of the file is reported in one run, each as `file:line:column: text`, and any\n"
    "mistake refuses the whole file: at start nothing is started, on reload everything that was in\n"
    "force stays. A setting that would have no effect is a mistake too, and so is an unknown key. Keys\n"
    "of later versions are refused as `not in this version`.\n"
    "\n"
    "How the YAML is read:\n"
    "\n"
    "- **Text is text**, whatever it looks like: `no`, `off`, `1.10` and `010` are not converted.\n"
    "- **Numbers** are decimal digits without quotes, signs, leading zeros or exponents. `0o17`, `010`,\n"
    "  `1e3` and `\"8\"` are refused.\n"
    "- **Yes or no** is `true` or `false`.\n"
    "- A key may stand once in a mapping. Merge keys (`<<`) and tags (`!!str`) are refused.\n"
    "- Anchors and aliases may be used, for up to 10,000 nodes in all.\n"
    "- The file is UTF-8, one document, at most 16 MiB, 500,000 nodes and 32 levels. Longer host lists\n"
    "  go into a file of their own (`allowed_hosts_file`).\n"
    "- Paths begin with `/`.\n";

static const struct {
    const char *path, *text;
} texts[] = {
    { "", "At least one network must be there.\n" },
    { "gateway",
      "Started without root, the proxies run as whoever started the gateway, and `user` is not used.\n"
      "`nobody` and `root` are refused.\n" },
    { "gateway.dns",
      "Search lists are not used: a name means the same everywhere. `localhost` and every name below it\n"
      "is the loopback address, without a query. The addresses under `hosts` are screened as every other:\n"
      "a private one needs `allow_inward_for` in the policy.\n" },
    { "gateway.tls",
      "Verification of upstream servers cannot be turned off. A server with a private CA goes under\n"
      "`upstream_tls` of the policy. When the default file is not there, install the package\n"
      "`ca-certificates`.\n" },
    { "gateway.limits",
      "`connections: auto` fits the limit of descriptors. A number that its hard limit cannot meet (two\n"
      "for each connection, and 100) is refused.\n" },
    { "credentials.NAME",
      "A policy that names the credential puts it into requests whose host matches, on their way to the\n"
      "upstream server, once that server has proved its name; the sandbox never sees the value. Requests\n"
      "inside an opaque tunnel cannot be read, and carry none: send them to the proxy as plain HTTP, and\n"
      "they leave as HTTPS.\n"
      "\n"
      "Refused as `header`: `host`, `content-length`, `transfer-encoding`, `connection`, `te`, `trailer`,\n"
      "`upgrade`, `expect`, `keep-alive`, `via` and all of `proxy-*`.\n"
      "\n"
      "A server that repeats the headers of a request in its answer shows the value to the sandbox. Only\n"
      "list hosts that do not.\n" },
    { "credentials.NAME.value",
      "Exactly one of the two. The secret itself does not stand in the configuration.\n"
      "\n"
      "A value from the environment is read once, at start, and wiped there; to change it, restart the\n"
      "gateway. A value from a file is read again on every reload.\n" },
    { "policies.NAME",
      "`deny-all` takes no other key, and `allow-all` no allowlist: they would be accepted and not applied.\n"
      "A `static` policy without an entry admits nothing. Host settings that no entry of the allowlist\n"
      "admits are refused.\n"
      "\n"
      "An entry is a name and nothing else (`api.example.com`), a name and all below it\n"
      "(`.example.com`), or an address, each with or without `:port`. There are no wildcards, schemes or\n"
      "paths. Internationalised names are written in their ASCII form (`xn--…`).\n"
      "\n"
      "What is dialled, and so what `ports` must admit:\n"
      "\n"
      "| A client sends | read as | dialled | to a host in `plaintext_upstream` |\n"
      "|---|---|---|---|\n"
      "| `GET http://h/`, `http://h:80/` | HTTP | h:443, TLS | h:80 |\n"
      "| `GET http://h:8443/` | HTTP | h:8443, TLS | h:8443 |\n"
      "| `GET https://h/`, `https://h:p/` | HTTP | h:443, h:p, TLS | the same, TLS |\n"
      "| `CONNECT h:80` (in `plain_ports`) | HTTP inside | h:443, TLS | h:80 |\n"
      "| `CONNECT h:8080` (in `plain_ports`) | HTTP inside | h:8080, TLS | h:8080 |\n"
      "| `CONNECT h:443`, any other port | opaque tunnel | as it says | as it says |\n"
      "\n"
      "Every address that a name resolves to is screened: only globally reachable ones pass.\n"
      "`allow_inward_for` lifts that for single hosts; link-local, multicast, reserved and unspecified\n"
      "addresses, metadata services, addresses of the gateway's own host and `deny_cidrs` are lifted by\n"
      "nothing.\n"
      "\n"
      "A credential is refused when its host is not covered whole by one entry, and when another one of\n"
      "the policy sets the same header for an overlapping host.\n" },
    { "policies.NAME.rules[]",
      "Any rule that matches admits; what no rule of a host admits is refused. The query is not compared.\n"
      "On a host with rules about paths, a path that can be read in two ways (dot segments, empty segments,\n"
      "backslashes, encoded slashes) is refused.\n"
      "\n"
      "`CONNECT`, `TRACE` and `TRACK` cannot be admitted.\n" },
    { "networks.NAME",
      "`listen` takes an address, not a name; `0.0.0.0` and `[::]` are all addresses of the host. Quote\n"
      "what begins with `[`. Two networks cannot share an address and port.\n" },
};
/* clang-format on */

const char *gw_reference_text_of(const char *path)
{
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        if (strcmp(texts[i].path, path) == 0)
            return texts[i].text;
    return "";
}
