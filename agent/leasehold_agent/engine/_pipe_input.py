"""The pipe that a command in a container reads from, written by the agent itself.

What goes through the engine is copied there from a socket to a named pipe and from that, by another process, to this
one: for much input that costs more than all else that is done with it.
"""

from __future__ import annotations

import fcntl
import os
from typing import Final

from leasehold_agent.engine._pipe_end import REST_SECONDS, PipeEnd

LONGEST_REST: Final = 0.016
"""Seconds: a reader that is slow makes room by a few KiB, and to be woken for each costs more than to write them."""


class PipeInput(PipeEnd):
    """Owns `descriptor`, which writes to the pipe without waiting. roomy: as of `PipeEnd`. To close it ends nothing:
    the command sees no end before the engine closes its side too.
    """

    def __init__(self, descriptor: int, *, roomy: bool) -> None:
        super().__init__(descriptor, roomy=roomy, reads=False)
        self._room = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
        self._rest = REST_SECONDS
        self._went = 0

    async def write(self, data: bytes | memoryview) -> None:
        """Comes back when the pipe has all of it. Raises ConnectionError once nobody reads, or it is closed."""
        left = memoryview(data)
        while left:
            if not self.is_open:
                raise BrokenPipeError("The input is closed.")
            try:
                count = os.write(self._descriptor, left)
            except BlockingIOError:
                self._rest, self._went = next_rest(self._rest, self._went, self._room), 0
                await self._until_ready(self._rest)
            else:
                self._went += count
                left = left[count:]


def next_rest(rest: float, went: int, room: int) -> float:
    """Seconds to wait for more once a pipe that holds `room` bytes is full no more, where `went` of them went between
    the wait before, of `rest`, and now. Where they are a quarter at most, twice that leaves half a pipe to a reader
    that goes on so, who does not wait for what waits here.
    """
    if went <= room // 4:
        return min(2 * rest, LONGEST_REST)
    return max(rest / 2, REST_SECONDS) if went > room // 2 else rest
