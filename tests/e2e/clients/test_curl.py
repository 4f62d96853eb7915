"""What curl and wget can do beyond fetching a URL."""
import hashlib
import json
import os
import time

import pytest
from e2e.support import programs
from e2e.support.scene import BEARER, PLACEHOLDER
from e2e.support.service import Answer, echo


@pytest.fixture
def curl(sandbox):
    return lambda *arguments, **more: sandbox.run(programs.command("curl"), "-sS", "--max-time", "20", *arguments, **more)


def wait_until(true, seconds=3):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)


def upload(host, curl, sandbox, *options, stdin=None, size=2 << 20):
    data = os.urandom(size)
    path = sandbox.home / "upload"
    path.write_bytes(data)
    ran = curl("-T", "-" if stdin else path, *options, host.url("http", "/v1/files/model.bin"), stdin=data if stdin else None)
    return ran, hashlib.sha256(data).hexdigest()


def test_several_hosts_share_one_connection(scene, tap, curl):
    ran = curl(*(host.url("http", f"/{number}") for number, host in
                 enumerate((scene.api, scene.other, scene.refused, scene.api, scene.other))))
    assert ran.code == 0, ran
    assert len(tap.exchanges) == 1, "a refusal without a body keeps the connection"
    assert [seen.target for seen in scene.api.requests] == ["/0", "/3"]
    assert [seen.target for seen in scene.other.requests] == ["/1", "/4"]
    assert [seen.field("Authorization") for seen in scene.api.requests] == [BEARER, BEARER]
    assert [seen.field("Authorization") for seen in scene.other.requests] == [None, None]
    assert scene.refused.accepted == 0 and scene.refused.name in ran.out


def test_upload_that_expects_100(scene, tap, curl, sandbox):
    ran, digest = upload(scene.api, curl, sandbox, "-H", "Expect: 100-continue", "--expect100-timeout", "15")
    assert ran.code == 0 and json.loads(ran.out)["sha256"] == digest, ran
    (seen,) = scene.api.requests
    assert seen.method == "PUT" and seen.framing == "length" and seen.field("Authorization") == BEARER
    assert tap.exchanges[0].answered.startswith(b"HTTP/1.1 100 ")


def test_upload_of_unknown_length(scene, tap, curl, sandbox):
    ran, digest = upload(scene.api, curl, sandbox, stdin=True)
    assert ran.code == 0 and json.loads(ran.out)["sha256"] == digest, ran
    (seen,) = scene.api.requests
    assert seen.framing == "chunked" and seen.fields.all("Content-Length") == []
    assert b"Transfer-Encoding: chunked" in tap.exchanges[0].sent


@pytest.mark.parametrize("stdin", (False, True), ids=("length", "chunked"))
def test_refused_upload_is_not_read(scene, tap, curl, sandbox, stdin):
    ran, _ = upload(scene.refused, curl, sandbox, "-i", "-H", "Expect: 100-continue", "--expect100-timeout", "15", stdin=stdin)
    assert "HTTP/1.1 403 " in ran.out and "X-Namzu-Reason: not-allowed" in ran.out, ran
    assert len(tap.exchanges[0].sent) < 4096, "the body was asked for"
    assert scene.refused.accepted == 0


@pytest.mark.parametrize("stdin", (False, True), ids=("length", "chunked"))
def test_refused_upload_that_does_not_wait(scene, tap, curl, sandbox, stdin):
    """The answer is not lost, though much of the body is under way."""
    ran, _ = upload(scene.refused, curl, sandbox, "-i", "-H", "Expect:", stdin=stdin, size=8 << 20)
    assert "HTTP/1.1 403 " in ran.out and "X-Namzu-Reason: not-allowed" in ran.out, ran
    assert scene.refused.accepted == 0


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_large_download(scheme, scene, curl, sandbox):
    data = os.urandom(1 << 20) * 24
    scene.api.answer = lambda request: Answer(200, data)
    ran = curl("-o", "got", scene.api.url(scheme, "/large"))
    assert ran.code == 0, ran
    assert hashlib.sha256((sandbox.home / "got").read_bytes()).digest() == hashlib.sha256(data).digest()


def test_redirect_is_for_the_client_to_follow(scene, tap, curl):
    """Each hop is judged for itself."""
    scene.api.answer = lambda request: Answer(302, b"", {"Location": scene.refused.url("http", "/there")})
    ran = curl("-i", "-L", scene.api.url("http", "/here"))
    assert "HTTP/1.1 302 " in ran.out and "HTTP/1.1 403 " in ran.out and scene.refused.accepted == 0, ran


def test_redirect_to_https_leads_into_a_tunnel(scene, tap, curl):
    """... where nothing can be stamped: give clients the http:// URL that the server means."""
    target = scene.api.url("https", "/there")
    scene.api.answer = lambda request: echo(request) if request.target == "/there" else Answer(301, b"", {"Location": target})
    ran = curl("-L", scene.api.url("http", "/here"))
    assert ran.code == 0, ran
    assert [seen.field("Authorization") for seen in scene.api.requests] == [BEARER, None]
    assert tap.exchanges[-1].sent.startswith(b"CONNECT ")


def test_plain_bytes_in_an_opaque_tunnel_do_not_leave(scene, gateway, curl):
    """A port that is not in plain_ports: with `sni: match` the key never travels in clear."""
    mark = gateway.mark()
    ran = curl("-p", "-H", f"Authorization: Bearer {PLACEHOLDER}", scene.api.url("http", "/x"))
    assert ran.code != 0, ran
    gateway.wait_for_audit(lambda record: "not-tls" in record.values(), since=mark)
    wait_until(lambda: len(scene.api.errors) == scene.api.accepted)
    # A TLS server says HTTP_REQUEST of bytes that are plain HTTP; here it only saw the connection end.
    assert scene.api.requests == [] and "HTTP_REQUEST" not in repr(scene.api.errors)


def test_login_in_the_url_is_replaced(scene, curl):
    ran = curl(scene.api.url("http", "/").replace("://", f"://user:{PLACEHOLDER}@"))
    assert ran.code == 0, ran
    (seen,) = scene.api.requests
    assert seen.fields.all("Authorization") == [BEARER]


def test_trailing_dot_and_capitals_in_the_host(scene, tap, curl):
    ran = curl(scene.api.url("http", "/x").replace(scene.api.name, "API.Clients.test."))
    assert ran.code == 0, ran
    assert "API.Clients.test.:" in tap.first_lines()[0]
    (seen,) = scene.api.requests
    assert seen.field("Host") == f"{scene.api.name}:{scene.api.port}" and seen.sni == scene.api.name


@pytest.mark.parametrize("path", ("/a/../b%2Fc", "/%2e%2e/x", "//double//slash", "/%7Euser/?q=%zz"))
def test_path_goes_on_byte_for_byte(scene, curl, path):
    ran = curl("--path-as-is", scene.api.url("http", path))
    assert ran.code == 0, ran
    assert [seen.target for seen in scene.api.requests] == [path]


def test_offer_of_http2_stays_here(scene, tap, curl):
    ran = curl("--http2", scene.api.url("http", "/x"))
    assert ran.code == 0, ran
    assert b"HTTP2-Settings: " in tap.exchanges[0].sent
    (seen,) = scene.api.requests
    assert not {"upgrade", "http2-settings", "connection"} & set(seen.fields.names())


def test_head(scene, curl):
    ran = curl("-I", scene.api.url("http", "/x"))
    assert ran.code == 0 and ran.out.startswith("HTTP/1.1 200 ") and "Content-Length: " in ran.out, ran


def test_refusal_as_json(scene, curl):
    ran = curl("-H", "Accept: application/json", scene.refused.url("http", "/x"))
    assert json.loads(ran.out)["error"] == {**json.loads(ran.out)["error"], "code": "not-allowed", "host": scene.refused.name}


def test_reason_of_a_refused_tunnel_is_shown_with_v(scene, curl):
    ran = curl("-v", scene.refused.url("https", "/x"))
    assert ran.code == 56 and "< X-Namzu-Reason: not-allowed" in ran.err, ran


def test_wget_leaves_the_login_in_the_target(scene, tap, sandbox):
    """http://user:password@host/ is refused: the login would be logged on the way."""
    url = scene.api.url("http", "/").replace("://", f"://user:{PLACEHOLDER}@")
    ran = sandbox.run(programs.command("wget"), "-S", "-O", "-", "-t", "1", url)
    assert ran.code == 8 and "X-Namzu-Reason: userinfo" in ran.err, ran
    assert "@" in tap.first_lines()[0] and scene.api.accepted == 0
