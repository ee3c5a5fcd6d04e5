"""A WebSocket to the address that was meant, and to no other, whose other end takes nobody else's time."""

from __future__ import annotations

from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Frame, Opcode
from websockets.protocol import Event

from leasehold._slices import MOST_FRAGMENTS, MOST_PONGS, InSlices


class StraightConnection(InSlices, ClientConnection):
    """One whose frames come a few at a time, and that is cut where they come to nothing: a message of empty fragments
    without end, or pings whose answers nobody reads.
    """

    _fragments = _pongs = 0

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame):
            if event.opcode is Opcode.PING:
                self._pongs = self._pongs + 1 if self.paused else 0
            elif event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._fragments = 0 if event.fin else self._fragments + 1
            if self._pongs > MOST_PONGS or self._fragments > MOST_FRAGMENTS:
                self.transport.abort()
                return
        super().process_event(event)


class StraightConnect(connect):
    """`connect`, which follows redirects by itself: an agent would have its caller call whatever it names, and bring
    the credential there.
    """

    def __init__(self, uri: str, **options: Any) -> None:
        super().__init__(uri, create_connection=StraightConnection, **options)

    def process_redirect(self, exc: Exception) -> Exception | str:
        """The refusal that a redirect is, too."""
        return exc
