"""What comes back from an origin, and hop-by-hop fields both ways (case list RESP and HOP rows)."""
import threading
import time

import pytest
from support import http_origin, refusal
from support.cases import Seen, get, run, served
from support.client import Client, Closed
from support.http_origin import chunked, simple

URL = "http://api.acme.test"


def answer(world, path, what):
    world["api"].answers[path] = what
    return get(URL + path)


# ---- hop-by-hop fields of requests ----------------------------------------------------------------

HOP = [
    served("HOP-01", get(URL + "/", "Connection:", "Connection: keep-alive, X-Drop", "X-Drop: 1", "Keep-Alive: timeout=5", "TE: gzip",
                         "Upgrade: foo", "X-Keep: 1"),
           Seen("api", "/", host="api.acme.test", fields={"X-Drop": (), "X-Keep": "1"})),
    served("HOP-02", get(URL + "/", "Connection: Connection, Connection, close"), Seen("api", "/", host="api.acme.test")),
    served("HOP-02-proxy", get(URL + "/", "Proxy-Connection: Proxy-Connection, Connection"), Seen("api", "/", host="api.acme.test")),
    served("HOP-02-commas", get(URL + "/", "Connection: ,,, ,"), Seen("api", "/", host="api.acme.test")),
    served("HOP-03", get(URL + "/", "Connection: close, Host, Content-Length, X-Drop, Via, Transfer-Encoding", "Content-Length: 3", "X-Drop: 1",
                         method="POST", body=b"abc"),
           Seen("api", "/", "POST", "api.acme.test", {"X-Drop": ()}, b"abc"), closes=True, why="strip first, then add"),
    served("HOP-04", get(URL + "/", "Proxy-Authorization: Basic cHU6cHA=", "Proxy-Connection: keep-alive", "Proxy-Authenticate: Basic"),
           Seen("api", "/", host="api.acme.test")),
    served("HOP-08", get(URL + "/"), Seen("api", "/", host="api.acme.test"), why="no X-Forwarded-* is added"),
    served("HOP-case", get(URL + "/", "CONNECTION: x-dRoP", "X-Drop: 1", "x-DROP: 2"), Seen("api", "/", host="api.acme.test", fields={"X-Drop": ()})),
]


@pytest.mark.parametrize("case", HOP, ids=str)
def test_hop_by_hop_of_requests(case, gateway, world):
    run(case, gateway, world)


def test_HOP_07_P46_hop_by_hop_of_responses(gateway, world):
    data = answer(world, "/hop", b"HTTP/1.1 200 OK\r\nConnection: close, X-Foo\r\nX-Foo: 1\r\nKeep-Alive: timeout=9\r\nProxy-Connection: close\r\n"
                                 b'Proxy-Authenticate: Basic realm="x"\r\nTE: x\r\nUpgrade: h2c\r\nX-Bar: 2\r\nContent-Length: 2\r\n\r\nhi')
    with Client(gateway.address) as client:
        response = client.ask(data)
        assert response.status == 200 and response.body == b"hi" and response.fields.get("X-Bar") == "2"
        gone = {"x-foo", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "upgrade"}
        assert not gone & set(response.fields.names()), response.raw_head
        assert "close" not in response.fields.tokens("connection")
        assert client.ask(get(URL + "/again")).status == 200, "the client's own connection stays"


# ---- bodies and their length ------------------------------------------------------------------------

def test_RESP_01_P74_HEAD(gateway, world):
    answer(world, "/head-length", b"HTTP/1.1 200 OK\r\nContent-Length: 1192\r\n\r\n")
    answer(world, "/head-chunked", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    world.forget()
    with Client(gateway.address) as client:
        response = client.ask(get(URL + "/head-length", method="HEAD"))
        assert response.status == 200 and response.fields.get("Content-Length") == "1192"
        assert client.ask(get(URL + "/a")).status == 200
        assert client.ask(get(URL + "/head-chunked", method="HEAD")).status == 200
        assert client.ask(get(URL + "/b")).status == 200
        assert client.unread == b""
    assert len({seen.connection for seen in world["api"].requests}) == 1, "the upstream connection stays usable"


@pytest.mark.parametrize("raw,status,length", [
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\nETag: x\r\n\r\n", 304, None),
    (b"HTTP/1.1 204 No Content\r\n\r\n", 204, None),
    (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, None),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "0"),
])
def test_RESP_02_answers_without_a_body(raw, status, length, gateway, world):
    """The strict reader refuses framing fields in a 204 (RFC 9110 8.6)."""
    data = answer(world, "/nobody", raw)
    with Client(gateway.address) as client:
        began = time.monotonic()
        response = client.ask(data)
        assert response.status == status and response.body == b"" and time.monotonic() - began < 0.5
        if length:
            assert response.fields.get("Content-Length") == length
        assert client.ask(get(URL + "/next")).status == 200


def test_RESP_02_stray_bytes_after_an_answer_without_body(gateway, world):
    """They are never taken for the next answer: the upstream connection is dropped."""
    data = answer(world, "/stray", b"HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nX: split\r\nContent-Length: 0\r\n\r\n")
    with Client(gateway.address) as client:
        for _ in range(4):
            assert client.ask(data).status == 304
            response = client.ask(get(URL + "/own"))
            assert response.status == 200 and b"GET /own" in response.body and response.fields.get("X") is None


def test_RESP_03_P76_interim_answers(gateway, world):
    data = answer(world, "/interim", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
                                     b"HTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    with Client(gateway.address) as client:
        response = client.ask(data)
        assert response.status == 200 and response.body == b"hi"
        hints = [r for r in response.interim if r.status == 103]
        assert [r.fields.get("Link") for r in hints] == ["</a>", "</b>"]
        assert all(r.status == 103 for r in response.interim), "100 only for who asked"
    with Client(gateway.address) as client:
        client.send(get(URL + "/interim", version="HTTP/1.0"))
        response = client.response()
        assert response.status == 200 and response.interim == [] and response.body == b"hi"


def test_RESP_03_a_flood_of_interim_answers(gateway, world):
    data = answer(world, "/flood", b"HTTP/1.1 102 Processing\r\n\r\n" * 5000 + simple())
    with Client(gateway.address) as client:
        response = client.ask(data)
        refusal.check(response, "upstream-protocol", "api.acme.test")
        assert len(response.interim) <= 16
    with Client(gateway.address) as client:
        assert client.ask(get(URL + "/fine")).status == 200


def test_RESP_09_P75_chunked_to_a_1_0_client(gateway, world):
    answer(world, "/chunks", chunked(b"hello ", b"world"))
    with Client(gateway.address) as client:
        client.send(get(URL + "/chunks", version="HTTP/1.0"))
        response = client.response()
        assert response.body == b"hello world" and response.framing == "close"
        assert response.fields.get("Transfer-Encoding") is None
        assert client.ended() == "fin"


def test_a_1_0_client_that_keeps_alive(gateway, world):
    """pip and wget: HTTP/1.0 with Connection: keep-alive may be closed, never left hanging."""
    with Client(gateway.address) as client:
        client.send(get(URL + "/x", "Connection: keep-alive", version="HTTP/1.0"))
        assert client.response().status == 200


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_Connection_close_is_obeyed(version, gateway):
    with Client(gateway.address) as client:
        client.send(get(URL + "/x", "Connection: close", version=version))
        response = client.response()
        assert response.status == 200 and (version == "HTTP/1.0" or "close" in response.fields.tokens("connection"))
        assert client.ended() == "fin"


def test_RESP_16_length_is_kept(gateway, world):
    for path, what in (("/length", simple(200, b"fifteen bytes!!")), ("/chunks15", chunked(b"fifteen ", b"bytes!!")),
                       ("/close15", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfifteen bytes!!")):
        data = answer(world, path, what)
        with Client(gateway.address) as client:
            response = client.ask(data)
        assert response.body == b"fifteen bytes!!"
        if path == "/length":
            assert response.fields.get("Content-Length") == "15"
        elif path == "/chunks15":
            assert response.framing == "chunked"
        else:
            assert response.framing in ("chunked", "close")


@pytest.mark.parametrize("more", [(), (b"Connection: X-Sum", b"Proxy-Authenticate: x"), (b"Transfer-Encoding: x",)],
                         ids=["plain", "hop", "coding"])
def test_P45_trailers_of_an_answer(more, gateway, world):
    """Relayed, without hop-by-hop and framing fields (decision 14.8)."""
    data = answer(world, "/trailers", chunked(b"abc", trailers=(b"X-Sum: 9", *more)))
    with Client(gateway.address) as client:
        response = client.ask(data)
        assert response.body == b"abc" and list(response.trailers) == [("X-Sum", "9")]
        assert client.ask(get(URL + "/next")).status == 200


def test_P45_a_length_among_the_trailers_ends_the_answer(gateway, world):
    """Never relayed: the answer stays visibly incomplete (RFC 9110 6.5.1)."""
    data = answer(world, "/bad-trailer", chunked(b"abc", trailers=(b"X-Sum: 9", b"Content-Length: 7")))
    with Client(gateway.address) as client, pytest.raises((Closed, ConnectionError)):
        client.ask(data)


def test_RESP_16_a_1_0_origin(gateway, world):
    def old(peer):
        peer.read_request()
        peer.send(b"HTTP/1.0 200 OK\r\n\r\nold body")

    with world.place("old.more.test", old), Client(gateway.address) as client:
        response = client.ask(get("http://old.more.test/"))
        assert response.version == "HTTP/1.1" and response.body == b"old body"


def test_P79_CRED_05_redirects_are_passed_on(gateway, world):
    data = answer(world, "/go", b"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://blobs.evil.test/x?sig=1\r\nContent-Length: 0\r\n\r\n")
    world.forget()
    with Client(gateway.address) as client:
        response = client.ask(data)
    assert response.status == 307 and response.fields.get("Location") == "https://blobs.evil.test/x?sig=1"
    assert world.dns.count("blobs.evil.test") == 0


def test_fields_of_an_answer_pass_in_order(gateway, world):
    data = answer(world, "/cookies", b"HTTP/1.1 200 Odd Phrase\r\nSet-Cookie: a=1\r\nX: \xe9\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n")
    with Client(gateway.address) as client:
        response = client.ask(data)
    assert response.fields.all("Set-Cookie") == ["a=1", "b=2"] and response.fields.get("X") == "\xe9"


# ---- Expect: 100-continue ---------------------------------------------------------------------------

UP = (f"POST {URL}/expect HTTP/1.1\r\nHost: api.acme.test\r\nContent-Length: 200000\r\nExpect: 100-continue\r\n\r\n").encode()


def test_RESP_04a_a_100_of_the_origin(gateway, world):
    def script(peer):
        peer.read_head()
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert len(peer.read(200000)) == 200000
        peer.send(simple())

    with world.place("e-a.more.test", script), Client(gateway.address) as client:
        client.send(UP.replace(b"api.acme", b"e-a.more"))
        began = time.monotonic()
        assert client.read_until(b"\r\n\r\n").startswith(b"HTTP/1.1 100") and time.monotonic() - began < 0.5
        client.send(b"x" * 200000)
        assert client.response("POST").body == b"ok"


def test_RESP_04b_a_silent_origin(gateway, world):
    """The gateway sends its own 100 after continue_timeout_ms: no deadlock."""
    def script(peer):
        peer.read_head()
        assert len(peer.read(200000)) == 200000
        peer.send(simple())

    with world.place("e-b.more.test", script), Client(gateway.address) as client:
        client.send(UP.replace(b"api.acme", b"e-b.more"))
        began = time.monotonic()
        assert client.read_until(b"\r\n\r\n").startswith(b"HTTP/1.1 100") and 0.5 < time.monotonic() - began < 2
        client.send(b"x" * 200000)
        assert client.response("POST").body == b"ok"


def test_RESP_04c_an_origin_that_refuses_at_once(gateway, world):
    def script(peer):
        peer.read_head()
        peer.send(simple(413, b"no", "Connection: close"))

    with world.place("e-c.more.test", script), Client(gateway.address) as client:
        response = client.ask(UP.replace(b"api.acme", b"e-c.more"))
        assert response.status == 413 and response.interim == []


def test_RESP_04d_a_denied_host(gateway):
    with Client(gateway.address) as client:
        response = client.ask(UP.replace(b"api.acme.test", b"evil.test"))
        refusal.check(response, "not-allowed", "evil.test")
        assert response.interim == []


def test_RESP_04e_an_unknown_expectation(gateway, world):
    world.forget()
    with Client(gateway.address) as client:
        refusal.check(client.ask(get(URL + "/", "Expect: x-magic", "Content-Length: 2", method="POST", body=b"{}")), "expectation")
    assert not world["api"].requests


# ---- streams ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["chunked", "Chunked", "close"])
def test_RESP_06_event_streams(kind, gateway, world):
    def script(peer):
        peer.read_request()
        framing = f"Transfer-Encoding: {kind}" if kind != "close" else "Connection: close"
        peer.send(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n\r\n".encode())
        for number in range(6):
            time.sleep(0.15)
            event = b"data: %d %.6f padding pad\n\n" % (number, time.monotonic())
            peer.send(event if kind == "close" else b"%x\r\n%s\r\n" % (len(event), event))
        if kind != "close":
            peer.send(b"0\r\n\r\n")

    late = []
    with world.place("sse.more.test", script), Client(gateway.address) as client:
        client.send(get("http://sse.more.test/"))
        client.read_until(b"\r\n\r\n")
        for _ in range(6):
            late.append(-float(client.read_until(b"\n\n").split(b" ")[2]) + time.monotonic())
    assert sorted(late)[3] < 0.03 and max(late) < 0.1, late


def test_RESP_07_data_before_the_hangup_is_delivered(gateway, world):
    body = bytes(range(256)) * 3125  # 800000
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)

    with world.place("hup.more.test", script), Client(gateway.address, timeout=20) as client:
        client.send(get("http://hup.more.test/"))
        time.sleep(0.3)  # by now the origin has closed
        assert client.response().body == body


def test_RESP_07_a_reset_after_a_part_of_the_body(gateway, world):
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 50000)
        time.sleep(0.2)
        peer.reset()

    with world.place("rst.more.test", script), Client(gateway.address) as client:
        client.send(get("http://rst.more.test/"))
        with pytest.raises((Closed, ConnectionResetError)):
            client.response()
        assert client.unread.count(b"x") == 50000


def test_RESP_15_no_half_close_towards_the_origin(gateway, world):
    aborted = []

    def script(peer):
        peer.read_request()
        peer.sock.settimeout(0.3)
        try:
            aborted.append(not peer.more())
        except TimeoutError:
            aborted.append(False)
        peer.sock.settimeout(5)
        peer.send(simple())

    with world.place("fin.more.test", script), Client(gateway.address) as client:
        assert client.ask(get("http://fin.more.test/")).body == b"ok"
    assert aborted == [False]


def test_every_split_of_an_answer_is_the_same_answer(gateway, world):
    """The standing rule for what origins send."""
    raw = (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n"
           b"5;e=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n")

    def script(peer):
        while request := peer.read_request():
            at = int(request.target[1:])
            pieces = [raw[:at], raw[at:]] if at else [raw[n:n + 1] for n in range(len(raw))]
            for piece in pieces:
                peer.send(piece)
                time.sleep(0.002)

    results, lock = [], threading.Lock()

    def ask(places):
        with Client(gateway.address) as client:
            for at in places:
                response = client.ask(get(f"http://splits.more.test/{at}"))
                with lock:
                    results.append((response.status, len(response.interim), response.body, tuple(response.trailers), response.fields.get("X-A")))

    with world.place("splits.more.test", script):
        places = list(range(len(raw)))
        threads = [threading.Thread(target=ask, args=(places[n::8],)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == len(raw) and set(results) == {(200, 1, b"hello world", (("X-Sum", "1"),), "1")}


def test_upstream_connections_are_kept_and_replaced(gateway, world):
    """A kept connection that the origin has closed meanwhile costs the client nothing."""
    count = []

    def script(peer):
        peer.read_request()
        count.append(1)
        peer.send(simple())
        time.sleep(0.05)  # then closes without having said so

    with world.place("idle.more.test", script):
        for _ in range(5):
            with Client(gateway.address) as client:
                assert client.ask(get("http://idle.more.test/")).status == 200
            time.sleep(0.15)
    assert len(count) == 5


def test_a_kept_connection_that_dies_at_the_request(gateway, world):
    """Idempotent requests are tried once more on a new connection (RFC 9110 9.2.2); others are answered 502."""
    def script(peer):
        peer.read_request()
        peer.send(simple())
        peer.read_head()
        peer.reset()

    with world.place("dies.more.test", script) as origin:
        with Client(gateway.address) as client:
            assert client.ask(get("http://dies.more.test/1")).status == 200
            assert client.ask(get("http://dies.more.test/2")).status == 200, "GET is safe to repeat"
        assert origin.accepted == 2


def test_http_origin_answers_kept_apart(gateway, world):
    """Two clients, one pool: nobody gets the other's answer."""
    world["api"].answers["/wait"] = lambda peer, request: (time.sleep(0.02), http_origin.echo_head(peer, request))[1]
    wrong = []

    def ask(name):
        with Client(gateway.address) as client:
            for number in range(40):
                if f"/wait?{name}-{number} ".encode() not in client.ask(get(f"{URL}/wait?{name}-{number}")).body:
                    wrong.append((name, number))

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
