"""ClientHello messages, byte by byte: with any server name, none, or Encrypted Client Hello."""
import os
import struct

HANDSHAKE, ALERT = 22, 21
UNRECOGNIZED_NAME = 112


def _extension(kind, data):
    return struct.pack("!HH", kind, len(data)) + data


def server_name(name):
    """The server_name extension (RFC 6066 3)."""
    host = name.encode("latin-1")
    entry = b"\0" + struct.pack("!H", len(host)) + host
    return _extension(0, struct.pack("!H", len(entry)) + entry)


def ech(config_id=7, payload=b"\x5a" * 144):
    """An outer encrypted_client_hello extension; with random bytes it is what grease looks like."""
    return _extension(0xFE0D, b"\0" + struct.pack("!HHBH", 1, 1, config_id, 32) + os.urandom(32)
                      + struct.pack("!H", len(payload)) + payload)


def message(name, extra=b"", pad=0):
    """The handshake message. `name` None: no server_name extension."""
    extensions = (server_name(name) if name is not None else b"")
    extensions += _extension(10, b"\0\x04\0\x1d\0\x17")  # supported_groups
    extensions += _extension(13, b"\0\x04\x04\x03\x08\x04")  # signature_algorithms
    extensions += _extension(43, b"\x04\x03\x04\x03\x03")  # supported_versions
    extensions += _extension(51, b"\0\x24\0\x1d\0\x20" + b"\x11" * 32)  # key_share
    extensions += extra
    if pad:
        extensions += _extension(21, b"\0" * pad)
    body = (b"\x03\x03" + b"\x22" * 32 + b"\x20" + b"\x33" * 32  # version, random, session id
            + b"\0\x06\x13\x01\x13\x02\xc0\x2b" + b"\x01\0"  # suites, compression
            + struct.pack("!H", len(extensions)) + extensions)
    return b"\x01" + len(body).to_bytes(3, "big") + body


def record(payload, kind=HANDSHAKE):
    return bytes([kind]) + b"\x03\x01" + struct.pack("!H", len(payload)) + payload


def client_hello(name, extra=b"", pad=0, record_size=None):
    """Records that carry one ClientHello, `record_size` bytes of it in each (default: one record)."""
    whole = message(name, extra, pad)
    size = record_size or len(whole)
    return b"".join(record(whole[at:at + size]) for at in range(0, len(whole), size))


def is_unrecognized_name(data):
    """Is this exactly one fatal unrecognized_name alert?"""
    return len(data) == 7 and data[0] == ALERT and data[3:5] == b"\0\x02" and data[5:] == b"\x02\x70"
