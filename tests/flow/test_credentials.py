"""Stamping of credentials and the verified connection they travel on (specification 9.7 C rows, case list CRED rows)."""
import copy
import re
import ssl
import subprocess
import time

import pytest
from support import network, origin, refusal
from support.cases import Case, Expect, Seen, get, head, run, served
from support.client import Client
from support.http_origin import HttpOrigin, simple
from support.world import LLM_KEY, VAULT_KEY, config

STAMP = {"Authorization": f"Bearer {LLM_KEY}"}
LLM_URL = "http://llm.acme.test"
EXTRA = {"SECOND_KEY": "SECOND-KEY-0b51", "BASIC_PASS": "BASIC-PASS-9a", "WIDE_KEY": "WIDE-KEY-3c"}


def llm(target, method="GET", host="llm.acme.test", fields=None, body=b"", at="llm"):
    return Seen(at, target, method, host, {**STAMP, **(fields or {})}, body)


CASES = [
    served("C01", get(LLM_URL + "/v1"), llm("/v1")),
    served("C02", get("http://tls.acme.test/v1"), Seen("tls", "/v1", host="tls.acme.test", fields={"Authorization": ()})),
    served("C02-client", get("http://tls.acme.test/v1", "Authorization: Bearer own"),
           Seen("tls", "/v1", host="tls.acme.test", fields={"Authorization": "Bearer own"})),
    served("C03", get(LLM_URL + "/v1", "authorization: Bearer placeholder", "Authorization: Bearer other", "AUTHORIZATION:\tBasic eA==", "X-Api-Key: k"),
           llm("/v1", fields={"X-Api-Key": "k"}), why="exactly one, the stamped one"),
    served("C14-HOP-03", get(LLM_URL + "/", "Connection: close, Authorization, Host, Content-Length, X-Drop", "Content-Length: 0", "X-Drop: 1"),
           llm("/", fields={"X-Drop": ()}), closes=True, why="strip client fields first, then add"),
    served("CRED-01-first", get("http://tls.acme.test/", host="llm.acme.test"), Seen("tls", "/", host="tls.acme.test", fields={"Authorization": ()})),
    served("CRED-01-second", get(LLM_URL + "/", host="tls.acme.test"), llm("/")),
    served("CRED-02-pkgs", get("http://x.pkgs.test/"), Seen("pkgs", "/", host="x.pkgs.test", fields={"Authorization": ()})),
    Case("CRED-02-evil", get("http://llm.acme.test.evil.test/"), (Expect(403, "not-allowed"),)),
    Case("CRED-02-below", get("http://x.llm.acme.test/"), (Expect(403, "not-allowed"),)),
    served("CRED-06-80", get("http://llm.acme.test:80/v1", method="POST"), llm("/v1", "POST")),
    served("CRED-06-8443", get("http://llm.acme.test:8443/v1", method="POST"), llm("/v1", "POST", "llm.acme.test:8443", at="llm-8443")),
    served("CRED-06-https", get("https://llm.acme.test/v1", method="POST"), llm("/v1", "POST")),
    served("HOST-01-stamped", get("http://LLM.Acme.Test./v1"), llm("/v1")),
    Case("CRED-14-trace", get(LLM_URL + "/", "Max-Forwards: 5", method="TRACE"), (Expect(405, "method", method="TRACE"),)),
    Case("C08", head("CONNECT llm.acme.test:80 HTTP/1.1", "Host: x") + get("/v1", "authorization: x", host="llm.acme.test"),
         (Expect(200, method="CONNECT"), Expect(200)), (llm("/v1"),), why="decision 14.3: a tunnel to a plain port is read and stamped"),
    Case("LIFE-07", get("http://api.acme.test/1") + get(LLM_URL + "/3") + get("http://x.pkgs.test/4"),
         (Expect(200), Expect(200), Expect(200)),
         (Seen("api", "/1", host="api.acme.test", fields={"Authorization": ()}), llm("/3"),
          Seen("pkgs", "/4", host="x.pkgs.test", fields={"Authorization": ()}))),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case, gateway, world):
    run(case, gateway, world)


def test_CRED_14_Max_Forwards_0_is_answered_here(gateway, world):
    """RFC 9110 7.6.2: OPTIONS with Max-Forwards 0 goes no further; above 0 it is one less."""
    world.forget()
    with Client(gateway.address) as client:
        response = client.ask(get(LLM_URL + "/", "Max-Forwards: 0", method="OPTIONS"))
        assert response.status in (200, 204) and not world["llm"].requests
    with Client(gateway.address) as client:
        assert client.ask(get(LLM_URL + "/", "Max-Forwards: 3", method="OPTIONS")).status == 200
    assert world["llm"].requests[0].fields.get("Max-Forwards") == "2"


def test_C01_the_audit_names_the_credential_and_not_its_value(gateway):
    mark = gateway.mark()
    with Client(gateway.address) as client:
        client.ask(get(LLM_URL + "/audited"))
    record = gateway.wait_for_audit(lambda r: r.get("host") == "llm.acme.test" and r.get("event") == "decision", since=mark)
    assert record["credentials"] == ["llm"]
    assert LLM_KEY not in gateway.access_path.read_text()


@pytest.fixture(scope="module")
def rich(gateways, world):
    """Several credentials: two headers of one host, a suffix, basic, raw, one that may go in the clear."""
    made = config(world, policy={"credentials": ["llm", "second", "basic", "wide", "clear", "kept"]})
    made["credentials"] = {
        "llm": {"host": "llm.acme.test", "header": "authorization", "scheme": "bearer", "value": {"env": "LLM_KEY"}},
        "second": {"host": "llm.acme.test", "header": "X-Api-Key", "scheme": "raw", "value": {"env": "SECOND_KEY"}},
        "basic": {"host": "tls.acme.test", "header": "authorization", "scheme": "basic", "user": "robot", "value": {"env": "BASIC_PASS"}},
        "wide": {"host": ".moretls.test", "header": "x-token", "scheme": "raw", "value": {"env": "WIDE_KEY"}},
        "clear": {"host": "x.pkgs.test", "header": "x-clear", "scheme": "raw", "value": {"env": "SECOND_KEY"}, "allow_plaintext": True},
        "kept": {"host": "api.acme.test", "header": "x-kept", "scheme": "raw", "value": {"env": "WIDE_KEY"}},
    }
    gateway = gateways.start(made, env=EXTRA, secrets=[LLM_KEY, *EXTRA.values()])
    gateways.shared["rich"] = gateway
    return gateway


@pytest.mark.parametrize("case", [
    served("C06", get(LLM_URL + "/", "x-api-key: mine"), llm("/", fields={"X-Api-Key": "SECOND-KEY-0b51"}), why="both headers"),
    served("C15", get(LLM_URL + "/", "X_Api_Key: twin", "x-api_key: twin2"),
           llm("/", fields={"X-Api-Key": "SECOND-KEY-0b51", "X_Api_Key": (), "x-api_key": ()}), why="some servers read _ as -"),
    served("basic", get("http://tls.acme.test/", "Authorization: Basic eDp5"),
           Seen("tls", "/", host="tls.acme.test", fields={"Authorization": "Basic cm9ib3Q6QkFTSUMtUEFTUy05YQ=="})),
    served("C09-clear", get("http://x.pkgs.test/"), Seen("pkgs", "/", host="x.pkgs.test", fields={"x-clear": "SECOND-KEY-0b51"}),
           why="allow_plaintext says so"),
    served("C09-neighbour", get("http://a.pkgs.test/"), Seen("pkgs", "/", host="a.pkgs.test", fields={"x-clear": ()})),
    Case("C09", get("http://api.acme.test/"), (Expect(403, "plaintext-credential", "api.acme.test"),),
         why="a credential may not leave in the clear unless it says allow_plaintext"),
    served("C09-https", get("https://api.acme.test/"), Seen("api-tls", "/", host="api.acme.test", fields={"x-kept": "WIDE-KEY-3c"}),
           why="over TLS it may"),
], ids=str)
def test_rich(case, rich, world):
    run(case, rich, world)


def test_C04_a_suffix_credential(rich, world):
    seen = []

    def script(peer):
        while request := peer.read_request():
            seen.append(request)
            peer.send(simple())

    with world.place("a.b.moretls.test", script, tls=True), Client(rich.address) as client:
        assert client.ask(get("http://a.b.moretls.test/", "X-TOKEN: mine")).status == 200
    assert seen[0].fields.all("x-token") == ["WIDE-KEY-3c"]


# ---- TLS towards the origin: nothing before the name is proven (CRED-04, P19, P20, C10) ---------------

def bad_origins(world):
    ca = world.ca
    return {
        "wrong-name": lambda name: origin.tls_context(ca.leaf("other.test")),
        "self-signed": lambda name: origin.tls_context(ca.self_signed(name)),
        "expired": lambda name: origin.tls_context(ca.leaf(name, expired=True)),
        "partial-wildcard": lambda name: origin.tls_context(ca.leaf("c*.moretls.test")),
        "wildcard-too-deep": lambda name: origin.tls_context(ca.leaf("*.test")),
        "client-host": lambda name: origin.tls_context(ca.leaf("evil.test")),
    }


@pytest.mark.parametrize("kind", ["wrong-name", "self-signed", "expired", "partial-wildcard", "wildcard-too-deep", "client-host", "plain-http", "closes",
                                  "resets"])
def test_CRED_04_no_byte_before_the_peer_is_verified(kind, rich, world):
    """502 tls-failed, no request byte sent, no fallback to port 80, no retry without the key."""
    name = f"cred04-{kind}.moretls.test"
    scripts = {"plain-http": lambda peer: (peer.more(), peer.send(simple())), "closes": lambda peer: peer.more(), "resets": lambda peer: peer.reset()}
    context = None if kind in scripts else bad_origins(world)[kind](name)
    with world.place(name, scripts.get(kind, origin.silent), port=443, tls=context) as tls, \
            origin.Origin(tls.address, 80, origin.silent) as plain:
        mark = rich.mark()
        with Client(rich.address) as client:
            refusal.check(client.ask(get(f"http://{name}/v1", "Content-Length: 2", host="evil.test" if kind == "client-host" else name,
                                         method="POST", body=b"{}")), "tls-failed", name)
        rich.wait_for_audit(lambda r: r.get("host") == name and r.get("reason") == "tls-failed", since=mark)
        time.sleep(0.05)
        assert plain.accepted == 0, "fell back to port 80"
        assert not any(b"POST" in peer.received or b"WIDE-KEY" in peer.received for peer in tls.peers)


def test_CRED_04e_port_443_refuses_while_port_80_is_open(rich, world):
    address = world.address()
    world.dns.host("cred04e.moretls.test", address)
    with origin.Origin(address, 80, origin.silent) as plain, Client(rich.address) as client:
        refusal.check(client.ask(get("http://cred04e.moretls.test/")), "connect-failed", "cred04e.moretls.test")
        assert plain.accepted == 0


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_tls_versions_that_are_spoken(version, gateway, world):
    only = getattr(ssl.TLSVersion, version)
    name = f"v-{version.lower()}.moretls.test".replace("_", "-")
    context = origin.tls_context(world.ca.leaf(name), only, only)
    with world.place(name, lambda peer: (peer.read_request(), peer.send(simple())), tls=context), Client(gateway.address) as client:
        assert client.ask(get(f"http://{name}/")).status == 200


def test_min_version_1_3_refuses_1_2(gateways, world):
    made = config(world)
    made["gateway"]["tls"]["min_version"] = "1.3"
    context = origin.tls_context(world.ca.leaf("old.moretls.test"), ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    with world.place("old.moretls.test", origin.silent, tls=context), Client(gateways.get(made).address) as client:
        refusal.check(client.ask(get("http://old.moretls.test/")), "tls-failed", "old.moretls.test")


def test_TLS_1_1_is_refused(gateway, world):
    """Our server may itself be unable to speak it; then there is nothing to prove."""
    context = origin.tls_context(world.ca.leaf("tls11.moretls.test"))
    try:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    except (ssl.SSLError, ValueError):
        pytest.skip("this Python cannot make a TLS 1.1 server")
    with world.place("tls11.moretls.test", origin.silent, tls=context), Client(gateway.address) as client:
        refusal.check(client.ask(get("http://tls11.moretls.test/")), "tls-failed", "tls11.moretls.test")


def test_a_silent_tls_server_times_out(gateways, world):
    gateway = gateways.get(config(world, limits={"tls_timeout_ms": 400}))
    with world.place("mute.moretls.test", origin.silent, port=443), Client(gateway.address) as client:
        began = time.monotonic()
        response = client.ask(get("http://mute.moretls.test/"))
        assert time.monotonic() - began < 1.5 and response.status in (502, 504)
        refusal.check(response, response.reason, "mute.moretls.test")


def test_a_certificate_for_an_address(own_gateway, world):
    """IP literals are checked as IP (specification 3.5), without SNI. Nothing is pooled: each request meets its own server."""
    address = world.address()
    made = config(world, limits={"pool_connections": 0})
    made["policies"]["standing"]["allowed_hosts"].append(address)
    made["policies"]["standing"]["allow_inward_for"].append({"host": address, "cidrs": ["127.0.0.0/8"]})
    gateway = own_gateway(made)
    server = HttpOrigin(address, 443, origin.tls_context(world.ca.leaf(address)))
    with Client(gateway.address) as client:
        assert client.ask(get(f"https://{address}/")).status == 200
    assert server.requests[0].sni is None
    server.close()
    other = world.address()
    server = HttpOrigin(address, 443, origin.tls_context(world.ca.leaf(other, "127.0.0.1")))
    with Client(gateway.address) as client:
        request = get(f"https://{address}/b", method="POST")
        refusal.check(client.ask(request), "tls-failed", address, sent=request)
    server.close()


def test_a_private_ca_for_one_host(own_gateway, world, folder):
    """upstream_tls: the private bundle counts for its host and for no other, and in place of the default."""
    from support.certs import Authority
    private = Authority(f"{folder}/private-ca", "private CA")
    gateway = own_gateway(config(world, limits={"pool_connections": 0},
                                 policy={"upstream_tls": [{"host": "private.moretls.test", "ca_file": private.certificate}]}))
    answer = lambda peer: (peer.read_request(), peer.send(simple()))  # noqa: E731
    for name, authority, good in (("private.moretls.test", private, True), ("private.moretls.test", world.ca, False),
                                  ("public2.moretls.test", private, False), ("public3.moretls.test", world.ca, True)):
        with world.place(name, answer, tls=origin.tls_context(authority.leaf(name))), Client(gateway.address) as client:
            response = client.ask(get(f"http://{name}/", method="POST"))
            assert (response.status == 200) == good, (name, response.status)


# ---- where a secret must not be (C16, C17, CRED-08) ---------------------------------------------------

def test_C16_a_value_that_comes_back_in_a_header_is_masked(gateway, world):
    world["llm"].answers["/reflect"] = lambda peer, request: peer.send(
        simple(200, b"ok", f"X-Echo: {request.fields.get('Authorization')}", f"X-Part: a{LLM_KEY}b"))
    with Client(gateway.address) as client:
        response = client.ask(get(LLM_URL + "/reflect"))
    assert response.status == 200 and LLM_KEY.encode() not in response.raw_head


def test_CRED_08_nothing_shows_the_secret(own_gateway, world):
    """Upstream down, refusals, debug log: the value is in no answer and no log (stop() looks too)."""
    gateway = own_gateway(config(world, gateway={"log": {"level": "debug", "format": "json"}}))
    world.dns.host("vault.public.test", "127.0.0.1")
    for request in (get(LLM_URL + "/v1", "Authorization: Bearer CLIENT-OWN-1", method="POST"), get(LLM_URL + ":8443/x"),
                    get("http://vault.public.test/"), get(LLM_URL + "/", "X-A: a\x00b"), get(LLM_URL + ":9000/x")):
        with Client(gateway.address) as client:
            client.send(request)
            assert LLM_KEY.encode() not in client.response().raw_head
    time.sleep(0.3)
    text = gateway.running_log() + gateway.access_path.read_text()
    assert LLM_KEY not in text and VAULT_KEY not in text and "CLIENT-OWN-1" not in text


def test_C17_no_secret_in_arguments_or_environment(gateway):
    """Of any process of the gateway; readable by root, or by the same user where dumpable."""
    from support.gateway import command_line, descendants
    looked = 0
    for pid in [gateway.process.pid, *descendants(gateway.process.pid)]:
        assert LLM_KEY.encode() not in command_line(pid)
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                assert LLM_KEY.encode() not in environment.read(), f"in the environment of {command_line(pid)!r}"
                looked += 1
        except PermissionError:
            continue
    if not looked:
        pytest.skip("no environment is readable by this user")


def test_C17_proxies_are_not_dumpable(gateway):
    for pid in gateway.proxies():
        with open(f"/proc/{pid}/limits") as limits:
            assert re.search(r"Max core file size\s+0\s+0", limits.read())


# ---- the pool (CRED-11, C18, L23) ---------------------------------------------------------------------

def two_networks(world):
    made = config(world)
    standing = made["policies"]["standing"]
    other = copy.deepcopy(standing)
    other["credentials"] = ["other"]
    made["credentials"]["other"] = {"host": "llm.acme.test", "header": "authorization", "scheme": "bearer", "value": {"env": "SECOND_KEY"}}
    made["policies"]["other"] = other
    strict = copy.deepcopy(standing)
    strict["allow_inward_for"] = []
    made["policies"]["strict"] = strict
    for name in ("other", "strict"):
        made["networks"][name] = {"listen": f"127.0.0.1:{network.free_port()}", "policy": name}
    return made


@pytest.fixture(scope="module")
def shared(gateways, world):
    gateway = gateways.start(two_networks(world), env=EXTRA, secrets=[LLM_KEY, *EXTRA.values()])
    gateways.shared["two networks"] = gateway
    return gateway


def test_CRED_11_no_connection_is_shared_between_bindings(shared, world):
    world.forget()
    for _ in range(10):
        for name, key in (("local", LLM_KEY), ("other", "SECOND-KEY-0b51")):
            with Client(shared.listeners[name]) as client:
                assert f"Bearer {key}".encode() in client.ask(get(LLM_URL + "/pool")).body
    keys = {}
    for seen in world["llm"].requests:
        keys.setdefault(seen.connection, set()).add(seen.fields.get("Authorization"))
    assert len(world["llm"].requests) == 20 and all(len(each) == 1 for each in keys.values())
    assert len(keys) < 20, "connections are kept at all"


def test_C18_L23_a_warmed_pool_opens_nothing_for_another_policy(shared, world):
    for _ in range(4):
        with Client(shared.listeners["local"]) as client:
            assert client.ask(get("http://tls.acme.test/warm")).status == 200
    for _ in range(8):
        with Client(shared.listeners["strict"]) as client:
            refusal.check(client.ask(get("http://tls.acme.test/warm")), "resolved:loopback", "tls.acme.test")


# ---- C05, C07, C13: refused while the configuration is read --------------------------------------------

def check(gateways, folder, made, env=None):
    """(exit code, output) of --check."""
    from support.gateway import Gateway, binary
    if not binary().exists():
        pytest.skip(f"there is no gateway at {binary()}")
    gateway = Gateway(f"{folder}/check", made)
    done = subprocess.run([str(binary()), "--check", "--config", str(gateway.config_path)], capture_output=True, text=True, timeout=30,
                          env={"LLM_KEY": LLM_KEY, "VAULT_KEY": VAULT_KEY, **EXTRA, **(env or {})})
    return done.returncode, done.stdout + done.stderr


def test_the_standing_configuration_checks(gateways, folder, world):
    code, output = check(gateways, folder, config(world))
    assert code == 0, output


@pytest.mark.parametrize("id,credential,word", [
    ("C07-same-header", {"host": "llm.acme.test", "header": "Authorization", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "authorization"),
    ("C07-uncovered", {"host": ".acme.test", "header": "x-key", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "acme.test"),
    ("C13-host", {"host": "llm.acme.test", "header": "Host", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "host"),
    ("C13-length", {"host": "llm.acme.test", "header": "Content-Length", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "content-length"),
    ("C13-connection", {"host": "llm.acme.test", "header": "Connection", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "connection"),
    ("C13-proxy", {"host": "llm.acme.test", "header": "Proxy-Foo", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "proxy"),
    ("C13-token", {"host": "llm.acme.test", "header": "X Key", "scheme": "raw", "value": {"env": "SECOND_KEY"}}, "header"),
    ("C05-newline", {"host": "tls.acme.test", "header": "x-key", "scheme": "raw", "value": {"env": "BAD_KEY"}}, "control"),
    ("no-such-variable", {"host": "tls.acme.test", "header": "x-key", "scheme": "raw", "value": {"env": "NOT_SET_AT_ALL"}}, "NOT_SET_AT_ALL"),
])
def test_a_credential_that_is_refused_at_load(id, credential, word, gateways, folder, world):
    """Named with its place; the value is not shown. A value is read at start, so these two may pass --check."""
    made = config(world)
    made["credentials"]["bad"] = credential
    made["policies"]["standing"]["credentials"].append("bad")
    code, output = check(gateways, folder, made, {"BAD_KEY": "SECRET-WITH\nNEWLINE"})
    if id in ("C05-newline", "no-such-variable") and code == 0:
        code, output = start_and_fail(folder, made, {"BAD_KEY": "SECRET-WITH\nNEWLINE"})
    assert code != 0 and word.lower() in output.lower(), output
    assert "SECRET-WITH" not in output and "SECOND-KEY" not in output


def start_and_fail(folder, made, env):
    from support.gateway import Gateway, GatewayError
    gateway = Gateway(f"{folder}/fails", made, {"LLM_KEY": LLM_KEY, "VAULT_KEY": VAULT_KEY, **EXTRA, **env})
    try:
        gateway.start()
    except GatewayError as error:
        return 1, str(error)
    gateway.kill()
    return 0, gateway.running_log()


def test_C05_a_newline_at_the_end_of_a_file_is_trimmed(own_gateway, world, folder):
    path = f"{folder}/file-key"
    with open(path, "w") as file:
        file.write("FILE-KEY-55\n")
    made = config(world)
    made["credentials"]["llm"]["value"] = {"file": path}
    gateway = own_gateway(made, secrets=["FILE-KEY-55"])
    world.forget()
    with Client(gateway.address) as client:
        assert client.ask(get(LLM_URL + "/")).status == 200
    assert world["llm"].requests[0].fields.all("Authorization") == ["Bearer FILE-KEY-55"]


def test_C20_a_rotated_file_counts_after_a_reload(own_gateway, world, folder):
    """The next request carries the new value; connections kept under the old one are closed."""
    path = f"{folder}/rotating-key"

    def write(text):
        with open(path, "w") as file:
            file.write(text)

    write("ROTATE-1")
    made = config(world)
    made["credentials"]["llm"]["value"] = {"file": path}
    gateway = own_gateway(made, secrets=["ROTATE-1", "ROTATE-2"])
    world.forget()
    for round in ("ROTATE-1", "ROTATE-2"):
        write(round)
        assert gateway.hup()
        for _ in range(6):
            with Client(gateway.address) as client:
                assert client.ask(get(LLM_URL + "/")).status == 200
    values = [seen.fields.get("Authorization") for seen in world["llm"].requests]
    assert values == ["Bearer ROTATE-1"] * 6 + ["Bearer ROTATE-2"] * 6
    connections = {value: {s.connection for s in world["llm"].requests if s.fields.get("Authorization") == value} for value in values}
    assert not connections["Bearer ROTATE-1"] & connections["Bearer ROTATE-2"]
