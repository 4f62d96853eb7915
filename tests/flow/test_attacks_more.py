"""A sandbox that attacks: reach what the policy refuses, move a secret, blur the end of a message, starve
or crash the gateway, outlive a narrowed policy."""
import contextlib
import copy
import json
import os
import random
import socket
import struct
import threading
import time

import pytest
from support import hello, network, origin, refusal
from support.cases import get, head
from support.client import Client, Closed
from support.dns_server import Answer, a
from support.gateway import Gateway, binary
from support.http_origin import STOP, simple, websocket_echo
from support.world import ENVIRONMENT, LIFTED, PKGS, SECRETS, VAULT_KEY, config

API = "http://api.acme.test"
NEEDS_NETWORK = "needs a network of its own"
NEEDS_ROOT = "descriptors of a proxy can be counted by root only"
HANDSHAKE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13")
_count = iter(range(1, 1000))


@pytest.fixture
def alone(folder, monkeypatch):
    """with alone(config) as gateway: judged at the end if the test got there, else thrown away: an attack
    that succeeds is a failed test and not a broken run. Freed memory is not kept back by a sanitizer."""
    monkeypatch.setenv("ASAN_OPTIONS", f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=1".lstrip(":"))

    @contextlib.contextmanager
    def run(made):
        if not binary().exists():
            pytest.skip(f"there is no gateway at {binary()}")
        gateway = Gateway(f"{folder}/attack-{next(_count)}", made, ENVIRONMENT, SECRETS)
        gateway.start()
        try:
            yield gateway
            gateway.check_alive()
            gateway.stop()
        finally:
            if gateway.process is not None:
                gateway.kill()
    return run


def one_process(world, **changes):
    made = config(world, **changes)
    made["gateway"]["processes"] = 1
    return made


def neighbours(made, limits=None, b_limits=None):
    """A second network `b` beside `local`, with a policy of its own."""
    made["policies"]["other"] = copy.deepcopy(made["policies"]["standing"])
    made["networks"]["b"] = {"listen": f"127.0.0.1:{network.free_port()}", "policy": "other"}
    for name, its in (("local", limits), ("b", b_limits)):
        if its:
            made["networks"][name]["limits"] = its
    return made


def fill(sock, piece, seconds=0.3, most=64 << 20):
    """Sends until nothing more is taken for that long; how many bytes were."""
    sent = 0
    sock.settimeout(seconds)
    with contextlib.suppress(OSError):
        while sent < most:
            sent += sock.send(piece)
    return sent


def until(wanted, seconds=3):
    deadline = time.monotonic() + seconds
    while not wanted() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(wanted())


# ---- reaching what is refused, by spelling --------------------------------------------------------------

def evil(id, data, *statuses):
    return pytest.param(data, statuses, id=id)


INNER = head("CONNECT api.acme.test:80 HTTP/1.1", "Host: x")


@pytest.mark.parametrize("data,statuses", [
    evil("lower-case-connect", head("connect evil.test:443 HTTP/1.1", "Host: evil.test:443"), 400),
    evil("connect-with-scheme", head("CONNECT http://evil.test:80 HTTP/1.1", "Host: x"), 400),
    evil("connect-with-path", head("CONNECT api.acme.test:80/@evil.test:80 HTTP/1.1", "Host: x"), 400),
    evil("connect-two-authorities", head("CONNECT api.acme.test:80,evil.test:80 HTTP/1.1", "Host: x"), 400),
    evil("inner-host", INNER + head("GET / HTTP/1.1", "Host: evil.test"), 200, 200),
    evil("inner-absolute", INNER + get("http://evil.test/"), 200, 400),
    evil("inner-https", INNER + get("https://api.acme.test/"), 200, 400),
    evil("inner-other-port", INNER + get("http://api.acme.test:8080/"), 200, 400),
    evil("inner-connect", INNER + head("CONNECT evil.test:80 HTTP/1.1", "Host: x"), 200, 400),
    evil("inner-allowed-other", INNER + get("http://x.pkgs.test/"), 200, 400),
    evil("inner-second", INNER + get("http://api.acme.test/") + get("http://evil.test/"), 200, 200, 400),
    evil("inner-1.0", INNER + b"GET http://evil.test/ HTTP/1.0\r\n\r\n", 200, 400),
    evil("1.0-host-only", b"GET / HTTP/1.0\r\nHost: evil.test\r\n\r\n", 403),
    evil("1.0-without-host", b"GET http://evil.test/ HTTP/1.0\r\n\r\n", 403),
    evil("host-list", head("GET / HTTP/1.1", "Host: api.acme.test, evil.test"), 400),
    evil("host-and-x-host", head("GET / HTTP/1.1", "Host: evil.test", "X-Forwarded-Host: api.acme.test"), 403),
    evil("host-twice-by-connection", head("GET / HTTP/1.1", "Host: api.acme.test", "Host: evil.test", "Connection: Host"), 400),
    evil("tab-in-target", b"GET http://evil.test/\tHTTP/1.1 HTTP/1.1\r\nHost: api.acme.test\r\n\r\n", 400),
    evil("two-blanks", b"GET  http://evil.test/ HTTP/1.1\r\nHost: api.acme.test\r\n\r\n", 400),
    evil("scheme-relative", head("GET //evil.test/ HTTP/1.1", "Host: api.acme.test"), 200),
    evil("ws-scheme", head("GET ws://evil.test/ HTTP/1.1", "Host: api.acme.test"), 400),
    evil("options-asterisk", head("OPTIONS * HTTP/1.1", "Host: evil.test", "Max-Forwards: 0"), 400),
    evil("options-hop", get("http://evil.test/", "Max-Forwards: 0", method="OPTIONS"), 403),
    evil("trace-hop", get("http://api.acme.test/", "Max-Forwards: 0", method="TRACE"), 405),
    evil("trace-case", get("http://api.acme.test/", method="tRaCe"), 405),
    evil("after-a-body", get("http://api.acme.test/", "Content-Length: 2", method="POST", body=b"ok") + get("http://evil.test/"), 200, 403),
    evil("after-a-refusal", get("http://evil.test/", "Content-Length: 2", method="POST", body=b"ok") + get("http://evil.test/"), 403, 403),
    evil("http2-preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    evil("socks5", b"\x05\x01\x00", 400),
    evil("proxy-v2", b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12), 400),
    evil("proxy-v1", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + get("http://evil.test/"), 400),
    evil("raw-tls", hello.client_hello("evil.test"), 400),
    evil("dot-dot", get("http://evil.test../"), 400),
    evil("escaped", get("http://api.acme.test%00.evil.test/"), 400),
    evil("mapped-name", get("http://[::ffff:evil.test]/"), 400),
    evil("ipvfuture", get("http://[v1.evil]/"), 400),
])
def test_no_spelling_reaches_what_is_refused(data, statuses, gateway, world):
    world.forget()
    got = []
    with Client(gateway.address) as client:
        client.send(data)
        for number in range(len(statuses)):
            got.append(client.response("CONNECT" if number == 0 and data.startswith(b"CONNECT") else "GET").status)
        assert tuple(got) == statuses
        client.ended(0.05)
        assert client.unread == b"", "one answer too many"
    assert world["evil"].accepted == world["evil-tls"].accepted == 0 and world.echo.accepted == 0
    assert "evil.test" not in world.dns.asked() and not any("x00" in name for name in world.dns.asked())
    for each in world.origins.values():
        assert all("evil" not in "".join(seen.fields.all("host")) for seen in each.requests)


# ---- method and path rules -------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def ruled(gateways, world):
    return gateways.get(config(world, policy={"rules": [
        {"host": "api.acme.test", "methods": ["GET"], "paths": ["/v1", "/drop/"]},
        {"host": "x.pkgs.test", "paths": ["/npm"], "encoded_slash": "allow"},
    ]}))


PATHS = ["/v1/..%2fadmin", "/v1/%2e%2e/admin", "/v1/%2e%2E%2fadmin", "/v1/%252e%252e/admin", "/v1/%25252e%25252e/admin", "/v1/.%2e;x/admin",
         "/v1/..%3b/admin", "/v1/..;/admin", "/v1/%c0%ae%c0%ae/admin", "/v1/%e0%80%ae./admin", "/v1/..%5cadmin", "/v1/%5c..%5cadmin",
         "/v1/%u002e%u002e/admin", "/v1/..%00/admin", "/v1/%00", "/v1//../admin", "/%76%31", "/V1", "/v1%20", "/v1;x", "/v1%3b", "/v1.", "/v1%2e",
         "/./v1", "//v1", "/v1/.", "/v1/%", "/v1/%2", "/v1/%zz", "/admin?/v1", "/admin%3f/v1", "/admin#/v1", "/admin;/v1", "?/v1/x", "/drop",
         "/v1\\admin", "/v1%2F..%2Fadmin", "/drop/..", "/drop/%2e%2e", "/v1/%25%32%65%25%32%65/admin", "/v1/%2%65%2%65/admin"]
METHODS = ["get", "Get", "POST", "HEAD", "OPTIONS", "GETT", "G", "GET,POST", "PUT", "PATCH", "M-SEARCH", "PROPFIND", "connect"]
FORMS = {
    "absolute": lambda m, t: [get(API + t, method=m)],
    "https": lambda m, t: [get("https://api.acme.test" + t, method=m)],
    "origin": lambda m, t: [head(f"{m} {t} HTTP/1.1", "Host: api.acme.test")],
    "inner": lambda m, t: [INNER, head(f"{m} {t} HTTP/1.1", "Host: api.acme.test")],
    "inner-absolute": lambda m, t: [INNER, get(API + t, method=m)],
    "1.0": lambda m, t: [get(API + t, method=m, version="HTTP/1.0")],
}


@pytest.mark.parametrize("form", FORMS)
def test_rules_hold_for_every_spelling(form, ruled, world):
    """Whatever the form of the request, what a rule does not admit reaches no origin."""
    world.forget()
    wrong = []
    for method, target in [("GET", path) for path in PATHS] + [(method, "/v1/x") for method in METHODS]:
        with Client(ruled.address) as client:
            for piece in FORMS[form](method, target):
                response = client.ask(piece)
            if response.status not in (400, 403):
                wrong.append((method, target, response.status))
    assert not wrong
    assert all(each.accepted == 0 for each in world.origins.values())


def test_a_rule_is_asked_again_for_every_request_of_a_connection(ruled, world):
    world.forget()
    with Client(ruled.address) as client:
        client.send(get(API + "/v1/a") + get(API + "/admin") + get(API + "/v1/b", method="POST") + get(API + "/v1/c"))
        assert [client.response().status for _ in range(4)] == [200, 403, 403, 200]
    assert [seen.target for seen in world["api"].requests] == ["/v1/a", "/v1/c"]


def test_an_encoded_slash_that_is_allowed_hides_no_dots(ruled, world):
    world.forget()
    for target in ("/npm/..%2fx", "/npm%2f..%2f..%2fx", "/npm/a%2f%2e%2e%2f..%2fx", "/npm%2f", "/npm/%2f", "/npm/%252f..%252f..", "/npm%2f%2fx"):
        with Client(ruled.address) as client:
            assert client.ask(get("http://x.pkgs.test" + target)).status == 403, target
    assert world["pkgs"].accepted == 0


# ---- the server name -------------------------------------------------------------------------------------

GOOD, BAD = hello.message("echo.acme.test"), hello.message("evil.test")


def names(*entries):
    """A server_name extension with these (type, bytes)."""
    listed = b"".join(bytes([kind]) + struct.pack("!H", len(name)) + name for kind, name in entries)
    return struct.pack("!HHH", 0, len(listed) + 2, len(listed)) + listed


HELLOS = {
    "two-in-one-record": hello.record(GOOD + BAD),
    "second-begins-in-the-record": hello.record(GOOD + BAD[:9]) + hello.record(BAD[9:]),
    "two-entries": hello.record(hello.message(None, names((0, b"echo.acme.test"), (0, b"evil.test")))),
    "two-entries-good-last": hello.record(hello.message(None, names((0, b"evil.test"), (0, b"echo.acme.test")))),
    "other-type-first": hello.record(hello.message(None, names((1, b"evil.test"), (0, b"echo.acme.test")))),
    "other-type-behind": hello.record(hello.message(None, names((0, b"echo.acme.test"), (7, b"evil.test")))),
    "two-extensions": hello.record(hello.message("echo.acme.test", hello.server_name("evil.test"))),
    "empty-list": hello.record(hello.message(None, b"\0\0\0\x02\0\0")),
    "empty-extension": hello.record(hello.message(None, b"\0\0\0\0")),
    "empty-name": hello.record(hello.message(None, names((0, b"")))),
    "nul": hello.client_hello("echo.acme.test\0.evil.test"), "nul-before": hello.client_hello("evil.test\0echo.acme.test"),
    "blank": hello.client_hello("echo.acme.test "), "port": hello.client_hello("echo.acme.test:443"),
    "two-dots": hello.client_hello("echo.acme.test.."), "percent": hello.client_hello("echo%2eacme.test"),
    "kelvin": hello.client_hello("e\xc3\xa7ho.acme.test"), "address": hello.client_hello("127.10.0.9"),
    "parent": hello.client_hello("acme.test"), "below": hello.client_hello("a.echo.acme.test"),
    "alert-first": hello.record(b"\x01\x00", hello.ALERT) + hello.record(GOOD),
    "ccs-first": hello.record(b"\x01", 20) + hello.record(GOOD),
    "data-first": hello.record(b"GET / HTTP/1.1\r\n", 23) + hello.record(GOOD),
    "empty-record-first": hello.record(b"") + hello.record(GOOD),
    "hello-request-first": hello.record(b"\0\0\0\0" + GOOD), "server-hello": hello.record(b"\x02" + GOOD[1:]),
    "sslv2": b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + bytes(40), "sslv3-major-2": b"\x16\x02" + hello.record(GOOD)[2:],
    "record-too-long": b"\x16\x03\x01\x40\x01" + GOOD + bytes(0x4001 - len(GOOD)), "huge": hello.client_hello("echo.acme.test", pad=60000, record_size=16000),
    "length-lies": hello.record(GOOD[:1] + (len(GOOD) - 8).to_bytes(3, "big") + GOOD[4:]),
    "extensions-cut": hello.record(b"\x01\0\0\x2d" + b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + b"\0\x09"),
    "ech-outer-other": hello.client_hello("cdn.test", hello.ech()), "ech-without-name": hello.client_hello(None, hello.ech()),
    "ssh": b"SSH-2.0-x\r\n" + hello.record(GOOD), "http": get("http://echo.acme.test/"), "quic": b"\xc0" + bytes(60),
    "data-behind-mismatch": hello.record(BAD) + b"\x17\x03\x03\x00\x05early",
}


@pytest.fixture(scope="module")
def strict(gateways, world):
    return gateways.get(config(world, limits={"client_hello_timeout_ms": 800}))


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_no_hello_of_another_name_gets_a_byte_through(pieces, strict, world):
    """Cut into any pieces: nothing goes up, and the connection ends."""
    world.forget()
    open_still = []
    for name, data in HELLOS.items():
        with Client(strict.address) as client:
            assert client.open_tunnel("echo.acme.test", 443).status == 200
            step = max(1, len(data) // pieces)
            with contextlib.suppress(OSError):
                for at in range(0, len(data), step):
                    client.send(data[at:at + step])
                    if pieces > 1:
                        time.sleep(0.002)
            if client.ended(3) is None:
                open_still.append(name)
    assert not open_still
    assert world.echo.bytes == 0


def test_split_hellos_of_the_right_name_pass_and_nothing_is_lost(strict, world):
    early = b"\x17\x03\x03\x40\x00" + b"0-rtt" * 3277
    for data in (hello.client_hello("echo.acme.test", record_size=1), hello.client_hello("ECHO.acme.TEST.", hello.ech(), pad=9000, record_size=700),
                 hello.record(GOOD) + early, hello.client_hello("echo.acme.test", b"\x0a\x0a\0\x01\0\xfa\xfa\0\0")):
        with Client(strict.address) as client:
            assert client.open_tunnel("echo.acme.test", 443, data[:700]).status == 200
            client.send(data[700:])
            assert client.read(len(data)) == data


def test_a_slow_hello_has_one_deadline(strict, world):
    world.forget()
    data = hello.client_hello("echo.acme.test", record_size=3)
    with Client(strict.address) as client:
        assert client.open_tunnel("echo.acme.test", 443).status == 200
        began = time.monotonic()
        with contextlib.suppress(OSError):
            for at in range(60):
                client.send(data[at:at + 1])
                time.sleep(0.05)
        assert client.ended(1) and time.monotonic() - began < 2.5
    assert world.echo.bytes == 0


# ---- the screen ------------------------------------------------------------------------------------------

SETS = {
    "mapped-metadata": ["::ffff:169.254.169.254"], "compatible": ["::169.254.169.254"], "translated": ["::ffff:0:10.0.0.1"], "nat64": ["64:ff9b::7f00:1"],
    "nat64-local": ["64:ff9b:1::7f00:1"], "6to4": ["2002:7f00:1::1"], "teredo": ["2001:0:808:808:8000:0:80ff:fffe"], "isatap": ["2001:470::200:5efe:127.0.0.1"],
    "isatap-0": ["2001:470::5efe:10.0.0.1"], "site-local": ["fec0::1"],
    "link-local": ["fe80::1"], "ula": ["fd00::1"], "zero": ["0.0.0.0"], "zero-8": ["0.1.2.3"],
    "broadcast": ["255.255.255.255"], "mixed-late": ["93.184.216.34"] * 20 + ["127.0.0.1"],
    "mixed-6": ["2606:4700::1111", "::1"], "65": [f"1.2.3.{n}" for n in range(65)],
    "40+40": [f"1.2.3.{n}" for n in range(40)] + [f"2606:4700::{n:x}" for n in range(1, 41)], "azure": ["168.63.129.16"], "alibaba": ["100.100.100.200"],
    "aws-6": ["fd00:ec2::254"], "own-loopback": ["127.10.0.1"], "v4-multicast": ["239.1.1.1"], "not-unicast": ["4000::1"],
}


def test_no_set_of_addresses_passes_with_a_bad_one(gateway, world):
    """Plain, upgraded, tunnelled and in a plain tunnel; asked twice, so that a cache is met as well."""
    for number, addresses in enumerate(SETS.values()):
        world.dns.host(f"set{number}.public.test", *addresses, ttl=60)
    world.forget()
    passed = []
    for number, name in enumerate(SETS):
        host = f"set{number}.public.test"
        for data in (get(f"http://{host}/"), get(f"http://{host}/"), get(f"https://{host}:8443/"), head(f"CONNECT {host}:443 HTTP/1.1", "Host: x")):
            with Client(gateway.address) as client:
                response = client.ask(data)
                if response.status != 403:
                    passed.append((name, data[:40], response.status))
        with Client(gateway.address) as client:
            assert client.open_tunnel(host, 80).status == 200
            if client.ask(get("/", host=host)).status != 403:
                passed.append((name, "inner"))
    assert not passed
    assert all(each.accepted == 0 for each in world.origins.values())


def test_a_name_that_turns_inward_is_caught_at_every_dial(gateway, world):
    """TTL 0: first good, then loopback. Kept connections go on to where they were screened; the dial of a
    retry, of a new connection and of a tunnel is screened anew."""
    seen = []

    def script(peer):
        for answer in (b"one", b"two"):
            request = peer.read_request()
            if request is None:
                return
            seen.append(request.target)
            peer.send(simple(200, answer))
        if peer.read_head():
            peer.reset()  # the third finds the kept connection dead: it is asked again, over a new dial
    bound = origin.Origin("127.0.0.1", 80, lambda peer: seen.append("inward"))
    with bound, world.place("turn.more.test", script) as there:
        world.dns.script("turn.more.test", "A", Answer((a("turn.more.test", there.address),)), Answer((a("turn.more.test", "169.254.1.1"),)))
        with Client(gateway.address) as client:
            assert [client.ask(get("http://turn.more.test/1")).body, client.ask(get("http://turn.more.test/2")).body] == [b"one", b"two"]
            refusal.check(client.ask(get("http://turn.more.test/3")), "resolved:link-local", "turn.more.test")
            refusal.check(client.ask(get("http://turn.more.test/4")), "resolved:link-local", "turn.more.test")
        with Client(gateway.address) as client:
            assert client.open_tunnel("turn.more.test", 9000).status == 403
    assert seen == ["/1", "/2"] and bound.accepted == 0


def test_a_cached_address_is_screened_on_every_use(alone, world):
    """TTL 300, resolved and kept under the wide policy; the narrow one refuses the address without asking again."""
    made = one_process(world)
    narrow = copy.deepcopy(made)
    narrow["policies"]["standing"]["deny_cidrs"] = ["127.20.0.0/16"]
    with alone(made) as gateway, world.place("cached.more.test", lambda peer: (peer.read_request(), peer.send(simple(200, b"x")))) as there:
        world.dns.host("cached.more.test", there.address, ttl=300)
        with Client(gateway.address) as client:
            assert client.ask(get("http://cached.more.test/")).status == 200
            assert gateway.reload(narrow), gateway.last_reload
            world.dns.forget()
            refusal.check(client.ask(get("http://cached.more.test/")), "resolved:operator-denied", "cached.more.test")
        with Client(gateway.address) as client:
            assert client.open_tunnel("cached.more.test", 9000).status == 403
        assert world.dns.count("cached.more.test") == 0 and there.accepted == 1


LOCAL_NAMES = ["localhost", "LocalHost.", "a.b.localhost", "localhost.localdomain", "ip6-localhost", "localhost6", "metadata.google.internal",
               "host.docker.internal", "a_b", "_", "0x7f.0.0.1.", "127.0.0.1.", "127.1.", "1.0.0.127.in-addr.arpa", "::1", "0", "0x0", "017700000001"]


def test_local_names_and_numbers_reach_nothing(own_gateway, world):
    """Even where everything is allowed (the screen still applies)."""
    made = config(world)
    made["policies"]["standing"] = {"kind": "allow-all"}
    del made["credentials"]
    gateway = own_gateway(made)
    world.forget()
    with origin.Origin("127.0.0.1", 80, lambda peer: None) as bound, origin.Origin("127.0.0.1", 443, lambda peer: None) as bound_tls:
        for name in LOCAL_NAMES:
            for data in (get(f"http://{name}/"), head("GET / HTTP/1.1", f"Host: {name}"), head(f"CONNECT {name}:443 HTTP/1.1", "Host: x")):
                with Client(gateway.address) as client:
                    assert client.ask(data).status in (400, 403, 502), (name, data)
        assert bound.accepted == bound_tls.accepted == 0


# ---- the gateway itself ----------------------------------------------------------------------------------

def wildcard(world, *hosts):
    """Listens on every address, on a second port too; the policy opens both ports and names that lead here."""
    ports = [network.free_port(), network.free_port()]
    made = config(world, listen=f"0.0.0.0:{ports[0]}", policy={"ports": [443, 80, *ports], "plain_ports": [80, ports[1]]})
    made["networks"]["second"] = {"listen": f"127.0.0.1:{ports[1]}", "policy": "standing"}
    policy = made["policies"]["standing"]
    policy["allowed_hosts"] += list(hosts)
    policy["allow_inward_for"] += [{"host": host, "cidrs": LIFTED} for host in hosts if host.startswith(("127", "["))]
    return made, ports


SELVES = {
    "loopback": ["127.0.0.1"], "other-loopback": ["127.99.3.4"], "v6": ["::1"], "mapped": ["::ffff:127.0.0.1"], "interface": [network.SELF4],
    "mapped-interface": [f"::ffff:{network.SELF4}"], "zero": ["0.0.0.0"], "nat64-interface": ["64:ff9b::5db8:d909"], "6to4-interface": ["2002:5db8:d909::1"],
}


def test_no_name_leads_back_to_any_own_listener(own_gateway, world):
    """By every address that is this host's, for both listeners, as request, tunnel and inside a plain tunnel."""
    if not world.network.public:
        pytest.skip(NEEDS_NETWORK)
    made, ports = wildcard(world)
    made["gateway"]["dns"]["hosts"] = {f"{name}.hosts.more.test": addresses for name, addresses in SELVES.items() if name != "zero"}
    gateway = own_gateway(made)
    for name, addresses in SELVES.items():
        world.dns.host(f"{name}.more.test", *addresses)
    before = gateway.descriptors()
    served = []
    for name in [f"{name}.more.test" for name in SELVES] + list(made["gateway"]["dns"]["hosts"]):
        for port in ports:
            for data in (get(f"http://{name}:{port}/"), get(f"https://{name}:{port}/"), head(f"CONNECT {name}:{port} HTTP/1.1", "Host: x")):
                with Client(("127.0.0.1", ports[0])) as client:
                    response = client.ask(data)
                    if response.status == 200 and data.startswith(b"CONNECT") and port == ports[1]:
                        response = client.ask(get("/", host=f"{name}:{port}"))
                    if response.status not in (403, 421):
                        served.append((name, port, data[:12], response.status))
    assert not served
    if before is not None:
        assert all(now <= then + 2 for now, then in zip(gateway.settle(before, 2), before))


def test_an_address_that_is_local_by_a_route_is_ours_too(alone, world):
    if not world.network.public:
        pytest.skip(NEEDS_NETWORK)
    made, ports = wildcard(world)
    world.dns.host("anyip.public.test", network.ANYIP4)
    with alone(made) as gateway, Client(("127.0.0.1", ports[0])) as client:
        response = client.ask(head(f"CONNECT anyip.public.test:{ports[0]} HTTP/1.1", "Host: x"))
        if response.status == 200:  # and now the gateway is asked by itself
            response = client.ask(get("http://evil.test/"))
            assert not response.reason, f"it answered from inside: {response.reason}"
        assert response.status in (403, 421)


# ---- secrets that come back ------------------------------------------------------------------------------

KEY = VAULT_KEY.encode()
BACK = {
    "phrase": b"HTTP/1.1 200 %s\r\nContent-Length: 0\r\n\r\n", "field": b"HTTP/1.1 200 OK\r\nX: %s\r\nContent-Length: 0\r\n\r\n",
    "name": b"HTTP/1.1 200 OK\r\nX-%s: 1\r\nContent-Length: 0\r\n\r\n",
    "location": b"HTTP/1.1 302 F\r\nLocation: http://evil.test/?%s\r\nContent-Length: 0\r\n\r\n",
    "hints": b"HTTP/1.1 103 %s\r\nLink: <%s>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "extension": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;%s\r\nx\r\n0;%s\r\n\r\n",
    "trailer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: %s\r\nX-%s: 1\r\n\r\n",
    "twice": b"HTTP/1.1 200 OK\r\nX: %s%s\r\nContent-Length: 0\r\n\r\n",
    "error": b"HTTP/1.1 500 E\r\nX: %s\r\n bad\r\n\r\n", "no-http": b"%s\r\n\r\n", "not-modified": b"HTTP/1.1 304 N\r\nETag: \"%s\"\r\n\r\n",
}


@pytest.mark.parametrize("id", BACK)
def test_a_secret_comes_back_in_no_head_and_no_trailer(id, gateways, world):
    gateway = gateways.get(config(world, credentials={"key": {"host": "tls.acme.test", "header": "x-api-key", "scheme": "raw", "value": {"env": "VAULT_KEY"}}},
                                  policy={"credentials": ["key"]}))
    answer = BACK[id].replace(b"%s", KEY)

    def script(peer, request):
        assert request.fields.all("x-api-key") == [VAULT_KEY]
        peer.send(answer)
        return STOP
    world["tls"].answers["/back"] = script
    with Client(gateway.address) as client:
        client.send(get("http://tls.acme.test/back", "X-Api-Key: mine", "x_api_key: mine", "Connection: X-Api-Key, close"))
        assert KEY not in client.read_to_end()


def test_a_trailer_does_not_stand_in_for_a_stamped_header(alone, world):
    made = one_process(world, credentials={"key": {"host": "tls.acme.test", "header": "x-api-key", "scheme": "raw", "value": {"env": "VAULT_KEY"}}},
                       policy={"credentials": ["key"]})
    world.forget()
    with alone(made) as gateway:
        with Client(gateway.address) as client:
            assert client.ask(get("http://tls.acme.test/t", "Transfer-Encoding: chunked", method="POST",
                                  body=b"1\r\nx\r\n0\r\nX-Api-Key: mine\r\nX_Api_Key: mine\r\n\r\n")).status == 200
        assert list(world["tls"].requests[0].trailers) == []


def test_a_trailer_that_Connection_names_is_hop_by_hop(alone, world):
    world.forget()
    with alone(one_process(world)) as gateway:
        with Client(gateway.address) as client:
            client.ask(get(API + "/t", "Connection: X-Hop", "Transfer-Encoding: chunked", method="POST", body=b"1\r\nx\r\n0\r\nX-Hop: 1\r\nX-End: 1\r\n\r\n"))
        assert [tuple(field) for field in world["api"].requests[0].trailers] == [("X-End", "1")]


# ---- where one message ends ------------------------------------------------------------------------------

POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
DESYNC = {
    "head-with-body": ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(POISON) + POISON),
    "204-with-body": ("GET", b"HTTP/1.1 204 No\r\n\r\n" + POISON), "304-with-body": ("GET", b"HTTP/1.1 304 No\r\nContent-Length: 60\r\n\r\n" + POISON),
    "205-with-body": ("GET", b"HTTP/1.1 205 R\r\nContent-Length: 0\r\n\r\n" + POISON), "length-short": ("GET", simple(200, b"x") + POISON),
    "chunk-behind": ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" + POISON),
    "trailer-length": ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Length: 5\r\n\r\n" + POISON),
    "204-chunked": ("GET", b"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + POISON),
    "continue-behind": ("GET", simple(200, b"x") + b"HTTP/1.1 100 Continue\r\n\r\n" + POISON),
}


@pytest.mark.parametrize("id", DESYNC)
def test_bytes_behind_an_answer_answer_nobody(id, gateway, world):
    """An honest request on the same or another connection, at once: never the bytes of before. (Bytes that come
    after the next request has gone up cannot be told from its answer; they stay within one binding and origin.)"""
    method, raw = DESYNC[id]
    world["api"].answers["/desync"] = raw
    for _ in range(8):
        with Client(gateway.address) as client, Client(gateway.address) as other:
            client.ask(get(API + "/desync", method=method), method)
            for one in (other, client):
                with contextlib.suppress(Closed, OSError):
                    response = one.ask(get(API + "/honest"))
                    assert b"GET /honest" in response.body if response.status == 200 else response.status == 502


BODIES = {
    "trailer-length": (["Transfer-Encoding: chunked"], b"0\r\nContent-Length: 50\r\n\r\n"),
    "trailer-coding": (["Transfer-Encoding: chunked"], b"0\r\nTransfer-Encoding: x\r\n\r\n"),
    "te-ows": (["Transfer-Encoding: \t chunked \t"], b"0\r\n\r\n"),
    "te-case": (["Transfer-Encoding: CHUNKED"], b"0\r\n\r\n"), "te-comma": (["Transfer-Encoding: chunked,"], b"0\r\n\r\n"),
    "te-two": (["Transfer-Encoding: identity, chunked"], b"0\r\n\r\n"), "te-1.0": None,
    "te-upgrade": (["Transfer-Encoding: chunked", "Connection: Upgrade", "Upgrade: websocket"], b"0\r\n\r\n"),
    "size-blank": (["Transfer-Encoding: chunked"], b"0 \r\n\r\n"),
    "size-tab-ext": (["Transfer-Encoding: chunked"], b"0\t;x\r\n\r\n"), "size-plus": (["Transfer-Encoding: chunked"], b"+0\r\n\r\n"),
    "size-0x": (["Transfer-Encoding: chunked"], b"0x0\r\n\r\n"), "ext-lf": (["Transfer-Encoding: chunked"], b"0;a\nb\r\n\r\n"),
    "ext-quote": (["Transfer-Encoding: chunked"], b"0;a=\"\r\n\r\n"),
    "ext-cr": (["Transfer-Encoding: chunked"], b"0;a\rb\r\n\r\n"),
    "upgrade-length": (["Content-Length: 0", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"], b""),
    "expect-0": (["Expect: 100-continue", "Content-Length: 0"], b""),
}


@pytest.mark.parametrize("id", BODIES)
def test_the_next_request_begins_where_this_one_ends(id, gateway, world):
    """What follows is either the next request, judged as one (403), or nothing at all; and no origin sees it."""
    lines, body = BODIES[id] or (["Transfer-Encoding: chunked"], b"0\r\n\r\n")
    world.forget()
    first = get(API + "/front", *lines, method="POST", body=body, version="HTTP/1.0" if id == "te-1.0" else "HTTP/1.1")
    with Client(gateway.address) as client:
        client.send(first + get("http://evil.test/steal"))
        assert client.response("POST").status in (200, 400)
        with contextlib.suppress(Closed, OSError):
            refusal.check(client.response(), "not-allowed", "evil.test")
    time.sleep(0.02)
    assert not [seen for each in world.origins.values() for seen in each.requests if "steal" in seen.target]
    assert all(seen.body == b"" and not seen.trailers for seen in world["api"].requests)


# ---- crash -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("slow", ["dns", "dial"])
def test_a_retry_that_takes_longer_than_the_wait_for_100(slow, alone, world):
    """PUT with Expect over a kept connection; the origin closes it after 0.2 s; the new one takes 0.6 s more: the
    timer of the first try must not fire without an upstream."""
    made = one_process(world, limits={"continue_timeout_ms": 400}, dns={"timeout_ms": 2000, "deadline_ms": 3000})
    with alone(made) as gateway:
        def script(peer):
            if peer.number == 1:
                peer.read_request()
                peer.send(simple(200, b"one"))
                peer.read_head()
                time.sleep(0.2)
                peer.reset()
            elif peer.read_head():
                peer.send(simple(200, b"two"))
        with world.place(f"retry-{slow}.more.test", script) as there:
            name = f"retry-{slow}.more.test"
            hole = origin.Blackhole(world.address(), 80)
            good = Answer((a(name, there.address),))
            world.dns.script(name, "A", good, Answer(good.records, delay=0.6) if slow == "dns" else Answer((a(name, hole.address),)))
            try:
                with Client(gateway.address) as client:
                    assert client.ask(get(f"http://{name}/1")).body == b"one"
                    client.send(get(f"http://{name}/2", "Expect: 100-continue", "Content-Length: 3", method="PUT"))
                    response = client.response("PUT")
                    assert (response.status, response.body) == (200, b"two") if slow == "dns" else response.status == 504
            except Closed as closed:
                raise AssertionError(f"the proxy died: {gateway.running_log()[-600:]}") from closed
            finally:
                hole.close()


# ---- starving the others ---------------------------------------------------------------------------------

def test_pipelined_refusals_take_neither_the_process_nor_its_memory(alone, world):
    with alone(one_process(world)) as gateway, Client(gateway.address) as attacker:
        before = gateway.resident_kib()[0]

        def drain():
            with contextlib.suppress(OSError):
                while attacker.sock.recv(1 << 20):
                    pass
        threading.Thread(target=drain, daemon=True).start()
        blob, stop, waits = get("http://evil.test/") * 10000, time.monotonic() + 3, []

        def neighbour():
            while time.monotonic() < stop:
                began = time.monotonic()
                with Client(gateway.address, timeout=20) as client:
                    assert client.ask(get("http://evil.test/")).status == 403
                waits.append(time.monotonic() - began)
                time.sleep(0.05)
        time.sleep(0.1)
        threading.Thread(target=fill, args=(attacker.sock, blob, 3, 40 << 20), daemon=True).start()
        time.sleep(0.1)
        other = threading.Thread(target=neighbour)
        other.start()
        other.join(15)
        grown = gateway.resident_kib()[0] - before
        assert waits and max(waits) < 1, f"a neighbour waited {max(waits, default=15):.1f} s; {grown} KiB more"
        assert grown < 16384, f"{grown} KiB of one client's requests are kept"


def test_connections_over_the_own_limit_leave_the_neighbour_its_door(alone, world):
    made = neighbours(one_process(world, limits={"connections": 200}), limits={"connections": 10})
    with alone(made) as gateway:
        stop = threading.Event()

        def flood():
            socks = []
            while not stop.is_set():
                sock = socket.socket()
                sock.setblocking(False)
                sock.connect_ex(gateway.address)
                socks.append(sock)
                if len(socks) > 600:
                    socks.pop(0).close()
                time.sleep(0.0005)
            for sock in socks:
                sock.close()
        attacker = threading.Thread(target=flood, daemon=True)
        attacker.start()
        time.sleep(0.6)
        waits = []
        try:
            for _ in range(3):
                began = time.monotonic()
                with contextlib.suppress(TimeoutError), Client(gateway.listeners["b"], timeout=3) as client:
                    assert client.ask(get("http://x.pkgs.test/")).status == 200
                waits.append(time.monotonic() - began)
                if waits[-1] > 1.5:
                    break
        finally:
            stop.set()
            attacker.join()
        assert max(waits) < 1.5, f"the neighbour waited {max(waits):.1f} s"


@pytest.mark.parametrize("leaves", [False, True], ids=["stays", "leaves"])
def test_names_that_never_resolve_leave_the_neighbour_its_resolver(leaves, alone, world):
    made = neighbours(one_process(world, limits={"dns_queries": 64}, dns={"timeout_ms": 1000, "tries": 2, "deadline_ms": 3000}))
    for number in range(100):
        world.dns.script_both(f"never{number}.more.test", Answer(silent=True))
    world.dns.host("fresh.pkgs.test", PKGS)
    with alone(made) as gateway:
        clients = [Client(gateway.address) for _ in range(100)]
        for number, client in enumerate(clients):
            client.send(get(f"http://never{number}.more.test/"))
        time.sleep(0.2)
        if leaves:
            for client in clients:
                client.reset()
            time.sleep(0.2)
        with Client(gateway.listeners["b"]) as client:
            response = client.ask(get("http://fresh.pkgs.test/"))
            assert response.status == 200, f"{response.status} {response.reason}"


def test_an_endless_hello_costs_no_memory_where_it_is_only_logged(alone, world):
    data = hello.client_hello("echo.acme.test", pad=15000, record_size=1)[:-60]
    with alone(one_process(world)) as gateway:
        clients = []
        for number in range(61):
            client = Client(gateway.address)
            clients.append(client)
            assert client.open_tunnel("echo.acme.test", 9000).status == 200
            client.send(data)
            assert client.read(len(data)) == data
            if number == 0:
                before = gateway.resident_kib()[0]
        time.sleep(0.3)
        each = (gateway.resident_kib()[0] - before) / 60
        for client in clients:
            client.close()
        assert each < 20, f"{each:.0f} KiB an idle tunnel"


# ---- peers that are gone ---------------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["after-fin", "with-pending"])
def test_a_client_reset_ends_a_tunnel_that_does_not_move(how, alone, world):
    release = threading.Event()
    with alone(one_process(world)) as gateway, world.place(f"{how}.more.test", lambda peer: release.wait(20), port=9000):
        time.sleep(0.1)
        before = gateway.descriptors()
        if before is None:
            pytest.skip(NEEDS_ROOT)
        for _ in range(5):
            client = Client(gateway.address)
            assert client.open_tunnel(f"{how}.more.test", 9000).status == 200
            if how == "after-fin":
                client.half_close()
                time.sleep(0.1)
            else:
                fill(client.sock, b"x" * 65536, 0.2)
            client.reset()
        after = gateway.settle(before, 1, 2)
        release.set()
        assert after[0] <= before[0] + 1, f"{before} descriptors before, {after} two seconds after five resets"


# ---- policies that narrow, processes that die ------------------------------------------------------------

class Slow:
    """An origin that takes the head and then nothing, until it is told to read on."""

    def __init__(self):
        self.read_on, self.done, self.got = threading.Event(), threading.Event(), 0

    def __call__(self, peer):
        self.got = len(peer.sock.recv(100))
        self.read_on.wait(20)
        # What lies in our own kernel's buffer has come before; it is bounded by that buffer.
        peer.sock.settimeout(2)
        with contextlib.suppress(OSError):
            while True:
                data = peer.sock.recv(1 << 20)
                if not data:
                    break
                self.got += len(data)
        self.done.set()


UPLOADS = {
    "length": (False, lambda h: get(f"http://{h}/up", "Content-Length: 100000000", method="POST"), b"x" * 65536),
    "chunked": (False, lambda h: get(f"http://{h}/up", "Transfer-Encoding: chunked", method="POST"), b"10000\r\n" + b"x" * 65536 + b"\r\n"),
    "tls": (True, lambda h: get(f"http://{h}/up", "Content-Length: 100000000", method="POST"), b"x" * 65536),
}


def held_upload(gateway, world, kind, client, slow, name):
    """Fills everything between a client and an origin that does not read; returns what the origin's kernel has."""
    tls, request, piece = UPLOADS[kind]
    client.send(request(name))
    fill(client.sock, piece, 0.4)
    with open("/proc/net/tcp") as table:  # st 01, remote is the gateway: rx_queue
        wanted = f"{struct.unpack('<I', socket.inet_aton(slow.address))[0]:08X}:"
        return sum(int(line.split()[4].partition(":")[2], 16) for line in table if line.split()[1].startswith(wanted))


@pytest.mark.parametrize("kind", UPLOADS)
def test_no_byte_of_an_upload_moves_after_reloaded(kind, alone, world):
    made = one_process(world)
    narrow = copy.deepcopy(made)
    narrow["policies"]["standing"]["deny_cidrs"] = ["127.20.0.0/16"]
    slow = Slow()
    name = f"upload-{kind}.more{'tls' if UPLOADS[kind][0] else ''}.test"
    with alone(made) as gateway, world.place(name, slow, tls=UPLOADS[kind][0] or None) as there, Client(gateway.address) as client:
        there_already = held_upload(gateway, world, kind, client, there, name)
        assert gateway.reload(narrow), gateway.last_reload
        slow.read_on.set()
        assert slow.done.wait(5)
        moved = slow.got - 100 - there_already
        assert moved <= 65536, f"{moved} bytes moved after `reloaded` (its kernel had {there_already})"


@pytest.mark.parametrize("what", ["upload", "download"])
def test_a_death_flushes_nothing_and_looks_like_no_success(what, alone, world):
    slow = Slow()
    half = lambda peer: (peer.read_head(), peer.send(b"HTTP/1.1 200 OK\r\n\r\nhalf"), slow.read_on.wait(10))  # noqa: E731
    with alone(one_process(world)) as gateway, world.place(f"death-{what}.more.test", slow if what == "upload" else half) as there, \
            Client(gateway.address) as client:
        if what == "upload":
            there_already = held_upload(gateway, world, "length", client, there, f"death-{what}.more.test")
        else:
            client.send(get(f"http://death-{what}.more.test/", version="HTTP/1.0"))
            client.read_until(b"half")
        os.kill(gateway.proxies()[0], 9)
        ended = client.ended(2) if what == "download" else None
        time.sleep(0.2)
        slow.read_on.set()
        assert until(lambda: gateway.proxies() and gateway.proxies() != gateway.first_proxies)
        gateway.forgive()
        if what == "upload":
            assert slow.done.wait(5)
            moved = slow.got - 100 - there_already
            assert moved <= 65536, f"{moved} bytes moved after the death"
        else:
            assert ended == "rst", "the end of the connection is the end of this body, and it looks whole"


@pytest.mark.parametrize("what", ["websocket", "server-name"])
def test_a_tunnel_that_the_new_policy_would_not_open_so_is_cut(what, alone, world):
    """A WebSocket in the clear to a host that is no longer plaintext; a tunnel whose hello named another host, where now sni: match."""
    world["api"].answers["/sock"] = websocket_echo
    made = one_process(world, policy={"sni": "log"})
    tight = copy.deepcopy(made)
    tight["policies"]["standing"].update({"sni": "match", "plaintext_upstream": [".pkgs.test", ".more.test"]})
    with alone(made) as gateway, Client(gateway.address) as client:
        if what == "websocket":
            assert client.ask(get(API + "/sock", *HANDSHAKE)).status == 101
            client.read(7)
        else:
            assert client.open_tunnel("echo.acme.test", 443).status == 200
            client.send(hello.client_hello("evil.test"))
            client.read(len(hello.client_hello("evil.test")))
        assert gateway.reload(tight), gateway.last_reload
        with contextlib.suppress(OSError):
            client.send(b"LATE")
        assert client.ended(1), "it lives on"


def test_reloads_under_attack_leak_nothing(alone, world):
    """Twenty reloads, narrowing and widening, while heads hang, tunnels open, uploads stall and clients reset."""
    made = one_process(world)
    narrow = copy.deepcopy(made)
    narrow["policies"]["standing"]["deny_cidrs"] = ["127.10.0.9/32", "127.20.0.0/16"]
    with alone(made) as gateway, world.place("mute.more.test", origin.silent) as mute:
        for settings in (narrow, made):  # what is made once and kept is made now
            assert gateway.reload(settings)
        stop = threading.Event()

        def attack(number):
            kept = []
            while not stop.is_set():
                with contextlib.suppress(OSError, Closed):
                    client = Client(gateway.address, timeout=2)
                    kept.append(client)
                    client.send([b"GET http://api", head("CONNECT echo.acme.test:9000 HTTP/1.1", "Host: x") + b"x" * 5000,
                                 get("http://mute.more.test/", "Content-Length: 9999", method="POST", body=b"x" * 99),
                                 head("CONNECT echo.acme.test:443 HTTP/1.1", "Host: x") + b"\x16\x03"][number % 4])
                if len(kept) > 30:
                    getattr(kept.pop(0), "reset" if number % 2 else "close")()
                time.sleep(0.002)
            for client in kept:
                client.reset()
        time.sleep(0.2)
        before = gateway.descriptors()
        threads = [threading.Thread(target=attack, args=(number,), daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        sizes = []
        for number in range(20):
            assert gateway.reload(narrow if number % 2 == 0 else made)
            sizes.append(gateway.resident_kib()[0])
        stop.set()
        for thread in threads:
            thread.join()
        with Client(gateway.address) as client:
            assert client.ask(get(API + "/")).status == 200
        if before is not None:
            after = gateway.settle(before, 6, 4)
            assert after[0] <= before[0] + 6, (before, after)
        assert sizes[-1] - sizes[5] < 16384, f"it grows: {sizes}"
        began = gateway.cpu_seconds()
        time.sleep(0.6)
        assert gateway.cpu_seconds() - began < 0.15, "it spins when nobody asks"


ANSWERS = [simple(200, b"hello"), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: 1\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\nbody",
           b"HTTP/1.1 100 C\r\n\r\n" + simple(200, b""), b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nframe",
           b"HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 90000]
SPICE = [b"\r\n", b"\n", b"\0", b":", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"ffff\r\n", b"\xff", b"x" * 3000]


def mutated(chance, data):
    data = bytearray(data)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        if chance.random() < 0.5:
            data[at:at] = chance.choice(SPICE)
        else:
            del data[at:at + chance.randrange(1, 9)]
    return bytes(data)


def test_everything_at_once(alone, world):
    """Four seconds of requests, tunnels and resets, against origins and name servers that answer late, wrongly or not at
    all, under policies that change: nobody dies, and every descriptor and every admitted place comes back."""
    chance = random.Random(20261130)
    made = one_process(world, limits={"continue_timeout_ms": 100, "client_hello_timeout_ms": 300, "head_timeout_ms": 600, "response_timeout_ms": 700,
                                      "body_idle_timeout_ms": 700, "idle_timeout_s": 1,
                                      "half_closed_timeout_s": 1, "pool_idle_ms": 300, "client_idle_timeout_ms": 500,
                                      "tls_timeout_ms": 400, "linger_ms": 100, "dns_queries": 20, "connections": 80},
                       network_limits={"connections": 60, "tunnels": 25})
    changes = [{}, {"deny_cidrs": ["127.20.0.0/16"]}, {"plaintext_upstream": [".pkgs.test"]}, {"sni": "off", "plain_ports": [80, 9000]},
               {"rules": [{"host": ".more.test", "methods": ["GET"]}]}]
    policies = [copy.deepcopy(made) for _ in changes]
    for policy, change in zip(policies, changes):
        policy["policies"]["standing"].update(change)

    def script(peer):
        peer.sock.settimeout(2)
        while peer.read_head() is not None:
            data = mutated(chance, chance.choice(ANSWERS))
            cut = chance.randrange(len(data) + 1)
            time.sleep(chance.choice([0, 0, 0, 0.05, 0.3]))
            peer.send(data[:cut])
            time.sleep(chance.choice([0, 0, 0.02]))
            if chance.random() < 0.2:
                peer.reset()
                return
            peer.send(data[cut:])

    def request(host):
        kind = chance.randrange(8)
        if kind == 0:
            first = chance.choice([b"", hello.client_hello(host), b"junk" * 2000, get("/a", host=host) * 2])
            return head(f"CONNECT {host}:{chance.choice([9000, 443, 80])} HTTP/1.1", "Host: x") + first
        if kind == 1:
            return get(f"http://{host}/", "Expect: 100-continue", "Content-Length: 5", method="PUT") + chance.choice([b"", b"hello"])
        if kind == 2:
            return get(f"http://{host}/", "Transfer-Encoding: chunked", method="PUT", body=mutated(chance, b"5\r\nhello\r\n0\r\nX: y\r\n\r\n"))
        if kind == 3:
            return get(f"http://{host}/", *HANDSHAKE) + b"frame"
        if kind == 4:
            return get(f"http://{host}/", "Content-Length: 150000", method="POST", body=b"z" * chance.randrange(150000))
        if kind == 5:
            return get("http://evil.test/") * 30
        return mutated(chance, get(f"http://{host}/")) if kind == 6 else get(f"http://{host}/", method="HEAD") + get(f"http://{host}/", version="HTTP/1.0")

    with alone(made) as gateway, contextlib.ExitStack() as origins:
        hosts = []
        for number in range(3):
            there = origins.enter_context(world.place(f"all{number}.more.test", script))
            origins.enter_context(origin.Origin(there.address, 9000, script))
            origins.enter_context(world.place(f"all{number}.moretls.test", script, tls=True))
            records = (a(f"odd{number}.more.test", there.address),)
            answers = [Answer(records), Answer(records, delay=0.2), Answer(silent=True), Answer(rcode=2)]
            world.dns.script(f"odd{number}.more.test", "A", *[chance.choice(answers) for _ in range(99)])
            hosts += [f"all{number}.more.test", f"all{number}.moretls.test", f"odd{number}.more.test"]
        assert gateway.reload(policies[1]) and gateway.reload(made)
        time.sleep(0.2)
        before, stop = gateway.descriptors(), time.monotonic() + 4

        def attack():
            while time.monotonic() < stop:
                with contextlib.suppress(OSError), Client(gateway.address, timeout=1) as client:
                    for _ in range(chance.randrange(1, 4)):
                        data = request(chance.choice(hosts))
                        cut = chance.randrange(len(data) + 1)
                        client.send(data[:cut])
                        client.send(data[cut:])
                        if chance.random() < 0.5:
                            client.sock.settimeout(0.1)
                            with contextlib.suppress(TimeoutError):
                                client.sock.recv(65536)
                    getattr(client, chance.choice(["reset", "close", "half_close"]))()
        threads = [threading.Thread(target=attack, daemon=True) for _ in range(16)]
        for thread in threads:
            thread.start()
        while time.monotonic() < stop:
            assert gateway.reload(chance.choice(policies)), gateway.last_reload
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        assert gateway.reload(made)
        if before is not None:
            after = gateway.settle(before, 4, 5)
            assert after[0] <= before[0] + 4, (before, after)
        for _ in range(10):  # a tunnel of the chaos may have its idle second left
            with contextlib.ExitStack() as tunnels:
                clients = [tunnels.enter_context(Client(gateway.address)) for _ in range(25)]
                opened = [client.open_tunnel("echo.acme.test", 9000).status for client in clients]
            if opened == [200] * 25:
                break
            time.sleep(0.3)
        assert opened == [200] * 25, "places are missing"


# ---- idle, full and silent: no spin, no leak -------------------------------------------------------------

def hold(client, *pieces):
    for piece in pieces:
        client.send(piece)


def endless(peer, request):
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(500):
            peer.send(b"ffff\r\n" + b"x" * 65535 + b"\r\n")
    return STOP


STATES = {
    "half-head": lambda c: hold(c, b"GET http://api"), "half-hello": lambda c: hold(c, head("CONNECT echo.acme.test:443 HTTP/1.1", "Host: x") + GOOD[:1]),
    "hello-and-fin": lambda c: (hold(c, head("CONNECT echo.acme.test:443 HTTP/1.1", "Host: x") + b"\x16\x03\x01\x01\x00\x01"), c.half_close()),
    "never-reads": lambda c: hold(c, get(API + "/endless")), "never-reads-fin": lambda c: (hold(c, get(API + "/endless")), c.half_close()),
    "tunnel-never-reads": lambda c: fill(c.sock, head("CONNECT echo.acme.test:9000 HTTP/1.1", "Host: x") + b"x" * 65536, 0.2, 24 << 20),
    "refused-and-stays": lambda c: hold(c, b"BAD\r\n\r\n"), "half-body": lambda c: hold(c, get(API + "/b", "Content-Length: 99", method="POST", body=b"x")),
    "half-chunk": lambda c: hold(c, get(API + "/b", "Transfer-Encoding: chunked", method="POST", body=b"ff\r\nx")),
    "mute-upstream": lambda c: hold(c, get("http://mute.more.test/") + get(API + "/a") * 30),
    "mute-and-fin": lambda c: (hold(c, get("http://mute.more.test/")), c.half_close()),
    "dns-silent": lambda c: hold(c, get("http://nodns.more.test/")), "plain-tunnel": lambda c: hold(c, INNER + b"GET /"),
    "websocket": lambda c: hold(c, get(API + "/sock", *HANDSHAKE)), "urgent": lambda c: (hold(c, b"G"), c.sock.send(b"!", socket.MSG_OOB)),
    "expect": lambda c: hold(c, get("http://mute.more.test/", "Expect: 100-continue", "Content-Length: 9", method="POST")),
}


def test_no_state_spins_or_leaks(alone, world):
    """Six clients in each state at once: no CPU while nothing moves, and all descriptors come back after resets."""
    world["api"].answers.update({"/endless": endless, "/sock": websocket_echo})
    world.dns.script_both("nodns.more.test", Answer(silent=True))
    made = one_process(world, limits={"client_hello_timeout_ms": 60000})
    with alone(made) as gateway, world.place("mute.more.test", origin.silent):
        with Client(gateway.address) as client:
            client.ask(get(API + "/"))
        time.sleep(0.2)
        before, memory = gateway.descriptors(), gateway.resident_kib()[0]
        clients = []
        for bring in STATES.values():
            for _ in range(6 if bring is not STATES["tunnel-never-reads"] else 1):
                clients.append(Client(gateway.address))
                with contextlib.suppress(OSError):
                    bring(clients[-1])
        time.sleep(1.6)  # lookups, waits for 100 and lingering have ended
        began = gateway.cpu_seconds()
        time.sleep(0.8)
        spent = gateway.cpu_seconds() - began
        assert spent < 0.2, f"{spent:.2f} s of CPU in 0.8 s while nothing moves"
        assert gateway.resident_kib()[0] - memory < 40000
        for client in clients:
            client.reset()
        if before is not None:
            after = gateway.settle(before, 8, 4)
            assert after[0] <= before[0] + 8, (before, after)


@pytest.mark.parametrize("upstream", ["interim", "fields", "one-field", "head-1MiB", "chunk-size", "extension", "trailers", "never-ends-102"])
def test_an_upstream_that_floods_the_head_is_cut(upstream, gateway, world):
    """Bounded: an answer of our own, or an end; the next request is served."""
    start = b"HTTP/1.1 200 OK\r\n"
    pieces = {"interim": (b"", b"HTTP/1.1 103 E\r\nLink: </x>\r\n\r\n" * 50), "fields": (start, b"X: 1\r\n" * 100), "one-field": (start + b"X: ", b"x" * 4096),
              "head-1MiB": (start, b"X-%d: " % 7 + b"y" * 4000 + b"\r\n"), "chunk-size": (start + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 4096),
              "extension": (start + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 4096),
              "trailers": (start + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: yyyyyyyyyy\r\n" * 99),
              "never-ends-102": (b"", b"HTTP/1.1 102 P\r\n\r\n" * 99)}[upstream]

    def script(peer):
        peer.read_request()
        peer.send(pieces[0])
        with contextlib.suppress(OSError):
            for _ in range(500):
                peer.send(pieces[1])
    with world.place(f"flood-{upstream}.more.test", script), Client(gateway.address) as client:
        began = time.monotonic()
        try:
            response = client.ask(get(f"http://flood-{upstream}.more.test/"))
            assert response.status == 502, response.status
        except (Closed, OSError) as ended:
            assert not isinstance(ended, TimeoutError), "neither an answer nor an end"
        assert time.monotonic() - began < 4
    with Client(gateway.address) as client:
        assert client.ask(get(API + "/")).status == 200


# ---- the audit -------------------------------------------------------------------------------------------

def test_a_flood_of_refusals_hides_nobody_elses_records(alone, world, folder):
    """Nobody reads the log: one network fills its share and is told how many are missing; the other's records are all there."""
    pipe = f"{folder}/pipe-{next(_count)}"
    os.mkfifo(pipe)
    os.chmod(pipe, 0o622)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    made = neighbours(one_process(world, limits={"audit_queue_bytes": 131072}))
    made["gateway"]["log"]["access"] = pipe
    try:
        with alone(made) as gateway:
            with Client(gateway.address) as client:
                for _ in range(1500):
                    assert client.ask(get("http://evil.test/flood")).status == 403
                with Client(gateway.listeners["b"]) as other:
                    for number in range(20):
                        assert other.ask(get(f"http://quiet{number}.test/")).status == 403
                records, data, dropped = [], b"", lambda: any(r.get("dropped_before") for r in records)
                deadline = time.monotonic() + 5
                while time.monotonic() < deadline and not (dropped() and sum(r.get("network") == "b" for r in records) == 20):
                    with contextlib.suppress(BlockingIOError):
                        data += os.read(reader, 1 << 20)
                    *lines, data = data.split(b"\n")
                    records += map(json.loads, lines)
                    if records and not dropped():
                        client.ask(get("http://evil.test/after"))  # the next one that is kept says how many were not
                    time.sleep(0.005)
            mine = [r for r in records if r.get("network") == "b"]
            assert [r["host"] for r in mine] == [f"quiet{number}.test" for number in range(20)]
            assert not any(r.get("dropped_before") for r in mine)
            kept = sum(r.get("network") == "local" and r["host"] == "evil.test" for r in records)
            assert dropped() and kept < 1500
    finally:
        os.close(reader)


def test_nothing_from_the_wire_breaks_a_log_line(gateway, world):
    """Whatever stands in method, host, path or server name: one record a line, escaped, no control byte."""
    mark = gateway.mark()
    sends = [head('GET",\x22verdict\x22:\x22allow\x22,\x22x\x22:\x22 http://evil.test/ HTTP/1.1', "Host: evil.test"), b"G\x1b[2JET http://evil.test/ HTTP/1.1\r\n\r\n",
             head("GET http://evil.test/%0a%0d{\x22v\x22:1} HTTP/1.1", "Host: evil.test"), head("!#$%&'*+-.^_`|~ http://evil.test/ HTTP/1.1", "Host: evil.test"),
             head("CONNECT evil\xe2\x80\xa8.test:443 HTTP/1.1", "Host: x"),
             head("GET http://e\\u000avil.test/ HTTP/1.1", "Host: x"), head("GET http://" + "a" * 300 + "/ HTTP/1.1", "Host: x")]
    for data in sends:
        with Client(gateway.address) as client:
            client.send(data)
            client.response()
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
        client.send(hello.client_hello("\n{\"event\":\"x\"}\x1b[31m\xff\x00"))
        client.read(100)
    gateway.wait_for_audit(lambda r: "sni" in r and "event" in r["sni"], since=mark)
    with open(gateway.access_path, "rb") as log:
        for line in log.read().splitlines():
            record = json.loads(line)
            assert record["event"] in ("decision", "end") and not any(byte < 0x20 or byte == 0x7f for byte in line)
