"""A tenant's folder as the tar that the engine unpacks into his container: made here, entry by entry.

Every folder stands in it before what lies in it, so that nothing of it goes through a link, of the folder's or of the
image's. Owners are the container's, never what somebody wrote.
"""

from __future__ import annotations

import os
import struct
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.workload import CodeEntry, CodeKind, CodeTree

ReadChunk = Callable[[bytes, int], bytes]
_BUFFER: Final = 1 << 20
_BLOCK: Final = 512
_HEAD: Final = struct.Struct("100s8s8s8s12s12s8sc100s8s247x")
_SHORT, _LARGE, _MOST_ID = 99, 8**11, 8**7
_MOST_DIGITS, _HIGHEST = 32, 2**31 - 1
_BLANK, _GNU = b" " * 8, b"ustar  \0"
_TYPES: Final = {
    CodeKind.FOLDER: tarfile.DIRTYPE,
    CodeKind.FILE: tarfile.REGTYPE,
    CodeKind.LINK: tarfile.SYMTYPE,
}


@dataclass(frozen=True)
class CodePart:
    """The entries of a folder from `first` up to `end`. last: nothing comes behind them."""

    tree: CodeTree
    first: int
    end: int
    last: bool

    @property
    def entries(self) -> Sequence[CodeEntry]:
        return self.tree.entries[self.first : self.end]


def code_tar(part: CodePart, at: str, read: ReadChunk, user: str) -> Iterator[bytes]:
    """That part of the folder below `at`, in pieces of about a MiB. user: as the container has it, in numbers if it
    counts.
    """
    owner, base = owner_of(user), at.strip("/").encode()
    buffer = bytearray(_header(CodeEntry(base, CodeKind.FOLDER, folder_mode(user)), base, owner))
    for entry in part.entries:
        buffer += _header(entry, base + b"/" + entry.path, owner)
        for chunk, size in entry.pieces():
            buffer += read(chunk, size)
            if len(buffer) >= _BUFFER:
                yield bytes(buffer)
                buffer.clear()
        buffer += bytes(-entry.size % _BLOCK)
    for entry in part.tree.entries if part.last else ():
        if entry.kind is CodeKind.FOLDER:  # once more: what came into it later has changed its time
            buffer += _header(entry, base + b"/" + entry.path, owner)
    yield bytes(buffer) + bytes(2 * _BLOCK)


def _header(entry: CodeEntry, path: bytes, owner: tuple[int, int]) -> bytes:
    """By GNU's form, whose names are bytes as they are."""
    if max(len(path), len(entry.target)) > _SHORT or entry.size >= _LARGE or max(owner) >= _MOST_ID:
        return _long_header(entry, path, owner)
    head = _HEAD.pack(
        path,
        b"%07o" % entry.mode,
        b"%07o" % owner[0],
        b"%07o" % owner[1],
        b"%011o" % entry.size,
        b"%011o" % entry.time,
        _BLANK,
        _TYPES[entry.kind],
        entry.target,
        _GNU,
    )
    if head.count(_BLANK) > 1:  # a name that looks like the place of the sum
        return _long_header(entry, path, owner)
    return head.replace(_BLANK, b"%06o\0 " % sum(head), 1)


def _long_header(entry: CodeEntry, path: bytes, owner: tuple[int, int]) -> bytes:
    """As the standard library writes it, which has a way for every name and size."""
    info = tarfile.TarInfo(os.fsdecode(path))
    info.type, info.mode, info.size, info.mtime = _TYPES[entry.kind], entry.mode, entry.size, entry.time
    info.linkname = os.fsdecode(entry.target)
    info.uid, info.gid = owner
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def owner_of(user: str) -> tuple[int, int]:
    """Whose the files are of a container that runs as `user`: root's where that is no number. An image may say
    anything; the engine judges it when it starts the container.
    """
    name, _, group = user.partition(":")
    number = _number(name)
    if number is None:
        return 0, 0
    of_group = _number(group)
    return number, number if of_group is None else of_group


def folder_mode(user: str) -> int:
    """Of the folder itself: everybody may write to it where only the image knows who runs in it."""
    name = user.partition(":")[0]
    return 0o1777 if name and _number(name) is None else 0o755


def _number(text: str) -> int | None:
    """A user or a group in numbers, as engines take them; None where it is anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        return None
    number = int(text)
    return number if number <= _HIGHEST else None
