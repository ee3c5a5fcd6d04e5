"""A command in a container whose output the agent reads itself: much of it would cost the engine more than all else.

There is one pipe between a command and this host that nobody reads but the command: its input. A shell that the host
lends waits there for a word of the agent's. Once the agent has that pipe open to read, the shell opens it to write,
says so, and becomes the command, which writes there and reads nothing. Where any of it cannot be had, what the command
writes comes by the engine. What is read was written in the container by the container's user, so that it matters to
nobody else whose word that is: a tenant who lies to the agent about it has only himself to hear.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, Protocol

from leasehold_agent.engine._pipe_end import PipeEnd

PIECE: Final = 256 * 1024
"""What is read at once: each piece costs several turns of the loop, and larger ones come from fresh memory."""
MOST_ASIDE: Final = 16 * 1024
"""Bytes of what the command says besides that are kept while it writes to its pipe."""
_STDOUT: Final = 1
_STDERR: Final = 2
_BY_PIPE, _BY_ENGINE = b"\x01", b"\x02"
"""What the shell says first, in one byte: which way what follows will come."""
_SCRIPT: Final = (
    'read -r way; if [ "$way" = pipe ] && true 2>/dev/null 3>/proc/self/fd/0; then exec 3>/proc/self/fd/0; '
    "printf '\\001'; exec \"$@\" </dev/null >&3 3>&-; fi; printf '\\002'; exec \"$@\" </dev/null"
)


def by_pipe(shell: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command, begun by a shell of its container's that has it write to the pipe it would have read from."""
    return [*shell, "-c", _SCRIPT, "leasehold", *command]


class PipeOutput(PipeEnd):
    """Owns `descriptor`, which reads from the pipe without waiting. roomy: as of `PipeEnd`."""

    def __init__(self, descriptor: int, *, roomy: bool) -> None:
        super().__init__(descriptor, roomy=roomy, reads=True)
        self._over = False

    async def read(self) -> bytes:
        """Some of it; nothing at the end: once nobody has it open to write, or all is read after `finish`."""
        while self.is_open:
            try:
                return os.read(self._descriptor, PIECE)
            except BlockingIOError:
                if self._over:
                    break
                await self._until_ready()
        return b""

    def finish(self) -> None:
        """Who wrote there has ended: nothing more comes than lies there."""
        self._over = True
        self._wake()


class EngineCommand(Protocol):
    """A command as the engine has it: a `CommandStream`."""

    async def write(self, data: bytes | memoryview) -> None: ...
    async def write_eof(self) -> None: ...
    def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]: ...
    async def resize(self, rows: int, columns: int) -> None: ...
    async def wait(self) -> int: ...
    async def close(self) -> None: ...


class PipedExec:
    """`CommandStream` of a command that was begun `by_pipe`, whose output comes that way where `find` finds it. It
    reads nothing.
    """

    def __init__(self, stream: EngineCommand, find: Callable[[], Awaitable[PipeOutput | None]]) -> None:
        self._stream = stream
        self._find = find
        self._listening: asyncio.Task[None] | None = None

    @property
    def by_pipe(self) -> bool:
        """Whether what it writes goes past the engine."""
        return self._listening is not None

    async def write(self, data: bytes | memoryview) -> None:
        """Raises ConnectionError for anything at all."""
        if data:
            raise BrokenPipeError("The command reads nothing.")

    async def write_eof(self) -> None: ...

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        pipe = await self._find()
        with contextlib.suppress(ConnectionError):  # it has ended already: what it has said says why
            await self._stream.write(b"engine\n" if pipe is None else b"pipe\n")
            await self._stream.write_eof()
        said, source = False, aiter(self._stream)
        async for fd, data in source:
            if fd == _STDOUT and not said:
                said = True
                if data.startswith(_BY_PIPE) and pipe is not None:
                    break
                data = data.removeprefix(_BY_ENGINE)
            if data:
                yield fd, data
        else:
            return
        assert pipe is not None
        aside = bytearray()
        self._listening = asyncio.create_task(_listen(source, aside, pipe))
        while data := await pipe.read():
            yield _STDOUT, data
        await self._listening
        if aside:
            yield _STDERR, bytes(aside)

    async def resize(self, rows: int, columns: int) -> None:
        await self._stream.resize(rows, columns)

    async def wait(self) -> int:
        return await self._stream.wait()

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._stream.close()


async def _listen(source: AsyncIterator[tuple[int, bytes]], aside: bytearray, pipe: PipeOutput) -> None:
    """Until the command has ended, and with it what the pipe brings. What it writes to the engine nobody has asked for,
    but for its complaints.
    """
    try:
        async for fd, data in source:
            if fd == _STDERR:
                aside += data[: MOST_ASIDE - len(aside)]
    finally:
        pipe.finish()
