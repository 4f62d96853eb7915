"""The standing scene of all flow tests: names, addresses, origins, and the policy over them.

    name                address        policy                              origin
    api.acme.test       127.10.0.1     allowed, plaintext upstream         HTTP on 80, TLS on 443
    llm.acme.test       127.10.0.2     allowed, stamped, TLS upstream      TLS on 443, HTTP on 80
    tls.acme.test       127.10.0.3     allowed, TLS upstream               TLS on 443 and 8443
    .pkgs.test          127.10.0.4     allowed, plaintext upstream         HTTP on 80
    echo.acme.test      127.10.0.9     allowed                             echo on 443 and 9000
    *.more.test         place()        allowed, plaintext upstream         made by a test for itself
    *.moretls.test      place()        allowed, TLS upstream               made by a test for itself
    *.public.test       as scripted    allowed, inward addresses refused   -
    evil.test           127.10.0.66    not allowed                         HTTP on 80, TLS on 443

127.0.0.0/8 and ::1 are 'declared public' for all but .public.test and evil.test.
"""
import copy

from . import certs, dns_server, http_origin, network, origin

LLM_KEY = "REAL-KEY-4d1f0c7e9b"
VAULT_KEY = "VAULT-KEY-77e2b1aa03"
SECRETS = (LLM_KEY, VAULT_KEY)

API, LLM, TLS, PKGS, ECHO, EVIL = (f"127.10.0.{last}" for last in (1, 2, 3, 4, 9, 66))
NAMES = {"api.acme.test": API, "llm.acme.test": LLM, "tls.acme.test": TLS, "echo.acme.test": ECHO,
         "evil.test": EVIL, "test": EVIL}
PKGS_NAMES = ("pkgs.test", "x.pkgs.test", "a.pkgs.test", "a.b.pkgs.test", "xn--bcher-kva.pkgs.test", "build_cache.pkgs.test")


class World:
    """Everything outside the gateway."""

    def __init__(self, folder, where):
        self.network = where
        self._placed = 0
        self.ca = certs.Authority(f"{folder}/ca")
        self.dns = dns_server.DnsServer()
        for name, address in NAMES.items():
            self.dns.host(name, address, ttl=60)
        for name in PKGS_NAMES:
            self.dns.host(name, PKGS, ttl=60)
        # What must never be reached has an address all the same, so that reaching it is seen.
        for name in ("notpkgs.test", "pkgs.test.evil.test", "pkgs.testx", "llm.acme.test.evil.test", "x.llm.acme.test",
                     "api.acme.test.evil.test"):
            self.dns.host(name, EVIL, ttl=60)
        tls = lambda *names: origin.tls_context(self.ca.leaf(*names))  # noqa: E731
        http = http_origin.HttpOrigin
        self.origins = {
            "api": http(API, 80, name="api"),
            "api-tls": http(API, 443, tls("api.acme.test"), name="api-tls"),
            "api-8080": http(API, 8080, name="api-8080"),
            "llm": http(LLM, 443, tls("llm.acme.test"), name="llm"),
            "llm-8443": http(LLM, 8443, tls("llm.acme.test"), name="llm-8443"),
            "llm-plain": http(LLM, 80, name="llm-plain"),
            "tls": http(TLS, 443, tls("tls.acme.test"), name="tls"),
            "tls-8443": http(TLS, 8443, tls("tls.acme.test"), name="tls-8443"),
            "tls-plain": http(TLS, 80, name="tls-plain"),
            "pkgs": http(PKGS, 80, name="pkgs"),
            "evil": http(EVIL, 80, name="evil"),
            "evil-tls": http(EVIL, 443, tls("evil.test"), name="evil-tls"),
        }
        self.echo = origin.EchoServer(ECHO, 443)
        self.echo_9000 = origin.EchoServer(ECHO, 9000)

    def __getitem__(self, name):
        return self.origins[name]

    def forget(self):
        """Forgets what origins and resolver have seen; what they answer stays."""
        self.dns.forget()
        self.echo.forget()
        self.echo_9000.forget()
        for each in self.origins.values():
            each.forget()

    def address(self):
        """An address that nobody else uses in this run."""
        self._placed += 1
        return f"127.20.{self._placed // 250}.{self._placed % 250 + 1}"

    def place(self, name, script, port=None, tls=None, address=None):
        """A scripted origin for one test under a name of .more.test or .moretls.test.

        `tls`: True for a good certificate, or a context. Close it when done (it is a context manager).
        """
        if tls is True:
            tls = origin.tls_context(self.ca.leaf(name))
        address = address or self.address()
        self.dns.host(name, address)
        return origin.Origin(address, port or (443 if tls else 80), script, tls)

    def close(self):
        self.dns.close()
        self.echo.close()
        self.echo_9000.close()
        for each in self.origins.values():
            each.close()


LIFTED = ["127.0.0.0/8", "::1/128"]


def config(world, policy=None, limits=None, gateway=None, network_limits=None, credentials=None, dns=None, listen=None):
    """The standing configuration; each argument changes or adds keys of one part."""
    made = {
        "version": 1,
        "gateway": {
            "processes": 2,
            "log": {"format": "json", "level": "info"},
            "dns": {"servers": [f"127.0.0.1:{world.dns.port}"], "timeout_ms": 300, "tries": 2, "deadline_ms": 1000},
            "tls": {"ca_file": world.ca.certificate},
            "limits": {"connect_timeout_ms": 1500, "connect_attempt_ms": 600, "drain_s": 1},
        },
        "credentials": {
            "llm": {"host": "llm.acme.test", "header": "authorization", "scheme": "bearer", "value": {"env": "LLM_KEY"}},
            "vault": {"host": "vault.public.test", "header": "x-vault-token", "scheme": "raw",
                      "value": {"env": "VAULT_KEY"}},
        },
        "policies": {
            "standing": {
                "kind": "static",
                "allowed_hosts": ["api.acme.test", ".pkgs.test", "llm.acme.test", "tls.acme.test", "echo.acme.test",
                                  ".public.test", ".more.test", ".moretls.test"],
                "ports": [443, 80, 8443, 9000],
                "plaintext_upstream": ["api.acme.test", ".pkgs.test", ".more.test"],
                "allow_inward_for": [{"host": host, "cidrs": LIFTED}
                                     for host in (".acme.test", ".pkgs.test", ".more.test", ".moretls.test")],
                "credentials": ["llm", "vault"],
            },
        },
        "networks": {"local": {"listen": listen or f"127.0.0.1:{network.free_port()}", "policy": "standing"}},
    }
    made["gateway"]["limits"].update(limits or {})
    made["gateway"]["dns"].update(dns or {})
    made["gateway"].update(gateway or {})
    made["policies"]["standing"].update(policy or {})
    if credentials is not None:
        made["credentials"] = credentials
    if network_limits:
        made["networks"]["local"]["limits"] = network_limits
    return made


ENVIRONMENT = {"LLM_KEY": LLM_KEY, "VAULT_KEY": VAULT_KEY}


def with_hosts(made, *more):
    """A copy of the configuration that allows these hosts too, loopback addresses included."""
    made = copy.deepcopy(made)
    policy = made["policies"]["standing"]
    policy["allowed_hosts"] += list(more)
    policy["allow_inward_for"] += [{"host": host, "cidrs": LIFTED} for host in more]
    return made
