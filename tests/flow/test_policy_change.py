"""Changing the policy while traffic runs: SIGHUP, install, sweep (decision 7; specification 5.4 and 9.8; CONF-10, 11, 13)."""
import copy
import os
import signal
import threading
import time

import pytest
from support import http_origin, refusal
from support.cases import get
from support.client import Client, Closed
from support.dns_server import Answer, a
from support.http_origin import simple, websocket_echo
from support.origin import Blackhole
from support.world import config

API = "http://api.acme.test"


def without(made, *hosts):
    """The configuration with these allowed hosts taken away, and the credentials that need them."""
    made = copy.deepcopy(made)
    policy = made["policies"]["standing"]
    for key in ("allowed_hosts", "plaintext_upstream"):
        policy[key] = [host for host in policy[key] if host not in hosts]
    policy["allow_inward_for"] = [entry for entry in policy["allow_inward_for"] if entry["host"] not in hosts]
    if "llm.acme.test" in hosts:
        policy["credentials"].remove("llm")
    if ".public.test" in hosts:
        policy["credentials"].remove("vault")
    return made


def emptied(made):
    made = copy.deepcopy(made)
    made["policies"]["standing"] |= {"allowed_hosts": [], "credentials": [], "plaintext_upstream": [], "allow_inward_for": []}
    return made


@pytest.fixture
def live(own_gateway, world):
    """A gateway of our own, and the configuration that it began with."""
    made = config(world)
    return own_gateway(made), made


def status(gateway, url):
    with Client(gateway.address) as client:
        response = client.ask(get(url))
        return response.status, response.reason


def narrow(gateway, made):
    assert gateway.reload(made), gateway.last_reload
    gateway.check_alive()


def test_L01_P07_P73_narrow_to_nothing_and_back(live):
    """Also on a connection that is kept open across the change."""
    gateway, made = live
    with Client(gateway.address) as kept:
        assert kept.ask(get(API + "/1")).status == 200
        narrow(gateway, emptied(made))
        try:
            refusal.check(kept.ask(get(API + "/2")), "not-allowed", "api.acme.test")
        except (Closed, ConnectionError):
            pass  # closing an idle connection at the change is as right
    assert status(gateway, API + "/3") == (403, "not-allowed")
    narrow(gateway, made)
    assert status(gateway, API + "/4")[0] == 200


def test_K23_a_tunnel_is_cut_before_the_change_is_confirmed(live, world):
    gateway, made = live
    world.forget()
    mark = gateway.mark()
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
        client.send(b"before")
        assert client.read(6) == b"before"
        narrow(gateway, without(made, "echo.acme.test"))
        try:
            client.send(b"after")
        except OSError:
            pass
        assert client.ended(0.5) is not None
    assert bytes(world.echo_9000.streams[0]) == b"before", "a byte went through after the change"
    end = gateway.wait_for_audit(lambda r: r.get("event") == "end" and r.get("bytes_up"), since=mark)
    assert end["closed"] == "policy-narrowed"


def test_K24_CONF_13_what_stays_allowed_is_not_touched(live, world):
    gateway, made = live
    world["tls"].answers["/events"] = http_origin.event_stream(30, 0.05)
    with Client(gateway.address) as tunnel, Client(gateway.address) as stream, Client(gateway.address) as cut:
        assert tunnel.open_tunnel("echo.acme.test", 9000).status == 200
        stream.send(get("http://tls.acme.test/events"))
        stream.read_until(b"data: 0")
        cut.open_tunnel("api.acme.test", 443)
        narrow(gateway, without(made, "api.acme.test"))
        assert cut.ended(0.5) is not None
        narrow(gateway, made)  # widening cuts nothing either
        tunnel.send(b"still here")
        assert tunnel.read(10) == b"still here"
        stream.read_until(b"data: 29")


def test_L02_CONF_13_streams_uploads_and_sockets_are_cut(live, world):
    gateway, made = live
    world["api"].answers["/endless"] = http_origin.stream_until_gone
    world["api"].answers["/sock"] = websocket_echo
    with Client(gateway.address) as stream, Client(gateway.address) as upload, Client(gateway.address) as socket_, \
            Client(gateway.address) as waits:
        stream.send(get(API + "/endless"))
        stream.read_until(b"tick")
        upload.send(get(API + "/up", "Content-Length: 1000000", method="POST", body=b"x" * 1000))
        socket_.ask(get(API + "/sock", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                        "Sec-WebSocket-Version: 13"))
        world["api"].answers["/wait"] = lambda peer, request: time.sleep(1.5)
        waits.send(get(API + "/wait"))
        time.sleep(0.1)
        narrow(gateway, without(made, "api.acme.test"))
        for name, client in (("stream", stream), ("upload", upload), ("socket", socket_), ("waits", waits)):
            if client.ended(0.7) is None:  # one that has had no answer yet is told why
                assert name in ("waits", "upload"), f"{name} lives on"
                refusal.check(client.response(), "policy-narrowed", "api.acme.test")
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and not any(hasattr(peer, "gone_at") for peer in world["api"].peers):
        time.sleep(0.02)
    assert any(hasattr(peer, "gone_at") for peer in world["api"].peers), "the upstream is closed too"


def test_a_plain_tunnel_between_two_requests_is_cut_too(live):
    """No tunnel lives on that the new policy would refuse (decision 7)."""
    gateway, made = live
    with Client(gateway.address) as inside:
        assert inside.open_tunnel("api.acme.test", 80).status == 200
        assert inside.ask(get("/a", host="api.acme.test")).status == 200
        narrow(gateway, without(made, "api.acme.test"))
        assert inside.ended(0.7) is not None


def test_what_is_under_way_when_the_policy_narrows(live, world):
    """Resolving, dialling: nothing is dialled or sent under the new policy."""
    gateway, made = live
    with world.place("slow.more.test", lambda peer: (peer.read_request(), peer.send(simple()))) as origin:
        world.dns.script("slow.more.test", "A", Answer((a("slow.more.test", origin.address),), delay=0.6))
        world.dns.script("slow.more.test", "AAAA", Answer())
        address = world.address()
        hole = Blackhole(address, 80)
        world.dns.host("hole.more.test", address)
        with Client(gateway.address) as resolving, Client(gateway.address) as dialling, Client(gateway.address) as tunnel:
            resolving.send(get("http://slow.more.test/"))
            dialling.send(get("http://hole.more.test/"))
            tunnel.send(b"CONNECT slow.more.test:9000 HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.2)
            narrow(gateway, without(made, ".more.test"))
            for client in (resolving, dialling, tunnel):
                began = time.monotonic()
                try:
                    response = client.response()
                    assert response.status == 403 and response.reason in ("policy-narrowed", "not-allowed"), response.reason
                except (Closed, ConnectionError):
                    pass
                assert time.monotonic() - began < 1
        assert origin.accepted == 0
        assert hole.attempts() == 0
        hole.close()


def test_a_new_deny_cidr_cuts_what_leads_there(live, world):
    """The sweep asks the screen as well as the list."""
    gateway, made = live
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
        made = copy.deepcopy(made)
        made["policies"]["standing"]["deny_cidrs"] = ["127.10.0.9/32"]
        narrow(gateway, made)
        assert client.ended(0.5) is not None
    with Client(gateway.address) as client:
        refusal.check(client.open_tunnel("echo.acme.test", 9000), "resolved:operator-denied", tunnel=True)


def test_CONF_13_kept_connections_of_a_revoked_host_are_closed(live, world):
    gateway, made = live
    world.forget()
    for _ in range(4):
        assert status(gateway, "http://llm.acme.test/")[0] == 200
    assert world["llm"].peers and not all(peer.eof for peer in world["llm"].peers)
    narrow(gateway, without(made, "llm.acme.test"))
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and not all(peer.eof for peer in world["llm"].peers):
        time.sleep(0.02)
    assert all(peer.eof for peer in world["llm"].peers)


def test_CONF_13_kept_connections_of_a_removed_credential_are_closed(live, world):
    gateway, made = live
    world.forget()
    for _ in range(4):
        assert status(gateway, "http://llm.acme.test/")[0] == 200
    made = copy.deepcopy(made)
    made["policies"]["standing"]["credentials"].remove("llm")
    narrow(gateway, made)
    first = {seen.connection for seen in world["llm"].requests}
    world["llm"].requests.clear()
    for _ in range(4):
        assert status(gateway, "http://llm.acme.test/")[0] == 200
    assert all(seen.fields.get("Authorization") is None for seen in world["llm"].requests)
    assert not first & {seen.connection for seen in world["llm"].requests}


def test_L21_no_request_is_served_under_the_old_policy_after_the_confirmation(live):
    gateway, made = live
    stop, confirmed, late, served = threading.Event(), [None], [], [0]

    def hammer():
        while not stop.is_set():
            try:
                with Client(gateway.address) as client:
                    for _ in range(20):
                        began = time.monotonic()
                        response = client.ask(get(API + "/race"))
                        served[0] += response.status == 200
                        if response.status == 200 and confirmed[0] and began > confirmed[0]:
                            late.append(began - confirmed[0])
            except (Closed, OSError):
                continue

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.4)
    narrow(gateway, emptied(made))
    confirmed[0] = time.monotonic()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert served[0] > 50 and not late, late[:5]


def test_many_reloads_under_load_lose_nobody(live):
    """Widening and narrowing by turns; a host that is always allowed is always served."""
    gateway, made = live
    stop, wrong, served = threading.Event(), [], [0]

    def steady():
        while not stop.is_set():
            try:
                with Client(gateway.address) as client:
                    for _ in range(10):
                        response = client.ask(get(API + "/steady"))
                        served[0] += 1
                        if response.status != 200:
                            wrong.append((response.status, response.reason))
            except (Closed, OSError) as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=steady) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(12):
        narrow(gateway, without(made, ".pkgs.test") if turn % 2 else made)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and served[0] > 30, (wrong[:5], served[0])


# ---- files that cannot be taken (CONF-10, L04) --------------------------------------------------------

def test_CONF_10_a_bad_file_changes_nothing(live):
    gateway, made = live
    good = gateway.config_path.read_text()
    for text, word in (("version: 1\ngateway: {processes: 2\n", ""), (good.replace('"version": 1', '"versoin": 1'), "versoin"),
                       (good.replace('"api.acme.test"', '"*.x"', 1), "*.x"), ("", "")):
        before = len(gateway.running_log())
        gateway.config_path.write_text(text)
        assert gateway.hup() is False, f"taken: {text[:60]}"
        said = gateway.running_log()[before:]
        assert word in said and str(gateway.config_path.name) in said, said
        mark = gateway.mark()
        assert status(gateway, API + "/a")[0] == 200
        gateway.wait_for_audit(lambda r: r.get("host") == "api.acme.test", since=mark)
    narrow(gateway, without(made, "api.acme.test"))
    assert status(gateway, API + "/a") == (403, "not-allowed")


def test_CONF_11_the_file_is_replaced_in_every_way(live):
    """Rename, rename again, a link to a link, removed and made anew, edited in place."""
    gateway, made = live
    closed, path = without(made, "api.acme.test"), gateway.config_path

    def check(open_):
        assert gateway.hup()
        assert (status(gateway, API + "/")[0] == 200) == open_

    gateway.write_config(closed)  # writes and renames
    check(False)
    gateway.write_config(made)
    check(True)
    gateway.write_config(closed)
    real = path.rename(path.with_name("real-closed.json"))
    gateway.write_config(made)
    other = path.rename(path.with_name("real-open.json"))
    middle = path.with_name("middle")
    middle.symlink_to(real)
    path.symlink_to(middle)
    check(False)
    middle.unlink()
    middle.symlink_to(other)
    check(True)
    path.unlink()
    assert gateway.hup() is False, "there is no file"
    gateway.write_config(closed)
    check(False)
    path.write_text(other.read_text())
    check(True)


def test_a_listener_that_is_added_and_removed(live, world):
    from support.network import free_port
    gateway, made = live
    port = free_port()
    more = copy.deepcopy(made)
    more["networks"]["second"] = {"listen": f"127.0.0.1:{port}", "policy": "standing"}
    narrow(gateway, more)
    with Client(("127.0.0.1", port)) as client:
        assert client.ask(get(API + "/")).status == 200
    with Client(gateway.address) as client:
        request = get(f"http://127.0.0.1:{port}/")
        refusal.check(client.ask(request), "loop", sent=request)
    kept = Client(("127.0.0.1", port))
    assert kept.open_tunnel("echo.acme.test", 9000).status == 200
    narrow(gateway, made)
    assert kept.ended(1) is not None, "a binding that is gone holds no tunnel"
    with pytest.raises(OSError):
        Client(("127.0.0.1", port), timeout=1)
    assert status(gateway, API + "/")[0] == 200


def test_signals_in_a_burst(live):
    """Ten SIGHUP at once are one or several reloads, and nothing breaks."""
    gateway, made = live
    for _ in range(10):
        os.kill(gateway.process.pid, signal.SIGHUP)
    time.sleep(0.5)
    narrow(gateway, without(made, "api.acme.test"))
    assert status(gateway, API + "/") == (403, "not-allowed")


def test_a_large_list_does_not_stall_traffic(live, folder):
    """CONF-15: 200000 entries from a file, reloaded while a connection keeps asking."""
    gateway, made = live
    path = f"{folder}/hosts.txt"
    with open(path, "w") as file:
        for number in range(100000):
            file.write(f"h{number}.large.test\n.s{number}.large.test\n")
    large = copy.deepcopy(made)
    large["policies"]["standing"]["allowed_hosts_file"] = path
    slowest, stop = [0.0], threading.Event()

    def steady():
        with Client(gateway.address) as client:
            while not stop.is_set():
                began = time.monotonic()
                assert client.ask(get(API + "/steady")).status == 200
                slowest[0] = max(slowest[0], time.monotonic() - began)

    thread = threading.Thread(target=steady)
    thread.start()
    assert gateway.reload(large, seconds=20)
    stop.set()
    thread.join()
    assert slowest[0] < 0.5, f"a request took {slowest[0]:.2f} s during the reload"
    assert status(gateway, "http://absent.large.test/") == (403, "not-allowed")
    assert status(gateway, "http://x.s99999.large.test/")[0] == 502, "allowed, and does not exist"
