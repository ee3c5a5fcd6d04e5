"""Small scripts run in a lease's container, by whatever shell it has: what copies files there and back.

What answers is a stranger's: it is bytes, bounded where it is kept, and never believed about where something is written
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Final

from leasehold.errors import AgentError, error_type
from leasehold.market import AgentClient, Feed

SHELLS: Final = (("/.leasehold/busybox", "sh"), ("/bin/sh",), ("/bin/busybox", "sh"))
"""What the host lends comes first: its tools are known."""
_PIECE: Final = 1 << 20
_MOST_COMPLAINT: Final = 4096

Counted = Callable[[int], None]
"""Hears of so many more bytes."""


@error_type(
    "copy-failed",
    problem="The container of the lease does not do it: {said}",
    advice="look at the path, and at what the container's user may do.",
)
class CopyFailed(AgentError):
    """A script in the container failed. said: what it complained of, a stranger's words."""

    said: str


class LeaseShell:
    """Of one lease, by one agent."""

    def __init__(self, agent: AgentClient, lease: int) -> None:
        self._agent = agent
        self._lease = lease
        self._program: tuple[str, ...] | None = None

    async def ask(self, script: str, *words: str, most: int = 64 << 20) -> bytes:
        """What the script writes; `words` are its $1 and so on. Raises CopyFailed."""
        said = bytearray()

        async def keep(data: bytes) -> None:
            said.extend(data)
            if len(said) > most:
                raise CopyFailed(f"it answers more than {most >> 20} MiB")

        await self.stream(script, *words, out=keep)
        return bytes(said)

    async def stream(
        self,
        script: str,
        *words: str,
        source: BinaryIO | None = None,
        out: Callable[[bytes], Awaitable[None]] | None = None,
        counted: Counted = lambda count: None,
    ) -> None:
        """Run the script, with `source` as its input, and hand its output to `out`. Raises CopyFailed, AgentError."""
        program = await self._shell()
        command = [*program, "-c", script, "leasehold", *words]
        async with self._agent.exec(self._lease, command) as stream:
            complaint = bytearray()

            async def feed() -> None:
                while source is not None and (piece := await asyncio.to_thread(source.read, _PIECE)):
                    await stream.write(piece)
                    counted(len(piece))
                await stream.write_eof()

            feeding = asyncio.ensure_future(feed())
            try:
                async for fd, data in stream:
                    if fd == 1 and out is not None:
                        await out(data)
                    elif fd != 1 and len(complaint) < _MOST_COMPLAINT:
                        complaint += data
                code = await stream.wait()
                if feeding.done():
                    feeding.result()  # what could not be read here was the end of it there
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
        if code:
            said = complaint[:_MOST_COMPLAINT].decode("utf-8", "replace").strip()
            raise CopyFailed(said or f"it ends with {code}")

    async def feed(
        self, script: str, *words: str, write: Feed, counted: Counted = lambda count: None
    ) -> None:
        """Run the script on what `write` writes, in a thread. Raises CopyFailed, AgentError, what `write` raises."""
        command = [*await self._shell(), "-c", script, "leasehold", *words]
        end = await self._agent.exec_on(self._lease, command, write, counted)
        if end.exit:
            raise CopyFailed(end.said.strip() or f"it ends with {end.exit}")

    async def _shell(self) -> tuple[str, ...]:
        """The first that is there."""
        if self._program is None:
            for program in SHELLS:
                async with self._agent.exec(self._lease, [*program, "-c", "exit 0"]) as stream:
                    if await stream.wait() == 0:
                        self._program = program
                        break
            else:
                raise CopyFailed("it has no shell, and its host lends none")
        return self._program
