"""WebSocket upgrades (case list UPG rows; decision 14.8)."""
import base64
import hashlib

import pytest
from support import refusal
from support.cases import Seen, get, run, served
from support.client import Client
from support.http_origin import simple, websocket_echo
from support.world import LLM_KEY

KEY = "AAAAAAAAAAAAAAAAAAAAAA=="
ACCEPT = base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


def handshake(url, *lines, connection="Upgrade", upgrade="websocket"):
    return get(url, *([f"Connection: {connection}"] if connection else []), *([f"Upgrade: {upgrade}"] if upgrade else []),
               "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}", *lines)


@pytest.fixture(autouse=True)
def sockets(world):
    for name in ("api", "llm", "tls"):
        world[name].answers["/sock"] = websocket_echo


@pytest.mark.parametrize("connection,upgrade", [("Upgrade", "websocket"), ("keep-alive, UPGRADE", "WebSocket"), ("keep-alive,upgrade", "websocket")])
@pytest.mark.parametrize("host,origin", [("api.acme.test", "api"), ("tls.acme.test", "tls")])
def test_UPG_01_P59_websocket(connection, upgrade, host, origin, gateway, world):
    world.forget()
    with Client(gateway.address) as client:
        response = client.ask(handshake(f"http://{host}/sock", "Sec-WebSocket-Protocol: chat, v2", "Proxy-Connection: close",
                                        connection=connection, upgrade=upgrade))
        assert response.status == 101 and response.fields.get("Sec-WebSocket-Accept") == ACCEPT
        assert response.fields.get("Upgrade").lower() == "websocket" and "upgrade" in response.fields.tokens("connection")
        assert client.read(7) == b"\x81\x05first", "the frame of the same segment"
        client.send(b"\x81\x85\x01\x02\x03\x04" + b"GET /\r\n\r\n")
        assert client.read(15) == b"\x81\x85\x01\x02\x03\x04" + b"GET /\r\n\r\n"
    seen = world[origin].requests[0]
    assert seen.fields.get("Sec-WebSocket-Key") == KEY and seen.fields.get("Sec-WebSocket-Protocol") == "chat, v2"
    assert seen.fields.get("Upgrade").lower() == "websocket" and seen.fields.tokens("Connection") == ["upgrade"]
    assert not {"proxy-connection", "keep-alive"} & set(seen.fields.names())


def test_UPG_01_frames_sent_before_the_101(gateway, world):
    with Client(gateway.address) as client:
        client.send(handshake("http://api.acme.test/sock") + b"\x81\x80early")
        assert client.response().status == 101
        assert client.read(14) == b"\x81\x05first\x81\x80early"


@pytest.mark.parametrize("status", [426, 403, 200])
def test_UPG_02_no_tunnel_without_a_101(status, gateway, world):
    """The next bytes are an HTTP request and are judged as one."""
    world["api"].answers["/no"] = simple(status, b"no")
    with Client(gateway.address) as client:
        client.send(handshake("http://api.acme.test/no") + get("http://evil.test/"))
        response = client.response()
        assert response.status == status and response.body == b"no"
        refusal.check(client.response(), "not-allowed", "evil.test")


def test_UPG_02_a_101_of_another_protocol_is_no_answer(gateway, world):
    world["api"].answers["/odd"] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    with Client(gateway.address) as client:
        refusal.check(client.ask(handshake("http://api.acme.test/odd")), "upstream-protocol")


def test_UPG_02_a_101_with_the_wrong_accept_is_no_answer(gateway, world):
    """RFC 6455 4.1: the accept value proves that the origin meant this handshake."""
    world["api"].answers["/wrong"] = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                      b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n")
    with Client(gateway.address) as client:
        response = client.ask(handshake("http://api.acme.test/wrong"))
        assert response.status in (101, 502), "the client checks it as well; never anything else"


NO = {"Upgrade": (), "HTTP2-Settings": ()}


@pytest.mark.parametrize("case", [
    served("UPG-03-not", handshake("http://api.acme.test/x", connection="notupgrade"), Seen("api", "/x", host="api.acme.test", fields=NO)),
    served("UPG-03-upgrade-only", handshake("http://api.acme.test/x", connection=None), Seen("api", "/x", host="api.acme.test", fields=NO)),
    served("UPG-03-connection-only", handshake("http://api.acme.test/x", upgrade=None), Seen("api", "/x", host="api.acme.test", fields=NO)),
    served("UPG-03-h2c", get("http://api.acme.test/x", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
           Seen("api", "/x", host="api.acme.test", fields=NO)),
    served("UPG-03-tcp", get("http://api.acme.test/x", "Connection: Upgrade", "Upgrade: tcp", "Content-Length: 0", method="POST"),
           Seen("api", "/x", "POST", "api.acme.test", fields=NO), why="docker attach"),
    served("UPG-03-1.0", handshake("http://api.acme.test/x").replace(b"HTTP/1.1", b"HTTP/1.0"), Seen("api", "/x", host="api.acme.test", fields=NO),
           why="an HTTP/1.0 request cannot upgrade (RFC 9110 7.8)"),
], ids=str)
def test_UPG_03_other_upgrades_are_stripped_and_served(case, gateway, world):
    run(case, gateway, world)


def test_UPG_07_websocket_to_a_credential_host(gateway, world):
    world.forget()
    with Client(gateway.address) as client:
        assert client.ask(handshake("http://llm.acme.test/sock", "Authorization: Bearer placeholder")).status == 101
        assert client.read(7) == b"\x81\x05first"
        client.send(b"\x82\x7f" + bytes(range(256)))
        assert client.read(258) == b"\x82\x7f" + bytes(range(256))
    seen = world["llm"].requests[0]
    assert seen.fields.all("Authorization") == [f"Bearer {LLM_KEY}"] and seen.fields.get("Sec-WebSocket-Key") == KEY
    assert seen.tls_version and seen.sni == "llm.acme.test"


def test_a_websocket_inside_a_plain_tunnel(gateway, world):
    with Client(gateway.address) as client:
        assert client.open_tunnel("api.acme.test", 80).status == 200
        assert client.ask(handshake("/sock").replace(b"Host: /sock", b"Host: api.acme.test")).status == 101
        assert client.read(7) == b"\x81\x05first"


def test_half_close_of_a_websocket(gateway, world):
    with Client(gateway.address) as client:
        assert client.ask(handshake("http://api.acme.test/sock")).status == 101
        client.send(b"last words")
        client.half_close()
        assert client.read_to_end().endswith(b"last words")


def test_UPG_bytes_are_counted(gateway, world):
    mark = gateway.mark()
    with Client(gateway.address) as client:
        assert client.ask(handshake("http://api.acme.test/sock")).status == 101
        client.read(7)
        client.send(b"x" * 100000)
        assert len(client.read(100000)) == 100000
    end = gateway.wait_for_audit(lambda r: r.get("event") == "end" and r.get("bytes_up", 0) >= 100000, since=mark)
    assert end["bytes_down"] >= 100007
