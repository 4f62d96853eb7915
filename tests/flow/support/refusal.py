"""What every refusal owes to the one who is refused."""
import ipaddress
import json
import re

from .reasons import REASONS, base

ADDRESS = re.compile(r"(?<![0-9.:])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9]|\.[0-9])|(?<![0-9a-f.:])[0-9a-f:]*::?[0-9a-f]+:[0-9a-f:.]*"
                     r"|(?<![0-9a-f.:])::[0-9a-f.:]*", re.I)
ALWAYS_CLOSE = {400, 408, 413, 414, 431, 505}


def addresses_in(data):
    """Every IP address that is written in these bytes, mapped ones as IPv4."""
    found = set()
    for text in ADDRESS.findall(data.decode("latin-1")):
        for form in (text, text.rstrip(":"), text.rstrip(".")):
            try:
                address = ipaddress.ip_address(form)
            except ValueError:
                continue
            found.add(getattr(address, "ipv4_mapped", None) or address)
            break
    return found


def check(response, reason, host=None, tunnel=False, as_json=False, sent=b""):
    """Fails unless the response is a whole, well-mannered refusal for `reason`.

    `host`: must be named in the body. `sent`: the request; an address that is part of it may be
    repeated, any other address may not be told.
    """
    assert response.reason is not None, f"no X-Namzu-Reason: {response.raw_head!r} {response.body[:200]!r}"
    if reason is not None:
        assert response.reason == reason, f"reason {response.reason}, expected {reason}"
    assert base(response.reason) in REASONS, f"{response.reason} is not in the table"
    status, error, text = REASONS[base(response.reason)]
    assert response.status == status, f"{response.status} for {response.reason}, the table says {status}"
    told = response.fields.get("Proxy-Status") or ""
    assert told.partition(";")[0].strip() == "namzu-gw", f"Proxy-Status: {told!r}"
    if error is not None:
        assert re.search(rf"; *error={error}( *;|$)", told), f"Proxy-Status: {told!r}, expected error={error}"
    assert response.framing == "length", f"framing: {response.framing}"
    assert (response.fields.get("Cache-Control") or "").lower() == "no-store"
    assert (response.fields.get("X-Content-Type-Options") or "").lower() == "nosniff"
    kind = response.fields.get("Content-Type") or ""
    if as_json:
        assert kind.startswith("application/json"), f"Content-Type: {kind}"
        error = json.loads(response.body)["error"]
        assert error["code"] == response.reason and error["message"]
        assert host is None or error["host"] == host
    else:
        assert kind.startswith("text/plain"), f"Content-Type: {kind}"
        assert response.body.strip(), "an empty body explains nothing"
        assert host is None or host.encode() in response.body, f"{host} is not named: {response.body!r}"
        assert response.body.count(b"\n") <= 1, f"more than one line: {response.body!r}"
    if tunnel or status in ALWAYS_CLOSE:
        assert "close" in response.fields.tokens("Connection"), f"no Connection: close in a {status}"
    told = addresses_in(response.raw_head + response.body) - addresses_in(sent)
    assert not told, f"an address is told to the requester: {told}"
    assert b"<" not in response.body and b"\x1b" not in response.body
