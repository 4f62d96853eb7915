"""Real clients through the real gateway; every server is local (../support/scene.py).

    NAMZU_GW=build/release/gateway/namzu-gw /usr/bin/python3 -m pytest tests/e2e/clients

The run moves into a network namespace of its own where the system permits, so that no client can
reach anything else. Clients come from scripts/install-clients.sh; one that is not there is skipped
with the reason, and NAMZU_CLIENTS_REQUIRED=1 makes that a failure.
"""
import os
import pathlib
import sys
import tempfile

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from flow.support import network  # noqa: E402

# Entered once and before any thread exists.
NETWORK = network.enter()

from e2e.support import programs, scene as scenes  # noqa: E402
from e2e.support.tap import Tap  # noqa: E402
from flow.support.gateway import Gateway, binary  # noqa: E402


def pytest_report_header(config):
    return f"gateway: {binary()}; network: {NETWORK.note}; uid {os.getuid()}; clients: {programs.CACHE}"


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("not run, and why")
        for report in skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.line(f"{report.nodeid}: {why}")


@pytest.fixture(scope="session")
def folder():
    with tempfile.TemporaryDirectory(prefix="namzu-clients-") as path:
        os.chmod(path, 0o755)  # the gateway's own users pass through
        yield pathlib.Path(path)


@pytest.fixture(scope="session")
def _scene(folder):
    made = scenes.Scene(folder, NETWORK)
    yield made
    made.close()


@pytest.fixture
def scene(_scene):
    _scene.forget()
    return _scene


@pytest.fixture(scope="session")
def _gateway(folder, _scene):
    if not binary().exists():
        (pytest.fail if "NAMZU_GW" in os.environ else pytest.skip)(f"there is no gateway at {binary()}")
    made = Gateway(folder / "gateway", _scene.config(), scenes.ENVIRONMENT, scenes.SECRETS)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def gateway(_gateway):
    """Runs for all tests of the session; after each, all its processes are still the same."""
    yield _gateway
    _gateway.check_alive()


@pytest.fixture
def tap(gateway):
    """What the client of this test takes for the proxy."""
    made = Tap(gateway.address)
    yield made
    made.close()
    for number, exchange in enumerate(made.exchanges):  # shown when the test failed
        print(f"connection {number}: sent {exchange.sent[:3000]!r}\n  answered {exchange.answered[:3000]!r}")


@pytest.fixture
def sandbox(tmp_path, scene, tap):
    return programs.Sandbox(tmp_path / "home", scene.ca.certificate, tap.url)


@pytest.fixture(scope="session")
def where():
    """The network that the run is in."""
    return NETWORK
