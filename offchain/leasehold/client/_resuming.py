"""A large file that was copied in part: what is there already does not travel again.

It counts as there only where it is the file's beginning, byte for byte, by its SHA-256 on both sides. So it does not
matter who left it, or when; and whatever else lies there is replaced, as ever.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from leasehold.client._lease_shell import CopyFailed, Counted, LeaseShell
from leasehold.errors import DatasetError

LARGE: Final = 64 << 20
"""Bytes of a file that is worth taking up again."""
WORTH: Final = 16 << 20
"""Bytes of what is there that are worth being read on both sides."""
_PIECE: Final = 1 << 20
_DIGEST: Final = 'head -c "$2" -- "$1" | sha256sum'
_REST: Final = 'tail -c "+$2" -- "$1"'
_STATUS: Final = 'stat -c "%s %h %Y %a" -- "$1"'
_APPEND: Final = (
    'cat >> "$1" && if [ "$(stat -c %s -- "$1")" != "$2" ]; then echo "$5" >&2; exit 1; fi '
    '&& chmod "$3" -- "$1" && touch -c -d "@$4" -- "$1"'
)
_CHANGES: Final = "the file is written to while it is copied"


@dataclass(frozen=True)
class FileThere:
    """A file in the container, by what it says of itself. time: unix seconds of its bytes."""

    size: int
    links: int
    time: int
    mode: int

    @classmethod
    def read(cls, line: bytes) -> FileThere | None:
        """As `stat` says it; None where it says nothing of a file."""
        try:
            size, links, time, mode = line.split()
            return cls(int(size), int(links), int(time), int(mode, 8))
        except ValueError:
            return None


def is_large(path: Path) -> bool:
    """Whether it is a file here that is worth it, and no link."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size >= LARGE


async def sent_rest(
    shell: LeaseShell, source: Path, target: str, there: FileThere | None, counted: Counted
) -> int | None:
    """Send what the file `target` there lacks of `source` here; the size of the whole, or None where it is no beginning
    of that. Raises CopyFailed, AgentError, DatasetError.
    """
    before = await asyncio.to_thread(source.stat)
    if there is None or there.links != 1 or not WORTH <= there.size <= before.st_size:
        return None
    if not await _same(shell, target, source, there.size):
        return None

    def write(writer: BinaryIO) -> None:
        with source.open("rb") as file:
            file.seek(there.size)
            while piece := file.read(_PIECE):
                writer.write(piece)
            now = os.fstat(file.fileno())
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise DatasetError(f"{source} cannot be copied, since {_CHANGES}", "try again.")

    size, mode, time = str(before.st_size), f"{stat.S_IMODE(before.st_mode):o}", str(int(before.st_mtime))
    await shell.feed(_APPEND, target, size, mode, time, _CHANGES, write=write, counted=counted)
    return before.st_size


async def fetched_rest(
    shell: LeaseShell, source: str, target: Path, there: FileThere | None, counted: Counted
) -> int | None:
    """Fetch what the file `target` here lacks of `source` there; the size of the whole, or None where it is no
    beginning of that. Raises CopyFailed, AgentError.
    """
    if there is None or there.size < LARGE or (size := await asyncio.to_thread(_begun, target)) is None:
        return None
    if size > there.size or not await _same(shell, source, target, size):
        return None

    def take(rest: BinaryIO) -> None:
        with open(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as file:
            left = there.size - size
            while left >= 0 and (piece := rest.read(_PIECE)):
                file.write(piece[:left])
                left -= len(piece)
            if left:
                raise CopyFailed(_CHANGES)
            os.fchmod(file.fileno(), 0o755 if there.mode & 0o100 else 0o644)

    await shell.fetch(_REST, source, str(size + 1), take=take, counted=counted, much=True)
    if FileThere.read(await shell.ask(_STATUS, source)) != there:
        raise CopyFailed(_CHANGES)
    return there.size


async def _same(shell: LeaseShell, there: str, here: Path, size: int) -> bool:
    """Whether both begin with the same bytes."""
    said, digest = await asyncio.gather(
        shell.ask(_DIGEST, there, str(size)), asyncio.to_thread(_digest, here, size)
    )
    return said.split(maxsplit=1)[:1] == [digest.encode()]


def _begun(path: Path) -> int | None:
    """The size of a file that can be written on."""
    try:
        status = path.lstat()
    except OSError:
        return None
    whole = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_size >= WORTH
    return status.st_size if whole else None


def _digest(path: Path, size: int) -> str:
    seen = hashlib.sha256()
    with path.open("rb") as file:
        while size and (piece := file.read(min(size, _PIECE))):
            seen.update(piece)
            size -= len(piece)
    return seen.hexdigest()
