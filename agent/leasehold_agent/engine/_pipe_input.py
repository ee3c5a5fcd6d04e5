"""The pipe that a command in a container reads from, written by the agent itself.

What goes through the engine is copied there from a socket to a named pipe and from that, by another process, to this
one: for much input that costs more than all else that is done with it.
"""

from __future__ import annotations

import os

from leasehold_agent.engine._pipe_end import PipeEnd


class PipeInput(PipeEnd):
    """Owns `descriptor`, which writes to the pipe without waiting. roomy: as of `PipeEnd`. To close it ends nothing:
    the command sees no end before the engine closes its side too.
    """

    def __init__(self, descriptor: int, *, roomy: bool) -> None:
        super().__init__(descriptor, roomy=roomy, reads=False)

    async def write(self, data: bytes | memoryview) -> None:
        """Comes back when the pipe has all of it. Raises ConnectionError once nobody reads, or it is closed."""
        rest = memoryview(data)
        while rest:
            if not self.is_open:
                raise BrokenPipeError("The input is closed.")
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                await self._until_ready()
