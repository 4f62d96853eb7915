#!/usr/bin/env python3
"""Who may include what. Reads every #include of the C sources and checks it against the table below.

    layering.py [ROOT]       check the tree (default: the one that this file is in)
    layering.py --self-test  plant one violation of each kind in a small tree and see it found

Prints `file:line: rule: what is wrong` for each violation. Exit status: 0 none, 1 some, 2 usage.

Beside the table it checks a few promises that hold for single files: one connect(2) in the whole
gateway, one definition of the screened address, one thread, no name resolution but the resolver's.
"""
import pathlib
import re
import sys
import tempfile

# ------------------------------------------------------------------------------------- the table

LIBC_PURE = {  # no I/O, no clock, no state of the process
    "ctype.h", "errno.h", "inttypes.h", "limits.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "stdnoreturn.h", "string.h", "strings.h",
}
SYSTEM = LIBC_PURE | {
    "arpa/inet.h", "assert.h", "dirent.h", "endian.h", "fcntl.h", "getopt.h", "grp.h", "ifaddrs.h", "locale.h",
    "net/if.h", "netinet/in.h", "netinet/ip.h", "netinet/tcp.h", "poll.h", "pwd.h", "sched.h", "signal.h", "spawn.h",
    "sysexits.h", "time.h", "unistd.h", "sys/", "linux/",
}
LIBRARIES = {  # name: the headers that belong to it (a trailing slash: the whole folder)
    "libuv": {"uv.h", "uv/"},
    "llhttp": {"llhttp.h"},
    "c-ares": {"ares.h", "ares_build.h", "ares_dns.h", "ares_dns_record.h", "ares_version.h"},
    "mbedTLS": {"mbedtls/", "psa/"},
    "mbedTLS (hash)": {"mbedtls/sha256.h", "mbedtls/md.h"},
    "libyaml": {"yaml.h"},
    "libcap-ng": {"cap-ng.h"},
    "libseccomp": {"seccomp.h"},
    "jansson": {"jansson.h"},
    "SQLite": {"sqlite3.h"},
    "libdl": {"dlfcn.h"},
}
# folder: (folders of ours, besides itself; system headers; libraries). The longest match counts.
TABLE = {
    "base": ((), SYSTEM, ()),
    "policy": (("base",), LIBC_PURE, ()),
    "gateway/common": (("base", "policy"), SYSTEM, ("mbedTLS (hash)", "libseccomp", "libcap-ng")),
    "gateway/config": (("base", "policy", "gateway/common"), SYSTEM, ("libyaml",)),
    "gateway/proxy": (("base", "policy", "gateway/common"), SYSTEM, ("libuv", "llhttp", "c-ares", "mbedTLS")),
    "gateway/supervisor": (("base", "policy", "gateway/common", "gateway/config"), SYSTEM,
                           ("libuv", "llhttp", "mbedTLS", "jansson", "SQLite")),
    "gateway/plugin_host": (("base", "policy", "gateway/common"), SYSTEM, ("libuv", "llhttp", "mbedTLS", "libdl")),
    "gateway/launcher": (("base", "gateway/common"), SYSTEM, ()),
    "gateway/log_writer": (("base", "gateway/common"), SYSTEM, ()),
    # main.c reads the command line and goes the way of its role.
    "gateway": (("base", "gateway/common", "gateway/config", "gateway/supervisor"), SYSTEM, ()),
    # A plugin sees one header of the gateway, what plugins share, and itself (a folder's own files always count).
    "plugins": (("plugins/common",), SYSTEM, ("jansson",)),
    "worker": (("base",), SYSTEM, ()),
}
ROOTS = ("base", "policy", "gateway", "plugins", "worker")
EXTRA_HEADERS = {  # file: headers that it alone may use beyond its folder's
    # It hands out what connect(2) takes and compares it with what getpeername(2) gave; no call is made.
    "policy/dialable.h": {"netinet/in.h", "sys/socket.h"},
    "policy/dialable.c": {"arpa/inet.h"},
}
PLUGIN_HEADER = "plugins/gw_plugin.h"  # for every plugin, and for the plugin host
PLUGIN_HEADER_USERS = ("plugins", "gateway/plugin_host")

# rule, below this folder, pattern, files that may, why. Comments and string literals are not looked at.
WORDS = [
    ("one-connect", "", r"\bconnect\s*\(", {"gateway/proxy/dial.c"}, "only the dialer connects, to what was screened"),
    ("one-connect", "", r"\b(?:uv_(?:tcp|udp|pipe)_connect2?|uv_udp_(?:try_)?send|mbedtls_net_\w+)\s*\(", set(),
     "only the dialer connects, to what was screened"),
    ("one-maker", "", r"\bstruct\s+gw_dialable\s*\{", {"policy/dialable.c"}, "only the screen makes a struct gw_dialable"),
    ("one-resolver", "", r"\b(?:getaddrinfo|getnameinfo|gethostby\w+|uv_getaddrinfo|uv_getnameinfo|ares_gethostby\w+"
     r"|ares_getaddrinfo|res_n?query)\s*\(", set(), "names are resolved by the resolver of gateway/proxy alone"),
    ("one-thread", "", r"\b(?:pthread_create|thrd_create|uv_thread_create\w*|uv_queue_work)\s*\(", set(),
     "a process is one loop and one thread"),
    ("pure", "policy/", r"\b(?:f?open|f?printf|vf?printf|f?puts|perror|getenv|time|clock_gettime|s?rand|exit|system)\s*\(", set(),
     "the answer of policy/ depends on the arguments alone"),
]

# ----------------------------------------------------------------------------------- reading C

CONTINUED = "\x01"
_TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
_INCLUDE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(include_next|include|import|embed)\b[ \t]*(.*)$", re.M)


def without(text, strings):
    """`text` with comments blanked, and string literals too if asked; lines keep their numbers."""
    def blank(match):
        found = match.group(0)
        if found[0] == "/" or strings:
            return re.sub(f"[^\n{CONTINUED}]", " ", found)
        return found
    return _TOKEN.sub(blank, text)


class Source:
    """Text in which continued lines are one, and every place still knows its line."""

    def __init__(self, text, strings):
        self.marked = without(text.replace("\\\n", CONTINUED), strings)
        self.text = self.marked.replace(CONTINUED, " ")

    def line(self, position):
        return self.marked.count("\n", 0, position) + self.marked.count(CONTINUED, 0, position) + 1


def folder_rule(path):
    """The table's folder for a path; None when no row covers it."""
    parent = pathlib.PurePosixPath(path).parent
    while str(parent) != ".":
        if str(parent) in TABLE:
            return str(parent)
        parent = parent.parent
    return None


def in_set(header, headers):
    return header in headers or any(entry.endswith("/") and header.startswith(entry) for entry in headers)


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.violations = []
        self.files = 0

    def report(self, path, line, rule, text):
        self.violations.append(f"{path}:{line}: {rule}: {text}")

    def run(self):
        for top in ROOTS:
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in (".c", ".h", ".inc") and path.is_file():
                    self.check(str(path.relative_to(self.root).as_posix()))
        return self.violations

    def check(self, path):
        self.files += 1
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        rule = folder_rule(path)
        if rule is None:
            self.report(path, 1, "folder", "no row of the table covers this folder")
            return
        first = True
        source = Source(text, strings=False)
        for match in _INCLUDE.finditer(source.text):
            self.check_include(path, source.line(match.start()), rule, match.group(1), match.group(2).strip(), first)
            first = False
        source = Source(text, strings=True)
        for name, folder, pattern, allowed, why in WORDS:
            if path.startswith(folder) and path not in allowed:
                for match in re.finditer(pattern, source.text):
                    self.report(path, source.line(match.start()), name, f"{match.group(0).strip()}: {why}")

    def check_include(self, path, line, rule, word, what, first):
        if word != "include":
            self.report(path, line, "form", f"#{word} is not used here")
            return
        match = re.fullmatch(r'"([^"]+)"|<([^>]+)>', what)
        if match is None:
            self.report(path, line, "form", f"cannot tell what is included: {what}")
            return
        own, system = match.groups()
        if path.endswith(".c"):
            header = path[:-2] + ".h"
            if first and own != header and (self.root / header).exists():
                self.report(path, line, "own-header", f'the first include must be "{header}": it proves the header whole')
        if own is not None:
            self.check_own(path, line, rule, own)
        else:
            self.check_system(path, line, rule, system)

    def check_own(self, path, line, rule, own):
        if ".." in own.split("/") or own.startswith(("/", "./")) or "/" not in own:
            self.report(path, line, "form", f'"{own}": write the path from the top of the tree')
            return
        if not own.endswith((".h", ".inc")):
            self.report(path, line, "form", f'"{own}": only headers are included')
        if not (self.root / own).is_file():
            self.report(path, line, "form", f'"{own}" does not exist')
        if own == PLUGIN_HEADER and rule in PLUGIN_HEADER_USERS:
            return
        target = folder_rule(own)
        if target is None:
            self.report(path, line, "layer", f'{rule} may not include "{own}"')
        elif rule == "plugins":
            home = "/".join(path.split("/")[:2])
            if not own.startswith((home + "/", "plugins/common/")):
                self.report(path, line, "layer", f'a plugin may include {PLUGIN_HEADER}, plugins/common and itself, not "{own}"')
        elif target != rule and target not in TABLE[rule][0]:
            self.report(path, line, "layer", f'{rule} may not include {target} ("{own}"); it may use: '
                        + (", ".join(TABLE[rule][0]) or "nothing else of ours"))

    def check_system(self, path, line, rule, system):
        _, headers, libraries = TABLE[rule]
        if in_set(system, headers) or system in EXTRA_HEADERS.get(path, ()):
            return
        if any(in_set(system, LIBRARIES[name]) for name in libraries):
            return
        owners = [name for name, owned in LIBRARIES.items() if in_set(system, owned)]
        if owners:
            self.report(path, line, "library", f"{rule} may not use {owners[0]} (<{system}>)")
        elif in_set(system, SYSTEM):
            self.report(path, line, "system", f"{rule} may not use <{system}>: no I/O, no clock here")
        else:
            self.report(path, line, "system", f"<{system}> is in no row of the table (tests/layering/layering.py)")


# ------------------------------------------------------------------------------------ self-test

CLEAN = {
    "base/text.h": "#pragma once\n#include <stddef.h>\n",
    "base/text.c": '#include "base/text.h"\n#include <fcntl.h>\n',
    "policy/dialable.h": '#pragma once\n#include <netinet/in.h>\n#include <sys/socket.h>\n#include "base/text.h"\n',
    "policy/dialable.c": '#include "policy/dialable.h"\nstruct gw_dialable { int x; };\n',
    "gateway/common/log.h": '#pragma once\n#include "base/text.h"\n',
    "gateway/common/digest.c": "#include <mbedtls/sha256.h>\n",
    "gateway/config/config.h": "#pragma once\n",
    "gateway/config/yaml.c": "#include <yaml.h>\n",
    "gateway/proxy/dial.h": '#pragma once\n#include "policy/dialable.h"\n',
    "gateway/proxy/dial.c": '#include "gateway/proxy/dial.h"\n#include <uv.h>\nint f(void) { return connect(1, 0, 0); }\n'
                            '/* #include "gateway/supervisor/slot.h" */ // connect( again\nchar *s = "connect(";\n',
    "gateway/supervisor/slot.h": '#pragma once\n#include "gateway/config/config.h"\n#include <uv.h>\n',
    "gateway/main.c": '#include "gateway/supervisor/slot.h"\n',
    "plugins/gw_plugin.h": "#pragma once\n#include <stdint.h>\n",
    "plugins/common/client.h": "#pragma once\n",
    "plugins/docker/docker.c": '#include "plugins/gw_plugin.h"\n#include "plugins/common/client.h"\n',
    "worker/main.c": '#include "base/text.h"\n',
}
PLANTED = [  # file, text, line, rule, what the report must name
    ("base/a.c", '#include "policy/dialable.h"\n', 1, "layer", "policy"),
    ("base/a.c", "#include <uv.h>\n", 1, "library", "libuv"),
    ("policy/a.c", '\n#include "gateway/common/log.h"\n', 2, "layer", "gateway/common"),
    ("policy/a.c", "#include <uv.h>\n", 1, "library", "libuv"),
    ("policy/a.c", "#include <time.h>\n", 1, "system", "time.h"),
    ("policy/a.c", "#include <sys/socket.h>\n", 1, "system", "sys/socket.h"),
    ("gateway/common/a.c", "#include <uv.h>\n", 1, "library", "libuv"),
    ("gateway/common/a.c", "#include <mbedtls/ssl.h>\n", 1, "library", "mbedTLS"),
    ("gateway/common/a.c", '#include "gateway/proxy/dial.h"\n', 1, "layer", "gateway/proxy"),
    ("gateway/config/a.c", "#include <llhttp.h>\n", 1, "library", "llhttp"),
    ("gateway/proxy/a.c", '#include <stdio.h>\n#include "gateway/supervisor/slot.h"\n', 2, "layer", "gateway/supervisor"),
    ("gateway/proxy/a.c", "#include <yaml.h>\n", 1, "library", "libyaml"),
    ("gateway/proxy/a.c", '#include "gateway/config/config.h"\n', 1, "layer", "gateway/config"),
    ("gateway/supervisor/a.c", '# \\\n include \\\n "gateway/proxy/dial.h"\n', 1, "layer", "gateway/proxy"),
    ("gateway/supervisor/a.c", "#include <ares.h>\n", 1, "library", "c-ares"),
    ("gateway/launcher/a.c", '#include "policy/dialable.h"\n', 1, "layer", "policy"),
    ("gateway/log_writer/a.c", "#include <uv.h>\n", 1, "library", "libuv"),
    ("gateway/new/a.c", "#include <yaml.h>\n", 1, "library", "libyaml"),
    ("plugins/docker/a.c", '#include "gateway/common/log.h"\n', 1, "layer", "gateway/common"),
    ("plugins/docker/a.c", '#include "plugins/runsc/a.h"\n', 1, "layer", "plugins/runsc"),
    ("plugins/docker/a.c", "#include <uv.h>\n", 1, "library", "libuv"),
    ("worker/a.c", '#include "policy/dialable.h"\n', 1, "layer", "policy"),
    ("base/a.c", "#include <strange.h>\n", 1, "system", "strange.h"),
    ("base/a.c", "#include <netdb.h>\n", 1, "system", "netdb.h"),
    ("base/a.c", "#include <pthread.h>\n", 1, "system", "pthread.h"),
    ("base/a.c", "#define H <uv.h>\n#include H\n", 2, "form", "cannot tell"),
    ("base/a.c", "%:include <uv.h>\n", 1, "library", "libuv"),
    ("base/a.c", '#include "text.h"\n', 1, "form", "text.h"),
    ("base/a.c", '#include "base/../policy/dialable.h"\n', 1, "form", ".."),
    ("base/a.c", '#include "base/text.c"\n', 1, "form", "only headers"),
    ("base/a.c", '#include "base/none.h"\n', 1, "form", "does not exist"),
    ("base/text.c", '#include <stddef.h>\n#include "base/text.h"\n', 1, "own-header", "base/text.h"),
    ("gateway/proxy/a.c", "int f(void)\n{\n    return connect (1, 0, 0);\n}\n", 3, "one-connect", "connect"),
    ("gateway/supervisor/a.c", "int f(void) { return uv_tcp_connect(0, 0, 0, 0); }\n", 1, "one-connect", "uv_tcp_connect"),
    ("gateway/proxy/a.c", "struct gw_dialable\n{ int x; };\n", 1, "one-maker", "gw_dialable"),
    ("gateway/proxy/a.c", "int x = getaddrinfo(0, 0, 0, 0);\n", 1, "one-resolver", "getaddrinfo"),
    ("gateway/proxy/a.c", "int x = pthread_create(0, 0, 0, 0);\n", 1, "one-thread", "pthread_create"),
    ("policy/a.c", "#include <stdio.h>\nvoid f(void) { printf(\"x\"); }\n", 2, "pure", "printf"),
]


def tree_of(folder, files):
    for path, text in files.items():
        target = pathlib.Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def self_test():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree_of(folder, CLEAN)
        for violation in Checker(folder).run():
            print(f"a clean tree is complained about: {violation}")
            failed += 1
    for path, text, line, rule, named in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            tree_of(folder, {**CLEAN, path: text})
            found = Checker(folder).run()
            if not any(v.startswith(f"{path}:{line}: {rule}: ") and named in v for v in found):
                print(f"not found: {path}:{line}: {rule}: ({named}) in {text!r}; found: {found}")
                failed += 1
    print(f"layering-self-test: {len(PLANTED) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    checker = Checker(root)
    violations = checker.run()
    print("\n".join(violations + [f"layering: {checker.files} files read, {len(violations)} violations"]))
    if checker.files == 0:
        print(f"no sources below {root}", file=sys.stderr)
        return 1
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
