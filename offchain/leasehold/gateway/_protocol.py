"""HTTP as uvicorn speaks it, bounded by who is connected: before a call has come, nothing else counts anybody.

Connections cost nothing, and one that never says anything is no call. So one network has so many and no more, and who
is connected says what he wants within a while. What is refused here has the same headers as every other answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from leasehold.gateway._front import SECURITY
from leasehold.gateway._visitors import is_known, networks
from leasehold.rates import network

MOST_CONNECTIONS: Final = 4_096
MOST_EACH: Final = 256
"""Of one network, unless it is a reverse proxy's that is known."""
FIRST_SECONDS: Final = 20.0
"""For which who is connected may take to ask for something, at first and again."""


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
            for event in (answer, h11.Data(data=said.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return CountedHttp
