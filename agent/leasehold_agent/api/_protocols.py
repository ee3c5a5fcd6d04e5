"""uvicorn's protocols, for clients that send slowly, in tiny pieces, or what nobody reads the answer to."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from leasehold_agent.access import READ_BYTES, Ration, Visitor
from leasehold_agent.api._straight_body import STRAIGHT, StraightBody

MOST_PIECES: Final = 1024
"""Fragments that a message may have; empty ones count for nothing in its length."""
MOST_PONGS: Final = 64
"""Answers to pings that may wait for a client that does not read."""


def protocols(header_seconds: float, ration: Ration) -> tuple[type[asyncio.Protocol], type[asyncio.Protocol]]:
    """HTTP/1.1 with a deadline for each request's header, which uvicorn itself does not have; and WebSockets. Whose
    connection it is comes with it, as the application's state.
    """

    class Impatient(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None
        visitor: Visitor | None = None

        def connection_made(self, transport: Any) -> None:
            self.visitor = self.app_state.get("visitor")
            self.app_state[STRAIGHT] = self._straight_body
            super().connection_made(transport)
            self._expect_header()

        def data_received(self, data: bytes) -> None:
            with ration.measured(_key(self.visitor)) as debt:
                super().data_received(data)
            # SEND_BODY and DONE mean that a whole header has come; IDLE that one is on its way.
            if self.conn.their_state is not h11.IDLE:
                self._no_deadline()
            elif self._deadline is None:
                self._expect_header()
            if (wait := debt()) and self.conn.their_state is h11.IDLE:
                self.flow.pause_reading()
                self.loop.call_later(wait, self.flow.resume_reading)

        def _straight_body(self) -> StraightBody | None:
            return StraightBody.of(self, ration, _key(self.visitor))

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._no_deadline()
            self._expect_header()

        def connection_lost(self, exc: Exception | None) -> None:
            self._no_deadline()
            super().connection_lost(exc)
            if self.visitor is not None:
                self.visitor.leave()

        def _expect_header(self) -> None:
            self._deadline = self.loop.call_later(header_seconds, self._give_up)

        def _give_up(self) -> None:
            self._deadline = None
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.abort()  # nobody is owed a goodbye, which would need the client's own

        def _no_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    class Frugal(WebSocketsSansIOProtocol):
        """Frames are taken from the bytes that came in a few at a time, and never while the app has one to read."""

        visitor: Visitor | None = None

        def connection_made(self, transport: Any) -> None:
            self.visitor = self.app_state.get("visitor")
            self._held = bytearray()
            self._next: asyncio.TimerHandle | None = None
            self._pongs = 0
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            self._held.clear()
            if self._next is not None:
                self._next.cancel()
            super().connection_lost(exc)
            if self.visitor is not None:
                self.visitor.leave()

        def data_received(self, data: bytes) -> None:
            if not self.handshake_initiated:
                super().data_received(data)  # the handshake, which is as short as a header may be
                return
            self._held += data
            self._take_piece()

        async def receive(self) -> Any:
            message = await super().receive()
            self._take_piece()
            return message

        def _take_piece(self) -> None:
            if self._next is not None or self.read_paused or not self._held:
                return
            piece = bytes(self._held[:READ_BYTES])
            del self._held[:READ_BYTES]
            with ration.measured(_key(self.visitor)) as debt:
                super().data_received(piece)
            if self.transport.is_closing():
                self._held.clear()
            elif self._held or debt():
                self.transport.pause_reading()
                self._next = self.loop.call_later(debt(), self._take_next)

        def _take_next(self) -> None:
            self._next = None
            if self._held:
                self._take_piece()
            if not self._held and not self.read_paused and not self.transport.is_closing():
                self.transport.resume_reading()

        def handle_ping(self) -> None:
            self._pongs = 0 if self.writable.is_set() else self._pongs + 1
            if self._pongs > MOST_PONGS:
                self.transport.abort()
                return
            super().handle_ping()

        def handle_cont(self, event: Frame) -> None:
            if len(self.frames) >= MOST_PIECES:
                self.transport.abort()
                return
            super().handle_cont(event)

    return Impatient, Frugal


def _key(visitor: Visitor | None) -> str:
    if visitor is None:
        return ""
    return visitor.network if visitor.lease is None else str(visitor.lease)
