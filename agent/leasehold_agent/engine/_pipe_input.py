"""The pipe that a command in a container reads from, written by the agent itself.

What goes through the engine is copied there from a socket to a named pipe and from that, by another process, to this
one: for much input that costs more than all else that is done with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from typing import Final

ROOM: Final = 1 << 20
"""Bytes that a pipe is made to hold: the kernel's own 64 KiB are few, and each time they are full costs a turn."""
_REST_SECONDS: Final = 0.001
"""What is waited once there is room again, for more of it: a reader takes a few KiB at a time."""


class PipeInput:
    """Owns `descriptor`, which writes to the pipe without waiting. roomy: `ROOM` is made in it."""

    def __init__(self, descriptor: int, *, roomy: bool) -> None:
        self._descriptor = descriptor
        self._room: asyncio.Future[None] | None = None
        if roomy:
            with contextlib.suppress(OSError):  # where the kernel lets nobody have more, it does as it is
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, ROOM)

    async def write(self, data: bytes | memoryview) -> None:
        """Comes back when the pipe has all of it. Raises ConnectionError once nobody reads, or it is closed."""
        rest = memoryview(data)
        while rest:
            if self._descriptor < 0:
                raise BrokenPipeError("The input is closed.")
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                await self._until_room()
                await asyncio.sleep(_REST_SECONDS)

    def close(self) -> None:
        """Harmless when called twice. The command sees no end before the engine closes its side too."""
        if self._descriptor >= 0:
            self._forget()
            os.close(self._descriptor)
            self._descriptor = -1
        self._wake()

    async def _until_room(self) -> None:
        self._room = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_writer(self._descriptor, self._wake)
        try:
            await self._room
        finally:
            self._forget()

    def _wake(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _forget(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_writer(self._descriptor)
