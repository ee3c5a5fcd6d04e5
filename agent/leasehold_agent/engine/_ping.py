"""Whether the engine is there at all, asked without the `docker` package: the sentinel has neither threads nor time."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

_PING_SECONDS = 10.0


async def engine_answers(url: str) -> bool:
    """Whether the Docker engine answers a ping."""
    address = urlsplit(url)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PING_SECONDS):
            if address.scheme == "unix":
                reader, writer = await asyncio.open_unix_connection(address.path)
            else:
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
            try:
                writer.write(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    return False
