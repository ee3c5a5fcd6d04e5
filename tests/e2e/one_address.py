"""One address before several gateways, as a balancer has it: each connection goes to the next that takes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

_PIECE = 1 << 16


class OneAddress:
    """urls: of those behind it, which may be changed while it serves."""

    def __init__(self, *urls: str) -> None:
        self.urls = list(urls)
        self.url = ""
        self._turn = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[OneAddress]:
        """At a port of the loopback; what is open at the end is closed."""
        going: set[asyncio.Task[None]] = set()

        def begun(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._carry(reader, writer))
            going.add(task)
            task.add_done_callback(going.discard)

        server = await asyncio.start_server(begun, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = await self._next()
        if behind is not None:
            ways = (_copied(reader, behind[1]), _copied(behind[0], writer))
            tasks = [asyncio.create_task(way) for way in ways]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                behind[1].close()
        writer.close()

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to one that takes it."""
        for _ in range(len(self.urls)):
            self._turn += 1
            place = urlsplit(self.urls[self._turn % len(self.urls)])
            with suppress(OSError):
                return await asyncio.open_connection(place.hostname, place.port)
        return None


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the one side ends or the other is gone."""
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
