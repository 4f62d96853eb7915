"""A case as data: bytes sent, answers expected, and what the origins must (not) have seen."""
import dataclasses
import re
from typing import Optional

from . import refusal, segments

# Fields that a proxy keeps to itself (RFC 9110 7.6.1, and the older ones).
HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate",
              "te", "upgrade", "http2-settings"}


@dataclasses.dataclass(frozen=True)
class Expect:
    """One answer. `reason` None: relayed from the origin; a text: the gateway's own refusal;
    True: a refusal whose code is left open."""
    status: object  # a number, or a tuple of equally right ones
    reason: object = None
    host: Optional[str] = None  # named in the refusal
    body: Optional[bytes] = None
    method: str = "GET"


@dataclasses.dataclass(frozen=True)
class Seen:
    """One request as an origin must have seen it, for each time that the case was run."""
    at: str
    target: str
    method: str = "GET"
    host: Optional[str] = None
    fields: dict = dataclasses.field(default_factory=dict)  # name -> exact value(s); () for none
    body: bytes = b""
    trailers: tuple = ()


@dataclasses.dataclass(frozen=True)
class Case:
    id: str
    sends: bytes  # {self} stands for the gateway's own port
    expect: tuple
    seen: tuple = ()
    closes: Optional[bool] = None
    asked: Optional[set] = None  # names that the resolver may be asked; None: not looked at
    then: bytes = b""  # raw bytes that must follow the last answer (in a tunnel to the echo server)
    echo: Optional[bytes] = None  # what the echo server must have got; None: not even a connection
    may_connect: bool = False  # an origin may be connected to, and see part of a request
    every_way: bool = True
    why: str = ""

    def __str__(self):
        return self.id


def refused(id, sends, status, reason=True, host=None, method=None, closes=None, why="", **more):
    """A case that is refused before anything is resolved or dialled."""
    method = method or sends.split(b" ", 1)[0].decode("latin-1")
    if closes is None and (status in refusal.ALWAYS_CLOSE or method == "CONNECT"):
        closes = True
    more.setdefault("asked", set())
    return Case(id, sends, (Expect(status, reason, host, method=method),), closes=closes, why=why, **more)


def served(id, sends, *seen, status=200, body=None, method=None, why="", **more):
    """A case that an origin answers."""
    method = method or sends.split(b" ", 1)[0].decode("latin-1")
    return Case(id, sends, (Expect(status, None, body=body, method=method),), seen=tuple(seen), why=why, **more)


def tunnelled(id, sends, data, why="", **more):
    """A CONNECT that opens an opaque tunnel to the echo server, and the bytes sent right behind it."""
    return Case(id, sends + data, (Expect(200, method="CONNECT", body=b""),), then=data, echo=data, why=why, **more)


def head(*lines, body=b""):
    """Request bytes from text lines."""
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def get(url, *lines, host=None, method="GET", version="HTTP/1.1", body=b""):
    """A request in absolute-form with the Host that belongs to it (or another)."""
    if host is None:
        host = re.sub(r"^[a-z]+://([^/?#]*).*", r"\1", url, flags=re.I | re.S)
    return head(f"{method} {url} {version}", f"Host: {host}", *lines, body=body)


def run(case, gateway, world):
    """Runs the case in every way and checks answers, origins, resolver and closing."""
    world.forget()
    methods = [expect.method for expect in case.expect]
    case = dataclasses.replace(case, sends=case.sends.replace(b"{self}", str(gateway.address[1]).encode()))
    outcomes = segments.run(gateway.address, case.sends, methods, case.closes, case.every_way,
                            len(case.then))
    for outcome in outcomes:
        try:
            check_outcome(case, outcome)
        except AssertionError as error:
            raise AssertionError(f"{case.id} {outcome.how}: {error}\n  sent {case.sends[:600]!r}\n"
                                 f"  why: {case.why}") from None
    check_seen(case, world, len(outcomes))
    check_echo(case, world, len(outcomes))
    if case.asked is not None:
        # A name of an earlier test may still be on its way; those of this one are looked at.
        asked = {name for name in world.dns.asked() if name.encode() in case.sends.lower()}
        assert asked <= case.asked, f"{case.id}: the resolver was asked for {asked}"


def check_outcome(case, outcome):
    assert not outcome.problem, f"{outcome.problem}; before it {outcome.summary()[0]}"
    for expect, response in zip(case.expect, outcome.responses):
        right = expect.status if isinstance(expect.status, tuple) else (expect.status,)
        assert response.status in right, (f"{response.status} {response.fields.get('X-Namzu-Reason')}, "
                                          f"expected {expect.status} {expect.reason}; body {response.body[:200]!r}")
        if expect.reason is None:
            if len(right) == 1:
                assert response.reason is None, f"refused: {response.reason}"
        else:
            refusal.check(response, None if expect.reason is True else expect.reason, expect.host,
                          tunnel=expect.method == "CONNECT", sent=case.sends)
        if expect.body is not None:
            assert response.body == expect.body, f"body {response.body[:200]!r}"
    if case.then:
        assert outcome.rest == case.then, f"after the last answer: {outcome.rest[:400]!r}, expected {case.then[:400]!r}"
    elif case.closes:
        assert outcome.closed and not outcome.rest, f"after the last answer: {outcome.rest[:200]!r}"
    if case.closes is False:
        assert not outcome.closed, "the connection was closed"


def check_seen(case, world, times):
    for name, origin in world.origins.items():
        wanted = [seen for seen in case.seen if seen.at == name]
        got = origin.wait_for(len(wanted) * times) if wanted else list(origin.requests)
        assert len(got) == len(wanted) * times, (f"{case.id}: {name} saw {len(got)} requests, expected "
                                                 f"{len(wanted)} x {times}: {[g.first_line for g in got[:5]]}")
        if not wanted and not case.may_connect:
            assert origin.accepted == 0, f"{case.id}: {name} was connected to"
        for request in got:
            match = next((s for s in wanted if s.target == request.target and s.method == request.method), None)
            assert match, f"{case.id}: {name} saw {request.first_line!r}, expected {[s.target for s in wanted]}"
            check_request(case, match, request)


def check_echo(case, world, times):
    if case.echo is None:
        assert world.echo.accepted + world.echo_9000.accepted == 0, f"{case.id}: the echo server was connected to"
        return
    streams = [bytes(stream) for stream in world.echo.streams + world.echo_9000.streams]
    if case.echo:
        assert len(streams) == times, f"{case.id}: {len(streams)} tunnels, expected {times}"
    wrong = [stream for stream in streams if stream != case.echo]
    assert not wrong, f"{case.id}: {len(wrong)} tunnels carried something else, as {wrong[0][:300]!r}"


def check_request(case, seen, request):
    """A request that reached an origin: as expected, and well-mannered in any case."""
    where = f"{case.id}: {request.raw_head!r}"
    assert request.version == "HTTP/1.1", where
    assert request.fields.all("host") == [seen.host or request.sni or seen.at], where
    own = {name.lower() for name in seen.fields}
    extra = HOP_BY_HOP & set(request.fields.names()) - own
    # A proxy may say for itself how it keeps its own connection.
    if "connection" in extra and set(request.fields.tokens("connection")) <= {"keep-alive", "close"}:
        extra.discard("connection")
    assert not extra, f"hop-by-hop fields {extra} in {where}"
    via = request.fields.all("via")
    assert via and re.fullmatch(r"(1\.[01] )[A-Za-z0-9._-]+", via[-1].split(",")[-1].strip()), f"Via {via} in {where}"
    assert not any(name.startswith("x-forwarded") or name == "forwarded" for name in request.fields.names()
                   if name not in own), where
    for name, value in seen.fields.items():
        values = list(value) if isinstance(value, (tuple, list)) else [value]
        assert request.fields.all(name) == values, f"{name}: {request.fields.all(name)}, expected {values}, in {where}"
    assert request.body == seen.body, f"body {request.body[:200]!r} in {where}"
    assert [tuple(field) for field in request.trailers] == list(seen.trailers), f"trailers {request.trailers} in {where}"
