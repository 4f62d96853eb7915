#!/usr/bin/env python3
"""The demonstration: a gateway, an HTTPS origin, and real requests between them, each with what came of it.

    demo.py NAMZU_GW [--serve]

Everything lives in a temporary folder and on free loopback ports, and is stopped and removed at the end. With
--serve it goes on until Ctrl-C. Exit status: 0 when every request ended as it should, 1 when one did not.
"""
import json
import os
import pathlib
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HOST = "api.demo.test"
INTRANET = "intranet.demo.test"
# Nothing of the caller's (a proxy of its own, a locale) changes what is shown.
CLEAN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


class Failure(Exception):
    pass


def run(*command, folder):
    done = subprocess.run(command, cwd=folder, env=CLEAN, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(command)}:\n{done.stdout}")


def make_certificates(folder):
    """ca.pem, and origin.pem with origin.key for HOST."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    (folder / "origin.ext").write_text(f"subjectAltName=DNS:{HOST}\nextendedKeyUsage=serverAuth\n")
    run("openssl", "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=demo CA",
        folder=folder)
    run("openssl", "req", *key, "-keyout", "origin.key", "-out", "origin.csr", "-subj", f"/CN={HOST}", folder=folder)
    run("openssl", "x509", "-req", "-in", "origin.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-extfile", "origin.ext", "-out", "origin.pem", folder=folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def descendants(pid):
    """Processes below pid, by /proc."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
        except OSError:
            pass
    found, queue = [], [pid]
    while queue:
        children = parents.get(queue.pop(), [])
        found += children
        queue += children
    return found


class World:
    """What runs: an origin and a gateway; stopped in reverse, by process id."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.token = "demo-" + secrets.token_hex(12)
        self.origin = self.gateway = None
        self.access, self.running, self.seen = folder / "access.log", folder / "running.log", folder / "seen.jsonl"

    def start(self):
        make_certificates(self.folder)
        self.origin = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "origin.py"), "origin.pem", "origin.key", str(self.seen)], cwd=self.folder,
            env=CLEAN, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.origin.stdout.readline()
        if not line:
            raise Failure("the origin did not start")
        self.origin_port, self.port = int(line), free_port()
        text = (HERE / "demo.yaml.in").read_text()
        for name, value in (("FOLDER", self.folder), ("ORIGIN_PORT", self.origin_port), ("GATEWAY_PORT", self.port)):
            text = text.replace(f"@{name}@", str(value))
        (self.folder / "demo.yaml").write_text(text)
        self.gateway = subprocess.Popen([self.binary, "--config", str(self.folder / "demo.yaml")],
                                        env={**CLEAN, "DEMO_TOKEN": self.token}, stdin=subprocess.DEVNULL,
                                        stdout=open(self.access, "wb"), stderr=open(self.running, "wb"))
        deadline = time.monotonic() + 20
        while not re.search(r"\bready\b", self.running.read_text(errors="replace")):
            if self.gateway.poll() is not None or time.monotonic() > deadline:
                raise Failure("the gateway did not start:\n" + self.running.read_text(errors="replace"))
            time.sleep(0.05)

    def stop(self):
        """What is wrong with how things ended, as a list of sentences."""
        wrong = []
        if self.gateway is not None:
            below = descendants(self.gateway.pid)
            if self.gateway.poll() is None:
                self.gateway.terminate()
            try:
                code = self.gateway.wait(15)
                if code != 0:
                    wrong.append(f"the gateway ended with status {code}")
            except subprocess.TimeoutExpired:
                wrong.append("the gateway did not stop within 15 s")
                self.gateway.kill()
                self.gateway.wait()
            deadline = time.monotonic() + 5
            while any(map(is_alive, below)) and time.monotonic() < deadline:
                time.sleep(0.05)
            for pid in filter(is_alive, below):
                wrong.append(f"process {pid} of the gateway outlived it")
                os.kill(pid, signal.SIGKILL)
        if self.origin is not None:
            self.origin.kill()
            self.origin.wait()
        return wrong

    def audit(self):
        return [json.loads(line) for line in self.access.read_text().splitlines()]

    def origin_saw(self):
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Show:
    """Makes the requests, prints what came of each, and remembers what was not as it should be."""

    def __init__(self, world):
        self.world, self.wrong, self.number = world, [], 0

    def expect(self, truth, what):
        if not truth:
            self.wrong.append(f"request {self.number}: {what}")
            print(f"   ** NOT AS EXPECTED: {what}")

    def request(self, title, url, *options, status, reason=None, body=None, stamped=None):
        """`stamped`: True, the origin must see the credential; False, it must not; None, it must see nothing."""
        world = self.world
        self.number += 1
        seen_before, audit_before = len(world.origin_saw()), len(world.audit())
        tunnel = url.startswith("https:")
        command = ["curl", "-sS", "-i", "--max-time", "20", "--proxy", f"http://127.0.0.1:{world.port}",
                   *(("--cacert", "ca.pem") if tunnel else ()), *options, url]
        print(f"\n{self.number}. {title}\n   $ {shlex.join(command).replace('-sS -i --max-time 20 ', '')}")
        done = subprocess.run(command, cwd=world.folder, env=CLEAN, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace")
        self.show_answer(done.stdout, done.stderr)
        statuses = [int(code) for code in re.findall(r"(?m)^HTTP/1\.[01] (\d+)", done.stdout)]
        self.expect(statuses[-1:] == [status], f"status {status} was expected, not {statuses}")
        if reason is not None:
            self.expect(re.search(rf"(?mi)^x-namzu-reason: {re.escape(reason)}\r?$", done.stdout), f"reason {reason} was expected")
        if body is not None:
            self.expect(body in done.stdout, f"the body was expected to hold {body!r}")
        self.expect(world.token not in done.stdout, "the client must never see the credential")
        self.show_origin(seen_before, stamped)
        self.show_audit(audit_before, statuses)

    @staticmethod
    def show_answer(answer, complaint):
        """Status lines, the headers that matter here, the body, and what curl has to say."""
        rest = answer
        while re.match(r"HTTP/\d", rest):
            head, _, rest = rest.partition("\n\n")
            for line in head.splitlines():
                if re.match(r"(?i)HTTP/|x-namzu-reason:|proxy-status:", line):
                    print("   < " + line)
        for line in (rest + complaint).splitlines():
            print("   < " + line)

    def show_origin(self, before, stamped):
        seen = self.world.origin_saw()[before:]
        if not seen:
            print("   origin: saw nothing")
        for record in seen:
            print(f"   origin: {record['line']}   (over {record['tls']})")
            for name, value in record["headers"]:
                if name.lower() == "authorization":
                    right = value == f"Bearer {self.world.token}"
                    print(f"   origin: {name}: {value[:12]}{'*' * 8}   "
                          + ("(the credential, masked here)" if right else "(NOT the credential)"))
        names = [dict((n.lower(), v) for n, v in record["headers"]) for record in seen]
        if stamped is None:
            self.expect(not seen, "nothing was to reach the origin")
        elif stamped:
            self.expect(len(names) == 1 and names[0].get("authorization") == f"Bearer {self.world.token}",
                        "the origin was to see the credential")
        else:
            self.expect(len(names) == 1 and "authorization" not in names[0], "the origin was to see no credential")

    def show_audit(self, before, statuses):
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            records = self.world.audit()[before:]
            wanted = {"decision", "end"} if statuses[:1] == [200] else {"decision"}
            if wanted <= {record["event"] for record in records}:
                break
            time.sleep(0.05)
        shown = ("event", "kind", "method", "host", "port", "verdict", "reason", "address", "credentials", "closed", "status",
                 "bytes_up", "bytes_down")
        for record in records:
            print("   audit:  " + json.dumps({key: record[key] for key in shown if key in record}))
        self.expect(any(record["event"] == "decision" for record in records), "an audit record of the decision was expected")


def show(world):
    port = world.origin_port
    say = Show(world)
    print(f"\nThe gateway listens on 127.0.0.1:{world.port}; the origin, https://{HOST}:{port}/, is this machine's.")
    print("Its configuration:\n")
    print("".join(f"   | {line}\n" for line in (world.folder / "demo.yaml").read_text().splitlines() if line), end="")
    say.request("Allowed: a tunnel (CONNECT). The gateway relays it unread; nothing is stamped.",
                f"https://{HOST}:{port}/tunnel", status=200, body="you asked for /tunnel", stamped=False)
    say.request("Allowed: a plain request. It leaves as HTTPS, with a credential that the client never held.",
                f"http://{HOST}:{port}/plain", status=200, body="you asked for /plain", stamped=True)
    say.request("Refused: a name that is not on the list.",
                "http://elsewhere.test/", status=403, reason="not-allowed")
    say.request("Refused: the same by CONNECT.",
                "https://elsewhere.test/", status=403, reason="not-allowed")
    say.request("Refused: a port that does not go with the name.",
                f"https://{HOST}:22/", status=403, reason="port-not-allowed")
    say.request("Refused: an allowed name that leads to an inward address.",
                f"http://{INTRANET}/", status=403, reason="resolved:private")
    say.request("Refused: an address of this network, spelled out (where a cloud keeps its machines' secrets).",
                "http://169.254.169.254/latest/meta-data/", status=403)
    return say.wrong


def serve(world):
    print(f"""
It goes on until Ctrl-C. In another terminal:

   curl --proxy http://127.0.0.1:{world.port} http://{HOST}:{world.origin_port}/
   curl --proxy http://127.0.0.1:{world.port} --cacert {world.folder}/ca.pem https://{HOST}:{world.origin_port}/
   tail -f {world.access}
""", flush=True)
    while True:
        if world.gateway.poll() is not None:
            raise Failure("the gateway went away:\n" + world.running.read_text(errors="replace"))
        time.sleep(0.5)


def main(arguments):
    serving = "--serve" in arguments
    words = [a for a in arguments if a != "--serve"]
    if len(words) != 1 or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="namzu-gw-demo-"))
    world = World(os.path.abspath(words[0]), folder)
    wrong = []
    try:
        world.start()
        wrong += show(world)
        if serving:
            serve(world)
    except KeyboardInterrupt:
        print()
    except Failure as failure:
        wrong.append(str(failure))
    finally:
        wrong += world.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print()
    for text in wrong:
        print(f"demo: wrong: {text}")
    print("demo: something was not as it should be" if wrong else "demo: every request ended as it should")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True, encoding="utf-8")
    sys.exit(main(sys.argv[1:]))
