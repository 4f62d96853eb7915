"""Connections, time and limits, and the life of the processes (case list LIFE rows; K27, K29, L06-L08, L24)."""
import hashlib
import os
import resource
import signal
import socket
import threading
import time

import pytest
from support import hello, origin, refusal
from support.cases import get
from support.client import Client, Closed
from support.gateway import descendants, state_of
from support.http_origin import simple
from support.origin import Blackhole
from support.world import config

API = "http://api.acme.test"
QUICK = {"head_timeout_ms": 700, "client_idle_timeout_ms": 600, "response_timeout_ms": 700, "body_idle_timeout_ms": 700,
         "idle_timeout_s": 1, "half_closed_timeout_s": 1, "client_hello_timeout_ms": 700}
NEEDS_ROOT = "descriptors of a proxy can be counted by root only"


@pytest.fixture(scope="module")
def quick(gateways, world):
    """Every time limit is short."""
    return gateways.get(config(world, limits=QUICK))


# ---- time limits ----------------------------------------------------------------------------------

def test_LIFE_01_P71_a_head_has_one_deadline(quick, world):
    """Many trickle a head; each byte does not renew the time; others are served meanwhile."""
    slow = [Client(quick.address) for _ in range(150)]
    began = time.monotonic()
    data = get(API + "/slow", *["X-A: b"] * 20)
    for at in range(6):
        for client in slow:
            try:
                client.send(data[at:at + 1])
            except OSError:
                pass
        with Client(quick.address) as other:
            asked = time.monotonic()
            assert other.ask(get(API + "/fast")).status == 200 and time.monotonic() - asked < 0.5
        time.sleep(0.1)
    for client in slow:
        refusal.check(client.response(), "slow-client")
        assert client.ended(2) is not None
        client.close()
    assert 0.6 < time.monotonic() - began < 3


def test_LIFE_01_a_slow_body_is_fine(quick, world):
    world.forget()
    with Client(quick.address) as client:
        client.send(get(API + "/up", "Content-Length: 20", method="POST"))
        for _ in range(20):
            client.send(b"x")
            time.sleep(0.1)
        assert client.response("POST").status == 200
    assert world["api"].requests[0].body == b"x" * 20


def test_a_body_that_stops(quick, world):
    with Client(quick.address) as client:
        began = time.monotonic()
        client.send(get(API + "/up", "Content-Length: 20", method="POST", body=b"xxx"))
        try:
            assert client.response("POST").status in (408, 504)
        except Closed:
            pass
        assert 0.4 < time.monotonic() - began < 2.5


def test_a_connection_between_requests(quick):
    with Client(quick.address) as client:
        assert client.ask(get(API + "/")).status == 200
        began = time.monotonic()
        assert client.ended(3) == "fin" and 0.4 < time.monotonic() - began < 1.5
        assert client.unread == b"", "an idle connection is closed in silence"


def test_a_connection_that_never_speaks(quick):
    with Client(quick.address) as client:
        began = time.monotonic()
        assert client.ended(3) is not None and time.monotonic() - began < 2


@pytest.mark.parametrize("sends", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_an_origin_that_does_not_answer(sends, quick, world):
    def script(peer):
        peer.read_request()
        peer.send(sends)
        peer.gone(4)

    with world.place("mute.more.test", script), Client(quick.address) as client:
        began = time.monotonic()
        refusal.check(client.ask(get("http://mute.more.test/")), "upstream-timeout", "mute.more.test")
        assert 0.5 < time.monotonic() - began < 2


def test_RESP_14_fields_that_dribble_for_ever(quick, world):
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\n")
        try:
            while True:
                peer.send(b"X: a\r\n")
                time.sleep(0.1)
        except OSError:
            pass

    with world.place("dribble.more.test", script), Client(quick.address) as client:
        began = time.monotonic()
        response = client.ask(get("http://dribble.more.test/"))
        assert response.status in (502, 504) and time.monotonic() - began < 2, "the deadline of the head is one"


def test_a_body_of_an_answer_that_stops(quick, world):
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123")
        peer.gone(4)

    with world.place("stops.more.test", script), Client(quick.address) as client:
        client.send(get("http://stops.more.test/"))
        began = time.monotonic()
        with pytest.raises((Closed, ConnectionResetError)):
            client.response()
        assert 0.4 < time.monotonic() - began < 2


def test_K29_an_idle_tunnel(quick):
    """Closed after idle_timeout_s; one in which bytes move stays."""
    mark = quick.mark()
    with Client(quick.address) as idle, Client(quick.address) as busy:
        assert idle.open_tunnel("echo.acme.test", 9000).status == 200
        assert busy.open_tunnel("echo.acme.test", 9000).status == 200
        for _ in range(10):
            busy.send(b"x")
            assert busy.read(1) == b"x"
            time.sleep(0.25)
        assert idle.ended(0.2) is not None
    record = quick.wait_for_audit(lambda r: r.get("event") == "end" and "idle" in str(r.get("closed")), since=mark)
    assert record["bytes_up"] == 0


def test_a_half_closed_tunnel_in_which_nothing_moves(quick, world):
    with world.place("half.more.test", lambda peer: (peer.half_close(), peer.gone(6)), port=9000), Client(quick.address) as client:
        assert client.open_tunnel("half.more.test", 9000).status == 200
        began = time.monotonic()
        assert client.read_to_end() == b""
        try:
            while time.monotonic() - began < 5:
                time.sleep(0.1)
                client.sock.setblocking(False)
                try:
                    client.sock.send(b"") or client.sock.recv(1)
                except BlockingIOError:
                    pass
                if client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) not in (b"\x01", b"\x08"):
                    break
        except OSError:
            pass
        assert time.monotonic() - began < 4.5


# ---- limits -----------------------------------------------------------------------------------------

def test_LIFE_04_out_of_descriptors(own_gateway, world):
    """More clients than descriptors: the processor stays idle, and service resumes by itself."""
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))

    gateway = own_gateway(config(world, gateway={"processes": 1}, limits={"pool_connections": 4}), prepare=few)
    held = []
    for _ in range(300):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(gateway.address)
        held.append(sock)
    time.sleep(0.5)
    before, lines = gateway.cpu_seconds(), gateway.running_log().count("\n")
    time.sleep(2)
    assert gateway.cpu_seconds() - before < 0.5, "a busy loop"
    assert gateway.running_log().count("\n") - lines < 20, "a flooded log"
    for sock in held[:280]:  # fewer are left than the descriptors suffice for
        sock.close()
    time.sleep(0.5)
    deadline, served = time.monotonic() + 5, False
    while not served and time.monotonic() < deadline:
        try:
            with Client(gateway.address, timeout=2) as client:
                served = client.ask(get(API + "/")).status == 200
        except (OSError, Closed):
            time.sleep(0.1)
    for sock in held:
        sock.close()
    assert served


def test_a_limit_of_connections_that_cannot_be_met_is_refused_at_load(gateways, folder, world):
    from test_credentials import start_and_fail
    made = config(world, limits={"connections": 1000000})
    if not os.path.exists(os.environ.get("NAMZU_GW", "")):
        gateways.get(config(world))  # skips where there is no binary
    code, output = start_and_fail(folder, made, {})
    assert code != 0 and "connections" in output, output


def test_LIFE_05_fast_sender_slow_receiver(gateway, world):
    """The source is paused by TCP, memory stays flat, and nothing is lost when the client speeds up."""
    block = os.urandom(1 << 16)
    blocks = 256  # 16 MiB a tunnel

    def flood(peer):
        peer.sock.settimeout(60)
        for _ in range(blocks):
            peer.send(block)

    want = hashlib.sha256()
    for _ in range(blocks):
        want.update(block)
    before = gateway.resident_kib()
    with world.place("flood.more.test", flood, port=9000):
        clients = [Client(gateway.address, timeout=60) for _ in range(16)]
        for client in clients:
            assert client.open_tunnel("flood.more.test", 9000).status == 200
        time.sleep(1)
        grown = gateway.grown_kib(before)
        assert grown < 8192, f"{grown} KiB for 16 stalled tunnels"
        for client in clients:
            got = hashlib.sha256(client.read_to_end())
            assert got.digest() == want.digest()
            client.close()


def test_LIFE_05_a_slow_origin_pushes_back_on_an_upload(gateway, world):
    def slow(peer):
        peer.read_head()
        time.sleep(1)
        total = len(peer._unread)
        while total < 32 << 20:
            total += len(peer.sock.recv(1 << 20))
        peer.send(simple(200, str(total).encode()))

    before = gateway.resident_kib()
    with world.place("slowup.more.test", slow), Client(gateway.address, timeout=30) as client:
        sender = threading.Thread(target=lambda: client.send(get("http://slowup.more.test/", f"Content-Length: {32 << 20}", method="POST")
                                                             + bytes(32 << 20)))
        sender.start()
        time.sleep(0.8)
        assert gateway.grown_kib(before) < 8192
        assert client.response("POST").body == str(32 << 20).encode()
        sender.join()


# ---- clients that leave -------------------------------------------------------------------------------

def test_LIFE_07_one_connection_many_hosts(gateway, world):
    world.forget()
    with Client(gateway.address) as client:
        assert client.ask(get(API + "/1")).status == 200
        response = client.ask(get("http://evil.test/2"))
        refusal.check(response, "not-allowed", "evil.test")
        if "close" not in response.fields.tokens("connection"):
            assert client.ask(get("http://llm.acme.test/3")).status == 200
            assert client.ask(get("http://x.pkgs.test/4")).status == 200
            assert world["llm"].requests[0].fields.get("Authorization")
            assert world["pkgs"].requests[0].fields.get("Authorization") is None


def test_LIFE_08_clients_that_leave_while_we_connect(gateway, world):
    address = world.address()
    hole = Blackhole(address, 80)
    world.dns.host("l8.more.test", address)
    before, mark = gateway.descriptors(), gateway.mark()
    for _ in range(5):
        clients = [Client(gateway.address) for _ in range(40)]
        for client in clients:
            client.send(get("http://l8.more.test/"))
        time.sleep(0.1)
        for client in clients:
            client.close()
    left = time.monotonic()
    while hole.attempts() and time.monotonic() < left + 2:
        time.sleep(0.05)
    assert time.monotonic() - left < 1.2, "attempts outlive their clients"
    gateway.wait_for_audit(lambda r: r.get("reason") == "client-gone" or r.get("closed") == "client-gone", since=mark)
    hole.close()
    if before is None:
        pytest.skip(NEEDS_ROOT)
    after = gateway.settle(before, slack=6)
    assert all(now <= then + 6 for now, then in zip(after, before)), (before, after)


def test_LIFE_09_writing_to_clients_that_are_gone(gateway, world):
    from support.http_origin import stream_until_gone
    world["api"].answers["/endless"] = stream_until_gone
    before = gateway.descriptors()
    for _ in range(30):
        Client(gateway.address).close()
        half = Client(gateway.address)
        half.send(get(API + "/x")[:30])
        half.reset()
        wrong = Client(gateway.address)
        wrong.send(b"\0\r\n\r\n")
        wrong.reset()
        download = Client(gateway.address)
        download.send(get(API + "/endless"))
        download.read_until(b"tick")
        download.reset()
    busy = gateway.cpu_seconds()
    time.sleep(1)
    assert gateway.cpu_seconds() - busy < 0.3
    if before is None:
        pytest.skip(NEEDS_ROOT)
    after = gateway.settle(before, slack=6)
    assert all(now <= then + 6 for now, then in zip(after, before)), (before, after)


def test_CONN_11_ending_a_tunnel_twice(quick, world):
    """Data queued towards a client that does not read; FIN from upstream; idle timeout; reset."""
    def script(peer):
        peer.sock.settimeout(0.5)
        try:
            peer.send(b"x" * (64 << 20))
        except OSError:
            pass

    before = quick.descriptors()
    with world.place("twice.more.test", script, port=9000):
        clients = []
        for _ in range(10):
            client = Client(quick.address)
            clients.append(client)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            assert client.open_tunnel("twice.more.test", 9000).status == 200
        time.sleep(1.8)
        for client in clients:
            client.reset()
    if before is not None:
        after = quick.settle(before, slack=4)
        assert all(now <= then + 4 for now, then in zip(after, before)), (before, after)


# ---- ending the gateway ---------------------------------------------------------------------------------

def wait_gone(pids, seconds):
    deadline = time.monotonic() + seconds
    while any(state_of(pid) not in (None, "Z") for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(state_of(pid) not in (None, "Z") for pid in pids)


def test_L06_L07_L08_K27_SIGTERM(own_gateway, world):
    """Idle clients and tunnels hold nothing up; new connections are refused; exit 0; twice is once."""
    gateway = own_gateway(config(world, limits={"drain_s": 1}))
    everyone = [gateway.process.pid, *descendants(gateway.process.pid)]
    idle, kept, tunnel = (Client(gateway.address) for _ in range(3))
    assert kept.ask(get(API + "/")).status == 200
    assert tunnel.open_tunnel("echo.acme.test", 9000).status == 200
    began = time.monotonic()
    gateway.term()
    gateway.term()
    gateway.process.wait(8)
    assert time.monotonic() - began < 4, "drain_s is 1"
    for client in (idle, kept, tunnel):
        assert client.ended(1) is not None
    with pytest.raises(OSError):
        Client(gateway.address, timeout=1)
    assert wait_gone(everyone, 2)


def test_SIGTERM_lets_an_answer_finish(own_gateway, world):
    def script(peer):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
        for _ in range(10):
            time.sleep(0.08)
            peer.send(b"ok")

    gateway = own_gateway(config(world, limits={"drain_s": 5}))
    with world.place("drain.more.test", script), Client(gateway.address) as client:
        client.send(get("http://drain.more.test/"))
        client.read_until(b"\r\n\r\n")
        gateway.term()
        assert client.read(20) == b"ok" * 10
        began = time.monotonic()
        gateway.process.wait(8)
        assert time.monotonic() - began < 2, "nothing is left to wait for"


def test_SIGTERM_while_everything_is_under_way(own_gateway, world):
    """Resolving, dialling, shaking hands, waiting: it ends in time and clean."""
    address = world.address()
    hole = Blackhole(address, 80)
    world.dns.host("term.more.test", address)
    from support.dns_server import Answer
    world.dns.script_both("term2.more.test", Answer(silent=True))
    gateway = own_gateway(config(world, limits={"drain_s": 1}))
    with world.place("term.moretls.test", origin.silent, port=443), world.place("term3.more.test", origin.silent):
        clients = []
        for name in ("term.more.test", "term2.more.test", "term.moretls.test", "term3.more.test") * 5:
            clients.append(Client(gateway.address))
            clients[-1].send(get(f"http://{name}/"))
        for _ in range(5):
            clients.append(Client(gateway.address))
            clients[-1].open_tunnel("echo.acme.test", 443)
            clients[-1].send(hello.client_hello("echo.acme.test")[:50])
        time.sleep(0.2)
        began = time.monotonic()
        gateway.term()
        gateway.process.wait(8)
        assert time.monotonic() - began < 4
        for client in clients:
            client.close()
    hole.close()


def wait_for(holds, seconds=6):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True


def test_L24_a_proxy_that_dies_is_replaced(own_gateway, world):
    """The others and their tunnels do not notice; new connections are served all the time."""
    gateway = own_gateway(config(world))
    tunnels = [Client(gateway.address) for _ in range(12)]
    for number, client in enumerate(tunnels):
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
        gateway.wait_for_audit(lambda r, n=number: len(gateway.audit()) > n)
    holders = [record["id"].rpartition("-")[0] for record in gateway.audit()]
    first = gateway.proxies()
    os.kill(first[0], signal.SIGKILL)
    assert wait_for(lambda: len(gateway.proxies()) == 2 and first[0] not in gateway.proxies())
    assert first[1] in gateway.proxies()
    gateway.forgive()
    for client, holder in zip(tunnels, holders):
        try:
            client.send(b"ping")
            answer = client.read(4)
        except OSError:
            answer = b""
        assert answer == (b"" if holder == "proxy-0" else b"ping"), holder
        client.close()
    for _ in range(10):
        with Client(gateway.address) as client:
            assert client.ask(get(API + "/")).status == 200


def test_a_replaced_proxy_has_policy_and_credentials(own_gateway, world):
    gateway = own_gateway(config(world))
    old = gateway.proxies()
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: len(gateway.proxies()) == 2 and not set(old) & set(gateway.proxies()))
    gateway.forgive()
    world.forget()
    assert wait_for(lambda: _served(gateway, "http://llm.acme.test/"))
    assert world["llm"].requests[-1].fields.get("Authorization")
    with Client(gateway.address) as client:
        refusal.check(client.ask(get("http://evil.test/")), "not-allowed", "evil.test")


def _served(gateway, url):
    try:
        with Client(gateway.address, timeout=2) as client:
            return client.ask(get(url)).status == 200
    except (OSError, Closed):
        return False


def test_a_stuck_proxy_is_killed_and_replaced(own_gateway, world):
    gateway = own_gateway(config(world, limits={"heartbeat_timeout_ms": 2000}))
    stuck = gateway.proxies()[0]
    os.kill(stuck, signal.SIGSTOP)
    assert wait_for(lambda: len(gateway.proxies()) == 2 and stuck not in gateway.proxies(), 8)
    gateway.forgive()
    for _ in range(6):
        assert _served(gateway, API + "/")


def test_without_a_supervisor_the_rest_goes_away(own_gateway, gateways, world):
    gateway = own_gateway(config(world, limits={"drain_s": 1}))
    rest = descendants(gateway.process.pid)
    tunnel = Client(gateway.address)
    assert tunnel.open_tunnel("echo.acme.test", 9000).status == 200
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()
    assert wait_gone(rest, 6), "processes without a supervisor live on"
    assert tunnel.ended(1) is not None
    with pytest.raises(OSError):
        Client(gateway.address, timeout=1)
    gateway.check_logs()
    gateway.process = None
