"""Answers of an origin that are not answers (case list RESP-11, RESP-14, FRAME-05; P77)."""
import pytest
from support import refusal
from support.cases import get
from support.client import Client, Closed

BAD = [
    ("P77-nul", b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 0\r\n\r\n"),
    ("P77-cr", b"HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n"),
    ("RESP-11-both", b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nX: split\r\n\r\n"),
    ("RESP-11-two", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"),
    ("RESP-11-list", b"HTTP/1.1 200 OK\r\nContent-Length: 3, 5\r\n\r\nabcde"),
    ("RESP-11-gzip", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabcde"),
    ("negative", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
    ("not-http", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    ("no-version", b"200 OK\r\n\r\n"),
    ("status-9", b"HTTP/1.1 999999 OK\r\nContent-Length: 0\r\n\r\n"),
    ("status-text", b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"),
    ("http2", b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ("lf", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"),
    ("fold", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nhi"),
    ("name-space", b"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nhi"),
    ("101-unasked", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    ("RESP-14-1MiB", b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * (1 << 20) + b"\r\n\r\n"),
    ("RESP-14-100000", b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 100000 + b"\r\n"),
]


@pytest.mark.parametrize("id,raw", BAD, ids=[row[0] for row in BAD])
def test_malformed_answers(id, raw, gateway, world):
    """502, nothing of it reaches the client, and the connection is never used again."""
    def script(peer):
        peer.read_request()
        try:
            peer.send(raw)
            peer.read_request()
        except OSError:
            pass

    with world.place(f"bad-{id.lower()}.more.test", script) as origin:
        for _ in range(2):
            with Client(gateway.address) as client:
                response = client.ask(get(f"http://bad-{id.lower()}.more.test/", method="POST"))
                refusal.check(response, "upstream-protocol", f"bad-{id.lower()}.more.test")
        assert origin.accepted == 2


BAD_CHUNKS = [b"-1\r\nx\r\n", b"0x1\r\nx\r\n", b"ffffffffffffffff1\r\nx\r\n", b"5\r\nhelloX\r\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"zz\r\n",
              b"10000000000000005\r\nhello\r\n0\r\n\r\n"]


@pytest.mark.parametrize("raw", BAD_CHUNKS, ids=[str(n) for n in range(len(BAD_CHUNKS))])
def test_FRAME_05_malformed_chunks_of_an_answer(raw, gateway, world):
    """The client must be able to tell that the message is not whole."""
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" + raw)
        peer.gone(2)

    with world.place("chunks.more.test", script), Client(gateway.address) as client:
        client.send(get("http://chunks.more.test/"))
        try:
            response = client.response()
            assert response.status == 502, (response.status, response.body)
        except (Closed, ConnectionResetError):
            pass


def test_RESP_14_a_million_small_chunks(gateway, world):
    """Iteration, not recursion; memory flat."""
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            peer.send(b"1\r\nx\r\n" * 2500)
        peer.send(b"0\r\n\r\n")

    before = gateway.resident_kib()
    with world.place("small.more.test", script), Client(gateway.address, timeout=30) as client:
        client.send(get("http://small.more.test/"))
        client.read_until(b"\r\n\r\n")
        received = 0
        tail = client.unread
        while not tail.endswith(b"0\r\n\r\n"):
            data = client.sock.recv(1 << 20)
            assert data
            received += len(data)
            tail = (tail + data)[-16:]
    assert gateway.grown_kib(before) < 8192
