"""docs/clients.md says what the tests of this folder do."""
import pathlib
import re
import sys

from e2e.support.programs import Sandbox
from fetchers import CLIENTS

TEXT = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "clients.md").read_text()

# Client of the tests -> row of the table; those that share a row behave alike.
ROWS = {
    "curl": "curl", "curl-proxytunnel": "curl -p", "curl-proxy1.0": "curl --proxy1.0", "wget": "wget", "urllib": "Python urllib",
    "requests": "requests", "httpx": "httpx", "aiohttp": "aiohttp", "go": "Go net/http", "node-http": "Node http and https",
    "node-fetch": "Node fetch", "node-agents": "http-proxy-agent and https-proxy-agent", "node-tunnel": "https-proxy-agent for both",
    "undici7": "undici 7", "undici7-env": "undici 7", "undici7-no-tunnel": "undici 7, proxyTunnel: false", "undici8": "undici 8",
    "undici8-env": "undici 8", "undici8-global": "Node fetch with an agent of undici 8", "axios": "axios",
    "java-url-connection": "Java HttpURLConnection", "java-http-client": "Java HttpClient",
}
OTHERS = {"git", "apt", "npm", "pip", "ws"}  # tested in files of their own


def table():
    section = TEXT.partition("## What each sends")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in rows[1:]}


def test_table_of_what_each_sends():
    rows = table()
    assert set(rows) == set(ROWS.values()) | OTHERS
    for client in CLIENTS:
        host = {"authority": "host:port", "name": "host only", None: "no Host"}[client.connect_host]
        _, plain, connect, stamped = rows[ROWS[client.name]]
        before, _, later = connect.partition("; from Python 3.12 ")
        connect = later if later and sys.version_info >= (3, 12) else before
        assert [plain, connect, stamped] == [client.plain, f"{client.connect}, {host}", "yes"], client.name


def test_variables_of_a_sandbox_image(tmp_path):
    section = TEXT.partition("## Which variables")[2].partition("\n## ")[0]
    told = set(re.findall(r"^(\w+)=", section, re.M)) - {"NODE_USE_ENV_PROXY", "JAVA_TOOL_OPTIONS"}
    of_the_tests = set(Sandbox(tmp_path, "ca", "proxy").environment()) - {"PATH", "HOME", "LANG", "TMPDIR"}
    assert told == of_the_tests
