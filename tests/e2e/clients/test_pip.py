"""pip against a small index; the login is stamped over http://."""
import base64
import os

import pytest
from e2e.support import programs
from e2e.support.scene import BASIC
from e2e.support.simple_index import WHEEL, SimpleIndex
from fetchers import PYTHON_TUNNEL

OWN = "Basic " + base64.b64encode(b"client:own-password").decode()


@pytest.fixture
def pip(sandbox):
    env = sandbox.environment(PIP_CONFIG_FILE=os.devnull, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_RETRIES="0",
                              PIP_NO_CACHE_DIR="1")
    return lambda *arguments: sandbox.run(programs.python("pip"), "-m", "pip", *arguments, env=env)


def index_options(host, scheme, login=""):
    url = host.url(scheme, "/simple").replace("://", f"://{login}")
    return ["--index-url", url, *(["--trusted-host", f"{host.name}:{host.port}"] if scheme == "http" else [])]


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_download_and_install(scheme, scene, gateway, tap, sandbox, pip):
    scene.pypi.answer = index = SimpleIndex((BASIC, OWN))
    options = index_options(scene.pypi, scheme, "client:own-password@" if scheme == "https" else "")
    ran = pip("download", "--no-deps", "-d", sandbox.home / "got", *options, "acme-widget")
    assert ran.code == 0, ran
    assert (sandbox.home / "got" / WHEEL).read_bytes() == index.wheel
    ran = pip("install", "--no-deps", "--target", sandbox.home / "site", *options, "acme-widget")
    assert ran.code == 0, ran
    assert (sandbox.home / "site" / "acme_widget" / "__init__.py").exists()
    logins = [seen.field("Authorization") for seen in scene.pypi.requests]
    assert set(logins) == {BASIC} if scheme == "http" else OWN in logins and BASIC not in logins
    first = tap.first_lines()
    if scheme == "http":
        assert all(line.startswith(f"GET http://{scene.pypi.name}:") for line in first)
    else:
        version = PYTHON_TUNNEL.get("connect", "HTTP/1.1")
        authority = f"{scene.pypi.name}:{scene.pypi.port}"
        assert set(first) == {f"CONNECT {authority} {version}"}
        assert {fields.get("host") for _, fields in tap.requests()} == {None if version == "HTTP/1.0" else authority}


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_refused_host(scheme, scene, gateway, sandbox, pip):
    ran = pip("-vv", "download", "--no-deps", "-d", sandbox.home / "got", *index_options(scene.refused, scheme), "acme-widget")
    assert ran.code != 0 and "403" in ran.out + ran.err, ran
    assert scene.refused.accepted == 0
