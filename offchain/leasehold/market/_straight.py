"""A WebSocket to the address that was meant, and to no other, whose other end takes nobody else's time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Frame, Opcode
from websockets.protocol import Event

from leasehold._slices import MOST_FRAGMENTS, MOST_PONGS, InSlices

GOODBYE_SECONDS: Final = 3.0


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


async def let_go(connection: ClientConnection) -> None:
    """End it. Who does not read what is sent does not hear a goodbye behind it either, and is cut off: what is still to
    be sent would keep the goodbye, and whoever waits for it, for as long as he likes.
    """
    try:
        async with asyncio.timeout(GOODBYE_SECONDS):
            await connection.close()
    except TimeoutError:
        pass
    finally:
        connection.transport.abort()
