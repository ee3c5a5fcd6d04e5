"""A request's body taken past what takes HTTP apart: from TLS into a buffer, and from there to whoever wants it.

On its ordinary way each byte of a body is copied five times before a command gets it, and waits while the piece before
it is written. Here it lies in one of two buffers: one is filled while the other is written. What is taken apart here is
a chunk's length in its plainest form alone. All else, and what stands behind the last chunk, is given back to where it
came from, whose word counts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final, Protocol

import h11
from starlette.requests import Request
from starlette.types import Scope

from leasehold_agent.access import Ration

ROOM: Final = 256 * 1024
"""Bytes of each of the two: what TLS hands over in one turn of the loop."""
MOST_CHUNKS: Final = 256
"""Chunks that are looked at in one turn: of chunks of a byte, a buffer holds tens of thousands."""
STRAIGHT: Final = "straight_body"
"""In a connection's state: what gives the body of its present request, or None."""
_HEAD: Final = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_BEGUN: Final = re.compile(rb"[0-9A-Fa-f]{0,8}\r?")
_END: Final = b"\r\n"
_NO_HEAD: Final = b"!"
"""What nothing that takes a chunk's head apart lets pass."""


class BodyOwner(Protocol):
    """The protocol whose connection it is, as far as it is asked here."""

    conn: h11.Connection
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any

    def data_received(self, data: bytes) -> None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def eof_received(self) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


class StraightBody(asyncio.BufferedProtocol):
    """The body of the request whose head `owner` has heard. It ends with the body, or earlier: then the rest comes by
    the ordinary way, and so does the news that the connection is lost.
    """

    def __init__(self, owner: BodyOwner, ration: Ration, key: str) -> None:
        self._owner = owner
        self._ration = ration
        self._key = key
        self._filled, self._spare = bytearray(ROOM), bytearray(ROOM)
        self._end = self._seen = 0
        self._left = 0  # of the chunk that has begun
        self._between = False  # behind a chunk's last byte, where a line ends
        self._pieces: list[tuple[int, int]] = []
        self._size = 0
        self._over = self._given_up = False
        self._resting = self._paused = False
        self._news = asyncio.Event()

    @classmethod
    def of(cls, owner: BodyOwner, ration: Ration, key: str) -> StraightBody | None:
        """Begins to take it, and tells its sender to go on: only where he waits for that word, so that nothing of it
        has come, and it comes in chunks.
        """
        conn, cycle, transport = owner.conn, owner.cycle, owner.transport
        headers = cycle.scope["headers"]
        chunked = any(name == b"transfer-encoding" and value == b"chunked" for name, value in headers)
        waits = conn.they_are_waiting_for_100_continue and cycle.waiting_for_100_continue
        if not (chunked and waits) or conn.trailing_data[0] or transport.is_closing():
            return None
        body = cls(owner, ration, key)
        cycle.waiting_for_100_continue = False
        go_on = conn.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        transport.set_protocol(body)
        transport.write(go_on or b"")
        return body

    async def pieces(self, least: int) -> AsyncGenerator[bytes | memoryview, None]:
        """What has come of it, at least so many bytes each time, but the last, or half a buffer. A piece is good until
        the next is asked for. To close this gives the rest of the body up, which is read and thrown away.
        """
        least = min(least, ROOM // 2)
        try:
            while self._size or not self._over:
                if self._over or self._size >= least or (self._size and self._end >= ROOM):
                    yield self._lend()
                else:
                    self._news.clear()
                    await self._news.wait()
        finally:
            if not self._over:
                self._given_up, self._end = True, 0
                self._flow()

    def _lend(self) -> bytes | memoryview:
        """All that is whole. What comes fills the other buffer, behind what has been seen of a chunk's head."""
        view = memoryview(self._filled)
        pieces = [view[start:end] for start, end in self._pieces]
        rest = self._filled[self._seen : self._end]
        self._filled, self._spare = self._spare, self._filled
        self._filled[: len(rest)] = rest
        self._seen, self._end = 0, len(rest)
        self._pieces, self._size = [], 0
        self._flow()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    # ------------------------------------------------------------------------------------- what the transport calls

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._filled)[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        if not self._given_up:
            self._end += nbytes
            self._take_apart()

    def eof_received(self) -> None:
        self._owner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        self._news.set()
        self._owner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._owner.pause_writing()

    def resume_writing(self) -> None:
        self._owner.resume_writing()

    # ------------------------------------------------------------------------------------------------------ chunks

    def _take_apart(self) -> None:
        with self._ration.measured(self._key) as debt:
            back, whole = self._chunks()
        self._news.set()
        if back is not None:
            self._give_back(back)
            return
        if debt() or not whole:
            self._resting = True
            self._owner.loop.call_later(debt(), self._rested)
        self._flow()

    def _rested(self) -> None:
        """Who sends tiny chunks has kept nobody waiting."""
        self._resting = False
        if not (self._over or self._given_up):
            self._take_apart()

    def _flow(self) -> None:
        """Reads on while there is room."""
        full = not self._given_up and (self._resting or self._end >= ROOM)
        if full != self._paused and not self._owner.transport.is_closing():
            self._paused = full
            (self._owner.transport.pause_reading if full else self._owner.transport.resume_reading)()

    def _give_back(self, rest: bytes) -> None:
        self._over = True
        self._resting, self._end = False, 0
        self._owner.transport.set_protocol(self._owner)  # type: ignore[arg-type]  # which is one
        self._flow()
        self._owner.data_received(rest)

    def _chunks(self) -> tuple[bytes | None, bool]:
        """Looks at what has come: what of it is to be given back, if something is, and whether that was all."""
        for _ in range(MOST_CHUNKS):
            if not self._left and (back := self._head()) is not None:
                return back, True
            if not (size := min(self._left, self._end - self._seen)):
                return None, True
            self._pieces.append((self._seen, self._seen + size))
            self._seen, self._size, self._left = self._seen + size, self._size + size, self._left - size
            self._between = not self._left
        return None, False

    def _head(self) -> bytes | None:
        """Begins another chunk, once its head is whole; or what is to be given back, where that is no plain one."""
        start, end = self._seen, self._end
        if self._between:
            line = bytes(self._filled[start : min(end, start + len(_END))])
            if line != _END:
                return None if _END.startswith(line) else _NO_HEAD + bytes(self._filled[start:end])
            start += len(_END)
        head = _HEAD.match(self._filled, start, end)
        if head is not None and (size := int(head[1], 16)):
            self._seen, self._left, self._between = head.end(), size, False
        elif head is not None or _BEGUN.fullmatch(self._filled, start, end) is None:
            return bytes(self._filled[start:end])
        return None


def straight_body(scope: Scope) -> StraightBody | None:
    """That of a request of which nothing has been read, where its connection and its sender let it be taken so."""
    begin = scope.get("state", {}).get(STRAIGHT)
    return None if begin is None else begin()


async def body_pieces(request: Request, least: int) -> AsyncGenerator[bytes | memoryview, None]:
    """A request's body, gathered to pieces of `least` bytes, straight where it may be. Each is good until the next is
    asked for. Raises ClientDisconnect where it breaks off.
    """
    if (straight := straight_body(request.scope)) is not None:
        async with aclosing(straight.pieces(least)) as pieces:
            async for piece in pieces:
                yield piece
    parts, size = list[bytes](), 0
    async for chunk in request.stream():
        parts.append(chunk)
        if (size := size + len(chunk)) >= least:
            yield b"".join(parts)
            parts, size = [], 0
    if size:
        yield b"".join(parts)
