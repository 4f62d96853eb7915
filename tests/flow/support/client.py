"""A raw client: sends exactly these bytes in exactly these segments, reads strictly."""
import select
import socket
import ssl
import struct
import time

from . import message


class Closed(Exception):
    """The connection ended before a whole response had come."""


class Client:
    """One connection to the gateway. Blocking, every wait bounded by `timeout`."""

    def __init__(self, address, timeout=5.0):
        self.sock = socket.create_connection(address, timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.sendall(data)

    def send_slowly(self, data, pause, size=1):
        for at in range(0, len(data), size):
            self.sock.sendall(data[at:at + size])
            time.sleep(pause)

    def send_until_answered(self, piece, most):
        """Sends `piece` again and again until something comes back (or `most` bytes are out);
        returns how many bytes that took."""
        sent = 0
        try:
            while sent < most and not select.select([self.sock], [], [], 0)[0]:
                self.sock.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        return sent

    def response(self, method="GET"):
        """The next response; what follows it stays unread."""
        eof = False
        while True:
            parsed = message.parse_response(self.unread, method, eof)
            if parsed is not None:
                self.unread = self.unread[parsed[1]:]
                return parsed[0]
            if eof:
                raise Closed(f"closed after {self.unread[:300]!r}")
            eof = not self._more()

    def ask(self, data, method=None):
        """Sends one request and reads its response."""
        self.send(data)
        return self.response(method or data.split(b" ", 1)[0].decode("latin-1"))

    def read(self, count):
        while len(self.unread) < count and self._more():
            pass
        data, self.unread = self.unread[:count], self.unread[count:]
        return data

    def read_until(self, mark):
        while mark not in self.unread:
            if not self._more():
                raise Closed(f"closed before {mark!r}: {self.unread[:300]!r}")
        at = self.unread.find(mark) + len(mark)
        data, self.unread = self.unread[:at], self.unread[at:]
        return data

    def read_to_end(self):
        """All that still comes, until FIN or RST."""
        try:
            while self._more():
                pass
        except ConnectionResetError:
            pass
        data, self.unread = self.unread, b""
        return data

    def ended(self, seconds=2.0):
        """How the gateway ends this connection within that time: 'fin', 'rst' or None."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.sock.settimeout(left)
                if not self._more():
                    return "fin"
        except (TimeoutError, ssl.SSLWantReadError):
            return None
        except OSError:
            return "rst"
        finally:
            try:
                self.sock.settimeout(self.timeout)
            except OSError:
                pass

    def silent(self, seconds):
        """Nothing comes and the connection stays open for that long."""
        before = len(self.unread)
        return self.ended(seconds) is None and len(self.unread) == before

    def open_tunnel(self, host, port, early=b""):
        """CONNECT; returns the response (status 200 means that the tunnel is open)."""
        self.send(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() + early)
        return self.response("CONNECT")

    def start_tls(self, name, ca_file=None, context=None):
        """TLS towards the far end, inside the tunnel."""
        context = context or ssl.create_default_context(cafile=ca_file)
        self.sock = context.wrap_socket(self.sock, server_hostname=name)

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()

    def _more(self):
        data = self.sock.recv(65536)
        self.unread += data
        return bool(data)
