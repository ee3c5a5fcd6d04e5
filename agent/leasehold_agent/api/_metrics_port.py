"""The port on which Prometheus reads: one answer to each connection, and few of these at once.

It speaks plain HTTP to whoever is on the host, and stands apart from the API: tenants do not get to it, and whatever is
done to it costs so many descriptors, bytes and seconds, and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final

MOST_CONNECTIONS: Final = 16
SECONDS: Final = 5.0
_MOST_HEAD: Final = 8_192
_FRESH_SECONDS: Final = 1.0
_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPort:
    """`text` makes the answer: once a second at most, however often it is asked for."""

    def __init__(
        self,
        text: Callable[[], bytes],
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._text, self._seconds, self._clock = text, seconds, clock
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._made: tuple[float, bytes] = (float("-inf"), b"")

    async def start(self, address: str, port: int) -> int:
        """Listen; returns the port, which is chosen where `port` is 0. Raises OSError."""
        self._server = await asyncio.start_server(self._meet, address, port, limit=_MOST_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in set(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Whoever is late, says too much, or does not take his answer is cut off."""
        try:
            with contextlib.suppress(
                TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
            ):
                async with asyncio.timeout(self._seconds):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answer(head))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        finally:
            writer.transport.abort()

    def _answer(self, head: bytes) -> bytes:
        method, target = (*head.split(b"\r\n", 1)[0].split(b" "), b"", b"")[:2]
        if target.split(b"?")[0] != b"/metrics":
            return _response("404 Not Found", b"Metrics are at /metrics.\n")
        if method != b"GET":
            return _response("405 Method Not Allowed", b"Only GET is served.\n")
        return _response("200 OK", self._fresh())

    def _fresh(self) -> bytes:
        if self._clock() - self._made[0] >= _FRESH_SECONDS:
            self._made = (self._clock(), self._text())
        return self._made[1]


def _response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {_TYPE}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
