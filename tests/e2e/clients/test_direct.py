"""Clients that ignore the variables of the environment: they dial, and only the sandbox's network stops them."""
import pytest
from e2e.support import programs
from e2e.support.scene import PLACEHOLDER
from fetchers import PROGRAMS, java_command


def run(sandbox, *command):
    return sandbox.run(*command, env=sandbox.environment(CLIENT_KEY=PLACEHOLDER, CLIENT_MODULES=str(programs.MODULES)))


@pytest.fixture(autouse=True)
def no_way_out(where):
    if not where.own:
        pytest.skip("needs a network namespace: without one these clients would ask a real name server")


@pytest.mark.parametrize("kind", ("node-fetch", "node-http"))
def test_node_without_the_switch(kind, scene, gateway, tap, sandbox):
    ran = run(sandbox, programs.node(), PROGRAMS / "get.mjs", kind, scene.api.url("http", "/"))
    assert '"error"' in ran.out, ran
    assert tap.exchanges == [] and scene.api.accepted == 0


@pytest.mark.parametrize("kind", ("url-connection", "http-client"))
def test_java_without_properties(kind, scene, gateway, tap, sandbox):
    ran = run(sandbox, *java_command(kind, [scene.api.url("http", "/")]))
    assert '"error"' in ran.out, ran
    assert tap.exchanges == [] and scene.api.accepted == 0
