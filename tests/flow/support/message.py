"""A strict reader of HTTP/1.1 messages: what it accepts is beyond doubt, the rest is Malformed.

Written for the tests alone and sharing nothing with the gateway, so that both cannot be wrong in
the same way.
"""
import dataclasses
import re

TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")


class Malformed(Exception):
    """The bytes are not an HTTP message."""


class Fields(list):
    """(name, value) pairs in their order; names compare without case."""

    def all(self, name):
        return [value for key, value in self if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        if len(values) > 1:
            raise Malformed(f"{name} is there {len(values)} times")
        return values[0] if values else default

    def names(self):
        return [key.lower() for key, _ in self]

    def tokens(self, name):
        """The comma-separated list over all lines of the field."""
        return [part.strip().lower() for value in self.all(name) for part in value.split(",") if part.strip()]


@dataclasses.dataclass
class Message:
    first_line: str
    fields: Fields
    raw_head: bytes
    body: bytes = b""
    framing: str = "none"  # none, length, chunked, close
    trailers: Fields = dataclasses.field(default_factory=Fields)


@dataclasses.dataclass
class Response(Message):
    version: str = ""
    status: int = 0
    interim: list = dataclasses.field(default_factory=list)

    @property
    def reason(self):
        return self.fields.get("X-Namzu-Reason")


@dataclasses.dataclass
class Request(Message):
    method: str = ""
    target: str = ""
    version: str = ""


def parse_fields(block):
    fields = Fields()
    for line in block.split(b"\r\n") if block else []:
        name, colon, value = line.partition(b":")
        value = value.strip(b" \t")
        if not colon or not TOKEN.match(name) or not VALUE.match(value):
            raise Malformed(f"field line {line!r}")
        fields.append((name.decode("ascii"), value.decode("latin-1")))
    return fields


def split_head(data):
    """(first line, Fields, raw head with the empty line), or None if it is not all there."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    raw = data[:end + 4]
    if b"\n" in raw.replace(b"\r\n", b"") or b"\r" in raw.replace(b"\r\n", b""):
        raise Malformed(f"bare CR or LF in {raw!r}")
    first, _, rest = data[:end].partition(b"\r\n")
    return first.decode("latin-1"), parse_fields(rest), raw


def length_of(fields):
    """('none' | 'length' | 'chunked', length); both at once or a bad length is Malformed."""
    coded, length = fields.get("Transfer-Encoding"), fields.get("Content-Length")
    if coded is not None:
        if length is not None or coded.lower() != "chunked":
            raise Malformed(f"Transfer-Encoding {coded!r} with Content-Length {length!r}")
        return "chunked", 0
    if length is None:
        return "none", 0
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise Malformed(f"Content-Length {length!r}")
    return "length", int(length)


def parse_chunked(data):
    """(body, trailers, bytes used), or None if more is needed."""
    body, at = [], 0
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            if len(data) - at > 20000:
                raise Malformed("endless chunk-size line")
            return None
        size_text = data[at:end].split(b";")[0]
        if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", size_text):
            raise Malformed(f"chunk size {data[at:end]!r}")
        size, at = int(size_text, 16), end + 2
        if size == 0:
            break
        if len(data) < at + size + 2:
            return None
        if data[at + size:at + size + 2] != b"\r\n":
            raise Malformed("chunk data does not end where its size says")
        body.append(data[at:at + size])
        at += size + 2
    if data[at:at + 2] == b"\r\n":
        return b"".join(body), Fields(), at + 2
    if len(data) < at + 2:
        return None
    end = data.find(b"\r\n\r\n", at)
    if end < 0:
        return None
    return b"".join(body), parse_fields(data[at:end]), end + 4


def parse_request(data):
    """(Request, bytes used), or None if more is needed."""
    split = split_head(data)
    if split is None:
        return None
    first, fields, raw = split
    match = re.fullmatch(r"(\S+) (\S+) (HTTP/1\.[01])", first)
    if not match:
        raise Malformed(f"request line {first!r}")
    request = Request(first, fields, raw, method=match[1], target=match[2], version=match[3])
    request.framing, length = length_of(fields)
    return _with_body(request, data, len(raw), length)


def parse_response(data, method="GET", eof=False):
    """(Response, bytes used), or None if more is needed. 1xx are collected in `interim`."""
    interim, start = [], 0
    while True:
        split = split_head(data[start:])
        if split is None:
            return None
        first, fields, raw = split
        match = re.fullmatch(r"(HTTP/1\.[01]) ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)", first)
        if not match:
            raise Malformed(f"status line {first!r}")
        response = Response(first, fields, raw, version=match[1], status=int(match[2]), interim=interim)
        start += len(raw)
        if response.status >= 200 or response.status == 101:
            break
        if any(name in ("content-length", "transfer-encoding") for name in fields.names()):
            raise Malformed(f"a {response.status} with framing fields")
        interim.append(response)
    if method == "CONNECT" and response.status // 100 == 2 or response.status in (101, 204):
        if {"content-length", "transfer-encoding"} & set(fields.names()):
            raise Malformed(f"framing fields in a {response.status} to {method}")
        return response, start
    framing, length = length_of(fields)
    if method == "HEAD" or response.status == 304:
        return response, start
    if framing == "none":
        if not eof:
            return None
        response.framing, response.body = "close", data[start:]
        return response, len(data)
    response.framing = framing
    return _with_body(response, data, start, length)


def _with_body(message, data, at, length):
    if message.framing == "length":
        if len(data) < at + length:
            return None
        message.body = data[at:at + length]
        return message, at + length
    if message.framing == "chunked":
        parsed = parse_chunked(data[at:])
        if parsed is None:
            return None
        message.body, message.trailers, used = parsed
        return message, at + used
    return message, at
