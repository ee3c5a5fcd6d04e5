"""How SFTP reaches a container's files: by a shell that answers questions, and by streams of one file.

Both are commands run inside the container, with its own user, mounts, limits and quota
(docs/decisions/0050-sftp.md says why). What they answer comes from a hostile place: it is only ever bytes
to be passed on to the same tenant.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from leasehold.errors import AgentError
from leasehold_agent._runtime import CommandStream
from leasehold_agent.store import HELPER_MOUNT

OpenExec = Callable[[Sequence[str]], Awaitable[CommandStream]]

SHELLS: Final[tuple[tuple[str, ...], ...]] = ((HELPER_MOUNT, "sh"), ("/bin/sh",), ("/bin/busybox", "sh"))
"""What the host lends comes first: its tools are known here, an image's may be anybody's."""

ANSWER_SECONDS: Final = 60.0
MOST_ANSWER: Final = 16 * 1024 * 1024
MOST_COMPLAINT: Final = 4096
PIECE: Final = 64 * 1024


class ShellFailed(Exception):
    """A command in the container failed; the text is what it wrote."""


def quoted(path: bytes) -> bytes:
    """`path` as one word of a POSIX shell, whatever its bytes are."""
    return b"'" + path.replace(b"'", b"'\\''") + b"'"


class Shell:
    """One shell in the container that runs one small command after another.

    Started with the first command; started anew after one that did not answer.
    """

    def __init__(self, open_exec: OpenExec) -> None:
        self._open_exec = open_exec
        self._lock = asyncio.Lock()
        self._stream: CommandStream | None = None
        self._chunks: AsyncIterator[tuple[int, bytes]] | None = None
        self._rest = bytearray()
        # Nothing in the container's files can hold this, so nothing there can end an answer early.
        self._token = secrets.token_hex(16).encode()
        self._shell: tuple[str, ...] | None = None

    async def program(self) -> tuple[str, ...]:
        """The shell that this container has. Raises `AgentError` when it has none."""
        async with self._lock:
            await self._started()
            assert self._shell is not None
            return self._shell

    async def run(self, script: bytes) -> bytes:
        """What `script` writes. Raises `ShellFailed` with that if it fails, `AgentError` without a shell."""
        async with self._lock:
            await self._started()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    output, code = await self._ask(script)
            except BaseException:
                await self._drop()  # an answer half read would be taken for the next one
                raise
        if code:
            raise ShellFailed(output.decode("utf-8", "replace").strip())
        return output

    async def close(self) -> None:
        async with self._lock:
            await self._drop()

    async def _started(self) -> None:
        if self._stream is not None:
            return
        for shell in (self._shell,) if self._shell else SHELLS:
            self._stream = await self._open_exec(shell)
            self._chunks = aiter(self._stream)
            self._rest.clear()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._ask(b"LC_ALL=C; export LC_ALL; umask 022")
            except (ShellFailed, AgentError, OSError, TimeoutError):
                await self._drop()
                continue
            except BaseException:
                await self._drop()
                raise
            self._shell = shell
            return
        raise AgentError(
            "This image has no shell and this host lends none, so that files cannot be copied; "
            "use an image with /bin/sh."
        )

    async def _ask(self, script: bytes) -> tuple[bytes, int]:
        assert self._stream is not None
        await self._stream.write(
            b"{ " + script + b"\n} </dev/null 2>&1; printf '\\000" + self._token + b" %d\\n' $?\n"
        )
        output = await self._until(b"\0" + self._token + b" ")
        code = await self._until(b"\n")
        return output, int(code) if code.isdigit() else 1

    async def _until(self, mark: bytes) -> bytes:
        assert self._chunks is not None
        seen = 0
        while (at := self._rest.find(mark, seen)) < 0:
            seen = max(0, len(self._rest) - len(mark))
            try:
                fd, data = await anext(self._chunks)
            except StopAsyncIteration:
                raise ShellFailed("The shell in the container ended.") from None
            if fd == 1:
                self._rest += data
            if len(self._rest) > MOST_ANSWER:
                raise ShellFailed("There is too much here to be listed.")
        answer = bytes(self._rest[:at])
        del self._rest[: at + len(mark)]
        return answer

    async def _drop(self) -> None:
        stream, self._stream, self._chunks = self._stream, None, None
        if stream is not None:
            await stream.close()


# The path comes as octal escapes: an argument of the engine's API is text, and a file's name need not be.
_PATH: Final = 'p=$(printf "%b." "$1"); p=${p%.}; '
_READ: Final = _PATH + 'exec dd if="$p" bs=65536 iflag=skip_bytes skip="$2" status=none'
_WRITE: Final = _PATH + 'exec dd of="$p" bs=65536 conv=notrunc oflag=seek_bytes seek="$2" status=none'
_APPEND: Final = _PATH + 'exec cat >>"$p"'


def _escaped(path: bytes) -> str:
    return "".join(f"\\0{byte:03o}" for byte in path)


class Reading:
    """A file read from front to back by one `dd`; a jump to another offset starts another."""

    def __init__(self, open_exec: OpenExec, shell: Sequence[str], path: bytes) -> None:
        self._open_exec = open_exec
        self._command = [*shell, "-c", _READ, "sh", _escaped(path)]
        self._lock = asyncio.Lock()
        self._stream: CommandStream | None = None
        self._chunks: AsyncIterator[tuple[int, bytes]] | None = None
        self._at = 0
        self._ahead = bytearray()
        self._complaint = b""

    async def read(self, offset: int, size: int) -> bytes:
        """`size` bytes at `offset`, fewer only at the end of the file. Raises `ShellFailed`."""
        async with self._lock:
            try:
                return await self._read(offset, size)
            except BaseException:
                await self._stop()
                raise

    async def _read(self, offset: int, size: int) -> bytes:
        if self._stream is None or offset != self._at:
            await self._stop()
            self._stream = await self._open_exec([*self._command, str(offset)])
            self._chunks = aiter(self._stream)
            self._at = offset
        while len(self._ahead) < size and self._chunks is not None:
            try:
                fd, data = await anext(self._chunks)
            except StopAsyncIteration:
                self._chunks = None
                if await self._stream.wait():
                    raise ShellFailed(self._complaint.decode("utf-8", "replace").strip()) from None
                break
            if fd == 1:
                self._ahead += data
            else:
                self._complaint = (self._complaint + data)[:MOST_COMPLAINT]
        piece = bytes(self._ahead[:size])
        del self._ahead[: len(piece)]
        self._at += len(piece)
        return piece

    async def close(self) -> None:
        async with self._lock:
            await self._stop()

    async def _stop(self) -> None:
        stream, self._stream, self._chunks = self._stream, None, None
        self._ahead.clear()
        self._complaint = b""
        if stream is not None:
            await stream.close()


class Writing:
    """A file written from front to back by one `dd`; a jump to another offset ends it and starts another."""

    def __init__(self, open_exec: OpenExec, shell: Sequence[str], path: bytes, *, append: bool) -> None:
        script = _APPEND if append else _WRITE
        self._open_exec = open_exec
        self._command = [*shell, "-c", script, "sh", _escaped(path)]
        self._append = append
        self._lock = asyncio.Lock()
        self._stream: CommandStream | None = None
        self._listening: asyncio.Task[bytes] | None = None
        self._at = 0

    async def write(self, offset: int, data: bytes) -> None:
        """Write `data` at `offset`. Raises `ShellFailed`; a full disk may be found only by `finish`."""
        async with self._lock:
            if self._stream is not None and offset != self._at and not self._append:
                await self._finish()
            if self._stream is None:
                self._stream = await self._open_exec([*self._command, str(offset)])
                self._listening = asyncio.create_task(_complaint(self._stream))
                self._at = offset
            if self._listening is not None and self._listening.done():
                await self._finish()  # raises: it had no reason to end
                raise ShellFailed("The file could not be written to the end.")
            try:
                for start in range(0, len(data), PIECE):
                    await self._stream.write(data[start : start + PIECE])
            except (OSError, AgentError):
                await self._finish()
                raise
            self._at += len(data)

    async def finish(self) -> None:
        """Wait until all of it is in the file. Raises `ShellFailed`."""
        async with self._lock:
            await self._finish()

    async def _finish(self) -> None:
        if self._stream is None or self._listening is None:
            return
        try:
            with contextlib.suppress(OSError):  # it ended before all was written: its exit code says why
                await self._stream.write_eof()
            complaint = await self._listening
            code = await self._stream.wait()
        finally:
            await self._release()
        if code:
            raise ShellFailed(complaint.decode("utf-8", "replace").strip())

    async def _release(self) -> None:
        stream, self._stream = self._stream, None
        listening, self._listening = self._listening, None
        if listening is not None and not listening.done():
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        if stream is not None:
            await stream.close()


async def _complaint(stream: CommandStream) -> bytes:
    text = b""
    async for _fd, data in stream:
        text = (text + data)[:MOST_COMPLAINT]
    return text
