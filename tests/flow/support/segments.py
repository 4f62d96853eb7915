"""The standing rule: one segment, split at every byte, or byte by byte - the same result.

run() sends the same bytes in every such way, many connections at a time, and returns what came
back on each.
"""
import asyncio
import dataclasses

from . import message

AT_ONCE = 48  # connections at the same time
PAUSE = 0.002  # between two segments: long enough for the gateway to read the first alone
ALL_SPLITS_UP_TO = 420  # bytes; longer inputs are split at about 160 places, line ends included
BYTEWISE_UP_TO = 1500  # bytes; longer inputs go in pieces


@dataclasses.dataclass
class Outcome:
    """What one connection brought."""
    how: str
    responses: list
    closed: bool
    rest: bytes  # after the last expected response
    problem: str = ""

    def summary(self):
        return [(r.status, r.reason, r.body) for r in self.responses], self.problem


def ways(data):
    """(name, segments) for each way of sending `data`."""
    yield "in one segment", [data]
    places = range(1, len(data))
    if len(data) > ALL_SPLITS_UP_TO:
        step = len(data) // 120
        line_ends = [at + 1 for at in range(len(data) - 1) if data[at:at + 1] == b"\r"]
        places = sorted(set(range(1, len(data), step)) | set(line_ends[:20] + line_ends[-20:]))
    for at in places:
        yield f"split at {at}", [data[:at], data[at:]]
    if len(data) > 1:
        size = 1 if len(data) <= BYTEWISE_UP_TO else len(data) // 400
        yield f"in pieces of {size}", [data[at:at + size] for at in range(0, len(data), size)]


def run(address, data, methods=("GET",), closes=None, every_way=True, then=0, seconds=8.0):
    """One Outcome per way. `methods`: of the requests whose responses are awaited, in order;
    `then`: so many raw bytes after the last of them; `closes`: True waits for the gateway to close."""
    chosen = list(ways(data)) if every_way else [("in one segment", [data])]
    return asyncio.run(_run(address, chosen, methods, closes, then, seconds))


async def _run(address, chosen, methods, closes, then, seconds):
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(how, segments):
        async with gate:
            try:
                return await asyncio.wait_for(_converse(address, how, segments, methods, closes, then), seconds)
            except asyncio.TimeoutError:
                return Outcome(how, [], False, b"", f"nothing for {seconds} s")
            except OSError as error:
                return Outcome(how, [], True, b"", f"cannot connect: {error}")

    return await asyncio.gather(*(one(how, segments) for how, segments in chosen))


async def _converse(address, how, segments, methods, closes, then):
    reader, writer = await asyncio.open_connection(*address)
    sender = asyncio.ensure_future(_send(writer, segments))
    outcome = Outcome(how, [], False, b"")
    buffer, eof = b"", False
    try:
        for method in methods:
            while True:
                parsed = message.parse_response(buffer, method, eof)
                if parsed is not None:
                    outcome.responses.append(parsed[0])
                    buffer = buffer[parsed[1]:]
                    break
                if eof:
                    outcome.problem = f"closed after {buffer[:200]!r}"
                    break
                data, eof = await _read(reader)
                buffer += data
            if outcome.problem:
                break
        while len(buffer) < then and not eof and not outcome.problem:
            data, eof = await _read(reader)
            buffer += data
        if closes and not outcome.problem:
            while not eof:
                data, eof = await asyncio.wait_for(_read(reader), 3)
                buffer += data
        elif closes is False and not eof:
            try:
                data, eof = await asyncio.wait_for(_read(reader), 0.05)
                buffer += data
            except asyncio.TimeoutError:
                pass
    except message.Malformed as error:
        outcome.problem = f"malformed answer: {error}"
    except asyncio.TimeoutError:
        outcome.problem = "the connection stays open"
    finally:
        sender.cancel()
        writer.close()
    outcome.closed, outcome.rest = eof, buffer
    return outcome


async def _send(writer, segments):
    """A gateway that has refused may close while we still send: that is no error here."""
    try:
        for number, segment in enumerate(segments):
            if number:
                await asyncio.sleep(PAUSE if len(segments) == 2 else PAUSE / 2)
            writer.write(segment)
            await writer.drain()
    except (OSError, asyncio.CancelledError):
        pass


async def _read(reader):
    """(bytes, is this the end)."""
    try:
        data = await reader.read(65536)
    except ConnectionResetError:
        return b"", True
    return data, not data
