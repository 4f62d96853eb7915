"""The processes of a gateway: how they start, what they hold, how each may die, reload and the end.

Nothing here needs the standing scene: an origin of its own on loopback, static names, no resolver.
"""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from support import network
from support.gateway import binary, command_line, descendants, state_of

SECRET = "S3CRET-process-58a1d0"
FILE_SECRET = "S3CRET-file-c0ffee91"
ROOT = os.getuid() == 0
NO_CAPABILITY = "0000000000000000"
needs_root = pytest.mark.skipif(not ROOT, reason="only root may look into processes that are not dumpable")


class Echo:
    """Sends back what it gets."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    @staticmethod
    def _serve(peer):
        with peer:
            try:
                while data := peer.recv(65536):
                    peer.sendall(data)
            except OSError:
                pass


@pytest.fixture(scope="module")
def echo():
    made = Echo()
    yield made
    made.socket.close()


def configuration(echo, limits=None, networks=None, gateway=None, **more):
    made = {
        "version": 1,
        "gateway": {
            "processes": 2,
            "dns": {"servers": ["127.0.0.1:9"], "hosts": {"echo.test": ["127.0.0.1"]}},
            "limits": {"drain_s": 1, "heartbeat_timeout_ms": 3000, **(limits or {})},
            **(gateway or {}),
        },
        "policies": {"echo": {
            "kind": "static", "allowed_hosts": ["echo.test"], "ports": [echo.port], "sni": "off",
            "allow_inward_for": [{"host": "echo.test", "cidrs": ["127.0.0.0/8"]}],
        }, "nothing": {"kind": "deny-all"}},
        "networks": networks or {"local": {"listen": f"127.0.0.1:{network.free_port()}", "policy": "echo"}},
        **more,
    }
    return made


def with_secrets(made, folder):
    """Two credentials, one from each kind of source."""
    path = f"{folder}/token-{time.monotonic_ns()}"
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(FILE_SECRET + "\n")
    made["credentials"] = {
        "one": {"host": "echo.test", "header": "authorization", "scheme": "bearer", "value": {"env": "PROCESS_TOKEN"}},
        "two": {"host": "echo.test", "header": "x-api-key", "scheme": "raw", "value": {"file": path}},
    }
    made["policies"]["echo"]["credentials"] = ["one", "two"]
    return made


def ask(address, target="echo.test:1", seconds=5):
    """The status of a CONNECT; refused ones are a sign of life as good as any."""
    with socket.create_connection(address, seconds) as client:
        client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        return int(client.recv(4096).split(b" ", 2)[1])


def tunnel(gateway, echo):
    client = socket.create_connection(gateway.address, 5)
    client.sendall(f"CONNECT echo.test:{echo.port} HTTP/1.1\r\nHost: echo.test:{echo.port}\r\n\r\n".encode())
    answer = client.recv(4096)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    assert echoes(client)
    return client


def echoes(client):
    """Does the tunnel still carry bytes both ways?"""
    try:
        client.sendall(b"ping")
        got = b""
        while len(got) < 4:
            more = client.recv(4 - len(got))
            if not more:
                return False
            got += more
        return got == b"ping"
    except OSError:
        return False


def until(true, what, seconds=8):
    deadline = time.monotonic() + seconds
    while True:
        found = true()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def until_logged(gateway, pattern, seconds=8, since=0):
    return until(lambda: re.search(pattern, gateway.running_log()[since:]), f"{pattern!r} in the log", seconds)


def role(gateway, name):
    """The process id of the child with this role."""
    def find():
        for pid in descendants(gateway.process.pid):
            if f"--role={name}:".encode() in command_line(pid) and state_of(pid) not in (None, "Z", "X"):
                return pid
        return None
    return until(find, f"a {name}")


def everybody(gateway):
    return [gateway.process.pid, *descendants(gateway.process.pid)]


def is_gone(pid):
    return state_of(pid) in (None, "Z", "X")


def status_field(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return re.search(rf"^{name}:[ \t]*(.*)$", file.read(), re.M)[1].strip()


def open_files(pid):
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return found


def no_zombies(gateway):
    return not [pid for pid in descendants(gateway.process.pid) if state_of(pid) == "Z"]


# ---- the start -------------------------------------------------------------------------------


def test_ready_names_listeners_policies_and_digests(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    line = re.search(r".*\bready\b.*", gateway.running_log())[0]
    host, port = gateway.address
    assert f"network local on {host}:{port}" in line
    assert re.search(r"policy echo sha256:[0-9a-f]{64}", line)
    assert "generation 1" in line and "2 proxies" in line
    assert ask(gateway.address) == 403


def test_proxies_and_log_writer_are_confined(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    proxies, writer = gateway.proxies(), role(gateway, "log-writer")
    uids = {status_field(pid, "Uid") for pid in [*proxies, writer]}
    assert len(uids) == 1
    uid = int(uids.pop().split()[0])
    if ROOT:
        assert 61184 <= uid <= 65519
        assert f"as uid {uid}" in gateway.running_log()
    else:
        assert uid == os.getuid()
        assert "the proxies keep our uid" in gateway.running_log()
    for pid in [*proxies, writer]:
        assert status_field(pid, "NoNewPrivs") == "1"
        assert status_field(pid, "Seccomp") == "2"
        for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert status_field(pid, capabilities) == NO_CAPABILITY
        if ROOT:
            assert status_field(pid, "CapBnd") == NO_CAPABILITY
            assert status_field(pid, "Groups") == ""


@needs_root
def test_every_process_holds_what_it_needs_and_nothing_else(own_gateway, echo, folder):
    gateway = own_gateway(with_secrets(configuration(echo), folder), env={"PROCESS_TOKEN": SECRET},
                          secrets=(SECRET, FILE_SECRET))
    proxies, writer, launcher = gateway.proxies(), role(gateway, "log-writer"), role(gateway, "launcher")
    assert len(proxies) == 2
    for pid in [launcher, writer, *proxies]:
        with open(f"/proc/{pid}/limits") as limits:
            assert re.search(r"Max core file size +0 +0", limits.read())
        files = open_files(pid)
        assert files[0] == files[1] == "/dev/null"
        holds_logs = [path for path in files.values() if path == str(gateway.access_path)]
        assert len(holds_logs) == (1 if pid == writer else 0)
        assert not [path for path in files.values() if str(gateway.config_path) in path]
    allowed = {"/dev/null", "socket:[N]", "pipe:[N]", "anon_inode:[eventpoll]", "anon_inode:[eventfd]",
               "/memfd:namzu-gw-counters (deleted)", re.sub(r"\d+", "N", str(gateway.stderr_path))}

    def surplus(pid):
        return {re.sub(r"\d+", "N", path) for path in open_files(pid).values()} - allowed
    for pid in proxies:  # no more than it was given, and what an event loop opens for itself
        until(lambda: not surplus(pid), f"only {allowed}, and not {surplus(pid)}")


@needs_root
def test_no_process_has_a_secret_in_its_environment_or_arguments(own_gateway, echo, folder):
    gateway = own_gateway(with_secrets(configuration(echo), folder), env={"PROCESS_TOKEN": SECRET, "OTHER": "seen"},
                          secrets=(SECRET, FILE_SECRET))
    for pid in everybody(gateway):
        for part in ("environ", "cmdline"):
            with open(f"/proc/{pid}/{part}", "rb") as file:
                text = file.read()
            assert SECRET.encode() not in text and FILE_SECRET.encode() not in text, (pid, part)
            if part == "environ" and pid != gateway.process.pid:  # built from nothing
                assert not [line for line in text.split(b"\0") if line and not re.match(rb"(ASAN|UBSAN|LSAN)_OPTIONS=", line)]
    with open(f"/proc/{gateway.process.pid}/environ", "rb") as file:
        own = file.read()
    assert b"OTHER=seen" in own and b"PROCESS_TOKEN=" in own  # the value alone was wiped
    until(lambda: gateway.hup(), "a reload takes the value that was read at the start")


def test_standard_descriptors_may_be_closed(echo, folder, tmp_path):
    if not binary().exists():
        pytest.skip("no gateway")
    made = configuration(echo, gateway={"log": {"access": f"{tmp_path}/access", "running": f"{tmp_path}/running"}})
    (tmp_path / "config").write_text(json.dumps(made))
    os.chmod(tmp_path, 0o755)

    def close_all():
        for fd in (0, 1, 2):
            os.close(fd)
    process = subprocess.Popen([binary(), "--config", tmp_path / "config"], preexec_fn=close_all)
    try:
        until(lambda: (tmp_path / "running").exists() and "ready" in (tmp_path / "running").read_text(), "ready")
        host, port = made["networks"]["local"]["listen"].split(":")
        assert ask((host, int(port))) == 403
        until(lambda: (tmp_path / "access").read_text().count("\n") == 1, "its audit record")
        json.loads((tmp_path / "access").read_text())
        assert stat.S_IMODE(os.stat(tmp_path / "access").st_mode) & 0o137 == 0
    finally:
        process.terminate()
        assert process.wait(10) == 0


@pytest.mark.parametrize("change, says", [
    (lambda c: c["gateway"].update(nonsense=1), r"unknown key"),
    (lambda c: c["gateway"].update(user="no-such-user-here"), r"gateway\.user"),
    (lambda c: c["gateway"].update(user="root"), r"root"),
    (lambda c: c["gateway"].update(user="nobody"), r"nobody"),
    (lambda c: c["gateway"].update(log={"access": "/nowhere/at/all"}), r"gateway\.log\.access"),
    (lambda c: c["networks"]["local"].update(listen="127.0.0.1:%d" % TAKEN), r"cannot listen on 127\.0\.0\.1"),
    (lambda c: c["gateway"]["limits"].update(connections=1000000), r"descriptors"),
    (lambda c: use_token(c, "NOT_SET_ANYWHERE"), r"credential one: .*NOT_SET_ANYWHERE is not set"),
    (lambda c: use_token(c, "WITH_LINE_END"), r"credential one: .*control byte"),
    (lambda c: use_token(c, "EMPTY"), r"credential one: .*empty"),
], ids=["unknown-key", "unknown-user", "root", "nobody", "log", "taken", "connections", "no-variable", "line-end", "empty"])
def test_what_cannot_be_is_refused_at_start_with_status_65(echo, tmp_path, change, says):
    if not binary().exists():
        pytest.skip("no gateway")
    made = configuration(echo)
    change(made)
    (tmp_path / "config").write_text(json.dumps(made))
    done = subprocess.run([binary(), "--config", tmp_path / "config"], capture_output=True, text=True, timeout=20,
                          env={**os.environ, "WITH_LINE_END": SECRET + "\n", "EMPTY": ""})
    assert done.returncode == 65, done.stderr
    assert re.search(says, done.stderr), done.stderr
    assert SECRET not in done.stderr + done.stdout


def use_token(made, variable):
    made["credentials"] = {"one": {"host": "echo.test", "header": "authorization", "scheme": "bearer",
                                   "value": {"env": variable}}}
    made["policies"]["echo"]["credentials"] = ["one"]


_taken = socket.create_server(("127.0.0.1", 0))
TAKEN = _taken.getsockname()[1]


def test_every_mistake_is_told_at_once(echo, tmp_path):
    if not binary().exists():
        pytest.skip("no gateway")
    made = configuration(echo)
    use_token(made, "NOT_SET_ANYWHERE")
    made["gateway"]["log"] = {"access": "/nowhere/at/all"}
    made["networks"]["local"]["listen"] = f"127.0.0.1:{TAKEN}"
    (tmp_path / "config").write_text(json.dumps(made))
    done = subprocess.run([binary(), "--config", tmp_path / "config"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 65
    for says in ("NOT_SET_ANYWHERE", "gateway.log.access", "cannot listen"):
        assert says in done.stderr


# ---- deaths ----------------------------------------------------------------------------------


def test_a_killed_proxy_is_replaced_and_the_other_never_notices(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    first, second = gateway.proxies()
    with tunnel(gateway, echo) as one, tunnel(gateway, echo) as two:
        os.kill(first, signal.SIGKILL)
        for _ in range(50):
            assert ask(gateway.address) == 403
        until(lambda: len(gateway.proxies()) == 2 and first not in gateway.proxies(), "another proxy")
        assert second in gateway.proxies()
        until_logged(gateway, rf"proxy-0 \(pid {first}\) was killed by signal 9")
        alive = [echoes(client) for client in (one, two)]
    assert no_zombies(gateway)
    assert len(alive) == 2  # whichever proxy had them: those of the survivor live on
    gateway.forgive()


def test_places_of_a_dead_proxy_are_given_back(own_gateway, echo):
    made = configuration(echo)
    made["networks"]["local"]["limits"] = {"tunnels": 4}
    gateway = own_gateway(made)
    held = [tunnel(gateway, echo) for _ in range(4)]
    assert ask(gateway.address, f"echo.test:{echo.port}") == 429
    for pid in gateway.proxies():
        os.kill(pid, signal.SIGKILL)
    until(lambda: len(gateway.proxies()) == 2 and ask_or_none(gateway, echo) == 200, "places again")
    for client in held:
        client.close()
    gateway.forgive()


def ask_or_none(gateway, echo):
    try:
        return ask(gateway.address, f"echo.test:{echo.port}")
    except (OSError, IndexError):
        return None


def test_a_stopped_proxy_is_killed_and_replaced(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"heartbeat_timeout_ms": 2500}))
    first, second = gateway.proxies()
    os.kill(first, signal.SIGSTOP)
    until_logged(gateway, rf"proxy-0 \(pid {first}\): it is silent; killing it", 10)
    until(lambda: is_gone(first) and len(gateway.proxies()) == 2, "another proxy")
    assert second in gateway.proxies()
    assert ask(gateway.address) == 403
    gateway.forgive()


def test_a_proxy_that_keeps_dying_waits_before_the_next_start(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    second = gateway.proxies()[1]
    for _ in range(3):
        pid = until(lambda: proxy_number(gateway, 0), "proxy-0")
        os.kill(pid, signal.SIGKILL)
        until(lambda: is_gone(pid), "its end")
    until_logged(gateway, r"proxy-0 .*keeps dying, starting another in 1 s")
    assert ask(gateway.address) == 403
    until(lambda: proxy_number(gateway, 0), "proxy-0 again")
    assert second in gateway.proxies()
    gateway.forgive()


def proxy_number(gateway, number):
    for pid in descendants(gateway.process.pid):
        if command_line(pid).find(b"--role=proxy:proxy-%d\0" % number) >= 0 and not is_gone(pid):
            return pid
    return None


def test_a_killed_log_writer_is_replaced_and_no_record_is_lost(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    proxies = gateway.proxies()
    assert ask(gateway.address) == 403
    gateway.wait_for_audit(lambda record: True)
    writer = role(gateway, "log-writer")
    os.kill(writer, signal.SIGKILL)
    for _ in range(40):
        assert ask(gateway.address) == 403
    until(lambda: len(gateway.audit()) == 41, "41 records")
    assert role(gateway, "log-writer") != writer
    until_logged(gateway, rf"log-writer \(pid {writer}\) was killed by signal 9")
    assert gateway.proxies() == proxies
    assert no_zombies(gateway)


def test_a_stopped_log_writer_is_replaced(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"heartbeat_timeout_ms": 2500}))
    writer = role(gateway, "log-writer")
    os.kill(writer, signal.SIGSTOP)
    for _ in range(20):
        assert ask(gateway.address) == 403
    until(lambda: is_gone(writer) and role(gateway, "log-writer"), "another log writer", 10)
    until(lambda: len(gateway.audit()) == 20, "all records")


def test_a_killed_launcher_is_replaced_and_proxies_run_on(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    proxies, writer, launcher = gateway.proxies(), role(gateway, "log-writer"), role(gateway, "launcher")
    with tunnel(gateway, echo) as client:
        os.kill(launcher, signal.SIGKILL)
        until_logged(gateway, rf"launcher \(pid {launcher}\) was killed by signal 9")
        until(lambda: is_gone(launcher), "its end")
        assert role(gateway, "launcher") != launcher
        assert gateway.proxies() == proxies and role(gateway, "log-writer") == writer
        assert echoes(client)
    os.kill(proxies[0], signal.SIGKILL)  # the new launcher can start, and who is orphaned is reaped
    until(lambda: len(gateway.proxies()) == 2 and proxies[0] not in gateway.proxies(), "another proxy")
    until_logged(gateway, rf"proxy-0 \(pid {proxies[0]}\) was killed by signal 9")
    until(lambda: no_zombies(gateway), "no zombies")
    assert ask(gateway.address) == 403
    gateway.forgive()


def test_a_launcher_that_hangs_is_replaced_when_it_is_needed(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    launcher, proxies = role(gateway, "launcher"), gateway.proxies()
    os.kill(launcher, signal.SIGSTOP)
    assert ask(gateway.address) == 403
    os.kill(proxies[0], signal.SIGKILL)
    until_logged(gateway, rf"launcher \(pid {launcher}\): it does not start processes; killing it", 12)
    until(lambda: len(gateway.proxies()) == 2 and proxies[0] not in gateway.proxies(), "another proxy")
    assert proxies[1] in gateway.proxies()
    until(lambda: no_zombies(gateway), "no zombies")
    gateway.forgive()


def test_a_supervisor_that_was_away_does_not_blame_the_others(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"heartbeat_timeout_ms": 2000}))
    before = sorted(descendants(gateway.process.pid))
    gateway.process.send_signal(signal.SIGSTOP)
    time.sleep(5)
    assert ask(gateway.address) == 403
    gateway.process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    assert sorted(descendants(gateway.process.pid)) == before
    assert " error " not in gateway.running_log()


def test_all_children_may_die_at_once(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    gone = descendants(gateway.process.pid)
    for pid in gone:
        os.kill(pid, signal.SIGKILL)
    until(lambda: all(map(is_gone, gone)) and len(gateway.proxies()) == 2, "new ones")
    until(lambda: ask_or_none(gateway, echo) == 200, "service")
    assert role(gateway, "launcher") and role(gateway, "log-writer")
    until(lambda: no_zombies(gateway), "no zombies")
    gateway.forgive()


def test_signals_meant_for_the_whole_group_reach_the_supervisor_alone(own_gateway, echo):
    """systemd and Ctrl-C signal everybody; only the supervisor's word counts."""
    gateway = own_gateway(configuration(echo))
    before = descendants(gateway.process.pid)
    for pid in before:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
    time.sleep(0.3)
    assert sorted(descendants(gateway.process.pid)) == sorted(before)
    assert not any(map(is_gone, before))
    assert os.getpgid(gateway.process.pid) not in {os.getpgid(pid) for pid in before}


def test_proxies_learn_of_new_addresses_of_this_host(own_gateway, echo):
    if not sys.modules["conftest"].NETWORK.own:
        pytest.skip("addresses are added in a network namespace of our own only")
    fresh = "93.184.217.77"
    made = configuration(echo)
    made["policies"]["echo"]["allow_inward_for"][0]["cidrs"].append("93.184.217.0/24")
    made["policies"]["echo"]["allowed_hosts"].append(fresh)
    gateway = own_gateway(made)
    try:
        network._netlink(network.RTM_NEWADDR, network._address(fresh))
    except OSError as error:
        pytest.skip(f"no address can be added here: {error}")
    until_logged(gateway, r"this host has \d+ addresses now", 3)  # told by the kernel: sooner than the next look
    until(lambda: ask(gateway.address, f"{fresh}:{gateway.address[1]}") in (403, 421), "it is one of ours")
    client = socket.create_connection(gateway.address, 5)
    client.sendall(f"CONNECT {fresh}:{echo.port} HTTP/1.1\r\nHost: {fresh}:{echo.port}\r\n\r\n".encode())
    assert b"self-address" in client.recv(4096)  # a mark, which the exemption does not lift
    client.close()


# ---- reload ----------------------------------------------------------------------------------


def test_a_reload_keeps_sockets_adds_new_ones_and_closes_old_ones(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    proxies, first = gateway.proxies(), gateway.address
    other = ("127.0.0.1", network.free_port())
    made = gateway.config
    made["networks"]["second"] = {"listen": f"{other[0]}:{other[1]}", "policy": "nothing"}
    with tunnel(gateway, echo) as client:
        assert gateway.reload(made)
        assert re.search(r"reloaded: generation 2 .*2 proxies took it", gateway.running_log())
        assert ask(other) == 403 and ask(first) == 403
        assert echoes(client)
        del made["networks"]["second"]
        assert gateway.reload(made)
        until(lambda: refuses(other), "the second listener is closed")
        assert echoes(client)
    assert gateway.proxies() == proxies


def refuses(address):
    try:
        socket.create_connection(address, 1).close()
        return False
    except ConnectionRefusedError:
        return True


def test_a_reload_that_narrows_cuts_what_is_refused_now(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    made = gateway.config
    made["networks"]["local"]["policy"] = "nothing"
    with tunnel(gateway, echo) as client:
        assert gateway.reload(made)
        assert re.search(r"reloaded: .*cut 1 tunnels", gateway.running_log())
        assert not echoes(client)
    assert ask(gateway.address, f"echo.test:{echo.port}") == 403


def test_a_bad_reload_tells_every_mistake_and_changes_nothing(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    proxies = gateway.proxies()
    good = json.loads(json.dumps(gateway.config))
    bad = json.loads(json.dumps(good))
    bad["gateway"]["nonsense"] = 1
    bad["networks"]["local"]["policy"] = "no-such-policy"
    with tunnel(gateway, echo) as client:
        assert not gateway.reload(bad)
        until_logged(gateway, "reload refused")
        log = gateway.running_log()
        assert "nonsense" in log and "no-such-policy" in log
        assert re.search(r"reload refused: .*generation 1 stays in force", log)
        missing = json.loads(json.dumps(good))
        missing["networks"]["local"]["policy"] = "nothing"
        missing["networks"]["taken"] = {"listen": f"127.0.0.1:{TAKEN}", "policy": "echo"}
        missing["gateway"]["log"]["access"] = "/nowhere/at/all"
        before = len(gateway.running_log())
        assert not gateway.reload(missing)
        until_logged(gateway, "reload refused", since=before)
        assert "cannot listen on" in gateway.running_log() and "gateway.log.access" in gateway.running_log()
        assert echoes(client)
        assert ask(gateway.address, f"echo.test:{echo.port}") == 200
    assert gateway.proxies() == proxies
    assert gateway.reload(good)


def test_what_cannot_change_while_it_runs_is_said(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    made = gateway.config
    made["gateway"]["processes"] = 3
    assert gateway.reload(made)
    assert re.search(r"warning .*gateway\.processes has changed, which takes a restart", gateway.running_log())
    assert len(gateway.proxies()) == 2


def test_a_burst_of_hangups_ends_in_one_state(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    for _ in range(30):
        gateway.process.send_signal(signal.SIGHUP)
        assert ask(gateway.address) == 403
    time.sleep(0.5)
    assert gateway.hup()
    assert not re.search(r"error", gateway.running_log())


def test_a_proxy_that_does_not_answer_a_reload_is_replaced_with_the_new_configuration(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"install_deadline_ms": 500, "heartbeat_timeout_ms": 60000}))
    first, second = gateway.proxies()
    made = gateway.config
    made["networks"]["local"]["policy"] = "nothing"
    os.kill(first, signal.SIGSTOP)
    begun = time.monotonic()
    assert gateway.reload(made)
    assert time.monotonic() - begun < 3
    assert is_gone(first)
    assert re.search(r"reloaded: .*1 proxies took it, 1 were replaced", gateway.running_log())
    until(lambda: len(gateway.proxies()) == 2, "another proxy")
    for _ in range(20):
        assert ask(gateway.address, f"echo.test:{echo.port}") == 403
    gateway.forgive()


def test_rotation_by_rename_and_hangup_loses_nothing(own_gateway, echo):
    gateway = own_gateway(configuration(echo))
    old = gateway.access_path.with_suffix(".1")
    for _ in range(20):
        ask(gateway.address)
    os.rename(gateway.access_path, old)
    for _ in range(20):
        ask(gateway.address)
    assert gateway.hup()
    until(gateway.access_path.exists, "a new file")
    for _ in range(20):
        ask(gateway.address)

    def lines(path):
        return path.read_text().splitlines()
    until(lambda: len(lines(old)) + len(lines(gateway.access_path)) == 60, "60 records")
    for line in lines(old) + lines(gateway.access_path):
        json.loads(line)
    assert len(lines(gateway.access_path)) >= 20
    if ROOT:
        assert str(old) not in open_files(role(gateway, "log-writer")).values()


def test_a_log_that_nobody_reads_stalls_nothing(own_gateway, echo, tmp_path):
    os.chmod(tmp_path, 0o755)
    pipe = f"{tmp_path}/pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    gateway = own_gateway(configuration(echo, limits={"audit_queue_bytes": 65536}, gateway={"log": {"access": pipe}}))
    try:
        begun = time.monotonic()
        for _ in range(1500):
            assert ask(gateway.address) == 403
        assert time.monotonic() - begun < 30
        writer = role(gateway, "log-writer")
        time.sleep(3.5)  # longer than heartbeat_timeout_ms: it is stalled, and yet it is alive
        assert role(gateway, "log-writer") == writer
        drain_pipe(reader)
        assert gateway.hup()
    finally:
        os.close(reader)


def test_a_full_disk_is_told_and_stalls_nothing(own_gateway, echo):
    gateway = own_gateway(configuration(echo, gateway={"log": {"access": "/dev/full"}}))
    writer = role(gateway, "log-writer")
    for _ in range(100):
        assert ask(gateway.address) == 403
    until_logged(gateway, r"log-writer: \d+ lines of the access log could not be written: No space left on device")
    assert gateway.running_log().count("No space left") == 1  # said now and then, not for each line
    with open(f"/proc/{writer}/stat") as file:
        ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    time.sleep(1)
    with open(f"/proc/{writer}/stat") as file:
        assert sum(map(int, file.read().rpartition(")")[2].split()[11:13])) - ticks < 20
    assert role(gateway, "log-writer") == writer
    made = gateway.config
    made["gateway"]["log"]["access"] = str(gateway.access_path)
    assert gateway.reload(made)
    assert ask(gateway.address) == 403
    until(gateway.audit, "records again")


def drain_pipe(reader):
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            os.read(reader, 65536)
        except BlockingIOError:
            time.sleep(0.01)


# ---- the end ---------------------------------------------------------------------------------


def test_draining_lets_what_is_in_flight_finish(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"drain_s": 20}))
    everyone = everybody(gateway)
    with tunnel(gateway, echo) as client:
        gateway.term()
        until(lambda: refuses(gateway.address), "nobody accepts any more")
        assert echoes(client)
        assert gateway.process.poll() is None
        client.shutdown(socket.SHUT_WR)
        assert client.recv(10) == b""
    assert gateway.process.wait(5) == 0
    assert all(map(is_gone, everyone))
    assert re.search(r"stopping: .*20 s", gateway.running_log())
    assert gateway.running_log().rstrip().endswith("stopped")
    assert [record for record in gateway.audit() if record]  # the tunnel's record was flushed


def test_draining_has_an_end(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"drain_s": 1}))
    with tunnel(gateway, echo) as client:
        begun = time.monotonic()
        gateway.term()
        assert gateway.process.wait(6) == 0
        assert 0.8 < time.monotonic() - begun < 4
        assert not echoes(client)


def test_a_second_signal_stops_at_once(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"drain_s": 60}))
    everyone = everybody(gateway)
    with tunnel(gateway, echo):
        gateway.term()
        until_logged(gateway, "stopping")
        time.sleep(0.2)
        assert gateway.process.poll() is None
        gateway.process.send_signal(signal.SIGINT)
        assert gateway.process.wait(3) == 0
    assert all(map(is_gone, everyone))


def test_a_stopped_proxy_does_not_hold_up_the_end(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"drain_s": 0}))
    os.kill(gateway.proxies()[0], signal.SIGSTOP)
    gateway.term()
    assert gateway.process.wait(8) == 0


def test_without_its_supervisor_everybody_drains_and_leaves(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"drain_s": 4}))
    children = descendants(gateway.process.pid)
    with tunnel(gateway, echo) as client:
        gateway.process.kill()
        gateway.process.wait()
        until(lambda: refuses(gateway.address), "nobody accepts any more")
        assert echoes(client)
        begun = time.monotonic()
        until(lambda: all(map(is_gone, children)), "their end", 12)
        assert time.monotonic() - begun < 9
    text = gateway.access_path.read_text()
    assert text.endswith("\n") and [json.loads(line) for line in text.splitlines()]
    gateway.process = None


def test_a_hangup_while_stopping_is_harmless(own_gateway, echo):
    gateway = own_gateway(configuration(echo, limits={"drain_s": 1}))
    with tunnel(gateway, echo):
        gateway.term()
        gateway.process.send_signal(signal.SIGHUP)
        assert gateway.process.wait(6) == 0


# ---- the command line ------------------------------------------------------------------------


def run(*arguments, **more):
    if not binary().exists():
        pytest.skip("no gateway")
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=20, **more)


@pytest.mark.parametrize("arguments", [
    (), ("--config",), ("--nonsense",), ("--config", "a", "--config", "b"), ("--config", "a", "word"),
    ("--check",), ("--config", "a", "--check", "--explain", "x", "y"), ("--config", "a", "--explain"),
    ("--config", "a", "--explain", "policy"), ("--config", "a", "--explain", "policy", "GET", "host:80"),
    ("--role=nothing:x",), ("--role=proxy",), ("--user=0:0", "--role=proxy:proxy-0"),
])
def test_a_wrong_command_line_is_64(arguments):
    done = run(*arguments)
    assert done.returncode == 64
    assert done.stderr.startswith("namzu-gw: ")


def test_help_and_version():
    done = run("--help")
    assert done.returncode == 0
    for option in ("--config", "--check", "--explain", "--print-schema", "--print-reference", "--version"):
        assert option in done.stdout
    assert run("--version").stdout.startswith("namzu-gw ")
    json.loads(run("--print-schema").stdout)
    assert "gateway" in run("--print-reference").stdout


@pytest.fixture
def config_file(echo, tmp_path):
    made = configuration(echo)
    made["networks"]["local"]["listen"] = "127.0.0.1:3129"
    (tmp_path / "config").write_text(json.dumps(made))
    return str(tmp_path / "config")


def test_check_says_what_would_be(config_file):
    done = run("--config", config_file, "--check")
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith(": ok")
    assert "network local: listens on 127.0.0.1:3129, policy echo" in done.stdout
    assert re.search(r"policy echo: static, 1 hosts, 0 credentials, sha256:[0-9a-f]{64}", done.stdout)
    assert ("uid of their own" if ROOT else "keep our uid") in done.stdout
    with open(config_file) as file:
        made = json.load(file)
    made["nonsense"] = made["gateway"]["more"] = 1
    with open(config_file, "w") as file:
        json.dump(made, file)
    done = run("--config", config_file, "--check")
    assert done.returncode == 65
    assert "nonsense" in done.stderr and "more" in done.stderr
    assert ": ok" not in done.stdout


@pytest.mark.parametrize("words, status, says", [
    (["echo.test:%(echo)d"], 0, r"ALLOWED .*echo\.test:%(echo)d.*relayed unread"),
    (["http://echo.test:%(echo)d/x"], 0, r"ALLOWED .*TLS"),
    (["POST", "https://echo.test:%(echo)d/"], 0, r"ALLOWED"),
    (["echo.test:1"], 1, r"REFUSED +port-not-allowed \(403\)"),
    (["evil.test:443"], 1, r"REFUSED +not-allowed \(403\)"),
    (["http://127.0.0.1:3129/"], 1, r"REFUSED +loop \(421\)"),
    (["http://user@echo.test/"], 1, r"REFUSED +userinfo \(400\)"),
    (["TRACE", "http://echo.test:%(echo)d/"], 1, r"REFUSED +method \(405\)"),
    (["echo.test"], 1, r"REFUSED +bad-port \(400\)"),
])
def test_explain_tells_each_step_and_the_verdict(config_file, echo, words, status, says):
    ports = {"echo": echo.port}
    done = run("--config", config_file, "--explain", "echo", *[word % ports for word in words])
    assert done.returncode == status, done.stdout + done.stderr
    assert re.search(says % ports, done.stdout), done.stdout


def test_explain_screens_static_names_and_knows_its_policies(config_file, echo):
    with open(config_file) as file:
        made = json.load(file)
    del made["policies"]["echo"]["allow_inward_for"]
    with open(config_file, "w") as file:
        json.dump(made, file)
    done = run("--config", config_file, "--explain", "echo", f"echo.test:{echo.port}")
    assert done.returncode == 1
    assert re.search(r"REFUSED +resolved:loopback \(403\)", done.stdout), done.stdout
    done = run("--config", config_file, "--explain", "ecko", "a.test:443")
    assert done.returncode == 64
    assert "echo" in done.stderr and "nothing" in done.stderr
    done = run("--config", "/nowhere", "--explain", "echo", "a.test:443")
    assert done.returncode == 65
