"""A folder of code as a list: what is in it, and by which digests its bytes are known.

The list is what a workload names, and what decides which bytes a machine still lacks. It is binary, so that a hundred
thousand entries are read in constant memory for each. One folder has one form: entries stand in the order of their
paths' parts, each below a folder that stands before it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

from leasehold.errors import CodeInvalid

CHUNK: Final = 1 << 20
"""Files are cut into so many bytes, of which each piece is sent by itself: what changes of a large one is little."""
MAX_CODE_ENTRIES: Final = 100_000
MAX_CODE_TREE: Final = 16 << 20
"""Bytes of a list: a hundred thousand names of a hundred bytes fit."""
MAX_CODE_DEPTH: Final = 128
_MAGIC: Final = b"leasehold code 1\n"
_HEAD: Final = struct.Struct(">BHqQHH")  # kind, mode, time, size, length of the path, of a link's target
_DIGEST: Final = 32
_LONGEST_PART, _LONGEST_PATH = 255, 4096
_LATEST: Final = 1 << 33
"""Seconds that a tar's own number field holds."""


class CodeKind(IntEnum):
    FOLDER = 0
    FILE = 1
    LINK = 2


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """One entry. `path` is relative, in the bytes that the file system has; `time` is unix seconds, `size` bytes.

    chunks: of a file, the SHA-256 of each `CHUNK` bytes. target: of a link, whatever it says; it is followed in the
    container alone.
    """

    path: bytes
    kind: CodeKind
    mode: int
    time: int = 0
    size: int = 0
    chunks: tuple[bytes, ...] = ()
    target: bytes = b""

    def pieces(self) -> Iterator[tuple[bytes, int]]:
        """Each chunk's digest and size."""
        left = self.size
        for chunk in self.chunks:
            yield chunk, min(CHUNK, left)
            left -= CHUNK


@dataclass(frozen=True)
class CodeTree:
    """A folder's entries, in the order of their paths' parts. The folder itself is none of them."""

    entries: tuple[CodeEntry, ...]

    @cached_property
    def encoded(self) -> bytes:
        """The one form in bytes."""
        parts = [_MAGIC]
        for entry in self.entries:
            parts.append(
                _HEAD.pack(entry.kind, entry.mode, entry.time, entry.size, len(entry.path), len(entry.target))
            )
            parts += (entry.path, entry.target, *entry.chunks)
        return b"".join(parts)

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the encoded form."""
        return hashlib.sha256(self.encoded).digest()

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.entries)

    @cached_property
    def files(self) -> int:
        return sum(entry.kind is CodeKind.FILE for entry in self.entries)

    @cached_property
    def chunks(self) -> dict[bytes, int]:
        """The size of each chunk, by its digest: each once, in the order in which they come."""
        return {chunk: size for entry in self.entries for chunk, size in entry.pieces()}

    @classmethod
    def decode(cls, data: bytes) -> CodeTree:
        """What a stranger wrote as a list. Raises CodeInvalid unless it is the one form of a folder that can be made:
        no path leads out of it, or through anything but its own folders.
        """
        if len(data) > MAX_CODE_TREE:
            raise CodeInvalid(f"it has more than {MAX_CODE_TREE} bytes")
        try:
            tree = cls(tuple(_checked(_entries(data))))
            _check_chunks(tree)
        except (struct.error, ValueError) as error:
            raise CodeInvalid(str(error)) from None
        tree.__dict__["encoded"] = data  # as `cached_property` would: it is the one form
        return tree


def _entries(data: bytes) -> Iterator[CodeEntry]:
    """Raises ValueError, struct.error."""
    if not data.startswith(_MAGIC):
        raise ValueError("it begins otherwise")
    at, end = len(_MAGIC), len(data)
    while at < end:
        kind, mode, time, size, path_length, target_length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        count = -(-size // CHUNK) if kind == CodeKind.FILE else 0
        stop = at + path_length + target_length + count * _DIGEST
        if stop > end:
            raise ValueError("it breaks off")
        path, at = data[at : at + path_length], at + path_length
        target, at = data[at : at + target_length], at + target_length
        chunks = tuple(data[start : start + _DIGEST] for start in range(at, stop, _DIGEST))
        at = stop
        yield CodeEntry(path, CodeKind(kind), mode, time, size, chunks, target)


def _checked(entries: Iterator[CodeEntry]) -> Iterator[CodeEntry]:
    """Raises ValueError."""
    folders: set[bytes] = {b""}
    last: list[bytes] = []
    for number, entry in enumerate(entries):
        if number >= MAX_CODE_ENTRIES:
            raise ValueError(f"it has more than {MAX_CODE_ENTRIES} entries")
        parts = entry.path.split(b"/")
        _check_path(entry.path, parts)
        if parts <= last:
            raise ValueError("its entries are not in order")
        if b"/".join(parts[:-1]) not in folders:
            raise ValueError("an entry lies in no folder")
        _check_kind(entry)
        if entry.kind is CodeKind.FOLDER:
            folders.add(entry.path)
        last = parts
        yield entry


def _check_path(path: bytes, parts: list[bytes]) -> None:
    if len(path) > _LONGEST_PATH or len(parts) > MAX_CODE_DEPTH:
        raise ValueError("a path is too long")
    none = b"\0" in path or b"" in parts or b"." in parts or b".." in parts
    if none or max(map(len, parts)) > _LONGEST_PART:
        raise ValueError("a path is none")


def _check_kind(entry: CodeEntry) -> None:
    link = entry.kind is CodeKind.LINK
    if link != bool(entry.target) or b"\0" in entry.target or len(entry.target) > _LONGEST_PATH:
        raise ValueError("a link leads nowhere, or what is none leads somewhere")
    if entry.size and entry.kind is not CodeKind.FILE:
        raise ValueError("what is no file has a size")
    if entry.mode > 0o7777 or not 0 <= entry.time < _LATEST:
        raise ValueError("an entry has no such mode or time")


def _check_chunks(tree: CodeTree) -> None:
    """A piece has one size wherever it stands: what is unpacked later is cut by it."""
    sizes = tree.chunks
    for entry in tree.entries:
        if any(sizes[chunk] != size for chunk, size in entry.pieces()):
            raise ValueError("a piece has two sizes")
