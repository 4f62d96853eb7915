"""Where a message ends, and what a line may hold (case list FRAME and SYN rows).

Every case is sent in one segment, split at every byte, and byte by byte (FRAME-16)."""
import threading
import time

import pytest
from support import hello, refusal, segments
from support.cases import Case, Expect, Seen, get, head, refused, run, served
from support.client import Client
from support.http_origin import simple
from support.world import config

URL = "http://api.acme.test/a"
INNER = b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"


def post(*lines, body=b""):
    return get(URL, *lines, method="POST", body=body)


def coded(coding, id, *more):
    """A chunked body under some spelling of Transfer-Encoding, refused."""
    return refused(f"FRAME-02-{id}", post(f"Transfer-Encoding:{coding}", *more, body=b"5\r\nhello\r\n0\r\n\r\n"), 400)


def chunk(id, body, why=""):
    """A chunked body that is malformed: 400 and close, and no whole request upstream."""
    return refused(id, post("Transfer-Encoding: chunked", body=body), 400, closes=True, may_connect=True, asked=None, why=why)


SEEN_HELLO = Seen("api", "/a", "POST", "api.acme.test", body=b"hello")

FRAMING = [
    refused("FRAME-01", post("Content-Length: 56", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + INNER), 400),
    refused("FRAME-01-order", post("Transfer-Encoding: chunked", "Content-Length: 56", body=b"0\r\n\r\n" + INNER), 400),
    served("FRAME-02-case", post("Transfer-Encoding: Chunked", body=b"5\r\nhello\r\n0\r\n\r\n"), SEEN_HELLO),
    coded(" chunked,", "comma"), coded("", "empty"), coded(" chunked, gzip", "last"), coded(" xchunked", "x"),
    coded(" chunked, chunked", "twice"), coded(" gzip, chunked", "gzip"), coded(' "chunked"', "quoted"),
    coded(" chunked", "two-lines", "Transfer-Encoding: chunked"), coded(" chunked;q=1", "parameter"), coded(" chunke", "short"),
    coded(" chunked x", "word"), coded(" \x0bchunked", "vt"),
    refused("FRAME-02-1.0", get(URL, "Transfer-Encoding: chunked", method="POST", version="HTTP/1.0", body=b"0\r\n\r\n"), 400,
            why="RFC 9112 6.1: a 1.0 message with Transfer-Encoding has faulty framing"),
    refused("FRAME-03-two", post("Content-Length: 3", "Content-Length: 30", body=b"abc"), 400),
    refused("FRAME-03-list", post("Content-Length: 3, 30", body=b"abc"), 400),
    *[refused(f"length-{n}", post(f"Content-Length:{text}", body=b"hello"), 400) for n, text in enumerate(
        (" +5", " -5", " 0x5", " 5 5", "", " 5;", " 5.0", " 99999999999999999999", " 18446744073709551621", " \x0b5"))],
    served("length-zeros", post("Content-Length: 0005", body=b"hello"), SEEN_HELLO),
    served("FRAME-05-zeros", post("Transfer-Encoding: chunked", body=b"00000005\r\nhello\r\n0\r\n\r\n"), SEEN_HELLO),
    served("FRAME-05-extension", post("Transfer-Encoding: chunked", body=b"5;a=b\r\nhello\r\n0;x\r\n\r\n"), SEEN_HELLO,
           why="extensions are legal and go no further"),
    served("FRAME-05-hex", post("Transfer-Encoding: chunked", body=b"A\r\n0123456789\r\n0\r\n\r\n"),
           Seen("api", "/a", "POST", "api.acme.test", body=b"0123456789")),
    *[chunk(f"FRAME-05-{n}", size + b"\r\nhello\r\n0\r\n\r\n") for n, size in enumerate(
        (b"-1", b"+5", b"0x5", b"5_0", b" 5", b"", b"ffffffffffffffff", b"7ffffffffffffffe", b"10000000000000005", b"ZZ", b"5 ", b"5\t", b";x"))],
    chunk("FRAME-05-no-end", b"5\r\nhelloX\r\n0\r\n\r\n", why="the data is longer than its size"),
    chunk("P55", b"ZZ\r\n"),
    chunk("FRAME-06-size", b"5\nhello\r\n0\r\n\r\n"),
    chunk("FRAME-06-data", b"5\r\nhello\n0\r\n\r\n"),
    chunk("FRAME-06-end", b"5\r\nhello\r\n0\n\n"),
    chunk("FRAME-06-extension", b"5;a\nb\r\nhello\r\n0\r\n\r\n"),
    chunk("FRAME-06-cr", b"5\rhello\r\n0\r\n\r\n"),
    chunk("FRAME-06-trailer", b"5\r\nhello\r\n0\r\nX: 1\n\r\n"),
    refused("FRAME-11", post("Transfer-Encoding: identity", "Content-Length: 5", body=b"hello"), 400),
    refused("FRAME-11-alone", post("Transfer-Encoding: identity", body=b"hello"), 400),
    chunk("FRAME-15-e1", b"\xe1\r\nhello\r\n0\r\n\r\n"), chunk("FRAME-15-ff", b"\xff\r\nhello\r\n0\r\n\r\n"),
    chunk("FRAME-15-80", b"5\x80\r\nhello\r\n0\r\n\r\n"),
    refused("FRAME-15-name", post("X\xff: 1"), 400),
    served("no-body", post(), Seen("api", "/a", "POST", "api.acme.test")),
    served("get-with-length-0", get(URL, "Content-Length: 0"), Seen("api", "/a", host="api.acme.test"), why="Java"),
    served("get-with-body", get(URL, "Content-Length: 5", body=b"hello"), Seen("api", "/a", host="api.acme.test", body=b"hello")),
    Case("pipeline", post("Content-Length: 5", body=b"hello") + get("http://api.acme.test/b")
         + post("Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n") + get("http://x.pkgs.test/c"),
         (Expect(200, method="POST"), Expect(200), Expect(200, method="POST"), Expect(200)),
         (SEEN_HELLO, Seen("api", "/b", host="api.acme.test"), SEEN_HELLO, Seen("pkgs", "/c", host="x.pkgs.test")),
         why="apt pipelines; the answers keep their order"),
]

SYNTAX = [
    refused("SYN-01-nul", get(URL, "X-Tag: a\x00b"), 400),
    refused("SYN-01-host", get(URL, host="api.acme.test\x00.evil.test"), 400),
    refused("SYN-01-vt", get(URL, "X-Tag: a\x0bb"), 400), refused("SYN-01-del", get(URL, "X-Tag: a\x7fb"), 400),
    refused("SYN-01-cr", get(URL, "X-Tag: a\rb"), 400), refused("SYN-01-cr-line", get(URL, "X-Tag: a\rX-B: b"), 400),
    served("SYN-01-obs-text", get(URL, "X-Tag: a\xe9\tb"), Seen("api", "/a", host="api.acme.test", fields={"X-Tag": "a\xe9\tb"})),
    *[refused(f"SYN-02-{n}", get(URL, line), 400) for n, line in enumerate(
        (": x", "Transfer-Encoding : chunked", "Bad Name: 1", "X\x01: 1", "NoColon", "X-A\t: 1", "(x): 1", "X@: 1"))],
    refused("SYN-02-first", head(f"GET {URL} HTTP/1.1", " X-First: 1", "Host: api.acme.test"), 400),
    refused("SYN-02-fold", get(URL, "X-A: 1", "  folded"), 400), refused("SYN-02-fold-tab", get(URL, "X-A: 1", "\tfolded"), 400),
    refused("SYN-04", b"GET http://api.acme.test/a HTTP/1.1\nHost: api.acme.test\n\n", 400),
    refused("SYN-04-mixed", b"GET http://api.acme.test/a HTTP/1.1\r\nHost: api.acme.test\n\r\n", 400),
    refused("SYN-04-first", b"GET http://api.acme.test/a HTTP/1.1\nHost: api.acme.test\r\n\r\n", 400),
    refused("SYN-04-end", b"GET http://api.acme.test/a HTTP/1.1\r\nHost: api.acme.test\r\n\n", 400),
    refused("SYN-04-end2", b"GET http://api.acme.test/a HTTP/1.1\r\nHost: api.acme.test\n\r\n\r\n", 400),
    refused("SYN-05", head("POST /v1/chat/completions HTTP/1.1", "Host: 127.0.0.1:{self}", "Content-Length: 2", body=b"{}"), 421, "loop",
            why="a base URL that names the gateway: the text says how to set a proxy"),
    refused("SYN-07", b" http://api.acme.test/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, method="GET"),
    refused("SYN-07-empty", b"\0\0\0\0\r\n\r\n", 400, method="GET"),
    refused("SYN-09", hello.client_hello("api.acme.test", pad=300)[:300], 400, "tls-to-plain", method="GET",
            why="no wait for the timeout; the log says that the URL should start with http://"),
    refused("line-two-spaces", f"GET  {URL} HTTP/1.1\r\nHost: api.acme.test\r\n\r\n".encode(), 400),
    refused("line-tab", f"GET\t{URL} HTTP/1.1\r\nHost: api.acme.test\r\n\r\n".encode(), 400),
    refused("line-space-end", f"GET {URL} HTTP/1.1 \r\nHost: api.acme.test\r\n\r\n".encode(), 400),
    refused("line-no-version", f"GET {URL}\r\nHost: api.acme.test\r\n\r\n".encode(), (400, 505)),
    refused("line-version-case", f"GET {URL} http/1.1\r\nHost: api.acme.test\r\n\r\n".encode(), (400, 505)),
    refused("line-space-in-target", f"GET {URL} b HTTP/1.1\r\nHost: api.acme.test\r\n\r\n".encode(), 400),
    refused("method-colon", f"G:T {URL} HTTP/1.1\r\nHost: api.acme.test\r\n\r\n".encode(), 400, method="GET"),
    served("method-PROPFIND", get(URL, "Depth: 0", method="PROPFIND"), Seen("api", "/a", "PROPFIND", "api.acme.test"), why="git"),
    served("method-own", get(URL, method="X-OWN"), Seen("api", "/a", "X-OWN", "api.acme.test"), why="specification 3.4: any token"),
    served("fields-order", get(URL, "X-A: 1", "X-B: 2", "X-A: 3"),
           Seen("api", "/a", host="api.acme.test", fields={"X-A": ["1", "3"], "X-B": "2"})),
    served("field-empty", get(URL, "X-A:", "X-B:  \t v \t "), Seen("api", "/a", host="api.acme.test", fields={"X-A": "", "X-B": "v"})),
]


@pytest.mark.parametrize("case", FRAMING, ids=str)
def test_framing(case, gateway, world):
    run(case, gateway, world)


@pytest.mark.parametrize("case", SYNTAX, ids=str)
def test_syntax(case, gateway, world):
    run(case, gateway, world)


@pytest.mark.parametrize("id,lines,body,right", [
    ("FRAME-02-ows", ["Transfer-Encoding: chunked \t"], b"5\r\nhello\r\n0\r\n\r\n", "chunked or 400"),
    ("FRAME-03-same", ["Content-Length: 5", "Content-Length: 5"], b"hello", "one field upstream or 400"),
    ("FRAME-05-long-zeros", ["Transfer-Encoding: chunked"], b"00000000000000000000000005\r\nhello\r\n0\r\n\r\n", "5 or 400"),
])
def test_either_way_but_always_the_same(id, lines, body, right, gateway, world):
    world.forget()
    outcomes = segments.run(gateway.address, post(*lines, body=body), ("POST",))
    assert not [o.problem for o in outcomes if o.problem]
    statuses = {o.responses[0].status for o in outcomes}
    assert statuses in ({200}, {400}), f"{right}: {statuses}"
    if statuses == {200}:
        seen = world["api"].wait_for(len(outcomes))
        assert all(s.body == b"hello" and len(s.fields.all("content-length") + s.fields.all("transfer-encoding")) == 1 for s in seen)
    else:
        assert not world["api"].requests


@pytest.mark.parametrize("follows", [get("http://api.acme.test/ok")], ids=["ok"])
def test_FRAME_10_the_body_of_a_refused_request_is_not_a_request(follows, gateway, world):
    inner = get("http://api.acme.test/steal")
    for lines, body in ((["Content-Length: %d" % len(inner)], inner),
                        (["Transfer-Encoding: chunked"], b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner))):
        world.forget()
        data = get("http://evil.test/", *lines, method="POST", body=body) + follows
        outcomes = segments.run(gateway.address, data, ("POST",))
        assert all(not o.problem and o.responses[0].reason == "not-allowed" for o in outcomes)
        time.sleep(0.1)
        assert {seen.target for seen in world["api"].requests} <= {"/ok"}


def test_FRAME_10_a_large_body_of_a_refused_request(gateway, world):
    """More than drain_body_bytes: the answer arrives all the same, then the connection closes."""
    world.forget()
    data = get("http://evil.test/", "Content-Length: 3000000", method="POST", body=get("http://api.acme.test/steal") * 40000)
    with Client(gateway.address) as client:
        def send():
            try:
                client.send(data[:3000000] + get("http://api.acme.test/ok"))
            except OSError:
                pass

        sender = threading.Thread(target=send)
        sender.start()
        refusal.check(client.response(), "not-allowed", "evil.test")
        assert client.ended(3) is not None
        sender.join()
    assert not world["api"].requests


def test_FRAME_08_a_flood_of_chunk_extensions(gateway, world):
    world.forget()
    before = gateway.resident_kib()
    with Client(gateway.address, timeout=10) as client:
        client.send(post("Transfer-Encoding: chunked"))
        sent = client.send_until_answered(b"1;" + b"a" * 8000 + b"\r\nX\r\n", 24 << 20)
        refusal.check(client.response("POST"), None)
        assert client.ended(3) is not None
    assert sent < 4 << 20, "the flood was taken to its end"
    assert gateway.grown_kib(before) < 4096
    assert not world["api"].requests


def test_FRAME_08_small_chunks_are_fine(gateway, world):
    """16 times the data is within bounds: real clients send small chunks."""
    world.forget()
    body = b"".join(b"1\r\nx\r\n" for _ in range(20000)) + b"0\r\n\r\n"
    with Client(gateway.address, timeout=20) as client:
        sender = threading.Thread(target=client.send, args=(post("Transfer-Encoding: chunked", body=body),))
        sender.start()
        assert client.response("POST").status == 200
        sender.join()
    assert world["api"].requests[0].body == b"x" * 20000


def test_FRAME_13_a_final_answer_before_the_body_is_all_sent(gateway, world):
    def early(peer):
        peer.read_head()
        peer.read(10000)
        peer.send(simple(413, b"no"))
        peer.read_to_end()

    with world.place("f13.more.test", early) as origin:
        with Client(gateway.address) as client:
            client.send(get("http://f13.more.test/up", "Content-Length: 10000000", method="POST", body=b"x" * 20000))
            began = time.monotonic()
            response = client.response("POST")
            assert response.status == 413 and response.body == b"no" and time.monotonic() - began < 1
            try:
                for _ in range(100):
                    client.send(b"GET http://evil.test/ HTTP/1.1\r\n" * 100)
            except OSError:
                pass
            assert client.ended(4) is not None
        with Client(gateway.address) as client:
            client.send(get("http://f13.more.test/up", "Content-Length: 10000", method="POST", body=b"x" * 10000))
            client.response("POST")
        assert origin.accepted == 2, "the first upstream connection must not be reused"


# ---- SYN-11: limits, and everything exactly at them -----------------------------------------------

LINE, HEAD, FIELDS = 8192, 32768, 128


def line_of(length):
    """A request whose line has that many bytes, the line end not counted."""
    start, end = "GET http://api.acme.test/", " HTTP/1.1"
    path = "p" * (length - len(start) - len(end))
    return head(start + path + end, "Host: api.acme.test"), "/" + path


def head_of(length):
    """A request whose whole head has that many bytes, in several fields."""
    lines = [f"X-{n}: " + "v" * 4000 for n in range(7)]
    room = length - len(get(URL, *lines, "X-Rest: "))
    return get(URL, *lines, "X-Rest: " + "r" * room)


SIZES = [
    served("SYN-11-line", line_of(LINE - 2)[0], Seen("api", line_of(LINE - 2)[1], host="api.acme.test")),
    refused("SYN-11-line-over", line_of(LINE + 1)[0], 414, "uri-too-long"),
    refused("SYN-11-line-far-over", line_of(60000)[0], 414, "uri-too-long"),
    served("SYN-11-head", head_of(HEAD), Seen("api", "/a", host="api.acme.test")),
    refused("SYN-11-head-over", head_of(HEAD + 5), 431, "headers-too-large"),
    served("SYN-11-fields", get(URL, *[f"X-{n}: v" for n in range(FIELDS - 1)]), Seen("api", "/a", host="api.acme.test")),
    refused("SYN-11-fields-over", get(URL, *[f"X-{n}: v" for n in range(FIELDS)]), 431, "headers-too-large"),
    refused("SYN-11-10001", get(URL, *["X: a"] * 10001), 431, "headers-too-large"),
]


@pytest.mark.parametrize("case", SIZES, ids=str)
def test_SYN_11(case, gateway, world):
    run(case, gateway, world)


@pytest.mark.parametrize("piece,status,reason", [
    (b"X: a\r\n", 431, "headers-too-large"), (b"a", 431, "headers-too-large")])
def test_SYN_11_a_head_without_end(piece, status, reason, gateway):
    """The answer comes as soon as the cap is passed; memory stays bounded."""
    before = gateway.resident_kib()
    with Client(gateway.address) as client:
        client.send(f"GET {URL} HTTP/1.1\r\nHost: api.acme.test\r\nX-Start: ".encode())
        sent = client.send_until_answered(piece * 1000, 16 << 20)
        response = client.response()
        assert response.status == status and response.reason == reason
        assert sent < 4 << 20
    assert gateway.grown_kib(before) < 4096


def test_a_limit_of_the_request_body(gateways, world):
    gateway = gateways.get(config(world, limits={"request_body_bytes": 1000}))
    for case in (
        served("at", post("Content-Length: 1000", body=b"b" * 1000), Seen("api", "/a", "POST", "api.acme.test", body=b"b" * 1000)),
        refused("over", post("Content-Length: 1001", body=b"b" * 1001), 413, "too-large"),
        refused("chunked", post("Transfer-Encoding: chunked", body=b"3e9\r\n" + b"b" * 1001 + b"\r\n0\r\n\r\n"), 413, "too-large",
                may_connect=True, asked=None),
    ):
        run(case, gateway, world)
