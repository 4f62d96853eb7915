"""Hostile input in bulk: smuggling, injection, floods, resets in every state. Nothing leaks, nobody dies."""
import random
import socket
import threading
import time

import pytest
from support import hello, origin, refusal, segments
from support.cases import Seen, get, head, run, served
from support.client import Client, Closed
from support.dns_server import Answer
from support.http_origin import simple, stream_until_gone, websocket_echo
from support.origin import Blackhole
from support.world import config

API = "http://api.acme.test"
STEAL = b"GET http://api.acme.test/steal HTTP/1.1\r\nHost: api.acme.test\r\n\r\n"
ORIGIN_STEAL = b"GET /steal HTTP/1.1\r\nHost: api.acme.test\r\n\r\n"
NEEDS_ROOT = "descriptors of a proxy can be counted by root only"


@pytest.fixture
def flat(gateway):
    """Descriptors of the proxies are the same before and after (where they can be counted)."""
    time.sleep(0.1)
    before = gateway.descriptors()
    yield
    if before is not None:
        after = gateway.settle(before, slack=8, seconds=4)
        assert all(now <= then + 8 for now, then in zip(after, before)), f"descriptors: {before}, then {after}"


# ---- smuggling: one message for us, two for the origin, or the other way round ---------------------------

def smuggled(lines, body):
    return get(API + "/front", *lines, method="POST", body=body)


PAIRS = {
    "cl-te": (["Content-Length: 4", "Transfer-Encoding: chunked"], b"0\r\n\r\n" + STEAL),
    "te-cl": (["Transfer-Encoding: chunked", "Content-Length: 4"], b"5c\r\n" + STEAL + b"\r\n0\r\n\r\n"),
    "te-te": (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], b"0\r\n\r\n" + STEAL),
    "te-space": (["Transfer-Encoding : chunked", "Content-Length: %d" % (len(STEAL) + 5)], b"0\r\n\r\n" + STEAL),
    "te-tab": (["Transfer-Encoding:\tchunked", "Content-Length: 3"], b"0\r\n\r\n" + STEAL),
    "te-vt": (["Transfer-Encoding: \x0bchunked"], b"0\r\n\r\n" + STEAL),
    "te-fold": (["X: x", " Transfer-Encoding: chunked"], b"0\r\n\r\n" + STEAL),
    "te-cr": (["X: x\rTransfer-Encoding: chunked", "Content-Length: 0"], b""),
    "te-lf": (["X: x\nTransfer-Encoding: chunked"], b"0\r\n\r\n" + STEAL),
    "te-nul": (["Transfer-Encoding\x00: chunked"], b"0\r\n\r\n" + STEAL),
    "te-case-cl": (["tRANSFER-eNCODING: ChUnKeD", "content-length: 3"], b"0\r\n\r\n" + STEAL),
    "cl-cl": (["Content-Length: 0", "Content-Length: %d" % len(STEAL)], STEAL),
    "cl-list": (["Content-Length: 0, %d" % len(STEAL)], STEAL),
    "cl-plus": (["Content-Length: +%d" % len(STEAL)], STEAL),
    "cl-underscore": (["Content_Length: 0", "Content-Length: %d" % len(STEAL)], STEAL),
    "chunk-minus": (["Transfer-Encoding: chunked"], b"-1\r\n" + STEAL),
    "chunk-wrap": (["Transfer-Encoding: chunked"], b"10000000000000000\r\n" + STEAL),
    "chunk-lf": (["Transfer-Encoding: chunked"], b"0\n\n" + STEAL),
    "chunk-long": (["Transfer-Encoding: chunked"], b"1\r\nxy\r\n0\r\n\r\n" + STEAL),
    "connection-cl": (["Connection: Content-Length", "Content-Length: %d" % len(ORIGIN_STEAL)], ORIGIN_STEAL),
    "connection-te": (["Connection: Transfer-Encoding", "Transfer-Encoding: chunked"], b"%x\r\n%s\r\n0\r\n\r\n" % (len(ORIGIN_STEAL), ORIGIN_STEAL)),
    "get-body": (["Content-Length: %d" % len(ORIGIN_STEAL)], ORIGIN_STEAL),
    "trailer-te": (["Transfer-Encoding: chunked", "Trailer: Transfer-Encoding"], b"0\r\nTransfer-Encoding: chunked\r\n\r\n"),
}


@pytest.mark.parametrize("id", PAIRS)
def test_smuggling(id, gateway, world):
    """Whatever is made of it, /steal never reaches an origin, and a strict origin never sees rubbish."""
    lines, body = PAIRS[id]
    world.forget()
    # Bytes behind a message that is whole are a request of their own, and then rightly served:
    # here everything belongs to the first message, or the first message must be refused.
    outcomes = segments.run(gateway.address, smuggled(lines, body), ("POST",))
    assert not [o.problem for o in outcomes if o.problem], [o.problem for o in outcomes if o.problem][:3]
    results = {(o.responses[0].status, o.responses[0].reason) for o in outcomes}
    assert len(results) == 1, f"the answer depends on the segments: {results}"
    time.sleep(0.05)
    assert "/steal" not in {seen.target for each in world.origins.values() for seen in each.requests}
    status = results.pop()[0]
    assert status in (200, 400), status
    if status == 200:
        assert id in ("cl-underscore", "connection-cl", "connection-te", "get-body", "trailer-te"), "this must be refused"
        seen = world["api"].requests
        assert len(seen) == len(outcomes)
        assert all(len(s.fields.all("content-length") + s.fields.all("transfer-encoding")) == 1 for s in seen)


def test_a_response_cannot_be_split_into_the_next_one(gateway, world):
    """Bytes behind an answer poison nobody: they are dropped with their connection."""
    world["api"].answers["/poison"] = simple(200, b"one") + simple(200, b"POISON")
    for _ in range(10):
        with Client(gateway.address) as client:
            assert client.ask(get(API + "/poison")).body == b"one"
            body = client.ask(get(API + "/honest")).body
            assert b"POISON" not in body and b"GET /honest" in body


@pytest.mark.parametrize("case", [
    served("crlf-encoded", get(API + "/a%0d%0aX-Injected:%201"), Seen("api", "/a%0d%0aX-Injected:%201", host="api.acme.test", fields={"X-Injected": ()})),
    served("query-crlf", get(API + "/a?b=%0d%0a%0d%0aGET%20/steal"), Seen("api", "/a?b=%0d%0a%0d%0aGET%20/steal", host="api.acme.test")),
], ids=str)
def test_injection_by_encoding_stays_encoded(case, gateway, world):
    run(case, gateway, world)


@pytest.mark.parametrize("raw", [b"/a\rb", b"/a\nb", b"/a\x00b", b"/a\tb", b"/a\x7fb", b"/a b"])
def test_injection_by_raw_bytes_is_refused(raw, gateway, world):
    world.forget()
    outcomes = segments.run(gateway.address, b"GET http://api.acme.test" + raw + b" HTTP/1.1\r\nHost: api.acme.test\r\n\r\n", ("GET",))
    assert {o.responses[0].status for o in outcomes if not o.problem} == {400} and not [o for o in outcomes if o.problem]
    assert not world["api"].requests


LOOPS = ["127.0.0.1", "127.0.0.2", "127.255.255.254", "localhost", "LOCALHOST", "localhost.", "a.localhost", "0.0.0.0", "[::1]", "[::]",
         "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"]


@pytest.mark.parametrize("host", LOOPS)
def test_the_gateway_is_not_told_to_talk_to_itself(host, gateway, flat):
    """Under any spelling the first hop refuses: 421, or 403 where it is no own address."""
    port = gateway.address[1]
    for request in (get(f"http://{host}:{port}/"), get(f"https://{host}:{port}/"), head("GET / HTTP/1.1", f"Host: {host}:{port}"),
                    head(f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}")):
        with Client(gateway.address) as client:
            response = client.ask(request)
            if host in ("[::127.0.0.1]", "a.localhost"):
                assert response.status in (403, 421)
            else:
                refusal.check(response, "loop", sent=request)


# ---- floods ------------------------------------------------------------------------------------------

def test_two_thousand_tunnels(own_gateway, world):
    """Opened, held idle and closed: memory by the tunnel is small, descriptors come back, service goes on."""
    gateway = own_gateway(config(world, limits={"client_hello_timeout_ms": 60000}))
    with Client(gateway.address) as client:
        client.open_tunnel("echo.acme.test", 9000)
    time.sleep(0.2)
    before, memory = gateway.descriptors(), gateway.resident_kib()
    clients = []
    try:
        for number in range(2000):
            client = Client(gateway.address, timeout=10)
            clients.append(client)
            client.send(b"CONNECT echo.acme.test:%d HTTP/1.1\r\nHost: x\r\n\r\n" % (9000 if number % 2 else 443))
        for client in clients:
            assert client.response("CONNECT").status == 200
        grown = gateway.grown_kib(memory)
        assert grown < 16000, f"{grown} KiB for 2000 tunnels, half of which wait for a hello"
        with Client(gateway.address) as client:
            assert client.ask(get(API + "/meanwhile")).status == 200
        for number in (1, 999, 1999):
            clients[number].send(b"ping")
            assert clients[number].read(4) == b"ping"
    finally:
        for client in clients:
            client.close()
    if before is not None:
        after = gateway.settle(before, slack=8, seconds=6)
        assert all(now <= then + 8 for now, then in zip(after, before)), (before, after)


def test_two_thousand_connections_that_say_nothing(own_gateway, world):
    gateway = own_gateway(config(world, limits={"head_timeout_ms": 1500, "client_idle_timeout_ms": 1500}))
    before = gateway.descriptors()
    idle = []
    for number in range(2000):
        sock = socket.create_connection(gateway.address)
        if number % 2:
            sock.send(b"GET http://api")
        idle.append(sock)
    with Client(gateway.address) as client:
        began = time.monotonic()
        assert client.ask(get(API + "/")).status == 200 and time.monotonic() - began < 1
    time.sleep(3)
    with Client(gateway.address) as client:
        assert client.ask(get(API + "/")).status == 200
    if before is not None:
        after = gateway.settle(before, slack=8, seconds=4)
        assert all(now <= then + 8 for now, then in zip(after, before)), f"idle connections are kept: {before}, then {after}"
    for sock in idle:
        sock.close()


def test_P82_random_and_mutated_heads(gateway, world, flat):
    """Nothing dies, and nothing that is not allowed is ever dialled."""
    world.forget()
    chance = random.Random(20261130)
    seeds = [get(API + "/a", "Content-Length: 3", method="POST", body=b"abc"), get("http://evil.test/"), get("http://u@api.acme.test/"),
             head("CONNECT echo.acme.test:443 HTTP/1.1", "Host: x") + hello.client_hello("echo.acme.test"), STEAL * 2,
             get(API + "/c", "Transfer-Encoding: chunked", method="POST", body=b"3\r\nabc\r\n0\r\n\r\n"), head("CONNECT evil.test:443 HTTP/1.1", "Host: x")]
    spice = [b"\r\n", b"\n", b"\0", b" ", b":", b"@", b"%", b"\xff", b"[", b"]", b"//", b"evil.test", b"Host: evil.test\r\n", b"Transfer-Encoding: chunked\r\n",
             b"Content-Length: 9\r\n", b"HTTP/1.1", b"\x16\x03\x01"]
    inputs = []
    for _ in range(2500):
        if chance.random() < 0.15:
            inputs.append(chance.randbytes(chance.randrange(1, 400)))
            continue
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(data) + 1)
            action = chance.randrange(4)
            if action == 0:
                data[at:at] = chance.choice(spice)
            elif action == 1:
                del data[at:at + chance.randrange(1, 12)]
            elif action == 2 and at < len(data):
                data[at] = chance.randrange(256)
            else:
                data[at:at + 5] = chance.choice(spice)
        inputs.append(bytes(data))

    def send(some):
        for data in some:
            try:
                with Client(gateway.address, timeout=3) as client:
                    client.send(data)
                    client.half_close()
                    client.read_to_end()
            except TimeoutError:
                hung.append(data)
            except OSError:
                pass

    hung = []
    threads = [threading.Thread(target=send, args=(inputs[n::8],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not hung, f"{len(hung)} connections hang after the client's FIN, as {hung[0][:200]!r}"
    assert world["evil"].accepted == 0 and world["evil-tls"].accepted == 0
    assert "evil.test" not in world.dns.asked()
    assert all(seen.fields.all("host") != ["evil.test"] for each in world.origins.values() for seen in each.requests)


# ---- resets in every state -----------------------------------------------------------------------------

def stages(world, gateway):
    """(name, what brings a client into that state)."""
    def sends(data):
        return lambda client: client.send(data)

    def tunnel(client):
        client.open_tunnel("echo.acme.test", 9000)
        client.send(b"x" * 100000)

    def hello_half(client):
        client.open_tunnel("echo.acme.test", 443)
        client.send(hello.client_hello("echo.acme.test")[:40])

    def sockets(client):
        client.ask(get(API + "/sock", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                       "Sec-WebSocket-Version: 13"))

    return [
        ("connected", lambda client: None), ("in the head", sends(get(API + "/x")[:40])), ("resolving", sends(get("http://silent.more.test/"))),
        ("dialling", sends(get("http://hole.more.test/"))), ("dialling a tunnel", sends(head("CONNECT hole.more.test:80 HTTP/1.1", "Host: x"))),
        ("shaking hands", sends(get("http://mute.moretls.test/"))), ("waiting", sends(get("http://mute.more.test/"))),
        ("in the upload", sends(get("http://mute.more.test/", "Content-Length: 100000", method="POST", body=b"x" * 5000))),
        ("in a chunk", sends(get(API + "/up", "Transfer-Encoding: chunked", method="POST", body=b"1000\r\nxxx"))),
        ("in the download", sends(get(API + "/endless"))), ("waiting for 100", sends(get("http://mute.more.test/", "Expect: 100-continue",
                                                                                       "Content-Length: 9", method="POST"))),
        ("refused with a body to come", sends(get("http://evil.test/", "Content-Length: 100000", method="POST", body=b"x" * 100))),
        ("in the hello", hello_half), ("relaying", tunnel), ("websocket", sockets),
        ("inside a plain tunnel", lambda client: (client.open_tunnel("api.acme.test", 80), client.send(b"GET /x HT"))),
        ("pipelined", sends(get(API + "/endless") + get(API + "/a") * 20)),
    ]


@pytest.mark.parametrize("how", ["reset", "close", "half_close"])
def test_clients_that_vanish_in_every_state(how, gateway, world, flat):
    world["api"].answers["/endless"] = stream_until_gone
    world["api"].answers["/sock"] = websocket_echo
    world.dns.script_both("silent.more.test", Answer(silent=True))
    address = world.address()
    hole = Blackhole(address, 80)
    world.dns.host("hole.more.test", address)
    with world.place("mute.moretls.test", origin.silent, port=443), world.place("mute.more.test", origin.silent):
        for name, bring in stages(world, gateway):
            clients = [Client(gateway.address) for _ in range(6)]
            for client in clients:
                bring(client)
            time.sleep(0.03)
            for client in clients:
                getattr(client, how)()
            time.sleep(0.03)
            for client in clients:
                client.close()
            gateway.check_alive()
        with Client(gateway.address) as client:
            assert client.ask(get(API + "/well")).status == 200
    hole.close()


def test_origins_that_vanish_in_every_state(gateway, world, flat):
    """RST at accept, in the handshake, in the request, in head, body and chunk, in a tunnel: 502 or a cut answer."""
    def at(data=b"", wait=True, tls=False):
        def script(peer):
            if wait:
                peer.read_head()
            peer.send(data)
            time.sleep(0.03)
            peer.reset()
        return script

    scripts = {"accept": at(wait=False), "request": at(), "head": at(b"HTTP/1.1 200 OK\r\nX: "), "interim": at(b"HTTP/1.1 103 x\r\n\r\n"),
               "body": at(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabc"), "chunk": at(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
               "close-delimited": at(b"HTTP/1.1 200 OK\r\n\r\nabc")}
    for name, script in scripts.items():
        with world.place(f"v-{name}.more.test", script):
            for method in ("GET", "POST"):
                with Client(gateway.address) as client:
                    try:
                        response = client.ask(get(f"http://v-{name}.more.test/", *(["Content-Length: 3"] if method == "POST" else []), method=method,
                                                  body=b"abc" if method == "POST" else b""))
                        assert response.status == 502, (name, method, response.status, response.framing, response.body)
                        refusal.check(response, response.reason, f"v-{name}.more.test")
                    except (Closed, ConnectionResetError):
                        assert name in ("body", "chunk", "close-delimited"), f"no answer for {name}"
        gateway.check_alive()
    with world.place("v-tunnel.more.test", at(wait=False), port=9000), Client(gateway.address) as client:
        assert client.open_tunnel("v-tunnel.more.test", 9000).status == 200
        assert client.ended(2) == "rst"
    with world.place("v-tls.moretls.test", at(wait=False), port=443), Client(gateway.address) as client:
        refusal.check(client.ask(get("http://v-tls.moretls.test/", method="POST")), "tls-failed", "v-tls.moretls.test")
