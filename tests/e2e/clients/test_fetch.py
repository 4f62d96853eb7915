"""Every client that fetches URLs: http:// and https://, allowed and refused."""
import json
import re

import pytest
from e2e.support.scene import BEARER, PLACEHOLDER
from e2e.support.service import HOP_BY_HOP
from fetchers import CLIENTS

# Sent on as it is: a registry's scope, both cases of an escape, and a query.
PATH = "/v1/@acme%2fwidget/a%2Fb?q=1%2f2&x"

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


def check_arrived(client, seen, host, port, tap, stamped):
    """One request, whole and clean, as the client meant it."""
    assert seen.method == "GET" and seen.version == "HTTP/1.1"
    assert seen.field("Host") == (host.name if port in (80, 443) else f"{host.name}:{port}")
    assert seen.sni == host.name
    assert seen.fields.all("Authorization") == [BEARER if stamped else f"Bearer {PLACEHOLDER}"]
    if not client.requotes:
        assert seen.target == PATH
    if stamped:
        sent = [line.split(" ")[1] for line in tap.first_lines() if line.startswith("GET ")][0]
        assert seen.target == re.sub(r"^http://[^/?]*", "", sent), "the path is not what the client sent"
        assert PLACEHOLDER.encode() not in seen.raw_head
        for name in HOP_BY_HOP:
            assert not seen.fields.all(name), f"{name} reached the server: {seen.raw_head!r}"


def check_spoken(client, request, scheme, authority):
    """The client speaks to a proxy as its row and docs/clients.md say."""
    first, fields = request
    if scheme == "http" and client.plain == "absolute":
        name = authority.removesuffix(":80")
        assert first.startswith(f"GET http://{name}/"), first
        return
    assert first == f"CONNECT {authority} {client.connect}"
    name, _, port = authority.partition(":")
    without_port = name if port in ("80", "443") else authority
    assert fields.get("host") == {"authority": authority, "name": without_port, None: None}[client.connect_host]


@each_client
def test_http_is_upgraded_and_stamped(client, scene, gateway, tap, sandbox):
    host = scene.api
    mark = gateway.mark()
    tunnel = client.plain == "tunnel"
    (got,) = client.run(sandbox, [host.url("http", PATH, plain_port=tunnel)])
    assert got.status == 200, got
    port = host.plain_port if tunnel else host.port
    check_spoken(client, tap.requests()[0], "http", f"{host.name}:{port}")
    (seen,) = host.requests
    check_arrived(client, seen, host, port, tap, stamped=True)
    assert json.loads(got.body)["target"] == seen.target
    gateway.wait_for_audit(lambda record: record.get("host") == host.name and record.get("credentials") == ["api"], since=mark)


@each_client
def test_https_goes_through_a_tunnel(client, scene, gateway, tap, sandbox):
    host = scene.api
    (got,) = client.run(sandbox, [host.url("https", PATH)])
    assert got.status == 200, got
    check_spoken(client, tap.requests()[0], "https", f"{host.name}:{host.port}")
    (seen,) = host.requests
    check_arrived(client, seen, host, host.port, tap, stamped=False)


@each_client
def test_default_ports(client, scene, gateway, tap, sandbox):
    """http:// leaves on 443, https:// goes there through a tunnel; port 80 is never dialled."""
    if not scene.low_ports:
        pytest.skip("port 443 cannot be bound here, and no network namespace can be made")
    host = scene.api
    plain, tunnel = client.run(sandbox, [f"http://{host.name}{PATH}", f"https://{host.name}{PATH}"])
    assert plain.status == tunnel.status == 200, (plain, tunnel)
    check_spoken(client, tap.requests()[0], "http", f"{host.name}:80")
    connects = [request for request in tap.requests() if request[0].startswith("CONNECT ")]
    check_spoken(client, connects[-1], "https", f"{host.name}:443")
    assert host.clear.accepted == 0
    first, second = host.servers[2].requests
    check_arrived(client, first, host, 443, tap, stamped=True)
    check_arrived(client, second, host, 443, tap, stamped=False)


@each_client
def test_http_to_a_refused_host(client, scene, gateway, tap, sandbox):
    host = scene.refused
    mark = gateway.mark()
    tunnel = client.plain == "tunnel"
    (got,) = client.run(sandbox, [host.url("http", PATH, plain_port=tunnel)])
    if tunnel:  # judged by name before the tunnel opens
        check_refused_tunnel(client, got, tap)
    else:
        assert got.status == 403 and got.reason == "not-allowed", got
        assert host.name in got.body, "the body tells which host was refused"
    check_nothing_left(host, gateway, mark)


@each_client
def test_https_to_a_refused_host(client, scene, gateway, tap, sandbox):
    host = scene.refused
    mark = gateway.mark()
    (got,) = client.run(sandbox, [host.url("https", PATH)])
    check_refused_tunnel(client, got, tap)
    check_nothing_left(host, gateway, mark)


def check_refused_tunnel(client, got, tap):
    told = got.error or f"status {got.status}"
    print(f"{client.name} says: {told}")
    assert re.search(client.refused_tunnel, told), got
    answered = tap.exchanges[0].answered
    assert answered.startswith(b"HTTP/1.1 403 ") and b"\r\nX-Namzu-Reason: not-allowed\r\n" in answered, answered


def check_nothing_left(host, gateway, mark):
    assert host.accepted == 0, "a connection reached a host that is not allowed"
    gateway.wait_for_audit(lambda record: record.get("host") == host.name and record.get("reason") == "not-allowed", since=mark)


@each_client
def test_each_request_is_judged_for_itself(client, scene, gateway, tap, sandbox):
    """Allowed, another host, refused, allowed again, in one run of the client."""
    tunnel = client.plain == "tunnel"
    hosts = (scene.api, scene.other, scene.refused, scene.api)
    api, other, refused, again = client.run(sandbox, [host.url("http", PATH, plain_port=tunnel) for host in hosts])
    assert api.status == other.status == again.status == 200, (api, other, again)
    assert refused.error or refused.status == 403
    assert [seen.field("Authorization") for seen in scene.api.requests] == [BEARER, BEARER]
    assert [seen.field("Authorization") for seen in scene.other.requests] == [f"Bearer {PLACEHOLDER}"], \
        "a credential went to a host that it is not for"
    assert scene.refused.accepted == 0
