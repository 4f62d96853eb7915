"""The gateway under test: started with a configuration, watched, stopped, and judged at the end."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEFAULT_BINARY = ROOT / "build" / "release" / "gateway" / "namzu-gw"
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer|gw_check|Assertion .* failed")


def binary():
    return pathlib.Path(os.environ.get("NAMZU_GW") or DEFAULT_BINARY)


class GatewayError(AssertionError):
    """The gateway did not do what every gateway must: start, stay, stop, keep quiet."""


class Gateway:
    """One running gateway. `address` is where its first network listens."""

    def __init__(self, folder, config, env=None, secrets=(), prepare=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config_path = self.folder / "namzu-gw.json"  # JSON is YAML
        self.access_path = self.folder / "access.log"
        self.stderr_path = self.folder / "stderr.log"
        self.stdout_path = self.folder / "stdout.log"
        self.secrets = list(secrets)
        self._env, self._prepare = env or {}, prepare
        self._audit_offset, self._audit = 0, []
        self.process = None
        self.write_config(config)

    # ---- configuration -------------------------------------------------------------------

    def write_config(self, config):
        """Writes the configuration and renames it over the old one."""
        config = json.loads(json.dumps(config))
        config["gateway"].setdefault("log", {}).setdefault("access", str(self.access_path))
        self.config = config
        new = self.config_path.with_suffix(".new")
        new.write_text(json.dumps(config, indent=1))
        new.rename(self.config_path)
        self.listeners = {name: _split(network["listen"]) for name, network in config["networks"].items()}
        self.address = next(iter(self.listeners.values()))

    # ---- life ----------------------------------------------------------------------------

    def start(self, seconds=20):
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), **self._env}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self.process = subprocess.Popen([str(binary()), "--config", str(self.config_path)], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=open(self.stdout_path, "ab"),
                                        stderr=open(self.stderr_path, "ab"), preexec_fn=self._prepare)
        deadline = time.monotonic() + seconds
        while not re.search(r"\bready\b", self.running_log()):
            if self.process.poll() is not None:
                raise GatewayError(f"exit code {self.process.returncode} at start:\n{self.running_log()[-3000:]}")
            if time.monotonic() > deadline:
                self.kill()
                raise GatewayError(f"not ready after {seconds} s:\n{self.running_log()[-3000:]}")
            time.sleep(0.02)
        self.first_proxies = self.proxies()
        return self

    def stop(self, seconds=15):
        """SIGTERM, then judges: exit code 0, nothing from a sanitizer, no secret in any log."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise GatewayError(f"still there {seconds} s after SIGTERM:\n{self.running_log()[-2000:]}") from None
        self.process = None
        if code != 0:
            raise GatewayError(f"exit code {code}:\n{self.running_log()[-3000:]}")
        self.check_logs()

    def kill(self):
        """SIGKILL to everything that this gateway started."""
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process = None

    def term(self):
        self.process.send_signal(signal.SIGTERM)

    def reload(self, config=None, seconds=8):
        """Writes `config` (if given), sends SIGHUP, waits for the outcome; True when it was taken.
        What was said about it is in `last_reload`."""
        if config is not None:
            self.write_config(config)
        return self.hup(seconds)

    def hup(self, seconds=8):
        before = len(self.running_log())
        self.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            new = self.running_log()[before:]
            said = re.search(r"\breloaded:|\breload refused", new)
            if said:
                self.last_reload = new
                return said[0] == "reloaded:"
            time.sleep(0.005)
        raise GatewayError(f"nothing said about the reload in {seconds} s: {self.running_log()[before:]!r}")

    # ---- logs ----------------------------------------------------------------------------

    def running_log(self):
        return self.stderr_path.read_text(errors="replace") if self.stderr_path.exists() else ""

    def audit(self):
        """All audit records so far."""
        if self.access_path.exists():
            with open(self.access_path, "rb") as log:
                log.seek(self._audit_offset)
                whole = log.read()
            whole = whole[:whole.rfind(b"\n") + 1]
            self._audit_offset += len(whole)
            for line in whole.splitlines():
                self._audit.append(json.loads(line))
        return self._audit

    def mark(self):
        """A place in the audit log; wait_for_audit(..., since=mark) looks only behind it."""
        return len(self.audit())

    def wait_for_audit(self, predicate, seconds=3, since=0):
        """The first record for which the predicate holds."""
        deadline = time.monotonic() + seconds
        while True:
            for record in self.audit()[since:]:
                if predicate(record):
                    return record
            if time.monotonic() > deadline:
                raise GatewayError("no such audit record; the last ones are:\n"
                                   + "\n".join(map(json.dumps, self.audit()[since:][-8:])))
            time.sleep(0.01)

    def check_logs(self):
        found = SANITIZER.search(self.running_log())
        if found:
            raise GatewayError(f"a sanitizer or a broken promise:\n{self.running_log()[max(0, found.start() - 500):][:4000]}")
        for path in (self.stderr_path, self.stdout_path, self.access_path):
            if path.exists():
                text = path.read_bytes()
                for secret in self.secrets:
                    if secret.encode() in text:
                        raise GatewayError(f"a secret stands in {path.name}")

    def check_alive(self):
        """Nobody died since the start (or since the last call of forgive())."""
        if self.process is None:
            return
        if self.process.poll() is not None:
            raise GatewayError(f"the gateway ended with {self.process.returncode}:\n{self.running_log()[-3000:]}")
        for pid in self.first_proxies:
            if state_of(pid) in (None, "Z", "X"):
                self.forgive()
                raise GatewayError(f"proxy {pid} died:\n{self.running_log()[-3000:]}")
        found = SANITIZER.search(self.running_log())
        if found:
            raise GatewayError(f"a sanitizer or a broken promise:\n{self.running_log()[max(0, found.start() - 500):][:4000]}")

    def forgive(self):
        """Takes the proxies that run now as the ones that must stay."""
        self.first_proxies = self.proxies()

    # ---- processes -----------------------------------------------------------------------

    def proxies(self):
        """Process ids of the proxies, in the order of their numbers."""
        found = {}
        for pid in descendants(self.process.pid):
            match = re.search(rb"--role=proxy:proxy-(\d+)", command_line(pid))
            if match:
                found[int(match[1])] = pid
        return [found[number] for number in sorted(found)]

    def descriptors(self):
        """Open descriptors of each proxy, or None where they cannot be counted (not root)."""
        try:
            return [len(os.listdir(f"/proc/{pid}/fd")) for pid in self.proxies()]
        except PermissionError:
            return None

    def settle(self, wanted, slack=0, seconds=3):
        """Waits until no proxy holds more than `wanted` + slack descriptors; returns the counts."""
        deadline = time.monotonic() + seconds
        while True:
            now = self.descriptors()
            if now is None or all(n <= w + slack for n, w in zip(now, wanted)) or time.monotonic() > deadline:
                return now
            time.sleep(0.02)

    def resident_kib(self):
        """Resident memory of each proxy."""
        sizes = []
        for pid in self.proxies():
            with open(f"/proc/{pid}/status") as status:
                sizes.append(int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]))
        return sizes

    def grown_kib(self, before):
        """By how much the proxy that grew most has grown; 0 with a sanitizer, which keeps freed memory."""
        if b"__asan_init" in binary().read_bytes():
            return 0
        return max(now - then for now, then in zip(self.resident_kib(), before))

    def cpu_seconds(self):
        """User and system time of all proxies together."""
        ticks = 0
        for pid in self.proxies():
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def _split(listen):
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)


def state_of(pid):
    """The letter of /proc/PID/stat, or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def descendants(root):
    """All processes below `root`."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found, queue = [], [root]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            queue.append(child)
    return found
