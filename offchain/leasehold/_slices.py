"""What came over a connection, a slice at a time: who sends a great many small frames at once has others wait for none.

A read is 256 KiB and more. In frames of two bytes, which mean nothing, they take seconds to be looked at, and nobody
else of the loop has a turn meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

SLICE: Final = 4 * 1024
"""Bytes of a turn: some ten milliseconds of empty frames, and of large ones more than a disk gives."""
MOST_FRAGMENTS: Final = 1_024
"""Of a message; empty ones count for nothing in its length."""
MOST_PONGS: Final = 64
"""Answers to pings that may wait for who does not read."""


class InSlices(asyncio.Protocol):
    """Mixed in before a protocol, which gets a slice in each turn, and none while it has said that it wants none. What
    is left when the connection ends is dropped: who ends it properly waits until all is taken.
    """

    _wire: asyncio.Transport
    _next: asyncio.Handle | None = None
    _wanted = _reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire, self._held = cast(asyncio.Transport, transport), bytearray()
        super().connection_made(cast(asyncio.Transport, _Wished(self._wire, self._wish)))

    def data_received(self, data: bytes) -> None:
        self._held += data
        if self._next is None:
            self._take()

    def connection_lost(self, exc: Exception | None) -> None:
        self._held.clear()
        if self._next is not None:
            self._next.cancel()
        super().connection_lost(exc)

    def _wish(self, wanted: bool) -> None:
        self._wanted = wanted
        self._settle()

    def _take(self) -> None:
        self._next = None
        if self._wanted and self._held:
            piece = bytes(self._held[:SLICE])
            del self._held[:SLICE]
            super().data_received(piece)
        self._settle()

    def _settle(self) -> None:
        """Reads on where all is taken and more is wanted; else goes on in the next turn."""
        if self._wire.is_closing():
            self._held.clear()
            return
        if self._wanted and self._held and self._next is None:
            self._next = asyncio.get_running_loop().call_soon(self._take)
        reads = self._wanted and not self._held
        if reads is not self._reading:
            self._reading = reads
            (self._wire.resume_reading if reads else self._wire.pause_reading)()


class _Wished:
    """A transport whose reader only says whether he wants more."""

    def __init__(self, transport: asyncio.Transport, wish: Callable[[bool], None]) -> None:
        self._transport = transport
        self._wish = wish

    def pause_reading(self) -> None:
        self._wish(False)

    def resume_reading(self) -> None:
        self._wish(True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
