"""A recording HTTP/1.1 server for real clients: a function answers each request.

    def answer(request):
        return Answer(200, b"hello", {"Content-Type": "text/plain"})

It may also return f(peer, request), which does what it wants with the connection (server-sent
events, WebSocket) and ends it.
"""
import base64
import dataclasses
import hashlib
import json
import threading
import time

from flow.support import message
from flow.support.origin import Origin

# RFC 9110 7.6.1 and what proxies were sent before it: none of these may reach a server.
HOP_BY_HOP = ("connection", "proxy-connection", "keep-alive", "te", "upgrade", "http2-settings",
              "proxy-authorization", "proxy-authenticate")


@dataclasses.dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    fields: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Seen:
    """One request as it arrived."""
    request: message.Request
    connection: int
    sni: str

    def __getattr__(self, name):
        return getattr(self.request, name)

    def field(self, name):
        return self.request.fields.get(name)


class Service(Origin):
    def __init__(self, address, tls, answer, port=0):
        self.answer, self.requests = answer, []
        super().__init__(address, port, self._converse, tls, timeout=60)

    def forget(self):
        super().forget()
        self.requests = []

    def _converse(self, peer):
        while (request := _read(peer)) is not None:
            self.requests.append(Seen(request, peer.number, peer.sni))
            answer = self.answer(request)
            if callable(answer):
                answer(peer, request)
                return
            _send(peer, request, answer)
            if request.version == "HTTP/1.0" or "close" in request.fields.tokens("Connection"):
                return


def _read(peer):
    """The next request, its body read piece by piece; None when the client is done."""
    raw = peer.read_head()
    if raw is None:
        return None
    request, _ = message.parse_request(_without_framing(raw))
    request.raw_head, request.fields = raw, message.split_head(raw)[1]
    request.framing, length = message.length_of(request.fields)
    if "100-continue" in request.fields.tokens("Expect"):
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    if request.framing == "length":
        request.body = peer.read(length)
    elif request.framing == "chunked":
        pieces = []
        while size := int(peer.read_until(b"\r\n").split(b";")[0], 16):
            pieces.append(peer.read(size))
            peer.read(2)
        while peer.read_until(b"\r\n") not in (b"\r\n", b""):
            pass  # trailers
        request.body = b"".join(pieces)
    return request


def _without_framing(raw):
    return raw.partition(b"\r\n")[0] + b"\r\n\r\n"


def _send(peer, request, answer):
    body = b"" if request.method == "HEAD" or answer.status in (204, 304) else answer.body
    lines = [f"HTTP/1.1 {answer.status} Test"]
    if answer.status != 204:
        lines.append(f"Content-Length: {len(answer.body)}")
    lines += [f"{name}: {value}" for name, value in answer.fields.items()]
    peer.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def echo(request):
    """Tells what arrived, but no header: the sandbox must not learn what was stamped."""
    told = {"method": request.method, "target": request.target, "length": len(request.body),
            "sha256": hashlib.sha256(request.body).hexdigest()}
    return Answer(200, json.dumps(told).encode(), {"Content-Type": "application/json"})


class Events:
    """Server-sent events, each sent only when the test says so: release() sends one more."""

    def __init__(self, count):
        self.count, self._next = count, threading.Semaphore(0)

    def release(self):
        self._next.release()

    def __call__(self, peer, request):
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        for number in range(self.count):
            if not self._next.acquire(timeout=20):
                return  # a body cut short: nobody takes it for a whole one
            event = b"event: delta\ndata: {\"text\": \"piece %d\"}\n\n" % number
            peer.send(b"%x\r\n%s\r\n" % (len(event), event))
        peer.send(b"0\r\n\r\n")
        time.sleep(0.05)


def websocket(peer, request):
    """RFC 6455: greets, then sends back each text message, and closes when the client does."""
    key = request.fields.get("Sec-WebSocket-Key", "")
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + _frame(1, b"hello"))
    while len(head := peer.read(2)) == 2:
        length = head[1] & 0x7f
        if length == 126:
            length = int.from_bytes(peer.read(2), "big")
        mask = peer.read(4)
        data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(peer.read(length)))
        opcode = head[0] & 0x0f
        if opcode in (1, 8):
            peer.send(_frame(opcode, data))
        if opcode == 8:
            return


def _frame(opcode, data):
    length = bytes([len(data)]) if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
    return bytes([0x80 | opcode]) + length + data
