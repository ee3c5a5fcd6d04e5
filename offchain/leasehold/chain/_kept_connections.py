"""Connections that are kept for the next call, and on which nothing is taken that nobody asked for.

aiohttp reads on while a connection waits: it keeps what comes, unbounded, and gives it to whoever calls next. Four MiB
of small answers became 200 MiB here and four seconds of the loop.
"""

import functools
from typing import Any, Final

from aiohttp import TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey

_MOST_AHEAD: Final = 16
"""Answers that have come and nobody has taken: one is usual, and a few `100 Continue` before it."""


class KeptConnections(TCPConnector):
    """As aiohttp's, but that who talks unasked is hung up on."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Of its own type alone, says aiohttp; it is one.
        self._factory = functools.partial(_Listener, loop=self._loop)  # type: ignore[assignment]

    async def _get(self, key: ConnectionKey, traces: list[Any]) -> Any:
        kept = self._conns.get(key, ())
        for protocol, _ in kept:
            if protocol.should_close:  # something lies there already
                protocol.abort()  # and so it is not taken
        return await super()._get(key, traces)


class _Listener(ResponseHandler):
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if len(self._buffer) > _MOST_AHEAD:
            self.abort()
