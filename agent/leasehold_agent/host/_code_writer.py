"""A folder of code written straight into the files of a container that has never run, by a process of its own.

The engine's archive call does the same: it takes a tar apart file by file, which costs it more than all that a folder
costs besides. Here a program of a few hundred lines (`_unpacker`) writes the files where the engine keeps them, out of
the packs as they lie in the store. It has a process for its own sake: it shares no interpreter with who answers
requests, it dies with the agent, and its mounts with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from leasehold_agent._errors import CodeNotWritten
from leasehold_agent.host import _unpacker
from leasehold_agent.host._mount_space import MountSpace

MOST_AT_ONCE: Final = 8
"""Programs of some ten MiB each, which last as long as a tenant takes to send his next part; more go by the engine."""
_SECONDS: Final = 120.0
"""For a part, at most: an engine is given as long."""


@dataclass(frozen=True)
class LayerPlace:
    """Where an engine keeps a container's files, as it calls that. They are `upper` as it lies on `lowers`, the topmost
    first; where there are none, `upper` alone. work: a folder that the kernel wants for it.
    """

    upper: Path
    lowers: tuple[Path, ...] = ()
    work: Path | None = None


@dataclass(frozen=True)
class CodeTarget:
    """Where in a container a folder of code goes. mounts: where something of the host's is mounted there once it runs.
    owner: user and group, in numbers; mode: of the folder itself.
    """

    place: LayerPlace
    base: str
    mounts: Sequence[str]
    owner: tuple[int, int]
    mode: int


def packed_entry(
    kind: int, mode: int, time: int, path: bytes, target: bytes, pieces: Sequence[tuple[bytes, int, int, int]]
) -> bytes:
    """One entry of a folder. pieces: of a file, the digest of each, in the how manieth pack, where there, how long."""
    head = _unpacker.ENTRY.pack(kind, mode, time, len(path), len(target), len(pieces))
    return b"".join((head, path, target, *(_unpacker.PIECE.pack(*piece) for piece in pieces)))


def packed_part(
    packs: Sequence[str], entries: Sequence[bytes], times: Sequence[tuple[bytes, int]], *, last: bool
) -> bytes:
    """For `CodeWriter.write`. packs: their names. times: of folders, by path, into which nothing comes any more."""
    names = [name.encode() for name in packs]
    return b"".join(
        (
            _unpacker.HEAD.pack(len(names), len(entries), len(times), last),
            *(_unpacker.NAME.pack(len(name)) + name for name in names),
            *entries,
            *(_unpacker.TIME.pack(time, len(path)) + path for path, time in times),
        )
    )


class CodeWriter:
    """Writes into one container, part by part. Whatever it cannot do is left to the engine."""

    _places: ClassVar[set[object]] = set()

    def __init__(self, process: asyncio.subprocess.Process, place: object) -> None:
        self._process = process
        self._place = place

    @classmethod
    async def begin(cls, space: MountSpace, target: CodeTarget, packs: Path) -> CodeWriter:
        """packs: the folder that these lie in. Raises CodeNotWritten (also where `MOST_AT_ONCE` do), EngineDown."""
        if len(cls._places) >= MOST_AT_ONCE:
            raise CodeNotWritten("as many as may write at once do")
        cls._places.add(place := object())
        try:
            writer = cls(await _process(), place)
        except BaseException:
            cls._places.discard(place)
            raise
        try:
            with contextlib.ExitStack() as stack:
                view = await asyncio.to_thread(stack.enter_context, space.opened())
                await writer._told(_line(view, target, packs))
        except BaseException:  # a cancellation too: nobody else knows of the process yet
            await writer.close()
            raise
        return writer

    async def write(self, part: bytes) -> None:
        """A part, as `packed_part` makes it, until it is written. Raises CodeNotWritten."""
        await self._told(_unpacker.LENGTH.pack(len(part)) + part)

    async def close(self) -> None:
        """Once it is gone, nobody writes there any more and nothing is mounted. Harmless when called twice."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._places.discard(self._place)

    async def _told(self, words: bytes) -> None:
        said = b""
        try:
            async with asyncio.timeout(_SECONDS):
                assert self._process.stdin is not None
                assert self._process.stdout is not None
                self._process.stdin.write(words)
                await self._process.stdin.drain()
                said = await self._process.stdout.readline()
        except (OSError, ValueError, TimeoutError) as error:
            raise CodeNotWritten(str(error) or "it takes too long") from error
        if said != b"+\n":
            raise CodeNotWritten(said.decode(errors="replace").strip("-\n") or "its program has died")


async def _process() -> asyncio.subprocess.Process:
    """Raises CodeNotWritten."""
    program = [sys.executable, "-I", "-S", _unpacker.__file__, str(os.getpid())]
    try:
        return await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise CodeNotWritten(str(error)) from error


def _line(view: str, target: CodeTarget, packs: Path) -> bytes:
    place = target.place
    told = {
        "view": view,
        "packs": str(packs),
        "upper": str(place.upper),
        "lowers": [str(lower) for lower in place.lowers],
        "work": str(place.work),
        "base": target.base,
        "mounts": list(target.mounts),
        "owner": target.owner,
        "mode": target.mode,
    }
    return json.dumps(told).encode() + b"\n"
