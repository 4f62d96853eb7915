"""CONNECT: opaque tunnels and their server names, and tunnels that are read as HTTP
(specification 9.6 K rows, case list CONN rows, decision 6.7 and 14.7)."""
import threading
import time

import pytest
from support import hello, refusal
from support.cases import Case, Expect, Seen, get, head, refused, run, tunnelled
from support.client import Client
from support.origin import Blackhole
from support.world import LLM_KEY, config

HELLO = hello.client_hello("echo.acme.test")


def connect(target, *lines, version="HTTP/1.1", host="x"):
    return head(f"CONNECT {target} {version}", *([f"Host: {host}"] if host is not None else []), *lines)


CASES = [
    refused("K02", connect("evil.test:443"), 403, "not-allowed", host="evil.test"),
    tunnelled("K05", connect("echo.acme.test:443"), HELLO, why="early bytes reach upstream first, in order, once"),
    refused("K07", connect("api.acme.test"), 400, why="there is no default port (RFC 9110 9.3.6)"),
    refused("K08", connect("api.acme.test:99999"), 400, "bad-port"),
    refused("K08-minus", connect("api.acme.test:-1"), 400, "bad-port"),
    refused("K09", connect("api.acme.test:0x1bb"), 400, "bad-port"),
    refused("K10", connect("2130706433:443"), 400, "numeric-host"),
    refused("K12", connect("::1:443"), 400, "bad-host"),
    refused("K13", connect("http://api.acme.test:443"), 400),
    refused("K14", connect("u@api.acme.test:443"), 400, "userinfo"),
    refused("K15", connect("[api.acme.test]:443"), 400, "bad-host"),
    tunnelled("K16", connect("echo.acme.test.:443"), HELLO),
    tunnelled("K16-case", connect("ECHO.Acme.TEST:443"), HELLO),
    refused("K17", connect("/"), 400),
    refused("K18", connect("api.acme.test:25"), 403, "port-not-allowed", host="api.acme.test"),
    refused("K30", connect("api.acme.test:443", "Content-Length: 5") + b"hello", 400),
    refused("K30-te", connect("api.acme.test:443", "Transfer-Encoding: chunked") + b"0\r\n\r\n", 400),
    refused("K31", connect("127.0.0.1:{self}"), 421, "loop"),
    refused("K31-localhost", connect("localhost:{self}"), 421, "loop"),
    refused("K31-6", connect("[::1]:{self}"), 421, "loop"),
    *[tunnelled(f"K35-{size}", connect("echo.acme.test:443"), hello.client_hello("echo.acme.test", record_size=size))
      for size in (len(HELLO) // 2, 5)],
    refused("K37", connect("evil.test:443"), 403, "not-allowed", host="evil.test", why="Content-Length and Connection: close"),
    refused("CONN-01-empty", connect("api.acme.test:"), 400),
    refused("CONN-01-v6", connect("2001:db8::5"), 400),
    *[refused(f"CONN-02-{n}", connect(target), 400) for n, target in enumerate(
        ("http://api.acme.test:443", "/x", "api.acme.test:443/x", "api.acme.test:443?x", "api.acme.test:443,evil.test:443", "*",
         "api.acme.test:443#x", "api.acme.test:443\\x"))],
    tunnelled("CONN-03-1.0", connect("echo.acme.test:443", version="HTTP/1.0", host=None), HELLO, why="urllib3, pip"),
    tunnelled("CONN-03-no-port", connect("echo.acme.test:443", host="echo.acme.test"), HELLO, why="Java, aiohttp, undici"),
    refused("CONN-03-host", connect("evil.test:443", host="echo.acme.test:443"), 403, "not-allowed", host="evil.test"),
    refused("CONN-05-refused", connect("evil.test:443") + HELLO, 403, "not-allowed", host="evil.test",
            why="early bytes of a refused tunnel are thrown away, not parsed"),
    refused("CONN-05-request", connect("evil.test:443") + get("http://api.acme.test/steal"), 403, "not-allowed"),
    *[refused(f"HOST-16-{n}", connect(f"api.acme.test:{port}"), 400, "bad-port") for n, port in enumerate(
        ("4294967739", "65979", "0", "+443", "443x", "00443", "65536"))],
    refused("HOST-16-two", connect("api.acme.test:443:443"), 400),
    refused("HOST-16-space", b"CONNECT api.acme.test: 443 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    refused("HOST-01-dots", connect("api.acme.test..:443"), 400, "bad-host"),
    refused("HOST-02", connect("[evil.test]:443"), 400, "bad-host"),
    refused("HOST-02-v4", connect("[192.0.2.7]:443"), 400, "bad-host"),
    refused("HOST-02-future", connect("[v1.x]:443"), 400, "bad-host"),
    refused("HOST-05", connect("api%2eacme.test:443"), 400, "bad-host"),
    refused("HOST-06", connect("u:p@api.acme.test:443"), 400, "userinfo"),
    refused("ADDR-06", connect("0x7f000001:80"), 400, "numeric-host"),
    refused("ADDR-17", connect("127.0.0.1.:80"), (400, 403)),
    refused("zone", connect("[fe80::1%25eth0]:443"), 400, "zone-id"),
    tunnelled("clients-curl", connect("echo.acme.test:443", "User-Agent: curl/7.88.1", "Proxy-Connection: Keep-Alive",
                                      host="echo.acme.test:443"), HELLO),
    tunnelled("clients-undici", connect("echo.acme.test:443", "connection: close", "proxy-connection: keep-alive",
                                        host="echo.acme.test"), HELLO, why="connection: close on CONNECT ends nothing"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case, gateway, world):
    run(case, gateway, world)


@pytest.mark.parametrize("row,why", [("K06", "resolver policies are not in this version"),
                                     ("K21", "resolver policies are not in this version"),
                                     ("K28", "resolver policies are not in this version")])
def test_row_of_a_later_version(row, why):
    pytest.skip(why)


def test_K01_TLS_through_the_tunnel(gateway, world):
    world.forget()
    mark = gateway.mark()
    with Client(gateway.address) as client:
        assert client.open_tunnel("tls.acme.test", 443).status == 200
        client.start_tls("tls.acme.test", world.ca.certificate)
        assert client.ask(get("/in", host="tls.acme.test")).status == 200
    seen = world["tls"].requests[0]
    assert seen.target == "/in" and seen.fields.all("via") == [], "what is inside is the client's"
    decision = gateway.wait_for_audit(lambda r: r.get("event") == "decision" and r.get("kind") == "connect", since=mark)
    assert decision["verdict"] == "allow" and decision["host"] == "tls.acme.test" and decision["dial_port"] == 443
    end = gateway.wait_for_audit(lambda r: r.get("event") == "end" and r.get("id") == decision["id"], since=mark)
    assert end["bytes_up"] > 300 and end["bytes_down"] > 300 and end["closed"]


def test_K36_CONN_04_the_200_is_bare(gateway):
    with Client(gateway.address) as client:
        response = client.open_tunnel("echo.acme.test", 443)
        assert response.status == 200 and response.version == "HTTP/1.1" and response.body == b""
        assert not {"content-length", "transfer-encoding", "connection"} & set(response.fields.names())
        assert client.silent(0.1)


def test_K19_nobody_listens(gateway, world):
    world.dns.host("k19.more.test", world.address())
    with Client(gateway.address) as client:
        refusal.check(client.open_tunnel("k19.more.test", 9000), "connect-failed", "k19.more.test", tunnel=True)


def test_K20_a_black_hole_times_out(gateway, world):
    address = world.address()
    hole = Blackhole(address, 9000)
    world.dns.host("k20.more.test", address)
    with Client(gateway.address) as client:
        began = time.monotonic()
        refusal.check(client.open_tunnel("k20.more.test", 9000), "connect-timeout", "k20.more.test", tunnel=True)
        assert 1.0 < time.monotonic() - began < 2.5, "connect_timeout_ms is 1500"
    hole.close()


def test_K22_clients_that_reset_at_once(gateway):
    for _ in range(20):
        client = Client(gateway.address)
        client.send(connect("evil.test:443"))
        client.reset()
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 443).status == 200


def test_CONN_07_a_refusal_does_not_wait_for_client_data(gateway):
    with Client(gateway.address) as client:
        began = time.monotonic()
        refusal.check(client.open_tunnel("evil.test", 443), "not-allowed", "evil.test", tunnel=True)
        assert time.monotonic() - began < 0.2
        assert client.ended(1) == "fin"


def test_a_refused_tunnel_tells_it_in_JSON_too(gateway):
    with Client(gateway.address) as client:
        client.send(connect("evil.test:443", "Accept: application/json"))
        refusal.check(client.response("CONNECT"), "not-allowed", "evil.test", tunnel=True, as_json=True)


def test_K25_upstream_closes_first(gateway, world):
    late = []

    def script(peer):
        peer.send(b"BYE")
        peer.half_close()
        late.append(peer.read_to_end())

    with world.place("k25.more.test", script, port=9000), Client(gateway.address) as client:
        assert client.open_tunnel("k25.more.test", 9000).status == 200
        assert client.read_to_end() == b"BYE"
        time.sleep(0.05)
        client.send(b"LATE")
        client.half_close()
        deadline = time.monotonic() + 2
        while not late and time.monotonic() < deadline:
            time.sleep(0.01)
    assert late == [b"LATE"]


def test_K26_LIFE_02_client_closes_first(gateway, world):
    answer = bytes(range(256)) * 4096  # 1 MiB

    def script(peer):
        assert peer.read_to_end() == b"req"
        time.sleep(0.1)
        peer.send(answer)

    with world.place("k26.more.test", script, port=9000), Client(gateway.address) as client:
        assert client.open_tunnel("k26.more.test", 9000).status == 200
        client.send(b"req")
        client.half_close()
        assert client.read_to_end() == answer


def test_K32_early_data_before_the_tunnel_is_open(gateway, world):
    """1 MiB while the name is being resolved: what is not read yet is pushed back by the kernel, nothing lost."""
    from support.dns_server import Answer, a
    data = bytes(range(256)) * 4096
    world.dns.script("k32.more.test", "A", Answer((a("k32.more.test", world_echo(world)),), delay=0.25))
    world.dns.script("k32.more.test", "AAAA", Answer())
    with Client(gateway.address, timeout=20) as client:
        sender = threading.Thread(target=client.send, args=(connect("k32.more.test:9000") + data,))
        sender.start()
        assert client.response("CONNECT").status == 200
        assert client.read(len(data)) == data
        sender.join()


def world_echo(world):
    return world.echo_9000.address


def test_K38_a_tunnel_is_never_stamped(gateway, world):
    world.forget()
    with Client(gateway.address) as client:
        assert client.open_tunnel("llm.acme.test", 443).status == 200
        client.start_tls("llm.acme.test", world.ca.certificate)
        client.ask(get("/in", "Authorization: Bearer placeholder", host="llm.acme.test"))
    assert world["llm"].requests[0].fields.all("authorization") == ["Bearer placeholder"]


def test_K39_an_upstream_reset_reaches_the_client_as_a_reset(gateway, world):
    def script(peer):
        peer.read(2)
        peer.reset()

    with world.place("k39.more.test", script, port=9000), Client(gateway.address) as client:
        assert client.open_tunnel("k39.more.test", 9000).status == 200
        client.send(b"go")
        assert client.ended(2) == "rst"


def test_K39_a_client_reset_reaches_the_upstream_as_a_reset(gateway, world):
    seen = []

    def script(peer):
        peer.read(2)
        peer.more()
        seen.append(peer.reset_by_peer)

    with world.place("k39c.more.test", script, port=9000):
        client = Client(gateway.address)
        assert client.open_tunnel("k39c.more.test", 9000).status == 200
        client.send(b"go")
        time.sleep(0.1)
        client.reset()
        deadline = time.monotonic() + 2
        while not seen and time.monotonic() < deadline:
            time.sleep(0.01)
    assert seen == [True]


def test_K40_the_limit_of_tunnels_is_exact(own_gateway, world):
    gateway = own_gateway(config(world, network_limits={"tunnels": 8}))
    held = [Client(gateway.address) for _ in range(8)]
    for client in held:
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
    for _ in range(6):  # whichever process accepts
        with Client(gateway.address) as client:
            refusal.check(client.open_tunnel("echo.acme.test", 9000), "too-many", tunnel=True)
    held.pop().close()
    time.sleep(0.3)
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
    for client in held:
        client.close()


# ---- the server name of an opaque tunnel (decision 14.7) ------------------------------------------

def sni_gateway(gateways, world, timeout_ms=5000):
    return gateways.get(config(world, limits={"client_hello_timeout_ms": timeout_ms}, policy={"allowed_hosts": [
        "echo.acme.test", ".more.test", {"host": "first.pkgs.test:443", "sni": "off"}, "127.10.0.9",
        {"host": "log.pkgs.test", "sni": "log"}],
        "allow_inward_for": [{"host": h, "cidrs": ["127.0.0.0/8"]} for h in (".acme.test", ".more.test", ".pkgs.test", "127.10.0.9")],
        "plaintext_upstream": [], "credentials": []}))


@pytest.mark.parametrize("case", [
    tunnelled("K33-case", connect("echo.acme.test:443"), hello.client_hello("Echo.ACME.test"), why="names have no letter case"),
    tunnelled("grease", connect("echo.acme.test:443"), hello.client_hello("echo.acme.test", hello.ech())),
    tunnelled("padded", connect("echo.acme.test:443"), hello.client_hello("echo.acme.test", pad=7000)),
    tunnelled("literal-none", connect("127.10.0.9:443"), hello.client_hello(None)),
    tunnelled("literal-any", connect("127.10.0.9:443"), hello.client_hello("whatever.test")),
    tunnelled("more-behind", connect("echo.acme.test:443"), HELLO + b"\x17\x03\x03\x00\x05hello", why="early data"),
    tunnelled("other-port", connect("echo.acme.test:9000"), b"SSH-2.0-x\r\n", why="log is the default elsewhere"),
    tunnelled("other-port-name", connect("echo.acme.test:9000"), hello.client_hello("evil.test")),
], ids=str)
def test_server_name_accepted(case, gateways, world):
    run(case, sni_gateway(gateways, world), world)


@pytest.mark.parametrize("id,data,reason,alert", [
    ("K33", hello.client_hello("evil.test"), "sni-mismatch", True),
    ("K33-below", hello.client_hello("x.echo.acme.test"), "sni-mismatch", True),
    ("K33-records", hello.client_hello("evil.test", record_size=20), "sni-mismatch", True),
    ("K33-ech", hello.client_hello("public-name.test", hello.ech()), "sni-mismatch", True),
    ("K34-none", hello.client_hello(None), "sni-missing", True),
    ("K34-ssh", b"SSH-2.0-OpenSSH_9.2\r\n", "not-tls", False),
    ("K34-http", b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "not-tls", False),
    ("K34-nul", b"\0" * 64, "not-tls", False),
    ("K34-appdata", b"\x17\x03\x03\x00\x10" + b"x" * 16, "not-tls", None),
    ("K34-too-large", hello.client_hello("echo.acme.test", pad=40000, record_size=8000), None, None),
    ("K34-two-names", hello.client_hello(None, hello.server_name("echo.acme.test") + hello.server_name("evil.test")), None, None),
])
def test_server_name_refused(id, data, reason, alert, gateways, world):
    """Closed with not one byte upstream; an alert where the bytes were TLS; the audit says why."""
    gateway = sni_gateway(gateways, world)
    for pieces in ([data], [data[:1], data[1:]], [data[:6], data[6:]]):
        world.forget()
        mark = gateway.mark()
        with Client(gateway.address) as client:
            assert client.open_tunnel("echo.acme.test", 443).status == 200
            try:
                for piece in pieces:
                    client.send(piece)
                    time.sleep(0.01)
            except OSError:
                pass
            got = client.read_to_end()
        if alert is True:
            assert hello.is_unrecognized_name(got), f"got {got!r}"
        elif alert is False:
            assert got == b"", f"got {got!r}"
        record = gateway.wait_for_audit(lambda r: r.get("reason", "").startswith(("sni-", "not-tls"))
                                        or r.get("closed", "").startswith(("sni-", "not-tls")), since=mark)
        if reason is not None:
            assert reason in (record.get("reason"), record.get("closed")), record
        assert world.echo.bytes == 0, "bytes went upstream"


def test_the_deadline_of_the_hello(gateways, world):
    gateway = sni_gateway(gateways, world, 600)
    for first in (b"", HELLO[:20]):
        world.forget()
        with Client(gateway.address) as client:
            assert client.open_tunnel("echo.acme.test", 443).status == 200
            client.send(first)
            began = time.monotonic()
            assert client.ended(3) in ("fin", "rst")
            assert time.monotonic() - began < 1.5
        assert world.echo.bytes == 0


def test_a_server_that_speaks_first_needs_sni_off(gateways, world):
    def banner(peer):
        peer.send(b"SSH-2.0-server\r\n")
        peer.read_to_end()

    gateway = sni_gateway(gateways, world)
    with world.place("first.pkgs.test", banner, port=443), Client(gateway.address) as client:
        assert client.open_tunnel("first.pkgs.test", 443).status == 200
        assert client.read_until(b"\n") == b"SSH-2.0-server\r\n"


def test_sni_log_lets_another_name_through(gateways, world):
    gateway = sni_gateway(gateways, world)
    world.dns.host("log.pkgs.test", "127.10.0.9")
    data = hello.client_hello("evil.test")
    with Client(gateway.address) as client:
        assert client.open_tunnel("log.pkgs.test", 443).status == 200
        client.send(data)
        assert client.read(len(data)) == data


# ---- tunnels that are read as HTTP (decision 6.7b, 14.3) --------------------------------------------

TUNNEL = connect("api.acme.test:80", host="api.acme.test:80")
INSIDE = [
    Case("CONN-09", connect("llm.acme.test:80", "connection: close", "proxy-connection: keep-alive", host="llm.acme.test")
         + get("/v1/messages", "authorization: Bearer placeholder", "content-length: 2", method="POST", host="llm.acme.test", body=b"{}"),
         (Expect(200, method="CONNECT", body=b""), Expect(200, method="POST")),
         (Seen("llm", "/v1/messages", "POST", "llm.acme.test", {"Authorization": f"Bearer {LLM_KEY}"}, b"{}"),),
         why="the upgrade and the stamp are those of absolute-form"),
    Case("inside-1", TUNNEL + get("/a", host="api.acme.test"), (Expect(200, method="CONNECT"), Expect(200)),
         (Seen("api", "/a", host="api.acme.test"),)),
    Case("inside-2", TUNNEL + get("/a", host="api.acme.test") + get("/b", host="api.acme.test"),
         (Expect(200, method="CONNECT"), Expect(200), Expect(200)),
         (Seen("api", "/a", host="api.acme.test"), Seen("api", "/b", host="api.acme.test"))),
    Case("inside-host", TUNNEL + get("/a", host="evil.test"), (Expect(200, method="CONNECT"), Expect(200)),
         (Seen("api", "/a", host="api.acme.test"),), why="a differing inner Host is rebuilt"),
    Case("inside-absolute", TUNNEL + get("http://api.acme.test/a"), (Expect(200, method="CONNECT"), Expect(200)),
         (Seen("api", "/a", host="api.acme.test"),)),
    Case("inside-other", TUNNEL + get("http://evil.test/a"), (Expect(200, method="CONNECT"), Expect(400, True)), closes=True,
         why="an inner absolute target of another authority"),
    Case("inside-allowed-other", TUNNEL + get("http://x.pkgs.test/a"), (Expect(200, method="CONNECT"), Expect(400, True)), closes=True),
    Case("inside-connect", TUNNEL + connect("echo.acme.test:443"), (Expect(200, method="CONNECT"), Expect(400, True)), closes=True),
    Case("inside-ssh", TUNNEL + b"SSH-2.0-OpenSSH_9.2\r\n\r\n", (Expect(200, method="CONNECT"), Expect(400, "not-http")), closes=True),
    Case("inside-tls", TUNNEL + hello.client_hello("api.acme.test"), (Expect(200, method="CONNECT"), Expect(400, True)), closes=True),
    Case("inside-upgraded", connect("tls.acme.test:80") + get("/u", host="tls.acme.test"),
         (Expect(200, method="CONNECT"), Expect(200)), (Seen("tls", "/u", host="tls.acme.test"),)),
    refused("inside-evil", connect("evil.test:80") + get("/a", host="evil.test"), 403, "not-allowed", host="evil.test",
            why="judged before the 200"),
]


@pytest.mark.parametrize("case", INSIDE, ids=str)
def test_tunnel_read_as_http(case, gateway, world):
    run(case, gateway, world)


def test_an_inner_request_fails_on_its_own(gateway, world):
    """After the 200 each inner request is resolved, screened and answered by itself."""
    world.dns.host("inner.public.test", "10.1.2.3")
    with Client(gateway.address) as client:
        assert client.open_tunnel("inner.public.test", 80).status == 200
        refusal.check(client.ask(get("/x", host="inner.public.test")), "resolved:private", "inner.public.test")


@pytest.mark.parametrize("plaintext", [False, True])
def test_a_configured_plain_port_dials_itself(own_gateway, world, plaintext):
    """CONNECT h:8080 in plain_ports: TLS to 8080, or plain to 8080 where the host is not upgraded."""
    def script(peer):
        while peer.read_request():
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    name = "pp.more.test" if plaintext else "pp.moretls.test"
    gateway = own_gateway(config(world, policy={"plain_ports": [80, 8080], "ports": [443, 80, 8080]}))
    with world.place(name, script, port=8080, tls=None if plaintext else True) as origin, Client(gateway.address) as client:
        assert client.open_tunnel(name, 8080).status == 200
        assert client.ask(get("/x", host=name)).body == b"hi"
        assert (origin.peers[0].tls_version is None) == plaintext
        assert f"Host: {name}:8080".encode() in origin.peers[0].received
