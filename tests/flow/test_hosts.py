"""Names on the wire: one canonical form, made once (case list HOST rows)."""
import pytest
from support.cases import Case, Expect, Seen, get, head, refused, run, served

OK = "http://api.acme.test"

CASES = [
    served("HOST-01", get("http://API.Acme.Test./v1"), Seen("api", "/v1", host="api.acme.test"),
           asked={"api.acme.test"}, why="letter case and one root dot mean nothing"),
    refused("HOST-02", get("http://[[api.acme.test]]/", host="x"), 400, "bad-host"),
    refused("HOST-02-name", get("http://[api.acme.test]/", host="x"), 400, "bad-host"),
    refused("HOST-02-future", get("http://[v7.fe80]/", host="x"), 400, "bad-host"),
    served("HOST-03-apex", get("http://pkgs.test/"), Seen("pkgs", "/", host="pkgs.test")),
    served("HOST-03-below", get("http://a.b.pkgs.test/"), Seen("pkgs", "/", host="a.b.pkgs.test")),
    *[refused(f"HOST-03-{n}", get(f"http://{host}/"), 403, "not-allowed", host=host) for n, host in enumerate(
        ("notpkgs.test", "pkgs.test.evil.test", "pkgs.testx", "x.api.acme.test", "acme.test", "test"))],
    refused("HOST-03-dash", get("http://-pkgs.test/"), (400, 403)),
    refused("HOST-05-fragment", get("http://evil.test%23.pkgs.test/", host="x.pkgs.test"), 400, "bad-host"),
    refused("HOST-05-slash", get("http://evil.test%2f.pkgs.test/", host="x.pkgs.test"), 400, "bad-host"),
    refused("HOST-05-dot", get("http://api%2eacme.test/", host="api.acme.test"), 400, "bad-host"),
    refused("HOST-06-port", get("http://api.acme.test:x@evil.test/", host="api.acme.test"), 400, "userinfo"),
    refused("HOST-06", get("http://u:p4ss@api.acme.test/x", host="api.acme.test"), 400, "userinfo"),
    refused("HOST-06-two", get("http://api.acme.test@@evil.test/", host="x"), 400, "userinfo"),
    served("HOST-07", get(OK + "/a", host="evil.test"), Seen("api", "/a", host="api.acme.test")),
    refused("HOST-07-evil", get("http://evil.test/a", host="api.acme.test"), 403, "not-allowed", host="evil.test"),
    served("HOST-09", get(OK + "?next=http://evil.test/", host="api.acme.test"),
           Seen("api", "/?next=http://evil.test/", host="api.acme.test")),
    refused("HOST-09-evil", get("http://evil.test?.pkgs.test", host="x.pkgs.test"), 403, "not-allowed", host="evil.test"),
    served("HOST-09-empty", get(OK), Seen("api", "/", host="api.acme.test")),
    served("HOST-09-empty-query", get(OK + "?"), Seen("api", "/?", host="api.acme.test")),
    refused("HOST-11", get("http://evil.test\\.pkgs.test/", host="x.pkgs.test"), 400),
    refused("HOST-11-at", get(OK + "\\@evil.test/", host="api.acme.test"), 400),
    served("HOST-13", get("http://xn--bcher-kva.pkgs.test/"), Seen("pkgs", "/", host="xn--bcher-kva.pkgs.test")),
    served("HOST-14", get("http://build_cache.pkgs.test/"), Seen("pkgs", "/", host="build_cache.pkgs.test")),
    *[refused(f"HOST-14-{n}", get(f"http://build{c}cache.pkgs.test/", host="x"), 400) for n, c in enumerate("!$&'()*+,;=~\"<>^`{|}")],
    *[refused(f"HOST-16-{n}", get(f"http://api.acme.test:{port}/", host="api.acme.test"), 400, "bad-port")
      for n, port in enumerate(("4294967376", "65616", "0", "+80", "80x", "-1", "0x50", "080"))],
    served("HOST-17", get(OK + ":/x", host="api.acme.test:"), Seen("api", "/x", host="api.acme.test"),
           why="an empty port is the scheme's default (RFC 3986 6.2.3)"),
    served("HOST-17-alone", get(OK + ":/x", host="api.acme.test"), Seen("api", "/x", host="api.acme.test")),
    refused("HOST-17-v6", get("http://[2001:db8::5]/x"), 403, "not-allowed", host="2001:db8::5"),
    *[refused(f"Host-field-{n}", get(OK + "/", host=host), 400) for n, host in enumerate(
        ("api.acme.test/x", "u@api.acme.test", "api.acme.test:99999", "a b", "http://api.acme.test", "[::1", "a,b", "api..test"))],
    refused("Host-three", head(f"GET {OK}/ HTTP/1.1", "Host: api.acme.test", "X: 1", "HOST: evil.test"), 400, "bad-request"),
    refused("zone-id", get("http://[fe80::1%25lo]/", host="x"), 400, "zone-id"),
    refused("zone-id-raw", get("http://[fe80::1%lo]/", host="x"), 400, "zone-id"),
    refused("long-label", get(f"http://{'a' * 64}.pkgs.test/"), 400, "bad-host"),
    refused("long-name", get("http://" + "a." * 125 + "pkgs.test/"), 400, "bad-host"),
    refused("empty-label", get("http://a..pkgs.test/"), 400, "bad-host"),
    refused("root", get("http://./"), 400, "bad-host"),
    # CRED-07: the path goes on byte for byte
    served("CRED-07-npm", get("http://x.pkgs.test/npm/@team%2fwidget"), Seen("pkgs", "/npm/@team%2fwidget", host="x.pkgs.test")),
    served("CRED-07", get(OK + "/o/a%2Fb%20c//d/../e;p=1?q=%23&x=%zz"), Seen("api", "/o/a%2Fb%20c//d/../e;p=1?q=%23&x=%zz", host="api.acme.test")),
    served("clients-go", get("http://API.Acme.test:80/a%2Fb?q=1"), Seen("api", "/a%2Fb?q=1", host="api.acme.test")),
    served("clients-cargo", get(OK + "/index", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk",
                                "Proxy-Connection: Keep-Alive", "cargo-protocol: version=1"),
           Seen("api", "/index", host="api.acme.test", fields={"cargo-protocol": "version=1"})),
    Case("clients-curl-two-hosts", get(OK + "/1", "Proxy-Connection: Keep-Alive") + get("http://x.pkgs.test/2", "Proxy-Connection: Keep-Alive"),
         (Expect(200), Expect(200)), (Seen("api", "/1", host="api.acme.test"), Seen("pkgs", "/2", host="x.pkgs.test"))),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case, gateway, world):
    run(case, gateway, world)


def test_HOST_06_userinfo_is_in_no_log(gateway):
    """Neither the request nor its echo in audit or running log shows the password."""
    from support.client import Client
    mark = gateway.mark()
    with Client(gateway.address) as client:
        assert client.ask(get("http://u:p4ss-w0rd@api.acme.test/x", host="api.acme.test")).status == 400
    gateway.wait_for_audit(lambda r: r.get("reason") == "userinfo", since=mark)
    assert "p4ss-w0rd" not in gateway.access_path.read_text() + gateway.running_log()


def test_L10_text_from_the_wire_is_escaped_in_the_audit(gateway):
    from support.client import Client
    mark = gateway.mark()
    with Client(gateway.address) as client:
        assert client.ask(b"GET http://a\x1b[2Jb.test/ HTTP/1.1\r\nHost: x\r\n\r\n").status == 400
    gateway.wait_for_audit(lambda r: r.get("status") == 400, since=mark)
    assert b"\x1b" not in gateway.access_path.read_bytes() and "\x1b" not in gateway.running_log()
