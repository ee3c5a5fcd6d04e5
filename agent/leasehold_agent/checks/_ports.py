"""That a host's ports can be listened on: for as long as a peer elsewhere tries them, something does."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Held:
    """ports: that are listened on, by us or by somebody else. taken: by somebody else. refused: and why."""

    ports: tuple[int, ...]
    taken: tuple[int, ...]
    refused: tuple[str, ...]


@contextlib.asynccontextmanager
async def listening(host: str, ports: Iterable[int]) -> AsyncIterator[Held]:
    """Take connections on those that nobody has, and hang up at once."""
    taken, refused, held = [], [], []
    async with contextlib.AsyncExitStack() as stack:
        for port in dict.fromkeys(ports):
            try:
                server = await asyncio.start_server(_hang_up, host, port)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    taken.append(port)
                else:
                    refused.append(f"{port}: {_why(error)}")
                continue
            stack.callback(server.close)
            held.append(port)
        yield Held((*held, *taken), tuple(taken), tuple(refused))


def _why(error: OSError) -> str:
    """The system's words: asyncio's tell of an attempt first."""
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
