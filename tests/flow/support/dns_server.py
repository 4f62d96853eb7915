"""A scripted name server on UDP and TCP, written by hand so that it can also answer wrongly.

Each (name, type) has a list of answers; every query takes the next one and the last one repeats.
A name that was never set does not exist (NXDOMAIN); a type without a script has no data.
"""
import dataclasses
import socket
import struct
import threading
import time
from collections import Counter
from typing import Callable, Optional

A, CNAME, AAAA = 1, 5, 28
TYPES = {"A": A, "AAAA": AAAA, "CNAME": CNAME}
TYPE_NAMES = {number: text for text, number in TYPES.items()}
UDP_ROOM = 1232
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


@dataclasses.dataclass
class Record:
    owner: str
    kind: int
    ttl: int
    data: bytes


@dataclasses.dataclass
class Answer:
    """What is sent back to one query."""
    records: tuple = ()
    rcode: int = NOERROR
    truncated: bool = False  # TC=1 and no record over UDP; complete over TCP
    silent: bool = False
    delay: float = 0.0
    # For everything else: gets (query, question end, good answer) and returns the bytes to send.
    mangle: Optional[Callable[[bytes, int, bytes], bytes]] = None


@dataclasses.dataclass
class Query:
    name: str
    kind: str
    transport: str
    time: float


def encode_name(name):
    """Wire form, uncompressed; letter case is kept."""
    labels = [label.encode("latin-1") for label in name.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def a(owner, address, ttl=0):
    return Record(owner, A, ttl, socket.inet_pton(socket.AF_INET, address))


def aaaa(owner, address, ttl=0):
    return Record(owner, AAAA, ttl, socket.inet_pton(socket.AF_INET6, address))


def cname(owner, target, ttl=0):
    return Record(owner, CNAME, ttl, encode_name(target))


def _question(message):
    """(name, type, offset after the question) of a query."""
    labels, at = [], 12
    while message[at] != 0:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1"))
        at += 1 + message[at]
    return ".".join(labels), struct.unpack_from("!H", message, at + 1)[0], at + 5


def build(query, end, answer, over_tcp):
    """A well-formed answer to the query whose question ends at `end`; TC=1 where UDP has no room."""
    whole = _assemble(query, end, answer, False)
    cut = not over_tcp and (answer.truncated or len(whole) > UDP_ROOM)
    return _assemble(query, end, answer, True) if cut else whole


def _assemble(query, end, answer, cut):
    records = () if cut else answer.records
    flags = 0x8180 | (0x0200 if cut else 0) | answer.rcode
    out = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + query[12:end]
    for record in records:
        owner = encode_name(record.owner)
        out += b"\xc0\x0c" if owner == query[12:12 + len(owner)] else owner
        out += struct.pack("!HHIH", record.kind, 1, record.ttl, len(record.data)) + record.data
    return out


class DnsServer:
    """Runs from birth until close(); scripts may change at any time."""

    def __init__(self, address="127.0.0.1"):
        self.address = address
        self.queries = []
        self._scripts = {}  # (name, type) -> list of Answer
        self._names = set()
        self._served = Counter()
        self._lock = threading.Lock()
        for _ in range(50):
            self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            self._udp.bind((address, 0))
            self.port = self._udp.getsockname()[1]
            self._tcp = socket.socket()
            self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                self._tcp.bind((address, self.port))
                break
            except OSError:
                self._udp.close()
                self._tcp.close()
        self._tcp.listen(64)
        for target in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=target, daemon=True).start()

    def close(self):
        self._udp.close()
        self._tcp.close()

    # ---- scripts -------------------------------------------------------------------------

    def host(self, name, *addresses, ttl=0):
        """The name has exactly these addresses, v4 and v6 mixed."""
        v4 = tuple(a(name, text, ttl) for text in addresses if ":" not in text)
        v6 = tuple(aaaa(name, text, ttl) for text in addresses if ":" in text)
        self.script(name, "A", Answer(v4))
        self.script(name, "AAAA", Answer(v6))

    def script(self, name, kind, *answers):
        """Answers to the first, second, … query; the last one repeats."""
        with self._lock:
            name = name.lower()
            self._names.add(name)
            self._scripts[name, TYPES[kind]] = list(answers)
            self._served[name, TYPES[kind]] = 0

    def script_both(self, name, *answers):
        self.script(name, "A", *answers)
        self.script(name, "AAAA", *answers)

    def alias(self, owner, *chain):
        """owner CNAME chain[0] CNAME … with the addresses of the last name, in one answer."""
        for kind in ("A", "AAAA"):
            names = (owner,) + chain
            links = tuple(cname(names[i], names[i + 1]) for i in range(len(chain)))
            with self._lock:
                last = self._scripts.get((chain[-1].lower(), TYPES[kind]), [Answer()])[0]
            self.script(owner, kind, Answer(links + last.records))

    # ---- what was asked ------------------------------------------------------------------

    def forget(self):
        with self._lock:
            self.queries = []

    def count(self, name=None, kind=None):
        """How many queries for the name (and type) since forget()."""
        with self._lock:
            return sum(1 for q in self.queries
                       if (name is None or q.name == name.lower()) and (kind is None or q.kind == kind))

    def asked(self):
        """Names asked since forget(), without repeats."""
        with self._lock:
            return {q.name for q in self.queries}

    # ---- serving -------------------------------------------------------------------------

    def _answer_for(self, query, transport):
        name, kind, end = _question(query)
        key = (name.lower(), kind)
        with self._lock:
            self.queries.append(Query(name.lower(), TYPE_NAMES.get(kind, str(kind)), transport, time.monotonic()))
            script = self._scripts.get(key)
            if script is None:
                return Answer(rcode=NOERROR if key[0] in self._names else NXDOMAIN), end
            at = min(self._served[key], len(script) - 1)
            answer = script[at]
            # A truncated answer and its repetition over TCP are one turn.
            if not (answer.truncated and transport == "udp"):
                self._served[key] += 1
            return answer, end

    def _reply(self, query, transport):
        """The bytes to send (None: nothing) and after how many seconds."""
        try:
            answer, end = self._answer_for(query, transport)
        except (IndexError, struct.error):
            return None, 0.0
        if answer.silent:
            return None, 0.0
        good = build(query, end, answer, transport == "tcp")
        return (answer.mangle(query, end, good) if answer.mangle else good), answer.delay

    def _serve_udp(self):
        while True:
            try:
                query, peer = self._udp.recvfrom(4096)
            except OSError:
                return
            reply, delay = self._reply(query, "udp")
            if reply is None:
                continue
            if delay == 0.0:
                self._send_udp(reply, peer)
            else:
                timer = threading.Timer(delay, self._send_udp, (reply, peer))
                timer.daemon = True
                timer.start()

    def _send_udp(self, reply, peer):
        try:
            self._udp.sendto(reply, peer)
        except OSError:
            pass

    def _serve_tcp(self):
        while True:
            try:
                peer, _ = self._tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_stream, args=(peer,), daemon=True).start()

    def _serve_stream(self, peer):
        with peer, peer.makefile("rb") as stream:
            peer.settimeout(10)
            try:
                while True:
                    head = stream.read(2)
                    if len(head) < 2:
                        return
                    query = stream.read(struct.unpack("!H", head)[0])
                    reply, delay = self._reply(query, "tcp")
                    if reply is not None:
                        time.sleep(delay)
                        peer.sendall(struct.pack("!H", len(reply)) + reply)
            except OSError:
                return


# ---- wrong answers -----------------------------------------------------------------------
# Each takes (query, question end, good answer) and returns what is sent instead.

def _with_raw_record(query, end, owner, address="93.184.216.34", extra=b""):
    """One A record whose owner bytes are given as they are."""
    return (query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + query[12:end] + owner
            + struct.pack("!HHIH", A, 1, 0, 4) + socket.inet_aton(address) + extra)


def pointer_to_itself(query, end, good):
    """The answer's owner is a compression pointer to itself."""
    return _with_raw_record(query, end, struct.pack("!H", 0xC000 | end))


def pointer_pair(query, end, good):
    """Two compression pointers that point at each other."""
    first = end
    return _with_raw_record(query, end, struct.pack("!HH", 0xC000 | first + 2, 0xC000 | first))


def pointer_in_question(query, end, good):
    """The question's own name is a pointer to offset 12, which is itself."""
    return query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + b"\xc0\x0c\0\1\0\1" + b"\xc0\x0c" + \
        struct.pack("!HHIH", A, 1, 0, 4) + socket.inet_aton("93.184.216.34")


def label_length(byte):
    """The owner's first label says it has `byte` bytes (more than 63, or a reserved type)."""
    def mangle(query, end, good):
        return _with_raw_record(query, end, bytes([byte]) + b"a" * 70 + b"\0")
    return mangle


def cut_short(query, end, good):
    """Ends in the middle of a record."""
    return good[:-3]


def wrong_id(query, end, good):
    return bytes([good[0] ^ 0xFF]) + good[1:]


def wrong_question(query, end, good):
    """Answers a question that nobody asked."""
    return good[:12] + good[12:].replace(query[12:end], encode_name("other.test") + query[end - 4:end], 1)


def no_question(query, end, good):
    return good[:4] + b"\0\0" + good[6:12] + good[end:]


def garbage(query, end, good):
    return query[:2] + b"\xff" * 40


def empty(query, end, good):
    return b""
