"""The clients that fetch a URL, one row each: how to run them, and what they say to a proxy."""
import dataclasses
import functools
import json
import pathlib
import re
import sys
import tempfile

from e2e.support import programs
from e2e.support.scene import PLACEHOLDER

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


@dataclasses.dataclass
class Got:
    """What a client made of one URL."""
    status: int = 0
    reason: str = None  # X-Namzu-Reason, where the client shows it
    body: str = ""
    error: str = None  # what it says when it has no answer


def _curl(sandbox, urls, *options):
    return [_curl_one(sandbox, url, *options) for url in urls]


def _curl_one(sandbox, url, *options):
    ran = sandbox.run(programs.command("curl"), "-sS", "--max-time", "20", *options, "-H", f"Authorization: Bearer {PLACEHOLDER}",
                      "-w", "\n%{http_code} %header{x-namzu-reason}", url)
    if ran.code != 0:
        return Got(error=ran.err)
    body, _, last = ran.out.rpartition("\n")
    status, _, reason = last.partition(" ")
    return Got(int(status), reason or None, body)


def _wget(sandbox, urls, *options):
    rc = sandbox.home / ".wgetrc"
    rc.write_text(f"ca_certificate = {sandbox.ca}\n")
    env = sandbox.environment(WGETRC=str(rc), SYSTEM_WGETRC="/dev/null")
    found = []
    for url in urls:
        ran = sandbox.run(programs.command("wget"), "-S", "-O", "-", "--content-on-error", "-t", "1", "-T", "20", *options,
                          "--header", f"Authorization: Bearer {PLACEHOLDER}", url, env=env)
        status = re.findall(r"^ +HTTP/1\.1 (\d+)", ran.err, re.M)
        reason = re.findall(r"^ +X-Namzu-Reason: (\S+)", ran.err, re.M)
        found.append(Got(int(status[-1]), reason[-1] if reason else None, ran.out) if status else Got(error=ran.err))
    return found


def _lines(sandbox, *command, env):
    ran = sandbox.run(*command, env=env)
    assert ran.code == 0, ran
    return [Got(**json.loads(line)) for line in ran.out.splitlines()]


def _python(kind, module=None):
    def run(sandbox, urls):
        interpreter = programs.python(*([module] if module else []))
        return _lines(sandbox, interpreter, PROGRAMS / "get.py", kind, *urls, env=sandbox.environment(CLIENT_KEY=PLACEHOLDER))
    return run


def _node(kind, *modules, env=None):
    def run(sandbox, urls):
        made = sandbox.environment(CLIENT_KEY=PLACEHOLDER, CLIENT_MODULES=str(programs.MODULES), **(env or {}))
        return _lines(sandbox, programs.node(*modules), PROGRAMS / "get.mjs", kind, *urls, env=made)
    return run


@functools.lru_cache(None)
def build_folder():
    """For what is compiled once a run; removed at the end of it."""
    made = tempfile.TemporaryDirectory(prefix="namzu-clients-built-")
    build_folder.keep = made
    return pathlib.Path(made.name)


@functools.lru_cache(None)
def go_program():
    """get.go, built once; Go's build cache is kept between runs where that can be."""
    made = build_folder() / "get"
    cache = programs.CACHE / "go-build"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError:
        cache = build_folder() / "go-build"
    builder = programs.Sandbox(build_folder() / "go-home", "/dev/null", "")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(builder.home), "GOCACHE": str(cache), "GOPROXY": "off",
           "GOTOOLCHAIN": "local", "GO111MODULE": "off", "CGO_ENABLED": "0", "GOMAXPROCS": "2"}
    ran = builder.run(programs.command("go"), "build", "-o", made, PROGRAMS / "get.go", env=env, seconds=280)
    assert ran.code == 0, ran
    return made


def _go(sandbox, urls):
    programs.command("go")
    return _lines(sandbox, go_program(), *urls, env=sandbox.environment(CLIENT_KEY=PLACEHOLDER))


@functools.lru_cache(None)
def trust_store(ca):
    """Java reads no PEM file from the environment: keytool(1) puts the CA into a store."""
    store = build_folder() / "trust.p12"
    ran = programs.Sandbox(build_folder() / "java-home", ca, "").run(
        programs.command("keytool"), "-importcert", "-noprompt", "-alias", "namzu-test", "-file", ca, "-keystore", store,
        "-storetype", "PKCS12", "-storepass", "changeit")
    assert ran.code == 0, ran
    return store


@functools.lru_cache(None)
def java_classes():
    """Get.java, compiled once a run (`java Get.java URL` does it anew each time)."""
    ran = programs.Sandbox(build_folder() / "java-home", "", "").run(
        programs.command("javac"), "-proc:none", "-d", build_folder() / "classes", PROGRAMS / "Get.java")
    assert ran.code == 0, ran
    return build_folder() / "classes"


def java_command(kind, urls):
    return [programs.command("java"), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", java_classes(), "Get", kind, *urls]


def java_options(sandbox):
    host, _, port = sandbox.proxy.removeprefix("http://").rpartition(":")
    return " ".join(f"-D{name}={value}" for name, value in (
        ("http.proxyHost", host), ("http.proxyPort", port), ("https.proxyHost", host), ("https.proxyPort", port),
        ("javax.net.ssl.trustStore", trust_store(sandbox.ca)), ("javax.net.ssl.trustStorePassword", "changeit")))


def _java(kind):
    def run(sandbox, urls):
        for name in ("java", "javac", "keytool"):
            programs.command(name)
        env = sandbox.environment(CLIENT_KEY=PLACEHOLDER, JAVA_TOOL_OPTIONS=java_options(sandbox))
        return _lines(sandbox, *java_command(kind, urls), env=env)
    return run


@dataclasses.dataclass
class Client:
    name: str
    run: object  # (sandbox, urls) -> [Got]
    # What it sends for http:// URLs, "absolute" or "tunnel"; and the shape of its CONNECT to a
    # default port: the version, and its Host: "authority" (with the port), "name", or None.
    plain: str = "absolute"
    connect: str = "HTTP/1.1"
    connect_host: str = "authority"
    requotes: bool = False  # it writes escapes of a URL anew before it sends them
    # What it says when a CONNECT is refused.
    refused_tunnel: str = "403"


ENV_PROXY = {"NODE_USE_ENV_PROXY": "1"}

# http.client of Python 3.12 began to send HTTP/1.1 and Host; urllib, requests and pip tunnel with it.
PYTHON_TUNNEL = {"connect": "HTTP/1.0", "connect_host": None} if sys.version_info < (3, 12) else {}

CLIENTS = [
    Client("curl", _curl, refused_tunnel=r"response 403"),
    Client("curl-proxytunnel", lambda sandbox, urls: _curl(sandbox, urls, "-p"), plain="tunnel", refused_tunnel=r"response 403"),
    Client("curl-proxy1.0", lambda sandbox, urls: _curl(sandbox, urls, "--proxy1.0", sandbox.proxy), connect="HTTP/1.0",
           refused_tunnel=r"response 403"),
    Client("wget", _wget, refused_tunnel="Proxy tunneling failed: Forbidden"),
    Client("urllib", _python("urllib"), **PYTHON_TUNNEL, refused_tunnel="Tunnel connection failed: 403"),
    Client("requests", _python("requests", "requests"), **PYTHON_TUNNEL, requotes=True,
           refused_tunnel="Tunnel connection failed: 403"),
    Client("httpx", _python("httpx", "httpx"), requotes=True, refused_tunnel="403 Forbidden"),
    Client("aiohttp", _python("aiohttp", "aiohttp"), connect_host="name", requotes=True),
    Client("go", _go, refused_tunnel="Forbidden"),
    Client("node-agents", _node("node-agents", "http-proxy-agent", "https-proxy-agent")),
    Client("node-tunnel", _node("node-tunnel", "https-proxy-agent"), plain="tunnel"),
    Client("node-http", _node("node-http", env=ENV_PROXY)),
    Client("node-fetch", _node("node-fetch", env=ENV_PROXY), plain="tunnel", connect_host="name"),
    Client("undici7", _node("undici7", "undici7"), plain="tunnel", connect_host="name"),
    Client("undici7-env", _node("undici7-env", "undici7"), plain="tunnel", connect_host="name"),
    Client("undici7-no-tunnel", _node("undici7-no-tunnel", "undici7"), connect_host="name"),
    Client("undici8", _node("undici8", "undici8"), connect_host="name"),
    Client("undici8-env", _node("undici8-env", "undici8"), connect_host="name"),
    Client("undici8-global", _node("undici8-global", "undici8"), connect_host="name"),
    Client("axios", _node("axios", "axios"), connect_host="name"),
    Client("java-url-connection", _java("url-connection"), connect_host="name"),
    Client("java-http-client", _java("http-client")),
]
assert len({client.name for client in CLIENTS}) == len(CLIENTS)
