"""A port of the engine's loopback, on this process's loopback too: where both are one computer, as for a person with an
engine of his own, a registry there has one name.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from devnet.patience import patient
from leasehold_agent.host import connect

T = TypeVar("T")


class SamePort:
    """`with SamePort(netns, 5000):` Raises OSError where the port is taken here."""

    def __init__(self, netns: Path, port: int) -> None:
        self._netns, self._port = netns, port
        self._loop = asyncio.new_event_loop()
        self._tasks = set[asyncio.Task[None]]()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._server = self._run(asyncio.start_server(self._begin, "127.0.0.1", self._port))
        except OSError:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._stop()

    def _begin(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._carry(near, back))
        self._tasks.add(task)  # the loop itself holds none
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Both ways, until both sides have said all."""
        with contextlib.suppress(OSError):
            async with _closed_after(back):
                far, onward = await connect("127.0.0.1", self._port, netns=self._netns, seconds=patient(5))
                async with _closed_after(onward):
                    await asyncio.gather(_copy(near, onward), _copy(far, back), return_exceptions=True)

    async def _close(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=patient(30))

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextlib.asynccontextmanager
async def _closed_after(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """All of it; however that ends, the other side hears no more, and says its last."""
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    finally:
        target.write_eof()
