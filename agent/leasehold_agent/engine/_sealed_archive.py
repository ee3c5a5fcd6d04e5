"""An image's archive that came sealed, opened where it lies."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from leasehold.datasets import decrypt_into
from leasehold.errors import DatasetTooLarge, SealBroken

_CHUNK: Final = 1 << 20


async def open_archive(path: Path, key: str, most: int) -> None:
    """The file at `path` becomes what was sealed in it. key: an age identity. most: bytes that it may come to.

    Raises:
        WrongIdentity, SealBroken, DatasetTooLarge; FileNotFoundError where it is a folder.
    """
    given_up = threading.Event()
    try:
        await asyncio.to_thread(_open, path, key, most, given_up)
    finally:
        given_up.set()  # nobody waits any more: the thread ends with the next bytes


def _open(path: Path, key: str, most: int, given_up: threading.Event) -> None:
    if not path.is_file():
        raise FileNotFoundError(path)
    opened = path.with_name(f"{path.name}.opened")
    with open(path, "rb") as sealed, open(opened, "wb") as plain:
        sink = _Bounded(plain, most, given_up)
        try:
            decrypt_into(sink, _chunks(sealed), key, "The image")
        except SealBroken:
            if sink.over:  # pyrage tells nobody what stopped it
                raise DatasetTooLarge("The image", most + 1, most) from None
            raise
    opened.replace(path)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


class _Bounded:
    """A file that takes so many bytes, as long as somebody waits for it."""

    def __init__(self, file: BinaryIO, most: int, given_up: threading.Event) -> None:
        self._file, self._left, self._given_up = file, most, given_up
        self.over = False

    def write(self, data: bytes, /) -> int:
        self._left -= len(data)
        self.over = self._left < 0
        if self.over or self._given_up.is_set():
            raise OSError(errno.EFBIG, "the image is too large")
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()
