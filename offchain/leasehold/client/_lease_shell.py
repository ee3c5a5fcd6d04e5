"""Small scripts run in a lease's container, by whatever shell it has: what copies files there and back.

What answers is a stranger's: it is bytes, bounded where it is kept, and never believed about where something is written
here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import BinaryIO, Final, cast

from leasehold.errors import AgentError, error_type
from leasehold.market import AgentClient, ExecStream, Feed, Take
from leasehold.market.wire import STDOUT, AgentUnreachable, CommandEnd

SHELLS: Final = (("/.leasehold/busybox", "sh"), ("/bin/sh",), ("/bin/busybox", "sh"))
"""What the host lends comes first: its tools are known."""
_PIECE: Final = 1 << 20
_MOST_ASIDE: Final = 4096
_MOST_CODE: Final = 8

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

    @asynccontextmanager
    async def talk(self, script: str, *words: str) -> AsyncIterator[LeaseTalk]:
        """A script that is heard before it is told what to do. Leaving the block ends it. Raises AgentError."""
        command = [*await self._shell(), "-c", script, "leasehold", *words]
        async with self._agent.exec(self._lease, command) as stream:
            yield LeaseTalk(stream)

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


class LeaseTalk:
    """One connection to a script that runs."""

    def __init__(self, stream: ExecStream) -> None:
        self._stream = stream
        self._frames = aiter(stream)
        self._aside = bytearray()

    async def hear(self) -> bytes:
        """What it writes next. Raises CopyFailed where it has ended instead, AgentError."""
        async for fd, data in self._frames:
            if fd == STDOUT:
                return data
            self._aside += data[: _MOST_ASIDE - len(self._aside)]
        code = await self._stream.wait()
        _check(CommandEnd(exit=code, said=self._aside.decode("utf-8", "replace")))
        raise CopyFailed("it ended before it had said all")

    async def tell(self, write: Feed, counted: Counted) -> None:
        """A line, behind it what `write` writes, in a thread, and its end; then hear whether that went well, which the
        script says in a line of its own, before the engine knows that it has ended. Raises as `LeaseShell.feed`.
        """
        telling, hearing = (
            asyncio.ensure_future(self._told(write, counted)),
            asyncio.ensure_future(self._end()),
        )
        try:
            await asyncio.wait({telling, hearing}, return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
            await hearing
        finally:
            for task in (telling, hearing):
                task.cancel()
            await asyncio.gather(telling, hearing, return_exceptions=True)

    async def _told(self, write: Feed, counted: Counted) -> None:
        """One that has ended, or has had enough, says in its own words how it went."""
        loop = asyncio.get_running_loop()

        async def send(data: bytes) -> None:
            await self._stream.write(data)
            counted(len(data))

        pieces = _Pieces(lambda data: asyncio.run_coroutine_threadsafe(send(data), loop).result())
        pieces.write(b"\n")
        with contextlib.suppress(AgentUnreachable):
            await asyncio.to_thread(write, cast(BinaryIO, pieces))
            await asyncio.to_thread(pieces.flush)
            await self._stream.write_eof()

    async def _end(self) -> None:
        """Raises CopyFailed."""
        said = bytearray()
        while not said.endswith(b"\n"):
            said += await self.hear()
            if len(said) > _MOST_CODE:
                raise CopyFailed("it says more than how it went")
        while said != b"0\n":
            await self.hear()  # until it has ended, by which is known why


class _Pieces:
    """What a thread writes, gathered."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._gathered = bytearray()
        self._taken = 0

    def tell(self) -> int:
        return self._taken

    def write(self, data: bytes | memoryview) -> int:
        self._taken += len(data)
        self._gathered += data
        if len(self._gathered) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        data = bytes(self._gathered)
        self._gathered.clear()
        self._send(data)


def _nothing(source: BinaryIO) -> None: ...


def _check(end: CommandEnd) -> None:
    """Raises CopyFailed."""
    if end.exit:
        raise CopyFailed(end.said.strip() or f"it ends with {end.exit}")
