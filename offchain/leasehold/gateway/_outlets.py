"""WebSockets as uvicorn speaks them, with an outlet for what is written once and told to many.

A message of an application's costs a task that wakes, a call, and a frame of its own, for each who listens. What is
the same for all of them is handed to the connection as it goes over the wire, as long as the connection takes it: where
the client does not read, it is refused here, and comes as a message that waits for him.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import State

from leasehold._slices import MOST_FRAGMENTS, MOST_PONGS, InSlices
from leasehold.gateway._hub import Outlet

_EXTENSION: Final = "leasehold.outlet"


class OutletSocket(InSlices, WebSocketsSansIOProtocol):
    """One connection; the application finds its outlet among the extensions of its scope. Its client, a stranger, has
    no more of the loop than a slice in each turn, and is cut where he sends what comes to nothing.
    """

    _pongs = 0

    def handle_ping(self) -> None:
        self._pongs = 0 if self.writable.is_set() else self._pongs + 1
        if self._pongs > MOST_PONGS:
            self.transport.abort()
        else:
            super().handle_ping()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= MOST_FRAGMENTS:
            self.transport.abort()
        else:
            super().handle_cont(event)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent and not self.conn.extensions:  # which would change what frames are like
            extensions = cast("dict[str, Any]", self.scope["extensions"])
            extensions[_EXTENSION] = {"write": self.write_out}

    def write_out(self, frames: bytes) -> bool:
        """Write whole frames, unless the connection does not stand, ends, or has more to write than it should."""
        stands = self.handshake_complete and not self.close_sent and not self.disconnected
        if not (stands and self.writable.is_set() and self.conn.state is State.OPEN):
            return False
        if self.transport.is_closing():
            return False
        self.transport.write(frames)
        return True


def outlet_of(scope: Mapping[str, Any]) -> Outlet | None:
    """A WebSocket's, where its server has such a thing."""
    extension = scope.get("extensions", {}).get(_EXTENSION)
    return None if extension is None else cast(Outlet, extension["write"])
