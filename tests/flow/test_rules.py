"""Method and path rules: what a host with rules admits (decision 6.4, 8, 14.5)."""
import pytest
from support import hello, refusal
from support.cases import Case, Expect, Seen, get, head, refused, run, served
from support.client import Client
from support.world import config


@pytest.fixture(scope="module")
def ruled(gateways, world):
    return gateways.get(config(world, policy={"rules": [
        {"host": "api.acme.test", "methods": ["GET", "POST"], "paths": ["/v1"]},
        {"host": "api.acme.test", "methods": ["DELETE"], "paths": ["/tmp/"]},
        {"host": "x.pkgs.test", "paths": ["/npm"], "encoded_slash": "allow"},
    ]}))


API = "http://api.acme.test"


def path(id, target, reason=None):
    if reason:
        return refused(id, get(API + target), 403, reason, host="api.acme.test")
    return served(id, get(API + target), Seen("api", target, host="api.acme.test"))


CASES = [
    path("prefix", "/v1"), path("below", "/v1/x"), path("query", "/v1?q=/../x"), path("slash", "/v1/"),
    path("not-a-segment", "/v1x", "path-not-allowed"), path("other", "/v2", "path-not-allowed"), path("root", "/", "path-not-allowed"),
    path("case", "/V1/x", "path-not-allowed"),
    path("below-only", "/tmp/x", True),
    path("dots", "/v1/../v2", "path-ambiguous"), path("dots-encoded", "/v1/%2e%2e/v2", "path-ambiguous"),
    path("dots-mixed", "/v1/.%2E/v2", "path-ambiguous"), path("dot", "/v1/./x", "path-ambiguous"),
    path("double", "/v1//x", "path-ambiguous"), path("encoded-slash", "/v1%2fx", "path-ambiguous"), path("encoded-slash-2", "/v1/a%2Fb", "path-ambiguous"),
    path("encoded-backslash", "/v1/a%5cb", "path-ambiguous"), path("dots-end", "/v1/..", "path-ambiguous"), path("dots-parameter", "/v1/..;x/y", "path-ambiguous"),
    refused("method", get(API + "/v1", method="PUT"), 403, "method-not-allowed", host="api.acme.test"),
    served("method-post", get(API + "/v1", "Content-Length: 2", method="POST", body=b"{}"), Seen("api", "/v1", "POST", "api.acme.test", body=b"{}")),
    served("method-delete", get(API + "/tmp/x", method="DELETE"), Seen("api", "/tmp/x", "DELETE", "api.acme.test")),
    refused("method-delete-apex", get(API + "/tmp", method="DELETE"), 403, "path-not-allowed", host="api.acme.test"),
    refused("tunnel", head("CONNECT api.acme.test:443 HTTP/1.1", "Host: x") + hello.client_hello("api.acme.test"), 403, "rule-needs-plain",
            host="api.acme.test"),
    Case("inside", head("CONNECT api.acme.test:80 HTTP/1.1", "Host: x") + get("/v1", host="api.acme.test"),
         (Expect(200, method="CONNECT"), Expect(200)), (Seen("api", "/v1", host="api.acme.test"),)),
    Case("inside-refused", head("CONNECT api.acme.test:80 HTTP/1.1", "Host: x") + get("/v2", host="api.acme.test"),
         (Expect(200, method="CONNECT"), Expect(403, "path-not-allowed", "api.acme.test"))),
    served("npm", get("http://x.pkgs.test/npm/@team%2fwidget"), Seen("pkgs", "/npm/@team%2fwidget", host="x.pkgs.test"),
           why="encoded_slash: allow, which registries need"),
    refused("npm-dots", get("http://x.pkgs.test/npm/..%2fother"), 403, "path-ambiguous"),
    served("no-rule", get("http://a.pkgs.test/a/../b//c"), Seen("pkgs", "/a/../b//c", host="a.pkgs.test"), why="elsewhere byte for byte"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case, ruled, world):
    run(case, ruled, world)


def test_a_refusal_by_rule_does_not_resolve(ruled, world):
    world.dns.forget()
    with Client(ruled.address) as client:
        refusal.check(client.ask(get(API + "/v2")), "path-not-allowed", "api.acme.test")
    assert world.dns.count() == 0


@pytest.mark.parametrize("kind", ["deny-all", "allow-all"])
def test_kinds_of_policy(kind, own_gateway, world):
    """allow-all still screens (L15); deny-all denies everything (L12)."""
    made = config(world)
    made["policies"]["standing"] = {"kind": kind}
    if kind == "allow-all":
        made["policies"]["standing"] |= {"allow_inward_for": [{"host": "evil.test", "cidrs": ["127.0.0.0/8"]}], "plaintext_upstream": ["evil.test"]}
    gateway = own_gateway(made)
    world.dns.host("meta.anywhere.test", "169.254.169.254")
    with Client(gateway.address) as client:
        response = client.ask(get("http://evil.test/"))
        if kind == "deny-all":
            refusal.check(response, "not-allowed", "evil.test")
        else:
            assert response.status == 200
    with Client(gateway.address) as client:
        response = client.ask(get("http://meta.anywhere.test/"))
        refusal.check(response, "not-allowed" if kind == "deny-all" else "resolved:link-local", "meta.anywhere.test")


def test_an_empty_list_allows_nothing(own_gateway, world):
    """CONF-07: empty is deny-all, not unrestricted."""
    made = config(world)
    made["policies"]["standing"] = {"kind": "static", "allowed_hosts": []}
    gateway = own_gateway(made)
    for name in ("api.acme.test", "evil.test"):
        with Client(gateway.address) as client:
            refusal.check(client.ask(get(f"http://{name}/")), "not-allowed", name)


def test_an_entry_with_a_port_opens_that_port_alone(own_gateway, world):
    gateway = own_gateway(config(world, policy={"allowed_hosts": ["echo.acme.test:9000"], "ports": [443, 80], "credentials": [],
                                                "plaintext_upstream": [],
                                                "allow_inward_for": [{"host": "echo.acme.test", "cidrs": ["127.0.0.0/8"]}]}))
    with Client(gateway.address) as client:
        assert client.open_tunnel("echo.acme.test", 9000).status == 200
    with Client(gateway.address) as client:
        refusal.check(client.open_tunnel("echo.acme.test", 443), "port-not-allowed", "echo.acme.test", tunnel=True)
