"""A tenant's folder as the tar that the engine unpacks into his container: made here, entry by entry.

Every folder stands in it before what lies in it, so that nothing of it goes through a link, of the folder's or of the
image's. Owners are the container's, never what somebody wrote.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from typing import Final

from leasehold.workload import CodeEntry, CodeKind, CodeTree

ReadChunk = Callable[[bytes, int], bytes]
_BUFFER: Final = 1 << 20
_BLOCK: Final = 512
_TYPES: Final = {
    CodeKind.FOLDER: tarfile.DIRTYPE,
    CodeKind.FILE: tarfile.REGTYPE,
    CodeKind.LINK: tarfile.SYMTYPE,
}


def code_tar(tree: CodeTree, at: str, read: ReadChunk, user: str) -> Iterator[bytes]:
    """The folder below `at`, in pieces of about a MiB. user: as the container has it, in numbers if it counts."""
    owner, everybody = _owner(user)
    base = at.strip("/").encode()
    buffer = bytearray(_header(CodeEntry(base, CodeKind.FOLDER, 0o1777 if everybody else 0o755), base, owner))
    for entry in tree.entries:
        buffer += _header(entry, base + b"/" + entry.path, owner)
        for chunk, size in entry.pieces():
            buffer += read(chunk, size)
            if len(buffer) >= _BUFFER:
                yield bytes(buffer)
                buffer.clear()
        buffer += bytes(-entry.size % _BLOCK)
    yield bytes(buffer) + bytes(2 * _BLOCK)


def _header(entry: CodeEntry, path: bytes, owner: tuple[int, int]) -> bytes:
    """By GNU's form, whose names are bytes as they are."""
    info = tarfile.TarInfo(os.fsdecode(path))
    info.type, info.mode, info.size, info.mtime = _TYPES[entry.kind], entry.mode, entry.size, entry.time
    info.linkname = os.fsdecode(entry.target)
    info.uid, info.gid = owner
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _owner(user: str) -> tuple[tuple[int, int], bool]:
    """Whose the files are; and whether everybody may write to the folder, since only the image knows who runs in it."""
    name, _, group = user.partition(":")
    if not name:
        return (0, 0), False
    if name.isdigit():
        number = int(name)
        return (number, int(group) if group.isdigit() else number), False
    return (0, 0), True
