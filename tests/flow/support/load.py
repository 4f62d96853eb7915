"""A paced load of plain requests on kept connections: what was asked, what came back."""
import asyncio
import collections
import dataclasses
import threading
import time

from . import message


@dataclasses.dataclass
class Result:
    host: str
    status: int  # 0: the connection ended without a whole answer
    reason: str
    sent: float
    done: float


class Load:
    """`rate` requests a second, spread over `connections` kept connections, each host in turn.

    A connection that ends is opened again; a request that it took along is asked once more only when
    nothing of an answer had come and the connection had served before (as any client does, RFC 9112 9.3.1).
    """

    def __init__(self, address, hosts, rate, connections=40):
        self.address, self.hosts = address, hosts
        self.rate, self.connections = rate, connections
        self.results = []
        self.retries = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stop.set()
        self._thread.join(30)

    def counts(self):
        """How often each (host, status) occurred."""
        return collections.Counter((each.host, each.status) for each in self.results)

    async def _run(self):
        await asyncio.gather(*(self._worker(number) for number in range(self.connections)))

    async def _worker(self, number):
        pause = self.connections / self.rate
        due = time.monotonic() + pause * number / self.connections
        reader = writer = None
        turn = number
        while not self._stop.is_set():
            await asyncio.sleep(max(0, due - time.monotonic()))
            due += pause
            host = self.hosts[turn % len(self.hosts)]
            turn += 1
            sent, served = time.monotonic(), writer is not None
            for attempt in (1, 2):
                try:
                    if writer is None:
                        reader, writer = await asyncio.open_connection(*self.address)
                    answer = await self._ask(reader, writer, host)
                    self.results.append(Result(host, answer.status, answer.reason, sent, time.monotonic()))
                    break
                except (OSError, EOFError) as problem:
                    if writer is not None:
                        writer.close()
                    reader = writer = None
                    if attempt == 1 and served and not getattr(problem, "begun", False):
                        self.retries += 1
                        continue
                    self.results.append(Result(host, 0, repr(problem), sent, time.monotonic()))
                    break
        if writer is not None:
            writer.close()

    async def _ask(self, reader, writer, host):
        writer.write(f"GET http://{host}/load HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        await writer.drain()
        data = b""
        while True:
            parsed = message.parse_response(data, "GET", False)
            if parsed is not None:
                return parsed[0]
            try:
                more = await asyncio.wait_for(reader.read(65536), 10)
            except (OSError, asyncio.TimeoutError) as problem:
                ended = OSError(f"{problem!r} after {len(data)} bytes")
                ended.begun = bool(data)
                raise ended from problem
            if not more:
                ended = EOFError(f"closed after {len(data)} bytes")
                ended.begun = bool(data)
                raise ended
            data += more
