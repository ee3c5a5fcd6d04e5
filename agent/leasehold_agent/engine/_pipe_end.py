"""One end of a pipe of a command's in a container, held by the agent itself: no engine copies what goes through it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable
from typing import Final

ROOM: Final = 1 << 20
"""Bytes that a pipe is made to hold: the kernel's own 64 KiB are few, and each time they are full costs a turn."""
REST_SECONDS: Final = 0.001
"""What is waited once it is ready, for more of that: the other side takes or brings a few KiB at a time."""


class PipeEnd:
    """Owns `descriptor`, which does not wait. roomy: `ROOM` is made in its pipe. reads: or it writes."""

    def __init__(self, descriptor: int, *, roomy: bool, reads: bool) -> None:
        self._descriptor = descriptor
        self._reads = reads
        self._ready: asyncio.Future[None] | None = None
        if roomy:
            with contextlib.suppress(OSError):  # where the kernel lets nobody have more, it does as it is
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, ROOM)

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0

    def close(self) -> None:
        """Harmless when called twice."""
        if self.is_open:
            self._forget()
            os.close(self._descriptor)
            self._descriptor = -1
        self._wake()

    async def _until_ready(self, rest: float = REST_SECONDS) -> None:
        """Until there is something to be done at it, or it was woken; and so many seconds more."""
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        watch: Callable[..., None] = loop.add_reader if self._reads else loop.add_writer
        watch(self._descriptor, self._wake)
        try:
            await self._ready
        finally:
            self._forget()
        await asyncio.sleep(rest)

    def _wake(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def _forget(self) -> None:
        if self.is_open:
            loop = asyncio.get_running_loop()
            forget = loop.remove_reader if self._reads else loop.remove_writer
            forget(self._descriptor)
