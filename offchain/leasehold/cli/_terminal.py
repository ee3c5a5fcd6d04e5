"""The local terminal, or pipes, joined to a command that runs on a lease."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence

from leasehold.errors import AgentError
from leasehold.market import AgentClient, ExecStream

_CHUNK = 1 << 16


async def attach(
    agent: AgentClient, lease: int, command: Sequence[str], env: Mapping[str, str], terminal: bool | None
) -> int:
    """Run the command with our own standard streams; returns its exit code.

    terminal: a terminal at the other end; `None` for one exactly if we sit at one ourselves.
    """
    seated = os.isatty(0) and os.isatty(1)
    with_tty = seated if terminal is None else terminal
    variables = {"TERM": os.environ.get("TERM", "xterm"), **env} if with_tty else dict(env)
    size = _size() if with_tty else None
    async with agent.exec(lease, command, tty=with_tty, env=variables, size=size) as stream:
        with _raw(seated and with_tty), _resizing(stream, seated and with_tty):
            typing = asyncio.create_task(_pump(stream))
            try:
                async for fd, data in stream:
                    target = sys.stdout.buffer if fd == 1 else sys.stderr.buffer
                    target.write(data)
                    target.flush()
                return await stream.wait()
            finally:
                typing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await typing


async def _pump(stream: ExecStream) -> None:
    """Our standard input to the command, until it ends."""
    source = sys.stdin.buffer
    try:
        descriptor = source.fileno()
    except (OSError, ValueError):  # no file behind it, as under a test's runner
        await _send(stream, source.read())
        return
    with contextlib.suppress(AgentError):  # the command's end says why
        while True:
            await _readable(descriptor)
            data = os.read(descriptor, _CHUNK)
            if not data:
                await stream.write_eof()
                return
            await stream.write(data)


async def _readable(descriptor: int) -> None:
    """Until a read will not wait. Watched anew each time: a notice left over from before would block the loop."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a plain file, which always is
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def _send(stream: ExecStream, data: bytes) -> None:
    if data:
        await stream.write(data)
    await stream.write_eof()


def _size() -> tuple[int, int]:
    """Rows and columns of the window we sit at; COLUMNS and LINES are what somebody wants *our* tables to be."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            columns, rows = os.get_terminal_size(descriptor)
            return rows, columns
    return 24, 80


@contextlib.contextmanager
def _raw(wanted: bool) -> Iterator[None]:
    """Every key goes through as it is, Ctrl-C included; what was set before comes back."""
    if not wanted:
        yield
        return
    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _resizing(stream: ExecStream, wanted: bool) -> Iterator[None]:
    """Tells the other end when our window changes."""
    if not wanted:
        yield
        return
    loop = asyncio.get_running_loop()
    pending: set[asyncio.Task[None]] = set()

    def resized() -> None:
        task = loop.create_task(stream.resize(*_size()))
        pending.add(task)
        task.add_done_callback(pending.discard)

    loop.add_signal_handler(signal.SIGWINCH, resized)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
