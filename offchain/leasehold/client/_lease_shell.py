"""Small scripts run in a lease's container, by whatever shell it has: what copies files there and back.

What answers is a stranger's: it is bytes, bounded where it is kept, and never believed about where something is written
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Final

from leasehold.errors import AgentError, error_type
from leasehold.market import AgentClient, Feed, Take
from leasehold.market.wire import CommandEnd

SHELLS: Final = (("/.leasehold/busybox", "sh"), ("/bin/sh",), ("/bin/busybox", "sh"))
"""What the host lends comes first: its tools are known."""
_PIECE: Final = 1 << 20

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
    """Of one lease, by one agent. sleep: waits for seconds."""

    def __init__(
        self, agent: AgentClient, lease: int, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.sleep = sleep
        self._agent = agent
        self._lease = lease
        self._program: tuple[str, ...] | None = None

    async def ask(self, script: str, *words: str, most: int = 64 << 20) -> bytes:
        """What the script writes; `words` are its $1 and so on. Raises CopyFailed, AgentError."""
        said = bytearray()

        def keep(source: BinaryIO) -> None:
            while data := source.read(_PIECE):
                said.extend(data)
                if len(said) > most:
                    raise CopyFailed(f"it answers more than {most >> 20} MiB")

        await self.fetch(script, *words, take=keep)
        return bytes(said)

    async def fetch(
        self,
        script: str,
        *words: str,
        take: Take,
        given: bytes = b"",
        counted: Counted = lambda count: None,
        much: bool = False,
    ) -> None:
        """Run the script on `given`, of some KiB, and have `take` read what it writes, in a thread. much: that is
        likely to be long. Raises CopyFailed, AgentError, what `take` raises.
        """
        command = [*await self._shell(), "-c", script, "leasehold", *words]
        _check(await self._agent.exec_from(self._lease, command, take, given, counted, much=much))

    async def feed(
        self, script: str, *words: str, write: Feed, counted: Counted = lambda count: None
    ) -> None:
        """Run the script on what `write` writes, in a thread. Raises CopyFailed, AgentError, what `write` raises."""
        command = [*await self._shell(), "-c", script, "leasehold", *words]
        _check(await self._agent.exec_on(self._lease, command, write, counted))

    async def _shell(self) -> tuple[str, ...]:
        """The first that is there."""
        if self._program is None:
            for program in SHELLS:
                end = await self._agent.exec_from(self._lease, [*program, "-c", "exit 0"], _nothing)
                if end.exit == 0:
                    self._program = program
                    break
            else:
                raise CopyFailed("it has no shell, and its host lends none")
        return self._program


def _nothing(source: BinaryIO) -> None: ...


def _check(end: CommandEnd) -> None:
    """Raises CopyFailed."""
    if end.exit:
        raise CopyFailed(end.said.strip() or f"it ends with {end.exit}")
