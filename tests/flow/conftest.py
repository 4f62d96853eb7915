"""Flow tests: the real gateway between scripted peers, everything on loopback.

    NAMZU_GW=build/release/gateway/namzu-gw /usr/bin/python3 -m pytest tests/flow

NAMZU_GW (or --gateway) names the binary; NAMZU_FLOW_NETWORK=host keeps the run in the host's own
network instead of a namespace of its own. Needs pytest and the openssl command, nothing else.
"""
import json
import os
import resource
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.dont_write_bytecode = True

from support import network, world as scene  # noqa: E402
from support.gateway import Gateway, binary  # noqa: E402

# Entered once and before any thread exists.
NETWORK = network.enter()


def pytest_addoption(parser):
    parser.addoption("--gateway", help="the namzu-gw binary under test (default: $NAMZU_GW, else build/release)")


def pytest_configure(config):
    if config.getoption("--gateway"):
        os.environ["NAMZU_GW"] = config.getoption("--gateway")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))


def pytest_report_header(config):
    return f"gateway: {binary()}; network: {NETWORK.note}; uid {os.getuid()}"


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("not run, and why")
        for report in skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.line(f"{report.nodeid}: {why}")


@pytest.fixture(scope="session")
def folder():
    with tempfile.TemporaryDirectory(prefix="namzu-flow-") as path:
        os.chmod(path, 0o755)  # the gateway's own users pass through
        yield path


@pytest.fixture(scope="session")
def world(folder):
    if not NETWORK.low_ports():
        pytest.skip("ports 80 and 443 cannot be bound here, and no network namespace can be made")
    made = scene.World(folder, NETWORK)
    yield made
    made.close()


class Gateways:
    """Starts gateways; those of equal configuration are shared until the session ends."""

    def __init__(self, folder):
        self.folder, self.shared, self.running, self.count = folder, {}, [], 0

    def start(self, config, env=None, secrets=scene.SECRETS, prepare=None):
        """One for the caller alone, who stops it (or leaves it to the end of the test)."""
        if not binary().exists():
            (pytest.fail if "NAMZU_GW" in os.environ else pytest.skip)(f"there is no gateway at {binary()}")
        self.count += 1
        gateway = Gateway(f"{self.folder}/gateway-{self.count}", config, {**scene.ENVIRONMENT, **(env or {})},
                          secrets, prepare)
        gateway.start()
        self.running.append(gateway)
        return gateway

    def get(self, config):
        """A shared one for this configuration (the listener's port is not compared)."""
        key = json.dumps({**config, "networks": {name: {**network, "listen": ""}
                                                 for name, network in config["networks"].items()}}, sort_keys=True)
        if key not in self.shared:
            self.shared[key] = self.start(config)
        return self.shared[key]

    def stop(self, gateways):
        problems = []
        for gateway in gateways:
            self.running.remove(gateway)
            try:
                gateway.stop()
            except AssertionError as problem:
                problems.append(str(problem))
        if problems:
            raise AssertionError("\n".join(problems))


@pytest.fixture(scope="session")
def gateways(folder):
    made = Gateways(folder)
    yield made
    made.stop(list(made.running))


@pytest.fixture
def own_gateway(gateways):
    """start(config, ...) of a gateway for this test alone."""
    before = list(gateways.running)
    yield gateways.start
    gateways.stop([each for each in gateways.running
                   if each not in before and each not in gateways.shared.values()])


@pytest.fixture(scope="session")
def standing(world):
    """The standing configuration."""
    return scene.config(world)


@pytest.fixture
def gateway(gateways, standing):
    """The shared gateway with the standing configuration."""
    return gateways.get(standing)


@pytest.fixture(autouse=True)
def nobody_dies(request):
    """After every test: all processes of all running gateways are still the same."""
    yield
    if "gateways" in request.fixturenames:
        for each in request.getfixturevalue("gateways").running:
            each.check_alive()
