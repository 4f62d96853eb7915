"""Mistakes that were made once, each with what it took to make them."""
import contextlib
import copy
import select
import threading
import time

from support import hello, refusal
from support.cases import get
from support.client import Client
from support.dns_server import Answer, a
from support.http_origin import simple, websocket_echo
from support.world import ECHO, LLM_KEY, VAULT_KEY, config

API = "http://api.acme.test"
WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
             "Sec-WebSocket-Version: 13")


def one_process(world, **more):
    """A configuration with one proxy process: who stalls it, stalls all."""
    return config(world, gateway={"processes": 1}, **more)


def test_a_retried_request_has_no_timer_of_its_first_attempt(own_gateway, world):
    """The wait for 100 ran on while the request was dialled again, and found no upstream."""
    def loses_the_second(peer):
        peer.read_request()
        peer.send(simple())
        peer.read_head()

    gateway = own_gateway(one_process(world, limits={"continue_timeout_ms": 100}))
    with world.place("lost.more.test", loses_the_second), Client(gateway.address) as client:
        assert client.ask(get("http://lost.more.test/")).status == 200
        world.dns.script_both("lost.more.test", Answer(silent=True))
        client.send(get("http://lost.more.test/", "Content-Length: 5", "Expect: 100-continue", method="PUT"))
        refusal.check(client.response("PUT"), "dns-timeout", "lost.more.test")


def test_pipelined_refusals_wait_in_the_kernel(own_gateway, world):
    """Of each read one request was answered and the rest kept: the buffer grew as fast as the client sent, and
    nobody else was served."""
    gateway = own_gateway(one_process(world))
    before = gateway.resident_kib()[0]
    with Client(gateway.address) as flood:
        flood.sock.setblocking(False)
        requests = get("http://evil.test/") * 4000
        slowest, until = 0.0, time.monotonic() + 2
        stop = threading.Event()

        def pump():
            at = 0
            while not stop.is_set():
                readable, writable, _ = select.select([flood.sock], [flood.sock], [], 0.1)
                if readable:
                    flood.sock.recv(1 << 20)
                if writable:
                    at = (at + flood.sock.send(requests[at:at + (1 << 18)])) % len(requests)

        pumping = threading.Thread(target=pump)
        pumping.start()
        while time.monotonic() < until:
            began = time.monotonic()
            with Client(gateway.address) as other:
                other.ask(get(API + "/"))
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.1)
        stop.set()
        pumping.join()
    assert slowest < 1
    assert gateway.resident_kib()[0] < before + 400_000, "a sanitizer keeps 256 MiB of what is freed"


def test_a_TLS_peer_that_says_nothing_at_length_takes_turns(own_gateway, world):
    """ChangeCipherSpec, which the TLS library passes over, came faster than it was read: the process stood still."""
    def floods(sock):
        try:
            while True:
                sock.sendall(bytes.fromhex("140303000101") * 100000)
        except OSError:
            pass

    gateway = own_gateway(one_process(world, limits={"tls_timeout_ms": 2000}))
    with world.place("floods.moretls.test", lambda peer: floods(peer.sock), port=443), \
            Client(gateway.address) as client:
        client.send(get("http://floods.moretls.test/"))
        time.sleep(0.3)
        began = time.monotonic()
        with Client(gateway.address) as other:
            assert other.ask(get(API + "/")).status == 200
        assert time.monotonic() - began < 1
        assert client.response().status in (502, 504)


def test_a_request_is_judged_by_the_policy_of_the_moment_it_is_whole(own_gateway, world):
    """A head that began under the former policy was judged by that one, and carried a credential that was gone."""
    made = config(world)
    gateway = own_gateway(made)
    world.forget()
    request = get("http://llm.acme.test/")
    with Client(gateway.address) as late, Client(gateway.address) as tunnel:
        late.send(request[:-10])
        tunnel.send(b"CONNECT api.acme.test:80 HTTP/1.1\r\n")
        time.sleep(0.2)
        after = copy.deepcopy(made)
        policy = after["policies"]["standing"]
        policy["credentials"].remove("llm")
        policy["allowed_hosts"].remove("api.acme.test")
        policy["plaintext_upstream"].remove("api.acme.test")
        assert gateway.reload(after), gateway.last_reload
        late.send(request[-10:])
        assert late.response().status == 200
        tunnel.send(b"Host: api.acme.test:80\r\n\r\n")
        refusal.check(tunnel.response("CONNECT"), "not-allowed", "api.acme.test", tunnel=True)
    assert LLM_KEY.encode() not in world["llm"].requests[0].raw_head


def test_a_tunnel_that_opens_while_draining_lives_as_long_as_the_others(own_gateway, world):
    """On its way from the client to the relay the connection was in neither list, and the drain took itself for done."""
    gateway = own_gateway(config(world, limits={"drain_s": 5}))
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 443).status == 200
        gateway.term()
        time.sleep(0.3)
        greeting = hello.client_hello("echo.acme.test")
        client.send(greeting)
        assert client.read(len(greeting)) == greeting
        time.sleep(0.3)
        client.send(b"still here")
        assert client.read(10) == b"still here"


def test_a_body_that_stalls_has_the_time_of_a_body(own_gateway, world):
    """The wait for the head went on into the body."""
    def stalls(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        peer.gone(8)

    gateway = own_gateway(config(world, limits={"response_timeout_ms": 8000, "body_idle_timeout_ms": 300}))
    with world.place("stalls.more.test", stalls), Client(gateway.address) as client:
        began = time.monotonic()
        client.send(get("http://stalls.more.test/"))
        client.read_until(b"half")
        assert client.ended(6) is not None
        assert time.monotonic() - began < 2


def test_a_websocket_goes_when_its_port_is_not_dialled_any_more(own_gateway, world):
    """The sweep asked about the port that a new request would dial, not about the one that the relay holds."""
    made = config(world)
    gateway = own_gateway(made)
    world["api"].answers["/sock"] = websocket_echo
    with Client(gateway.address) as client:
        assert client.ask(get(API + "/sock", *WEBSOCKET)).status == 101
        assert client.read(7) == b"\x81\x05first"
        after = copy.deepcopy(made)
        after["policies"]["standing"]["plaintext_upstream"].remove("api.acme.test")
        assert gateway.reload(after), gateway.last_reload
        assert client.ended(1) is not None
        gateway.wait_for_audit(lambda r: r.get("event") == "end" and r.get("closed") == "policy-narrowed")


def test_an_early_answer_does_not_lift_the_limit_of_a_body(own_gateway, world):
    """After the head of the answer nobody counted what went up."""
    got = []

    def answers_first(peer):
        peer.read_head()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nearly")
        peer.gone(3)
        got.append(len(peer.received))

    gateway = own_gateway(config(world, limits={"request_body_bytes": 100000}))
    with world.place("early.more.test", answers_first), Client(gateway.address) as client:
        client.send(get("http://early.more.test/", "Transfer-Encoding: chunked", method="POST"))
        client.read_until(b"early")
        try:
            for _ in range(100):
                client.send(b"2710\r\n" + b"x" * 10000 + b"\r\n")
        except OSError:
            pass
        assert client.ended(2) is not None
    deadline = time.monotonic() + 4
    while not got and time.monotonic() < deadline:
        time.sleep(0.01)
    assert got[0] < 150000


def test_a_swept_upload_leaves_nothing_behind_in_the_kernel(own_gateway, world):
    """Closed without a reset, the socket went on to deliver what was queued, after the change was confirmed."""
    swept, got = threading.Event(), []

    def reads_later(peer):
        peer.read_head()
        swept.wait(5)
        time.sleep(0.2)
        peer.sock.settimeout(2)
        before = len(peer.received)
        try:
            peer.read_to_end()
        except OSError:
            pass
        got.append((len(peer.received) - before, peer.reset_by_peer))

    made = config(world)
    gateway = own_gateway(made)
    with world.place("upload.more.test", reads_later), Client(gateway.address) as client:
        client.send(get("http://upload.more.test/", "Content-Length: 100000000", method="POST"))
        client.sock.settimeout(0.5)
        try:
            while True:
                client.send(b"x" * 65536)
        except TimeoutError:
            pass
        after = copy.deepcopy(made)
        for key in ("allowed_hosts", "plaintext_upstream"):
            after["policies"]["standing"][key].remove(".more.test")
        after["policies"]["standing"]["allow_inward_for"] = [
            entry for entry in made["policies"]["standing"]["allow_inward_for"] if entry["host"] != ".more.test"]
        assert gateway.reload(after), gateway.last_reload
        swept.set()
        deadline = time.monotonic() + 5
        while not got and time.monotonic() < deadline:
            time.sleep(0.01)
    assert got[0][1], "the upstream was to be reset"


def test_a_trailer_cannot_set_what_is_stamped(own_gateway, world):
    """A server that merges trailers into the head saw the client's value beside the real one."""
    made = config(world, credentials={
        "vault": {"host": "stamped.moretls.test", "header": "x-vault-token", "scheme": "raw", "value": {"env": "VAULT_KEY"}}},
        policy={"credentials": ["vault"]})
    gateway = own_gateway(made)
    raw = []

    def keeps(peer):
        peer.read_head()
        peer.read_until(b"0\r\n")
        peer.read_until(b"\r\n\r\n")
        raw.append(peer.received)
        peer.send(simple())

    with world.place("stamped.moretls.test", keeps, tls=True), Client(gateway.address) as client:
        client.send(get("http://stamped.moretls.test/", "Transfer-Encoding: chunked", method="POST")
                    + b"1\r\nx\r\n0\r\nX_Vault-Token: forged\r\nX-Sum: 1\r\n\r\n")
        assert client.response("POST").status == 200
    assert VAULT_KEY.encode() in raw[0] and b"X-Sum: 1" in raw[0]
    assert b"forged" not in raw[0]


def test_a_tunnel_that_was_not_held_goes_when_it_would_have_to_be(own_gateway, world):
    """Neither an open tunnel nor one that was being dialled was asked about the server name that is now demanded."""
    made = config(world, policy={"sni": "off"})
    gateway = own_gateway(made)
    world.dns.script("late.moretls.test", "A", Answer((a("late.moretls.test", ECHO, 0),), delay=0.25))
    world.dns.script("late.moretls.test", "AAAA", Answer())
    with Client(gateway.address) as opened, Client(gateway.address) as dialled:
        assert opened.open_tunnel("echo.acme.test", 443).status == 200
        opened.send(b"not TLS")
        assert opened.read(7) == b"not TLS"
        dialled.send(b"CONNECT late.moretls.test:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.05)
        after = copy.deepcopy(made)
        after["policies"]["standing"]["sni"] = "match"
        assert gateway.reload(after), gateway.last_reload
        assert opened.ended(1) is not None
        refusal.check(dialled.response("CONNECT"), "policy-narrowed", "late.moretls.test", tunnel=True)
    with Client(gateway.address) as held:  # and one that was held stays
        assert held.open_tunnel("echo.acme.test", 443).status == 200
        greeting = hello.client_hello("echo.acme.test")
        held.send(greeting)
        assert held.read(len(greeting)) == greeting
        assert gateway.reload(after | {"version": 1}), gateway.last_reload
        held.send(b"on")
        assert held.read(2) == b"on"


def test_a_request_under_way_is_stamped_with_the_value_in_force(own_gateway, world, folder):
    """Its name was being resolved when the credential was rotated, and then when it was taken away."""
    path = f"{folder}/rotated-under-way"

    def write(text):
        with open(path, "w") as file:
            file.write(text)

    write("UNDER-WAY-1")
    made = config(world, credentials={"key": {"host": "rotated.moretls.test", "header": "authorization", "scheme": "bearer",
                                              "value": {"file": path}}}, policy={"credentials": ["key"]}, limits={"pool_connections": 0})
    gateway = own_gateway(made, secrets=["UNDER-WAY-1", "UNDER-WAY-2"])
    seen = []

    def answers(peer):
        while request := peer.read_request():
            seen.append(request.fields.all("Authorization"))
            peer.send(simple())

    with world.place("rotated.moretls.test", answers, tls=True) as there:
        slow = Answer((a("rotated.moretls.test", there.address, 0),), delay=0.25)
        world.dns.script("rotated.moretls.test", "A", slow)
        with Client(gateway.address) as client:
            client.send(get("http://rotated.moretls.test/1"))
            time.sleep(0.05)
            write("UNDER-WAY-2")
            assert gateway.hup()
            assert client.response().status == 200
            without = copy.deepcopy(made)
            without["policies"]["standing"]["credentials"] = []
            client.send(get("http://rotated.moretls.test/2"))
            time.sleep(0.05)
            assert gateway.reload(without)
            refusal.check(client.response(), "policy-narrowed", "rotated.moretls.test")
    assert seen == [["Bearer UNDER-WAY-2"]]


def test_a_websocket_takes_a_place_of_the_tunnels(own_gateway, world):
    gateway = own_gateway(config(world, network_limits={"tunnels": 2}))
    world["api"].answers["/place"] = websocket_echo
    with contextlib.ExitStack() as kept:
        for expected in (101, 101, 429):
            client = kept.enter_context(Client(gateway.address))
            assert client.ask(get(API + "/place", *WEBSOCKET)).status == expected


def test_a_refused_hello_stands_in_the_record(own_gateway, world):
    gateway = own_gateway(config(world))
    mark = gateway.mark()
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 443).status == 200
        client.send(hello.client_hello("evil.test"))
        client.read_to_end()
    end = gateway.wait_for_audit(lambda record: record["event"] == "end", since=mark)
    assert (end["closed"], end["sni"]) == ("sni-mismatch", "evil.test")
