"""HTTP connections that end with whoever wanted them.

anyio connects in a task of its own: when the caller is cancelled in the moment in which that task is done, the
connection belongs to nobody, and stays open until Python's collector comes by. httpcore has the same gap during the
TLS handshake. A watcher that is closed, a timeout and a task group whose other task failed all cancel so.
"""

import asyncio
import functools
import re
import ssl
from typing import Any, Final

import httpcore
import httpx

GRACE_SECONDS: Final = 0.25
"""How long a connection that nobody wants any more may take to be made, and then be closed."""
_MOST_BEFORE: Final = 4 * 1024
_ANSWER: Final = re.compile(rb"^HTTP/1\.[0-9] [02-9]", re.MULTILINE)
"""No header's line begins so."""


@functools.cache
def authorities() -> ssl.SSLContext:
    """Whose certificates are believed, as httpx says by itself; but it reads all of them for each client, 50 ms."""
    return httpx.create_ssl_context()


def tidy(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """The same client, whose connections are closed even when its caller is cancelled while they are made."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.AsyncHTTPTransport):
            transport._pool._network_backend = TidyBackend()
    return client


class TidyBackend(httpcore.AnyIOBackend):
    """Connects as httpcore does by itself, and closes what nobody waits for any more."""

    async def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        connecting = asyncio.ensure_future(super().connect_tcp(*arguments, **options))
        try:
            return _Stream(await asyncio.shield(connecting))
        except asyncio.CancelledError:
            await asyncio.wait({connecting}, timeout=GRACE_SECONDS)
            if connecting.done() and not connecting.cancelled() and connecting.exception() is None:
                await connecting.result().aclose()
            connecting.cancel()
            raise


class _Stream(httpcore.AsyncNetworkStream):
    """One that ends where answers come before the answer without end: no time that is set for a read bounds them, and
    what is read at once of them takes a quarter of a second.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._before: bytes | None = b""
        """What has come since the last question; nothing once the answer has begun."""

    async def read(self, *arguments: Any, **options: Any) -> bytes:
        data = await self._stream.read(*arguments, **options)
        if self._before is not None:
            self._before += data
            begun = _ANSWER.search(self._before)
            if (begun.start() if begun else len(self._before)) > _MOST_BEFORE:
                raise httpcore.RemoteProtocolError("It says too much before it answers.")
            self._before = None if begun else self._before
        return data

    async def write(self, *arguments: Any, **options: Any) -> None:
        self._before = b""
        await self._stream.write(*arguments, **options)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *arguments: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(await self._stream.start_tls(*arguments, **options))
        except BaseException:
            await self.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
