"""git clone and push, over http:// (the gateway logs in) and https:// (git does it itself)."""
import base64
import os
import subprocess

import pytest
from e2e.support import programs
from e2e.support.git_server import GitServer, make_repository
from e2e.support.scene import BASIC

OWN = "Basic " + base64.b64encode(b"client:own-password").decode()


@pytest.fixture
def repository(scene, tmp_path):
    programs.command("git")
    backend = os.path.join(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-http-backend")
    if not os.path.exists(backend):
        programs.missing("git http-backend")
    (tmp_path / "served" / "team").mkdir(parents=True)
    made = tmp_path / "served" / "team" / "re po.git"
    make_repository(made)
    scene.git.answer = GitServer(tmp_path / "served", (BASIC, OWN))
    return made


@pytest.fixture
def git(sandbox):
    env = sandbox.environment(GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t.test",
                              GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@t.test")
    return lambda *arguments: sandbox.run("git", *arguments, env=env)


def url(scene, scheme):
    return scene.git.url(scheme, "/team/re%20po.git")


def options(scheme):
    return [] if scheme == "http" else ["-c", f"http.extraHeader=Authorization: {OWN}"]


def check(scene, tap, scheme):
    wanted = BASIC if scheme == "http" else OWN
    assert scene.git.requests
    assert {seen.field("Authorization") for seen in scene.git.requests} == {wanted}
    assert all(seen.target.startswith("/team/re%20po.git/") for seen in scene.git.requests)
    verb = "CONNECT " if scheme == "https" else f"GET http://{scene.git.name}:"
    assert all(exchange.sent.startswith(verb.encode()) for exchange in tap.exchanges)


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_clone_and_push(scheme, scene, gateway, tap, sandbox, repository, git):
    ran = git(*options(scheme), "clone", url(scene, scheme), "copy")
    assert ran.code == 0, ran
    assert (sandbox.home / "copy" / "README").read_text() == "hello\n"

    (sandbox.home / "copy" / "small").write_text("a line\n")
    git("-C", "copy", "add", ".")
    git("-C", "copy", "commit", "-m", "small")
    ran = git("-C", "copy", *options(scheme), "push", "origin", "HEAD")
    assert ran.code == 0, ran

    (sandbox.home / "copy" / "large").write_bytes(os.urandom(700_000))
    git("-C", "copy", "add", ".")
    git("-C", "copy", "commit", "-m", "large")
    ran = git("-C", "copy", *options(scheme), "-c", "http.postBuffer=65536", "push", "origin", "HEAD")
    assert ran.code == 0, ran

    served, ours = (git("-C", where, "rev-parse", "HEAD").out for where in (repository, "copy"))
    assert served == ours != ""
    check(scene, tap, scheme)
    packs = [seen for seen in scene.git.requests if seen.target.endswith("/git-receive-pack") and seen.method == "POST"]
    assert "chunked" in {seen.framing for seen in packs} and max(len(seen.body) for seen in packs) > 700_000


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_refused_host(scheme, scene, gateway, tap, git):
    mark = gateway.mark()
    ran = git("clone", scene.refused.url(scheme, "/team/repo.git"), "copy")
    assert ran.code == 128 and "403" in ran.err, ran
    assert scene.refused.accepted == 0
    gateway.wait_for_audit(lambda record: record.get("reason") == "not-allowed" and record["host"] == scene.refused.name, since=mark)


def test_reason_is_shown_with_curl_verbose(scene, sandbox):
    ran = sandbox.run(programs.command("git"), "clone", scene.refused.url("http", "/team/repo.git"), "copy",
                      env=sandbox.environment(GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", GIT_CURL_VERBOSE="1"))
    assert "X-Namzu-Reason: not-allowed" in ran.err, ran
