"""Connections that are kept for the next call, and on which nothing is taken that nobody asked for.

aiohttp reads on while a connection waits: it keeps what comes, unbounded, and gives it to whoever calls next. Four MiB
of small answers became 200 MiB here and four seconds of the loop. And it reads an answer in pieces of whatever length:
11 MiB in pieces of a byte took 17 seconds of the loop, as long as nobody looked at anything else.
"""

import functools
from typing import Any, Final

from aiohttp import TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey

_MOST_AHEAD: Final = 16
"""Answers that have come and nobody has taken: one is usual, and a few `100 Continue` before it."""


_MOST_ENDS: Final = 256
_BYTES_AN_END: Final = 8
"""Ends of lines in what comes at once: so many, and one for so many bytes. Each piece of an answer has two."""


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
        if data.count(b"\r\n") > _MOST_ENDS + len(data) // _BYTES_AN_END:
            self.abort()  # pieces of a byte, of which each takes as long as one of many KiB
            return
        super().data_received(data)
        if len(self._buffer) > _MOST_AHEAD:
            self.abort()
