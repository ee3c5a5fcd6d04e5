"""A peer that hosts measure against: it sends bytes, takes bytes, and says which of a caller's ports it can reach.

Whoever calls it is a stranger. A connection is one request, and all of it has to be over in a time. Ports are tried at
the caller's own address only, and not where that is this host's own: behind a proxy every caller's would be.

    GET  /v1/down?bytes=N   N random bytes
    POST /v1/up             takes what is sent, and says how much it was: {"bytes": N}
    POST /v1/reach          {"ports": [N, …]} → {"address": "…", "ports": {"N": true, …}}
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from leasehold.market.wire import TooManyRequests
from leasehold.rates import RateLimit, network
from leasehold_agent.access import Buckets

MOST_PORTS = 8
_MOST_HEAD, _MOST_QUESTION = 8_192, 1_024
_CHUNK = os.urandom(1 << 18)
_CONNECT_SECONDS = 3.0
_HOUR = 3_600.0
_GONE = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


@dataclass(frozen=True)
class PeerLimits:
    """seconds: of one request, from its first byte to its last. most_bytes: of one transfer. at_once: requests that are
    served, of all callers and of one. calls: of one address in an hour.
    """

    seconds: float = 15.0
    most_bytes: int = 256 << 20
    at_once: int = 16
    at_once_of_one: int = 2
    calls: int = 120


class _Refused(Exception):
    """A request that is not served; the text is for whoever made it."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class _Call:
    """A request: its line, the length of its body, and the connection."""

    line: str
    length: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def asked_bytes(self) -> int:
        """Of `/v1/down?bytes=N`. Raises _Refused."""
        asked = parse_qs(urlsplit(self.line.split(" ")[1]).query).get("bytes", [""])[0]
        if not (asked.isascii() and asked.isdigit() and len(asked) < 20):
            raise _Refused(HTTPStatus.BAD_REQUEST, "Say how many bytes.")
        return int(asked)

    async def send(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.writer.write(_head(HTTPStatus.OK, len(body)) + body)
        await self.writer.drain()


class MeasuringPeer:
    """`await start(host, port)`, then `close`."""

    def __init__(
        self, limits: PeerLimits | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits or PeerLimits()
        self._calls = Buckets(RateLimit(self._limits.calls, _HOUR), clock)
        self._serving: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError where it is taken."""
        self._server = await asyncio.start_server(self._greet, host, port, limit=_MOST_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def serve(self) -> None:
        """Until it is cancelled."""
        assert self._server is not None
        await self._server.serve_forever()

    async def close(self) -> None:
        """Stop listening, and hang up."""
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._connected(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._served(reader, writer)
        except _GONE:
            writer.transport.abort()  # gone, slow, or of another language: nothing more is sent to it
        finally:
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with self._one_more(network(str(writer.get_extra_info("peername")[0]))):
                await self._answer(await _read(reader, writer))
        except _Refused as refused:
            said = json.dumps({"detail": str(refused)}).encode()
            writer.write(_head(refused.status, len(said)) + said)
            await writer.drain()

    @contextlib.contextmanager
    def _one_more(self, who: str) -> Iterator[None]:
        """A request of `who`. Raises _Refused where there are too many."""
        full = self._serving.total() >= self._limits.at_once
        if full or self._serving[who] >= self._limits.at_once_of_one:
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "Others are measuring; try again in a minute.")
        try:
            self._calls.take(who)
        except TooManyRequests as error:
            raise _Refused(HTTPStatus.TOO_MANY_REQUESTS, str(error)) from None
        self._serving[who] += 1
        try:
            yield
        finally:
            self._serving[who] -= 1
            self._serving += Counter()  # whom nothing is served is forgotten

    async def _answer(self, call: _Call) -> None:
        method, target, *_ = call.line.split(" ")
        try:
            path = urlsplit(target).path
        except ValueError:
            raise _Refused(HTTPStatus.BAD_REQUEST, "That is no address.") from None
        match method, path:
            case "GET", "/v1/down":
                await self._down(call)
            case "POST", "/v1/up":
                await self._up(call)
            case "POST", "/v1/reach":
                await self._reach(call)
            case _:
                raise _Refused(HTTPStatus.NOT_FOUND, "There is no such thing here.")

    async def _down(self, call: _Call) -> None:
        left = min(call.asked_bytes(), self._limits.most_bytes)
        call.writer.write(_head(HTTPStatus.OK, left, "application/octet-stream"))
        while left:
            part = _CHUNK[:left]
            call.writer.write(part)
            await call.writer.drain()
            left -= len(part)

    async def _up(self, call: _Call) -> None:
        if call.length > self._limits.most_bytes:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is more than is taken at once.")
        left = call.length
        while left:
            part = await call.reader.read(min(left, len(_CHUNK)))
            if not part:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(part)
        await call.send({"bytes": call.length})

    async def _reach(self, call: _Call) -> None:
        caller, own = (str(call.writer.get_extra_info(name)[0]) for name in ("peername", "sockname"))
        if caller == own:
            raise _Refused(HTTPStatus.FORBIDDEN, "Whoever calls from this host's own address is not tried.")
        ports = _ports(await call.reader.readexactly(min(call.length, _MOST_QUESTION)))
        reached = await asyncio.gather(*(_answers(caller, port) for port in ports))
        await call.send({"address": caller, "ports": dict(zip(map(str, ports), reached, strict=True))})


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Call:
    """The head of a request. Raises _Refused for what is none."""
    line, *headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    named = {
        name.strip().lower(): value.strip()
        for name, _, value in (header.partition(":") for header in headers)
    }
    length = named.get("content-length", "0")
    if line.count(" ") != 2 or not (length.isascii() and length.isdigit() and len(length) < 20):
        raise _Refused(HTTPStatus.BAD_REQUEST, "That is no request.")
    if "transfer-encoding" in named:
        raise _Refused(HTTPStatus.LENGTH_REQUIRED, "Say its length.")
    return _Call(line, int(length), reader, writer)


def _ports(body: bytes) -> list[int]:
    """Raises _Refused."""
    try:
        ports = json.loads(body)["ports"]
        if 0 < len(ports) <= MOST_PORTS and all(type(port) is int and 0 < port < 65_536 for port in ports):
            return list(ports)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise _Refused(HTTPStatus.BAD_REQUEST, f'Say up to {MOST_PORTS} ports: {{"ports": [8701]}}.')


async def _answers(address: str, port: int) -> bool:
    """Whether something takes a connection there."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def _head(status: HTTPStatus, length: int, kind: str = "application/json") -> bytes:
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {length}\r\nConnection: close\r\n\r\n"
    ).encode()
