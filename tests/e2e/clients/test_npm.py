"""npm install and publish against a small registry; its token is stamped over http://."""
import json
import os

import pytest
from e2e.support import programs
from e2e.support.npm_registry import NpmRegistry
from e2e.support.scene import BEARER, PLACEHOLDER


class Npm:
    def __init__(self, sandbox, host, scheme, ports=True):
        self.sandbox, self.base = sandbox, host.url(scheme) if ports else f"{scheme}://{host.name}"
        self.project = sandbox.home / "project"
        self.project.mkdir()
        rc = sandbox.home / "npmrc"
        rc.write_text(f"@acme:registry={self.base}/\nregistry={self.base}/\n{self.base.partition(':')[2]}/:_authToken={PLACEHOLDER}\n"
                      f"cafile={sandbox.ca}\nfund=false\naudit=false\nupdate-notifier=false\nfetch-retries=0\n")
        self.env = sandbox.environment(npm_config_userconfig=str(rc), npm_config_globalconfig=os.devnull,
                                       npm_config_cache=str(sandbox.home / "cache"))

    def __call__(self, *arguments):
        return self.sandbox.run(programs.command("npm"), *arguments, env=self.env, cwd=self.project)


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_install(scheme, scene, gateway, tap, sandbox):
    npm = Npm(sandbox, scene.npm, scheme)
    login = BEARER if scheme == "http" else f"Bearer {PLACEHOLDER}"
    scene.npm.answer = NpmRegistry(npm.base, (login,))
    (npm.project / "package.json").write_text('{"name": "app", "version": "1.0.0"}')
    ran = npm("install", "@acme/widget")
    assert ran.code == 0, ran
    assert "a widget" in (npm.project / "node_modules" / "@acme" / "widget" / "index.js").read_text()
    assert [seen.target for seen in scene.npm.requests] == ["/@acme%2fwidget", "/@acme/widget/-/widget-1.0.0.tgz"]
    assert {seen.field("Authorization") for seen in scene.npm.requests} == {login}
    verb = f"CONNECT {scene.npm.name}:" if scheme == "https" else f"GET http://{scene.npm.name}:"
    assert all(exchange.sent.startswith(verb.encode()) for exchange in tap.exchanges)


@pytest.mark.parametrize("replace", ("npmjs", "always"))
def test_tarballs_that_the_registry_names_with_https(replace, scene, gateway, tap, sandbox):
    """Public registries do: npm asks for them through a tunnel, where no token can be stamped, unless it is
    told to take the registry of its settings for them too."""
    if not scene.low_ports:
        pytest.skip("port 443 cannot be bound here, and no network namespace can be made")
    npm = Npm(sandbox, scene.npm, "http", ports=False)
    scene.npm.answer = NpmRegistry(f"https://{scene.npm.name}", (BEARER, f"Bearer {PLACEHOLDER}"))
    (npm.project / "package.json").write_text('{"name": "app", "version": "1.0.0"}')
    ran = npm("install", f"--replace-registry-host={replace}", "@acme/widget")
    plain, tarball = scene.npm.requests
    assert plain.field("Authorization") == BEARER
    if replace == "always":
        assert ran.code == 0, ran
        assert tap.first_lines()[1].startswith(f"GET http://{scene.npm.name}/@acme/widget/-/")
        assert tarball.field("Authorization") == BEARER
    else:  # npm 11.19 even writes an absolute target into the tunnel: whether it is served is up to the server
        assert tap.first_lines()[1].startswith(f"CONNECT {scene.npm.name}:443 ")
        assert tarball.field("Authorization") != BEARER


def test_publish(scene, gateway, sandbox):
    npm = Npm(sandbox, scene.npm, "http")
    scene.npm.answer = registry = NpmRegistry(npm.base, (BEARER,))
    (npm.project / "package.json").write_text('{"name": "@acme/gadget", "version": "2.0.0"}')
    (npm.project / "data.bin").write_bytes(os.urandom(1_000_000))
    ran = npm("publish")
    assert ran.code == 0, ran
    ((target, document),) = registry.published
    assert target == "/@acme%2fgadget"
    (attachment,) = document["_attachments"].values()
    assert attachment["length"] > 900_000
    assert json.dumps(document).count(PLACEHOLDER) == 0


@pytest.mark.parametrize("scheme", ("http", "https"))
def test_refused_host(scheme, scene, gateway, sandbox):
    npm = Npm(sandbox, scene.refused, scheme)
    ran = npm("view", "@acme/widget")
    assert ran.code != 0 and "403" in ran.err, ran
    assert scene.refused.accepted == 0
