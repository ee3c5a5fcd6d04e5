"""HTTP as uvicorn speaks it, bounded by who is connected: before a call has come, nothing else counts anybody.

Connections cost nothing, and one that never says anything is no call. So one network has so many and no more, and who
is connected says what he wants within a while. What is refused here has the same headers as every other answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from leasehold.gateway._front import SECURITY
from leasehold.gateway._visitors import is_known, networks
from leasehold.rates import network

MOST_CONNECTIONS: Final = 4_096
MOST_EACH: Final = 256
"""Of one network, unless it is a reverse proxy's that is known."""
FIRST_SECONDS: Final = 20.0
"""For which who is connected may take to ask for something, at first and again."""
MOST_CHUNKS: Final = 1_024
BYTES_A_CHUNK: Final = 1_024
CHUNKS_A_SECOND: Final = 200
"""Of a body: so many chunks of any size, one more for so many bytes, and some with time."""


class _Frugal(h11.Connection):
    """One that reads no body in chunks of next to nothing: each takes as long as one of many KiB, and of
    those that are read at once nobody else has a turn for a second.
    """

    chunks = size = 0
    begun = 0.0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.chunks, self.size, self.begun = 0, 0, time.monotonic()
        elif isinstance(event, h11.Data):
            self.chunks, self.size = self.chunks + 1, self.size + len(event.data)
            more = self.size // BYTES_A_CHUNK + int(CHUNKS_A_SECOND * (time.monotonic() - self.begun))
            if self.chunks > MOST_CHUNKS + more:
                raise h11.RemoteProtocolError("Its chunks are too small.")
        return event


def bounded(
    proxies: Iterable[str],
    *,
    most: int = MOST_CONNECTIONS,
    each: int = MOST_EACH,
    seconds: float = FIRST_SECONDS,
) -> type[H11Protocol]:
    """The protocol of one server. Raises SettingsError."""
    known, taken = networks(proxies), Counter[str]()

    class CountedHttp(H11Protocol):
        counted: str | None = None
        waiting: asyncio.TimerHandle | None = None
        answered: object = None
        """The cycle of the last request that has had its answer; uvicorn makes one for each."""

        def __init__(self, config: uvicorn.Config, *rest: Any, **more: Any) -> None:
            super().__init__(config, *rest, **more)
            longest = config.h11_max_incomplete_event_size
            self.conn = _Frugal(
                h11.SERVER, **({} if longest is None else {"max_incomplete_event_size": longest})
            )

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            address = self.client[0] if self.client else ""
            key = network(address)
            full = len(self.connections) > most
            if full or (taken[key] >= each and not is_known(address, known)):
                self._refuse(503 if full else 429, "Too many connections.")
                return
            self.counted = key
            taken[key] += 1
            self._await_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def handle_websocket_upgrade(self, event: h11.Request) -> None:
            self._forget()  # from now on it has a place of those that live
            super().handle_websocket_upgrade(event)

        def on_response_complete(self) -> None:
            self._await_request()  # the next is awaited no longer than the first: half of one ends uvicorn's own clock
            super().on_response_complete()

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, msg)

        def _await_request(self) -> None:
            self._stop_waiting()
            self.answered = self.cycle
            self.waiting = self.loop.call_later(seconds, self._late)

        def _stop_waiting(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()

        def _late(self) -> None:
            if self.cycle is self.answered:
                self.transport.close()

        def _forget(self) -> None:
            self._stop_waiting()
            if self.counted is not None:
                taken[self.counted] -= 1
                if not taken[self.counted]:
                    del taken[self.counted]
                self.counted = None

        def _refuse(self, status: int, said: str) -> None:
            headers = [(name.encode(), value.encode()) for name, value in SECURITY]
            headers += [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            if status != 400:
                headers.append((b"retry-after", b"5"))
            answer = h11.Response(status_code=status, headers=headers)
            with suppress(h11.LocalProtocolError):  # another answer has begun
                for event in (answer, h11.Data(data=said.encode()), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return CountedHttp
