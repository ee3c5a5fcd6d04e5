"""Tars on their way into a container and out of one."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from typing import Any

from leasehold_agent._errors import OutputTooLarge


def tar_of_folder(path: str) -> bytes:
    """A tar of one empty folder that every user may write to. The engine makes those that lead to it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(entry)
    return out.getvalue()


class Bounded(io.RawIOBase):
    """Chunks as a file to read from. Raises OutputTooLarge beyond `limit` bytes."""

    def __init__(self, chunks: Iterator[bytes], limit: int, path: str) -> None:
        self._chunks = chunks
        self._limit = limit
        self._left = limit
        self._path = path
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            if (chunk := next(self._chunks, None)) is None:
                return 0
            self._rest = memoryview(chunk)
            self._left -= len(chunk)
            if self._left < 0:
                raise OutputTooLarge(
                    f"{self._path} is larger than {self._limit} bytes, the most this host packs of it."
                )
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
