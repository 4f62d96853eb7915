"""The plain path: absolute-form requests (specification 9.5, P rows)."""
import json
import re
import time

import pytest
from support import refusal
from support.cases import Case, Expect, Seen, get, head, refused, run, served
from support.client import Client, Closed

OK = "http://api.acme.test"
NEXT = get(OK + "/next")

CASES = [
    served("P01", get(OK + "/v1/models"), Seen("api", "/v1/models", host="api.acme.test")),
    refused("P02", get("http://evil.test/"), 403, "not-allowed", host="evil.test",
            why="a name that is not allowed is never resolved"),
    refused("P09-name", get("http://metadata.public.test/latest/meta-data/"), 403, "resolved:link-local",
            host="metadata.public.test", asked={"metadata.public.test"}),
    refused("P14", head("GET / HTTP/1.0"), 400, "bad-request"),
    refused("P15", head(f"GET {OK}/ HTTP/1.1"), 400, "bad-request", why="HTTP/1.1 needs a Host (RFC 9112 3.2)"),
    served("P15-1.0", head(f"GET {OK}/ HTTP/1.0"), Seen("api", "/", host="api.acme.test"), closes=True,
           why="1.0 may leave Host out when the target is absolute: pip, requests"),
    refused("P16", get(OK + "/", host=""), 400, why="an empty Host is malformed"),
    refused("P17", head(f"GET {OK}/ HTTP/1.1", "Host: api.acme.test", "Host: api.acme.test"), 400, "bad-request"),
    served("P18", get(OK + "/a", host="evil.test"), Seen("api", "/a", host="api.acme.test"),
           why="the target wins and Host is rebuilt from it (RFC 9112 3.2.2)"),
    refused("P21", get("HTTP://evil.test/z", host="api.acme.test"), 403, "not-allowed", host="evil.test",
            why="the scheme has no letter case: this is absolute-form"),
    served("P21-allowed", get("HtTp://api.acme.test/z"), Seen("api", "/z", host="api.acme.test")),
    refused("P22", get("ftp://api.acme.test/"), 400),
    refused("P23", head("OPTIONS * HTTP/1.1", "Host: api.acme.test"), 400, method="OPTIONS"),
    refused("P25", head("GET api.acme.test:80 HTTP/1.1", "Host: api.acme.test"), 400),
    refused("P26", get("http://u:p@api.acme.test/", host="api.acme.test"), 400, "userinfo"),
    refused("P27", get("http://api.acme.test@evil.test/", host="evil.test"), 400, "userinfo"),
    refused("P28", get("http://evil.test#@api.acme.test/", host="api.acme.test"), 400),
    refused("P29", get("http://evil.test?@api.acme.test/", host="api.acme.test"), 403, "not-allowed", host="evil.test"),
    refused("P30", get("http://api.acme.test\\@evil.test/", host="api.acme.test"), 400),
    refused("P31", get("http://api%2eacme.test/", host="api.acme.test"), 400, "bad-host"),
    *[refused(f"P32-{text}", get(f"http://{text}/", host="x"), 400, "numeric-host")
      for text in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "017700000001", "0x7f000001", "0", "1.2.3.4.5", "010.0.0.1")],
    refused("P33", get("http://\xe2\x91\xa0\xe2\x91\xa1.0.0.1/", host="x"), 400, why="raw UTF-8 in the request line"),
    *[refused(f"P33a-{n}", get(f"http://{text}/", host="x"), 400, "bad-host") for n, text in enumerate(
        ("%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1", "%EF%BD%8Fk.example", "ok%E3%80%82example"))],
    refused("P33b", head("GET / HTTP/1.1", "Host: \xe2\x91\xa0.acme.test"), 400, "bad-host"),
    refused("P34", get("http://%", host="x"), 400),
    *[refused(f"P35-{n}", get(url, host="x"), 400) for n, url in enumerate(("http://[::1", "http://", "http://h:99999/", "http://:80/"))],
    refused("P36", head("GET / HTTP/1.1", "Host: api.acme.test:99999"), 400, "bad-port"),
    refused("P37", get("http:///evil.test/", host="x"), 400),
    served("P38", get(OK + "/a/../b?q"), Seen("api", "/a/../b?q", host="api.acme.test"), why="byte for byte"),
    *[refused(f"P39-{n}", get(f"http://{host}:{{self}}/"), 421, "loop") for n, host in enumerate(("127.0.0.1", "localhost", "[::1]"))],
    *[refused(f"P39-host-{n}", head("GET / HTTP/1.1", f"Host: {host}:{{self}}"), 421, "loop")
      for n, host in enumerate(("127.0.0.1", "localhost", "[::1]"))],
    *[refused(f"P40-{n}", get(f"http://{host}:{{self}}/"), 421, "loop")
      for n, host in enumerate(("LOCALHOST", "localhost.", "127.0.0.2", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"))],
    served("P42", get(OK + "/", "Proxy-Authorization: Basic cHU6cHc=", "Proxy-Connection: Keep-Alive"),
           Seen("api", "/", host="api.acme.test")),
    served("P43", get(OK + "/", "Connection: X-Secret", "X-Secret: 1", "X-Keep: 2"),
           Seen("api", "/", host="api.acme.test", fields={"X-Secret": (), "X-Keep": "2"})),
    served("P44", get(OK + "/", "TE: gzip", "Connection: upgrade, TE", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__",
                      "Proxy-Authenticate: Basic"),
           Seen("api", "/", host="api.acme.test"), why="other upgrades are stripped and the request is served"),
    served("P45-no-chunks", get(OK + "/", "Trailer: X"), Seen("api", "/", host="api.acme.test", fields={"Trailer": ()})),
    served("P45", get(OK + "/t", "Transfer-Encoding: chunked", "Trailer: X-Sum", method="POST",
                      body=b"3\r\nabc\r\n0\r\nX-Sum: 9\r\nX-Drop: 1\r\n\r\n"),
           Seen("api", "/t", "POST", "api.acme.test", body=b"abc", trailers=(("X-Sum", "9"), ("X-Drop", "1")))),
    refused("P45-framing", get(OK + "/t", "Transfer-Encoding: chunked", method="POST",
                               body=b"3\r\nabc\r\n0\r\nX-Sum: 9\r\nContent-Length: 1\r\n\r\n"), 400, asked=None, may_connect=True,
            why="a length among the trailers is never relayed: the strict parser refuses the message (RFC 9110 6.5.1)"),
    served("P45-hop", get(OK + "/t", "Transfer-Encoding: chunked", method="POST",
                          body=b"3\r\nabc\r\n0\r\nX-Sum: 9\r\nConnection: X-Sum\r\nProxy-Authorization: x\r\nHost: evil.test\r\n"
                               b"Keep-Alive: 1\r\nVia: x\r\n\r\n"),
           Seen("api", "/t", "POST", "api.acme.test", body=b"abc", trailers=(("X-Sum", "9"),))),
    refused("P47", get(OK + "/", "Content-Length: 5", "Transfer-Encoding: chunked", method="POST", body=b"0\r\n\r\n"), 400),
    refused("P48", get(OK + "/", "Content-Length: 5", "Content-Length: 6", method="POST", body=b"hello"), 400),
    refused("P49", get(OK + "/", "Content-Length: +5", method="POST", body=b"hello"), 400),
    refused("P50-x", get(OK + "/", "Transfer-Encoding: xchunked", method="POST"), 400),
    refused("P50-identity", get(OK + "/", "Transfer-Encoding: chunked, identity", method="POST"), 400),
    refused("P51", get(OK + "/", "Content-Length : 5", method="POST", body=b"hello"), 400),
    refused("P52", b"GET http://api.acme.test/ HTTP/1.1\nHost: api.acme.test\n\n", 400),
    refused("P53", get(OK + "/", "X-A: 1", "  folded"), 400),
    refused("P54", get(OK + "/", "X-A: a\x00b"), 400),
    refused("P56", get(OK + "/", version="HTTP/2.0"), 505, "version"),
    refused("P56-1.2", get(OK + "/", version="HTTP/1.2"), 505, "version"),
    refused("P56-0.9", get(OK + "/", version="HTTP/0.9"), 505, "version"),
    served("P57-20000", get(OK + "/", "X-Long: " + "a" * 20000),
           Seen("api", "/", host="api.acme.test", fields={"X-Long": "a" * 20000})),
    refused("P57-40000", get(OK + "/", "X-Long: " + "a" * 40000), 431, "headers-too-large"),
    refused("P58", get("http://evil.test/", "Content-Length: 5", "Expect: 100-continue", method="POST"), 403, "not-allowed",
            host="evil.test", why="no 100 before the checks pass"),
    refused("P68", get("http://api.acme.test:22/"), 403, "port-not-allowed", host="api.acme.test"),
    Case("P72", get(OK + "/1") + get("http://evil.test/2"),
         (Expect(200), Expect(403, "not-allowed", "evil.test")), (Seen("api", "/1", host="api.acme.test"),)),
    refused("P78", get("http://llm.acme.test/", method="TRACE"), 405, "method"),
    refused("P78-track", get("http://llm.acme.test/", method="TRACK"), 405, "method"),
    refused("P78-case", get("http://api.acme.test/", method="TRACE"), 405, "method"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case, gateway, world):
    world.dns.host("metadata.public.test", "169.254.169.254")
    run(case, gateway, world)


# Origin-form at the proxy port: specification 3.1 routes it by Host, strictly parsed; for the
# gateway's own address it is 421 with the remedy (cases P39-host-*).
@pytest.mark.parametrize("case", [
    served("P24", head("GET //evil.test/x HTTP/1.1", "Host: api.acme.test"), Seen("api", "//evil.test/x", host="api.acme.test")),
    served("P66", head("GET /v HTTP/1.1", "Host: tls.acme.test:80"), Seen("tls", "/v", host="tls.acme.test"),
           why="explicit 80 on an http target is the default port: TLS to 443"),
    refused("P12", head("GET / HTTP/1.1", "Host: [0:0:0:0:0:ffff:127.0.0.1]:80"), 403, "not-allowed"),
    refused("P36-evil", head("GET / HTTP/1.1", "Host: evil.test"), 403, "not-allowed", host="evil.test"),
], ids=str)
def test_origin_form(case, gateway, world):
    run(case, gateway, world)


@pytest.mark.parametrize("row,why", [
    ("P04", "resolver policies are not in this version"), ("P05", "resolver policies are not in this version"),
    ("P06", "resolver policies are not in this version"), ("P81", "tokens are not in this version"),
])
def test_row_of_a_later_version(row, why):
    pytest.skip(why)


def test_P03_the_audit_names_the_host_and_the_policy(gateway):
    mark = gateway.mark()
    with Client(gateway.address) as client:
        client.ask(get("http://evil.test/p?secret=1"))
    record = gateway.wait_for_audit(lambda r: r.get("host") == "evil.test", since=mark)
    assert record["v"] == 1 and record["event"] == "decision" and record["kind"] == "request"
    assert record["verdict"] == "refuse" and record["reason"] == "not-allowed" and record["status"] == 403
    assert record["network"] == "local" and record["policy"] == "standing" and record["digest"]
    assert record["method"] == "GET" and record["port"] == 80
    assert "secret=1" not in json.dumps(record), "a query may hold what should not be logged"


def test_P03_a_served_request_has_a_decision_and_an_end(gateway):
    mark = gateway.mark()
    with Client(gateway.address) as client:
        client.ask(get(OK + "/audited", "Content-Length: 3", method="POST", body=b"abc"))
    decision = gateway.wait_for_audit(lambda r: r.get("event") == "decision" and r.get("host") == "api.acme.test", since=mark)
    end = gateway.wait_for_audit(lambda r: r.get("event") == "end" and r.get("id") == decision["id"], since=mark)
    assert decision["verdict"] == "allow" and decision["dial_port"] == 80
    assert "127.10.0.1" in decision.get("address", "") + end.get("address", "")
    assert end["bytes_up"] > 0 and end["bytes_down"] > 0 and end["duration_ms"] >= 0


@pytest.mark.parametrize("accept,is_json", [
    ("application/json", True), ("text/html, application/json;q=0.9, */*", True), ("text/plain", False), ("*/*", False),
    ("application/json;q=0", False),
])
def test_a_refusal_is_json_for_who_accepts_json(gateway, accept, is_json):
    with Client(gateway.address) as client:
        response = client.ask(get("http://evil.test/", f"Accept: {accept}"))
    refusal.check(response, "not-allowed", "evil.test", as_json=is_json)


def test_a_refusal_shows_no_markup_and_no_query(gateway):
    with Client(gateway.address) as client:
        response = client.ask(get("http://evil.test/<script>x</script>?token=t0k"))
    refusal.check(response, "not-allowed", "evil.test")
    assert b"script" not in response.body and b"t0k" not in response.body


def test_a_refusal_to_HEAD_has_no_body(gateway):
    with Client(gateway.address) as client:
        response = client.ask(get("http://evil.test/", method="HEAD"))
        assert response.status == 403 and response.reason == "not-allowed"
        assert client.silent(0.1) or client.unread == b""
        assert client.unread == b""


# ---- loops ---------------------------------------------------------------------------------

def test_P41_a_name_that_leads_back_here(own_gateway, standing, world):
    """After any lift, on both paths, descriptors stay flat."""
    from support.world import with_hosts
    world.dns.host("loop.acme.test", "127.0.0.1")
    world.dns.host("loop6.acme.test", "::ffff:127.0.0.1")
    config = with_hosts(standing, "loop.acme.test", "loop6.acme.test")
    config["policies"]["standing"]["allow_inward_for"] = standing["policies"]["standing"]["allow_inward_for"]
    gateway = own_gateway(_listening_elsewhere(config))
    port = gateway.address[1]
    gateway.config["policies"]["standing"]["ports"].append(port)
    gateway.write_config(gateway.config)
    assert gateway.hup()
    gateway.forgive()
    before = gateway.descriptors()
    for name in ("loop.acme.test", "loop6.acme.test"):
        with Client(gateway.address) as client:
            refusal.check(client.ask(get(f"http://{name}:{port}/")), "loop", name)
        with Client(gateway.address) as client:
            refusal.check(client.open_tunnel(name, port), "loop", name, tunnel=True)
    if before:
        assert gateway.settle(before, slack=1) <= [n + 1 for n in before]


def _listening_elsewhere(config):
    from support.network import free_port
    config["networks"]["local"]["listen"] = f"127.0.0.1:{free_port()}"
    return config


def test_P41_the_Via_token_is_the_backstop(gateway, world):
    world.forget()
    with Client(gateway.address) as client:
        assert client.ask(get(OK + "/via", "Via: 1.0 somebody")).status == 200
        via = ", ".join(world["api"].requests[0].fields.all("via"))
        ours = re.fullmatch(r"1\.0 somebody, (1\.1 [A-Za-z0-9._-]+)", via)
        assert ours, f"Via: {via}"
    for line in (f"Via: {ours[1]}", f"Via: 1.1 other, {ours[1]}, 1.1 more", f"via: {ours[1]} (comment)"):
        with Client(gateway.address) as client:
            refusal.check(client.ask(get(OK + "/via", line)), "loop")


def test_the_Via_token_is_one_for_all_processes(gateway, world):
    world.forget()
    clients = [Client(gateway.address) for _ in range(16)]
    for client in clients:
        client.ask(get(OK + "/"))
        client.close()
    assert len({seen.fields.get("via") for seen in world["api"].requests}) == 1


# ---- origins that fail -----------------------------------------------------------------------

def test_P60_upstream_closes_in_the_middle_of_a_body(gateway, world):
    def short(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1234567")

    with world.place("p60.more.test", short), Client(gateway.address) as client:
        began = time.monotonic()
        with pytest.raises(Closed, match="1234567"):
            client.ask(get("http://p60.more.test/"))
        assert time.monotonic() - began < 1


@pytest.mark.parametrize("sends", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_P60_upstream_closes_before_the_head(gateway, world, sends):
    def short(peer):
        peer.read_request()
        peer.send(sends)

    with world.place("p60h.more.test", short), Client(gateway.address) as client:
        refusal.check(client.ask(get("http://p60h.more.test/", method="POST")), "upstream-truncated", "p60h.more.test")


def test_P61_client_leaves_in_the_middle_of_a_download(gateway, world):
    from support.http_origin import stream_until_gone
    world["api"].answers["/endless"] = stream_until_gone
    world.forget()
    client = Client(gateway.address)
    client.send(get(OK + "/endless"))
    client.read_until(b"tick")
    client.close()
    left = time.monotonic()
    while not any(hasattr(peer, "gone_at") for peer in world["api"].peers) and time.monotonic() < left + 3:
        time.sleep(0.02)
    gone = [peer.gone_at for peer in world["api"].peers if hasattr(peer, "gone_at")]
    assert gone and gone[0] - left < 1


def test_P62_nobody_listens(gateway, world):
    world.dns.host("p62.more.test", world.address())
    mark = gateway.mark()
    with Client(gateway.address) as client:
        refusal.check(client.ask(get("http://p62.more.test/")), "connect-failed", "p62.more.test")
    record = gateway.wait_for_audit(lambda r: r.get("host") == "p62.more.test" and r.get("reason"), since=mark)
    assert record["verdict"] == "fail" and record["reason"] == "connect-failed"
    assert "127.20." in json.dumps(record), "the operator learns the address"


def test_P63_upstream_speaks_plaintext(gateway, world):
    def plain(peer):
        peer.more()
        peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with world.place("p63.moretls.test", plain, port=443) as origin, Client(gateway.address) as client:
        refusal.check(client.ask(get("http://p63.moretls.test/")), "tls-failed", "p63.moretls.test")
        assert not origin.peers[0].received.startswith(b"GET")


# ---- the upgrade to HTTPS (decision 14.3) ---------------------------------------------------------

@pytest.mark.parametrize("case", [
    served("P64", get("http://tls.acme.test/p"), Seen("tls", "/p", host="tls.acme.test")),
    served("P64-80", get("http://tls.acme.test:80/p"), Seen("tls", "/p", host="tls.acme.test")),
    served("P64-https", get("https://tls.acme.test/p"), Seen("tls", "/p", host="tls.acme.test")),
    served("P65", get("http://tls.acme.test:8443/p"), Seen("tls-8443", "/p", host="tls.acme.test:8443")),
    served("P65-https", get("https://tls.acme.test:8443/p"), Seen("tls-8443", "/p", host="tls.acme.test:8443")),
    served("P67", get("https://api.acme.test/p"), Seen("api-tls", "/p", host="api.acme.test"),
           why="https stays TLS also where the upgrade is off"),
    served("P64-off", get("http://api.acme.test:80/p"), Seen("api", "/p", host="api.acme.test")),
], ids=str)
def test_upgrade(case, gateway, world):
    run(case, gateway, world)


def test_P64_the_server_name_is_sent_and_sessions_resume(gateway, world, own_gateway, standing):
    """Without a pool every request makes a connection; later ones resume."""
    from support.world import config
    alone = own_gateway(config(world, limits={"pool_connections": 0}, gateway={"processes": 1}))
    world.forget()
    for _ in range(3):
        with Client(alone.address) as client:
            assert client.ask(get("http://TLS.acme.test./p")).status == 200
    seen = world["tls"].requests
    assert [s.sni for s in seen] == ["tls.acme.test"] * 3
    assert len({s.connection for s in seen}) == 3
    assert seen[1].resumed or seen[2].resumed, "no TLS session was resumed"


# ---- bulk and time ------------------------------------------------------------------------------

def test_P69_bulk_both_ways_in_constant_memory(gateway, world):
    size = 192 << 20
    block = bytes(range(256)) * 1024

    def server(peer):
        head = peer.read_head()
        if head.startswith(b"PUT"):
            got = len(peer._unread)
            view = memoryview(bytearray(1 << 20))
            while got < size:
                got += peer.sock.recv_into(view)
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (len(str(got)), got))
        else:
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size // len(block)):
                peer.send(block)

    before = gateway.resident_kib()
    with world.place("p69.more.test", server):
        with Client(gateway.address, timeout=60) as client:
            client.send(get("http://p69.more.test/up", f"Content-Length: {size}", method="PUT"))
            for _ in range(size // len(block)):
                client.send(block)
            assert client.response().body == str(size).encode()
        with Client(gateway.address, timeout=60) as client:
            client.send(get("http://p69.more.test/down"))
            client.read_until(b"\r\n\r\n")
            got = len(client.unread)
            view = memoryview(bytearray(1 << 20))
            while got < size:
                count = client.sock.recv_into(view)
                assert count, f"closed after {got}"
                got += count
            assert got == size
    grown = gateway.grown_kib(before)
    assert grown < 24 * 1024, f"{grown} KiB more"


def test_P70_events_are_delivered_as_they_come(gateway, world):
    from support.http_origin import event_stream
    world["api"].answers["/events"] = event_stream(12, 0.1)
    delays = []
    with Client(gateway.address) as client:
        client.send(get(OK + "/events"))
        client.read_until(b"\r\n\r\n")
        for _ in range(12):
            line = client.read_until(b"\n\n")
            sent = float(line.split(b" ")[2])
            delays.append(time.monotonic() - sent)
    assert sorted(delays)[len(delays) // 2] < 0.05 and max(delays) < 0.1, delays


def test_P80_a_limit_of_one_network_leaves_the_others_alone(own_gateway, world):
    from support.network import free_port
    from support.world import config
    made = config(world, network_limits={"connections": 5})
    made["networks"]["other"] = {"listen": f"127.0.0.1:{free_port()}", "policy": "standing"}
    gateway = own_gateway(made)
    held = []
    for _ in range(5):
        client = Client(gateway.address)
        assert client.ask(get(OK + "/")).status == 200
        held.append(client)
    with Client(gateway.address) as sixth:
        try:
            response = sixth.ask(get(OK + "/"))
            refusal.check(response, "too-many")
        except (Closed, ConnectionResetError):
            pass  # refusing the connection itself is as right
    with Client(gateway.listeners["other"]) as other:
        assert other.ask(get(OK + "/")).status == 200
    for client in held:
        client.close()
    time.sleep(0.2)
    with Client(gateway.address) as again:
        assert again.ask(get(OK + "/")).status == 200
