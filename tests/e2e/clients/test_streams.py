"""Streams: server-sent events one by one, bodies of unknown length, WebSocket."""
import hashlib
import json

import pytest
from e2e.support import programs
from e2e.support.scene import BEARER, PLACEHOLDER
from e2e.support.service import Events, websocket
from fetchers import PROGRAMS, go_program


def python_stream():
    return [programs.python("httpx"), PROGRAMS / "stream.py"]


def node_stream(client):
    return lambda: [programs.node(*([client] if client != "node" else [])), PROGRAMS / "stream.mjs", client]


# How it is started, and whether it tunnels http:// URLs (which are then read as HTTP all the same).
STREAMS = {"httpx": (python_stream, False), "undici7": (node_stream("undici7"), True), "undici8": (node_stream("undici8"), False),
           "node": (node_stream("node"), True)}


def environment(sandbox):
    return sandbox.environment(CLIENT_KEY=PLACEHOLDER, CLIENT_MODULES=str(programs.MODULES), NODE_USE_ENV_PROXY="1")


@pytest.mark.parametrize("scheme", ("http", "https"))
@pytest.mark.parametrize("client", STREAMS)
def test_events_arrive_one_by_one(client, scheme, scene, gateway, tap, sandbox):
    """The server sends the next event only after the client has shown the last one."""
    command, tunnels = STREAMS[client]
    events = Events(5)
    scene.api.answer = lambda request: events
    url = scene.api.url(scheme, "/v1/messages", plain_port=tunnels and scheme == "http")
    running = sandbox.start(*command(), url, env=environment(sandbox))
    try:
        assert running.stdout.readline() == "200 text/event-stream None\n", running.stderr.read()
        for number in range(5):
            events.release()
            assert running.stdout.readline() == 'data: {"text": "piece %d"}\n' % number
        assert running.stdout.readline() == "whole\n"
        assert running.wait(10) == 0
    finally:
        running.kill()
        running.communicate()
    (seen,) = scene.api.requests
    assert seen.method == "POST" and seen.target == "/v1/messages" and json.loads(seen.body)["stream"] is True
    assert seen.field("Authorization") == (BEARER if scheme == "http" else f"Bearer {PLACEHOLDER}")
    assert tap.first_lines()[0].startswith("CONNECT " if scheme == "https" or tunnels else "POST http://")


def test_refused_stream(scene, gateway, sandbox):
    """403, which the SDKs do not retry."""
    ran = sandbox.run(*python_stream(), scene.refused.url("http", "/v1/messages"), env=environment(sandbox))
    assert ran.code == 1 and ran.out.startswith("403 ") and "not-allowed" in ran.out, ran
    assert scene.refused.accepted == 0


def go_upload():
    programs.command("go")
    return [go_program(), "-upload"]


# How it is started, and whether it tunnels http:// URLs.
UPLOADS = {
    "requests": (lambda: [programs.python("requests"), PROGRAMS / "upload.py", "requests"], False),
    "httpx": (lambda: [programs.python("httpx"), PROGRAMS / "upload.py", "httpx"], False),
    "go": (go_upload, False),
    "undici7": (lambda: [programs.node("undici7"), PROGRAMS / "upload.mjs", "undici7"], True),
    "undici8": (lambda: [programs.node("undici8"), PROGRAMS / "upload.mjs", "undici8"], False),
}


@pytest.mark.parametrize("client", UPLOADS)
def test_body_of_unknown_length(client, scene, gateway, tap, sandbox):
    command, tunnels = UPLOADS[client]
    ran = sandbox.run(*command(), scene.api.url("http", "/v1/files", tunnels), env=environment(sandbox))
    whole = b"".join(b"%08d" % number * 128 for number in range(64))
    assert ran.code == 0 and ran.out.startswith("200 "), ran
    assert json.loads(ran.out[4:])["sha256"] == hashlib.sha256(whole).hexdigest()
    (seen,) = scene.api.requests
    assert seen.framing == "chunked" and seen.field("Authorization") == BEARER
    assert b"transfer-encoding: chunked\r\n" in tap.exchanges[0].sent.lower()


SOCKETS = [  # agent, scheme, port read as HTTP?, what the proxy sees first, stamped?
    pytest.param("http-proxy-agent", "ws", False, "GET http://", True, id="ws-absolute"),
    pytest.param("https-proxy-agent", "ws", True, "CONNECT ", True, id="ws-tunnel"),
    pytest.param("https-proxy-agent", "wss", False, "CONNECT ", False, id="wss"),
]


def run_socket(sandbox, agent, url):
    node = programs.node("ws", "http-proxy-agent", "https-proxy-agent")
    return sandbox.run(node, PROGRAMS / "socket.mjs", agent, url,
                       env=sandbox.environment(CLIENT_KEY=PLACEHOLDER, CLIENT_MODULES=str(programs.MODULES)))


@pytest.mark.parametrize("agent,scheme,plain_port,first,stamped", SOCKETS)
def test_websocket(agent, scheme, plain_port, first, stamped, scene, gateway, tap, sandbox):
    scene.api.answer = lambda request: websocket
    ran = run_socket(sandbox, agent, scene.api.url(scheme, "/v1/socket?x=%2f", plain_port))
    assert ran.out == "message hello\nmessage from the client\nclosed 1000\n", ran
    assert tap.first_lines()[0].startswith(first)
    (seen,) = scene.api.requests
    assert seen.target == "/v1/socket?x=%2f" and seen.sni == scene.api.name
    assert seen.field("Authorization") == (BEARER if stamped else f"Bearer {PLACEHOLDER}")
    assert seen.field("Upgrade").lower() == "websocket" and seen.field("Connection").lower() == "upgrade"
    assert not seen.fields.all("Proxy-Connection")


@pytest.mark.parametrize("agent,scheme,plain_port,first,stamped", SOCKETS)
def test_refused_websocket(agent, scheme, plain_port, first, stamped, scene, gateway, tap, sandbox):
    ran = run_socket(sandbox, agent, scene.refused.url(scheme, "/", plain_port))
    assert ran.code == 1 and "403" in ran.out and "refused" in ran.out, ran
    assert scene.refused.accepted == 0
    assert tap.exchanges[0].answered.startswith(b"HTTP/1.1 403 ")
