"""An ordinary HTTP/1.1 origin that records what reached it byte for byte and answers by path."""
import base64
import dataclasses
import hashlib
import threading
import time

from .message import Request
from .origin import Origin


@dataclasses.dataclass
class Seen:
    """One request as it arrived."""
    request: Request
    connection: int
    sni: str
    tls_version: str
    resumed: bool

    def __getattr__(self, name):
        return getattr(self.request, name)


class HttpOrigin(Origin):
    """Paths:

    answers[path] = bytes             sent as they are
    answers[path] = f(peer, request)  does what it wants with the connection
    any other                         200 with the raw request head as the body
    """

    def __init__(self, address, port, tls=None, name=""):
        self.answers = {}
        self.requests = []
        self.name = name
        self._lock = threading.Lock()
        super().__init__(address, port, self._converse, tls)

    def forget(self):
        super().forget()
        with self._lock:
            self.requests = []

    def wait_for(self, count, seconds=3):
        """Waits until that many requests have been recorded; returns them."""
        deadline = time.monotonic() + seconds
        while len(self.requests) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        return list(self.requests)

    def _converse(self, peer):
        peer.sock.settimeout(60)
        while True:
            try:
                request = peer.read_request()
            except (OSError, ValueError):
                return
            if request is None:
                return
            with self._lock:
                self.requests.append(Seen(request, peer.number, peer.sni, peer.tls_version, peer.resumed))
            path = request.target.partition("?")[0]
            answer = self.answers.get(path, echo_head)
            if callable(answer):
                if answer(peer, request) is STOP:
                    return
            else:
                peer.send(answer)
                if b"\r\nconnection: close" in answer.partition(b"\r\n\r\n")[0].lower():
                    return


STOP = object()  # returned by an answer that is done with the connection


def simple(status=200, body=b"ok", *fields):
    """Bytes of an answer with Content-Length."""
    lines = [f"HTTP/1.1 {status} Test", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def echo_head(peer, request):
    body = request.raw_head if request.method != "HEAD" else b""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(request.raw_head)}\r\n\r\n"
    peer.send(head.encode() + body)


def chunked(*pieces, trailers=(), pause=0.0):
    """An answer in chunks, optionally with trailers and a pause before each piece."""
    def answer(peer, request):
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            if pause:
                time.sleep(pause)
            peer.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        peer.send(b"0\r\n" + b"".join(line + b"\r\n" for line in trailers) + b"\r\n")
    return answer


def event_stream(count, every):
    """Server-sent events, each with the time at which it was sent."""
    def answer(peer, request):
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(count):
            event = b"data: %d %.6f\n\n" % (number, time.monotonic())
            peer.send(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(every)
        peer.send(b"0\r\n\r\n")
    return answer


def websocket_echo(peer, request):
    """A 101 with a first frame in the same segment, then whatever comes is sent back."""
    key = request.fields.get("Sec-WebSocket-Key", "")
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n\x81\x05first")
    while True:
        data = peer.read(1)
        if not data:
            return STOP
        data += peer._unread
        peer._unread = b""
        peer.send(data)


def stream_until_gone(peer, request):
    """Sends without end; notes on the peer when the other side went away."""
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    try:
        while True:
            peer.send(b"5\r\ntick\n\r\n")
            time.sleep(0.02)
    except OSError:
        peer.gone_at = time.monotonic()
        return STOP
