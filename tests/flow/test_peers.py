"""The scripted peers themselves, proven against tools and libraries that we did not write."""
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest
from support import dns_server, hello, message, origin, segments, world as scene
from support.client import Client


def run(*command, **more):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(command, capture_output=True, timeout=20, **more)


def test_curl_talks_to_the_plain_origin(world):
    done = run("curl", "-sS", "-H", "Host: api.acme.test", f"http://{scene.API}/x?y")
    assert done.returncode == 0 and done.stdout.startswith(b"GET /x?y HTTP/1.1\r\nHost: api.acme.test\r\n")


def test_curl_verifies_the_tls_origin_by_name(world):
    world.forget()
    good = run("curl", "-sS", "--cacert", world.ca.certificate, "--connect-to", f"tls.acme.test:443:{scene.TLS}:443",
               "https://tls.acme.test/a", text=True)
    assert good.returncode == 0, good.stderr
    seen = world["tls"].wait_for(1)[0]
    assert seen.sni == "tls.acme.test" and seen.tls_version == "TLSv1.3" and not seen.resumed
    bad = run("curl", "-sS", "--cacert", world.ca.certificate, "--connect-to", f"other.test:443:{scene.TLS}:443",
              "https://other.test/a", text=True)
    assert bad.returncode == 60, "a wrong name must not verify"


@pytest.mark.parametrize("version,flag", [("TLSv1_2", "-tls1_2"), ("TLSv1_3", "-tls1_3")])
def test_openssl_sees_the_version_that_an_origin_was_told(world, version, flag):
    only = getattr(ssl.TLSVersion, version)
    context = origin.tls_context(world.ca.leaf("v.acme.test"), only, only)
    with origin.Origin("127.10.9.1", 0, origin.silent, context) as peer:
        ok = run("openssl", "s_client", "-connect", f"127.10.9.1:{peer.port}", "-servername", "v.acme.test",
                 "-CAfile", world.ca.certificate, "-verify_return_error", flag, input=b"")
        other = "-tls1_3" if flag == "-tls1_2" else "-tls1_2"
        no = run("openssl", "s_client", "-connect", f"127.10.9.1:{peer.port}", other, input=b"")
    assert ok.returncode == 0 and b"Verify return code: 0" in ok.stdout
    assert no.returncode != 0


def test_bad_certificates_are_bad(world):
    for leaf, code in ((world.ca.leaf("bad.acme.test", expired=True), b"10"), (world.ca.self_signed("bad.acme.test"), b"18")):
        with origin.Origin("127.10.9.1", 0, origin.silent, origin.tls_context(leaf)) as peer:
            done = run("openssl", "s_client", "-connect", f"127.10.9.1:{peer.port}", "-CAfile", world.ca.certificate, input=b"")
        assert b"Verify return code: " + code in done.stdout


def test_the_name_server_answers_a_stub_resolver(world):
    """The C library's resolver, pointed at it by a query written after RFC 1035."""
    world.dns.host("peer.test", "192.0.2.1", "2001:db8::1")
    world.dns.script("cut.test", "A", dns_server.Answer((dns_server.a("cut.test", "192.0.2.9"),), truncated=True))

    def ask(name, kind, tcp=False):
        query = b"\xab\xcd\x01\x00\x00\x01\0\0\0\0\0\0" + dns_server.encode_name(name) + bytes([0, kind, 0, 1])
        if tcp:
            with socket.create_connection(("127.0.0.1", world.dns.port)) as sock:
                sock.sendall(len(query).to_bytes(2, "big") + query)
                sock.settimeout(2)
                return sock.recv(1000)[2:]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(2)
            sock.sendto(query, ("127.0.0.1", world.dns.port))
            return sock.recv(1000)

    assert ask("peer.test", 1).endswith(socket.inet_aton("192.0.2.1"))
    assert ask("PEER.test", 28).endswith(socket.inet_pton(socket.AF_INET6, "2001:db8::1"))
    assert ask("nobody.test", 1)[3] & 15 == dns_server.NXDOMAIN
    assert ask("cut.test", 1)[2] & 2 and ask("cut.test", 1)[7] == 0
    assert ask("cut.test", 1, tcp=True).endswith(socket.inet_aton("192.0.2.9"))


def test_dig_reads_the_name_server(world):
    done = run("dig", "+short", "-p", str(world.dns.port), "@127.0.0.1", "api.acme.test", text=True)
    assert done.stdout.split() == [scene.API]


@pytest.mark.parametrize("address", ["127.10.9.2", "::1"])
def test_a_black_hole_swallows_connections(address):
    hole = origin.Blackhole(address)
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    sock.settimeout(0.4)
    with pytest.raises(TimeoutError):
        sock.connect((address, hole.port))
    hole.close()


def test_a_hello_of_ours_is_read_by_a_real_tls_server(world):
    """Names the server; in one record, in many, with grease, padded."""
    names = []
    context = origin.tls_context(world.ca.leaf("n.acme.test"))
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    with origin.Origin("127.10.9.3", 0, origin.silent, context) as peer:
        for data in (hello.client_hello("n.acme.test"), hello.client_hello("n.acme.test", record_size=50),
                     hello.client_hello("n.acme.test", hello.ech(), pad=900), hello.client_hello(None)):
            with socket.create_connection(("127.10.9.3", peer.port)) as sock:
                sock.sendall(data)
                sock.settimeout(3)
                first = sock.recv(1000)
                assert first[0] == hello.HANDSHAKE, f"the server did not go on: {first[:20]!r}"
    assert names == ["n.acme.test"] * 3 + [None]


def test_the_echo_server_keeps_half_close():
    server = origin.EchoServer("127.10.9.4", 0)
    with Client(("127.10.9.4", server.port)) as client:
        client.send(b"abc" * 100000)
        client.half_close()
        assert client.read_to_end() == b"abc" * 100000
    server.close()


def test_every_way_of_sending_gives_the_same_bytes():
    received = []

    def collect(peer):
        received.append(peer.read(20))
        peer.send(b"HTTP/1.1 204 x\r\n\r\n")

    with origin.Origin("127.10.9.5", 0, collect) as peer:
        outcomes = segments.run(("127.10.9.5", peer.port), b"0123456789abcdefghij", closes=True)
    assert len(outcomes) == 21 and set(received) == {b"0123456789abcdefghij"}
    assert all(not o.problem and o.closed and o.responses[0].status == 204 for o in outcomes)


@pytest.mark.parametrize("data", [
    b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n",
    b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n",
    b"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n",
])
def test_the_strict_reader_is_strict(data):
    with pytest.raises(message.Malformed):
        message.parse_response(data + b"\r\n\r\n", "GET", True)


def test_a_reset_is_a_reset():
    with origin.Origin("127.10.9.6", 0, lambda peer: peer.reset()) as peer:
        with Client(("127.10.9.6", peer.port)) as client:
            assert client.ended(1) == "rst"


def test_a_forward_proxy_that_is_not_ours_passes_the_same_reader(world):
    """The client side against a minimal CONNECT relay: TLS through a tunnel."""
    def relay(peer):
        line = peer.read_head().split(b" ")
        assert line[0] == b"CONNECT"
        up = socket.create_connection((scene.TLS, 443))
        peer.send(b"HTTP/1.1 200 ok\r\n\r\n")

        def down():
            while data := up.recv(65536):
                peer.send(data)

        threading.Thread(target=down, daemon=True).start()
        while peer.more():
            up.sendall(peer._unread)
            peer._unread = b""

    with origin.Origin("127.10.9.7", 0, relay) as proxy, Client(("127.10.9.7", proxy.port)) as client:
        assert client.open_tunnel("tls.acme.test", 443).status == 200
        client.start_tls("tls.acme.test", world.ca.certificate)
        assert client.ask(b"GET /in HTTP/1.1\r\nHost: tls.acme.test\r\n\r\n").status == 200
        time.sleep(0.01)
