"""The scene of the client tests: hosts, their servers, and the policy over them.

    name                  address        policy                         server
    api.clients.test      127.40.0.1     allowed, bearer token stamped  TLS
    other.clients.test    127.40.0.2     allowed, nothing stamped       TLS
    git.clients.test      127.40.0.3     allowed, basic login stamped   TLS
    deb.clients.test      127.40.0.4     allowed, basic login stamped   TLS
    npm.clients.test      127.40.0.5     allowed, bearer token stamped  TLS
    pypi.clients.test     127.40.0.6     allowed, basic login stamped   TLS
    refused.test          127.40.0.66    not allowed                    TLS

Each server listens on a port of its own choice twice: `port`, which a CONNECT reaches as an
opaque tunnel, and `plain_port`, one of the policy's plain_ports. Where port 443 can be bound it
listens there too, and a server without TLS on 80 sees what ought to have been upgraded.
"""
import base64

from flow.support import certs, network
from flow.support.origin import Origin, silent, tls_context

from .service import Service, echo

TOKEN, LOGIN = "REAL-TOKEN-5b0e71d2", "REAL-LOGIN-90c4fa17"
SECRETS = (TOKEN, LOGIN)
ENVIRONMENT = {"NAMZU_TEST_TOKEN": TOKEN, "NAMZU_TEST_LOGIN": LOGIN}
BEARER = f"Bearer {TOKEN}"
BASIC = "Basic " + base64.b64encode(f"build:{LOGIN}".encode()).decode()
PLACEHOLDER = "placeholder-of-the-sandbox"

ADDRESSES = {name: f"127.40.0.{last}" for name, last in
             (("api", 1), ("other", 2), ("git", 3), ("deb", 4), ("npm", 5), ("pypi", 6))}
REFUSED, REFUSED_ADDRESS = "refused.test", "127.40.0.66"


class Host:
    """One host name with its servers; `answer` may be set by a test."""

    def __init__(self, name, address, tls, low_ports):
        self.name, self.answer = name, echo
        respond = lambda request: self.answer(request)  # noqa: E731
        self.servers = [Service(address, tls, respond), Service(address, tls, respond)]
        self.port, self.plain_port = (server.port for server in self.servers)
        self.clear = None
        if low_ports:
            self.servers.append(Service(address, tls, respond, port=443))
            self.clear = Origin(address, 80, silent)

    def url(self, scheme, path="", plain_port=False):
        return f"{scheme}://{self.name}:{self.plain_port if plain_port else self.port}{path}"

    @property
    def requests(self):
        return [seen for server in self.servers for seen in server.requests]

    @property
    def accepted(self):
        """Connections that reached any of its ports."""
        return sum(server.accepted for server in self.servers) + (self.clear.accepted if self.clear else 0)

    @property
    def errors(self):
        return [error for server in self.servers for error in server.errors]

    def forget(self):
        self.answer = echo
        for server in [*self.servers, *([self.clear] if self.clear else [])]:
            server.forget()

    def close(self):
        for server in [*self.servers, *([self.clear] if self.clear else [])]:
            server.close()


class Scene:
    def __init__(self, folder, where):
        self.ca = certs.Authority(f"{folder}/ca")
        self.low_ports = where.low_ports()
        self.hosts = {}
        for short, address in ADDRESSES.items():
            name = f"{short}.clients.test"
            self.hosts[short] = Host(name, address, tls_context(self.ca.leaf(name)), self.low_ports)
        self.hosts["refused"] = Host(REFUSED, REFUSED_ADDRESS, tls_context(self.ca.leaf(REFUSED)), self.low_ports)

    def __getattr__(self, short):
        try:
            return self.__dict__["hosts"][short]
        except KeyError:
            raise AttributeError(short) from None

    def forget(self):
        for host in self.hosts.values():
            host.forget()

    def close(self):
        for host in self.hosts.values():
            host.close()

    def config(self):
        """The gateway's configuration: static host entries, and nothing that resolves."""
        hosts = {f"{short}.clients.test": [address] for short, address in ADDRESSES.items()}
        bearer = {"header": "authorization", "scheme": "bearer", "value": {"env": "NAMZU_TEST_TOKEN"}}
        basic = {"header": "authorization", "scheme": "basic", "user": "build", "value": {"env": "NAMZU_TEST_LOGIN"}}
        kinds = {"api": bearer, "npm": bearer, "git": basic, "deb": basic, "pypi": basic}
        return {
            "version": 1,
            "gateway": {
                "processes": 2,
                "log": {"format": "json", "level": "info"},
                "dns": {"servers": [f"127.0.0.1:{network.free_port()}"], "timeout_ms": 200, "deadline_ms": 500,
                        "hosts": {**hosts, REFUSED: [REFUSED_ADDRESS]}},
                "tls": {"ca_file": self.ca.certificate},
                "limits": {"drain_s": 1},
            },
            "credentials": {short: {"host": f"{short}.clients.test", **kind} for short, kind in kinds.items()},
            "policies": {
                "clients": {
                    "kind": "static",
                    "allowed_hosts": list(hosts),
                    "ports": [443, 80, *(port for host in self.hosts.values() for port in (host.port, host.plain_port))],
                    "plain_ports": [80, *(host.plain_port for host in self.hosts.values())],
                    "sni": "match",
                    "allow_inward_for": [{"host": name, "cidrs": ["127.40.0.0/16"]} for name in hosts],
                    "credentials": list(kinds),
                },
            },
            "networks": {"sandbox": {"listen": f"127.0.0.1:{network.free_port()}", "policy": "clients"}},
        }
