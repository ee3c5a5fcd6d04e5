"""What a folder looks like, so that who reads it can tell whether it stood still meanwhile."""

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from typing import Final

from leasehold.datasets._sealed_tree import MAX_DEPTH, MAX_ENTRIES
from leasehold.datasets._tree_pack import names_in, reached
from leasehold.errors import DatasetTooLarge, DatasetUnsafe

STILL_SECONDS: Final = 0.05
"""How long after the first look reading begins at the earliest: the kernel's times are as coarse as its tick, and what
is written twice in one looks as it did."""


def tree_state(root: int, going: Callable[[], None] = lambda: None) -> bytes:
    """A digest of every name below the folder that is open as `root`, and of what the kernel says of each: of its
    content too, since writing changes a time that nobody inside a container can set back. `going` is asked before each
    entry, and may raise to end it.

    Raises DatasetTooLarge, DatasetUnsafe for what would not travel, OSError.
    """
    said, left = hashlib.sha256(), MAX_ENTRIES
    known: list[
        tuple[int, bytes]
    ] = []  # each folder by its parent's place: whole paths would take all memory
    waiting = [-1]
    while waiting:
        path = _path(known, number := waiting.pop())
        if len(path) >= MAX_DEPTH:
            raise DatasetUnsafe(os.fsdecode(path[-1]), "its folders are nested deeper than travels")
        with reached(root, path) as folder:
            said.update(b"gone" if folder is None else b"here")
            for name in names_in(folder) if folder is not None else ():
                going()
                if (left := left - 1) < 0:
                    raise DatasetTooLarge("The folder", MAX_ENTRIES + 1, MAX_ENTRIES)
                facts = _facts(folder, name)
                said.update(repr((name, *facts)).encode())
                if facts and stat.S_ISDIR(facts[0]):
                    waiting.append(len(known))
                    known.append((number, name))
    return said.digest()


def _facts(folder: int | None, name: bytes) -> tuple[int, ...]:
    """Nothing of what has gone since."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ()
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _path(known: Sequence[tuple[int, bytes]], number: int) -> tuple[bytes, ...]:
    names = []
    while number >= 0:
        number, name = known[number]
        names.append(name)
    return tuple(reversed(names))
