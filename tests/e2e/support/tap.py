"""A recording relay between a client and the gateway: what did the client really send?"""
import dataclasses
import re
import socket
import threading


@dataclasses.dataclass
class Exchange:
    """One connection of a client to the proxy."""
    sent: bytes = b""  # by the client
    answered: bytes = b""  # by the gateway

    def heads(self):
        """Request heads in their order. Bodies are not understood: for requests without one."""
        found = []
        for block in self.sent.split(b"\r\n\r\n")[:-1]:
            if not re.match(rb"[A-Z]+ \S+ HTTP/1\.[01](\r\n|\Z)", block):
                break
            found.append(block.decode("latin-1"))
        return found


class Tap:
    """Listens on a port of its own and passes everything on to `target`, unchanged."""

    def __init__(self, target):
        self.target, self.exchanges = target, []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def requests(self):
        """(first line, {lower-case field name: value}) of all heads of all connections."""
        return [(head.split("\r\n")[0], _fields(head)) for exchange in self.exchanges for head in exchange.heads()]

    def first_lines(self):
        return [line for line, _ in self.requests()]

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
                upstream = socket.create_connection(self.target)
            except OSError:
                return
            exchange = Exchange()
            self.exchanges.append(exchange)
            for one in (client, upstream):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_pass_on, args=(client, upstream, exchange, "sent"), daemon=True).start()
            threading.Thread(target=_pass_on, args=(upstream, client, exchange, "answered"), daemon=True).start()


def _fields(head):
    pairs = (line.partition(":") for line in head.split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _pass_on(source, sink, exchange, record):
    """Until the end of the stream, which is passed on too (half-close is kept)."""
    try:
        while data := source.recv(65536):
            setattr(exchange, record, getattr(exchange, record) + data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # one side is gone: so is the other
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
