"""Scripted TCP and TLS servers: a function per connection says what the peer does.

    def half(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nhalf...")
        peer.reset()
"""
import select
import socket
import ssl
import struct
import threading

from . import message


def tls_context(leaf, minimum=None, maximum=None):
    """A server context for a (certificate, key) pair of certs.Authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*leaf)
    if minimum:
        context.minimum_version = minimum
    if maximum:
        context.maximum_version = maximum
    context.sni_callback = _remember_name
    return context


def _remember_name(sock, name, context):
    sock.namzu_sni = name


class Peer:
    """One accepted connection, as a script sees it. Blocking; every wait is bounded."""

    def __init__(self, sock, origin, number):
        self.sock, self.origin, self.number = sock, origin, number
        self.received = b""  # everything that came
        self._unread = b""  # came, but no read has asked for it yet
        self.eof = self.reset_by_peer = self.closed = False
        sock.settimeout(origin.timeout)

    @property
    def sni(self):
        return getattr(self.sock, "namzu_sni", None)

    @property
    def tls_version(self):
        return self.sock.version() if isinstance(self.sock, ssl.SSLSocket) else None

    @property
    def resumed(self):
        return self.sock.session_reused if isinstance(self.sock, ssl.SSLSocket) else None

    def send(self, data):
        self.sock.sendall(data)

    def more(self):
        """Waits for more bytes; False at the end of the stream or after a reset."""
        try:
            data = self.sock.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError):
            self.reset_by_peer = self.eof = True
            return False
        if not data:
            self.eof = True
            return False
        self.received += data
        self._unread += data
        return True

    def read(self, count):
        """Exactly `count` bytes, fewer only at the end."""
        while len(self._unread) < count and self.more():
            pass
        data, self._unread = self._unread[:count], self._unread[count:]
        return data

    def read_until(self, mark):
        while mark not in self._unread and self.more():
            pass
        at = self._unread.find(mark)
        at = len(self._unread) if at < 0 else at + len(mark)
        data, self._unread = self._unread[:at], self._unread[at:]
        return data

    def read_head(self):
        """A request head and nothing of its body; None at the end of the stream."""
        raw = self.read_until(b"\r\n\r\n")
        return raw if raw.endswith(b"\r\n\r\n") else None

    def read_request(self):
        """A whole request, or None when the connection ends before one begins."""
        while True:
            parsed = message.parse_request(self._unread)
            if parsed is not None:
                self._unread = self._unread[parsed[1]:]
                return parsed[0]
            if not self.more():
                if self._unread:
                    raise message.Malformed(f"the stream ends inside a request: {self._unread[:200]!r}")
                return None

    def read_to_end(self):
        while self.more():
            pass
        data, self._unread = self._unread, b""
        return data

    def gone(self, seconds):
        """Does the other side close or reset within this time?"""
        self.sock.settimeout(seconds)
        try:
            while self.more():
                pass
        except (TimeoutError, OSError) as error:
            return not isinstance(error, TimeoutError)
        finally:
            self.sock.settimeout(self.origin.timeout)
        return True

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Ends the connection with RST, queued bytes thrown away."""
        raw = self.sock
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()

    def close(self):
        self.closed = True
        try:
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.settimeout(0.5)
                self.sock.unwrap()
        except (OSError, ValueError):
            pass
        self.sock.close()


class Origin:
    """A listener that runs `script(peer)` in a thread of its own for every connection."""

    def __init__(self, address, port, script, tls=None, timeout=20):
        self.address, self.port, self.script, self.tls, self.timeout = address, port, script, tls, timeout
        self.accepted = 0  # connections that reached us, TLS or not
        self.peers = []  # those whose script began
        self.errors = []  # what went wrong in a script or a handshake
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((address, port))
        self._listener.listen(1024)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def forget(self):
        """Forgets what was; connections that are still open stay known."""
        self.accepted, self.errors = 0, []
        self.peers = [peer for peer in self.peers if not peer.closed]

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        except OSError:
            pass
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=(sock, self.accepted), daemon=True).start()

    def _serve(self, sock, number):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(self.timeout)
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
        except (OSError, ssl.SSLError, ValueError) as error:
            self.errors.append(error)
            sock.close()
            return
        peer = Peer(sock, self, number)
        self.peers.append(peer)
        try:
            self.script(peer)
        except Exception as error:  # kept for the test to look at
            self.errors.append(error)
        finally:
            peer.close()


def silent(peer):
    """Accepts, reads, never answers."""
    peer.read_to_end()


class EchoServer:
    """Sends back what comes, with half-close kept; thousands of connections in one thread."""

    def __init__(self, address, port):
        self.address, self.accepted, self.bytes = address, 0, 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((address, port))
        self._listener.listen(4096)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self.open = {}  # descriptor -> (socket, bytes still to send back, input ended)
        self.streams = []  # all that each connection sent, in the order of acceptance
        self._stop = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def forget(self):
        self.accepted = self.bytes = 0
        self.streams = []

    def close(self):
        self._stop.set()

    def _run(self):
        poller = select.epoll()
        poller.register(self._listener, select.EPOLLIN)
        while not self._stop.is_set():
            for descriptor, events in poller.poll(0.2):
                if descriptor == self._listener.fileno():
                    self._accept(poller)
                elif descriptor in self.open:
                    self._turn(poller, descriptor)
        for state in self.open.values():
            state[0].close()
        self._listener.close()

    def _accept(self, poller):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted += 1
            stream = bytearray()
            self.streams.append(stream)
            self.open[sock.fileno()] = [sock, b"", False, stream]
            poller.register(sock, select.EPOLLIN)

    def _turn(self, poller, descriptor):
        state = self.open[descriptor]
        sock = state[0]
        try:
            if not state[1] and not state[2]:
                data = sock.recv(262144)
                state[2] = not data
                state[1] = data
                self.bytes += len(data)
                if len(state[3]) < 1 << 20:
                    state[3] += data
            if state[1]:
                state[1] = state[1][sock.send(state[1]):]
            if state[2] and not state[1]:
                raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            poller.unregister(descriptor)
            del self.open[descriptor]
            sock.close()
            return
        poller.modify(descriptor, select.EPOLLOUT if state[1] else select.EPOLLIN)


class Blackhole:
    """An address and port that never answers a SYN: its accept queue is full."""

    def __init__(self, address, port=0):
        self.address = address
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((address, port))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self._fill = []
        for _ in range(3):
            sock = socket.socket(family)
            sock.setblocking(False)
            sock.connect_ex((address, self.port))
            self._fill.append(sock)

    def attempts(self):
        """Connections to it that are being tried at this moment (SYN sent), ours not counted."""
        table = "/proc/net/tcp6" if ":" in self.address else "/proc/net/tcp"
        ours = {sock.getsockname()[1] for sock in self._fill}
        count = 0
        with open(table) as lines:
            next(lines)
            for line in lines:
                parts = line.split()
                local, remote = (int(part.rpartition(":")[2], 16) for part in parts[1:3])
                if parts[3] == "02" and remote == self.port and local not in ours:
                    count += 1
        return count

    def close(self):
        for sock in self._fill:
            sock.close()
        self._listener.close()
