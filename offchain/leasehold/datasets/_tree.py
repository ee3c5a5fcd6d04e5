"""Writes files that a stranger named, without ever leaving the folder they belong in.

A path's folders are opened one from another without following links, whatever was in the destination before. Links
are made last, after every file is in its place, so that none of them can be written through.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from leasehold.datasets._walk import MAX_DEPTH, MAX_ENTRIES, link_stays_inside
from leasehold.errors import DatasetError, DatasetTooLarge, DatasetUnsafe

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_LINKS = 64 << 20
"""Bytes of links' names and targets, which wait in memory until the files are in their places."""


class Budget:
    """How many bytes and entries may still be written. `limit` None: as many as fit."""

    def __init__(self, limit: int | None, what: str) -> None:
        self.bytes = 0
        self.files = 0
        self._limit = limit
        self._what = what
        self._entries = 0
        self._lock = threading.Lock()

    def check(self, size: int) -> None:
        """Raises DatasetTooLarge where `size` bytes more would be too many."""
        if self._limit is not None and self.bytes + size > self._limit:
            raise DatasetTooLarge(self._what, self.bytes + size, self._limit)

    def spend(self, size: int) -> None:
        with self._lock:
            self.check(size)
            self.bytes += size

    def entry(self, *, file: bool) -> None:
        with self._lock:
            self._entries += 1
            self.files += file
        if self._entries > MAX_ENTRIES:
            raise DatasetTooLarge(f"{self._what}, counted in files,", self._entries, MAX_ENTRIES)


class TreeWriter:
    """A folder being filled. Made if need be. Every path is relative, with `/` between its parts.

    Raises DatasetUnsafe for a path that leaves the folder or is in the way of another, DatasetError where the disk
    refuses.
    """

    def __init__(self, root: Path, budget: Budget) -> None:
        self.root = root
        self._budget = budget
        self._links: list[tuple[str, str]] = []
        self._hard: list[tuple[str, str]] = []
        self._noted = 0
        root.mkdir(parents=True, exist_ok=True)
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> "TreeWriter":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def folder(self, path: str) -> None:
        """Makes a folder, or finds it there."""
        self._budget.entry(file=False)
        with self.opened(_parts(path)):
            pass

    @contextlib.contextmanager
    def file(self, path: str, *, executable: bool = False, again: bool = False) -> Iterator[int]:
        """Opens a file for reading and writing; one that is there keeps its bytes. again: it counts already."""
        if not again:
            self._budget.entry(file=True)
        *above, name = _parts(path)
        with self.opened(above) as folder:
            try:
                descriptor = os.open(name, _FILE, 0o755 if executable else 0o644, dir_fd=folder)
            except OSError as error:
                raise DatasetUnsafe(path, f"something else is in its place ({error.strerror})") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                raise DatasetUnsafe(path, "something else is in its place")
            os.fchmod(descriptor, 0o755 if executable else 0o644)
            yield descriptor
        finally:
            os.close(descriptor)

    def link(self, path: str, target: str) -> None:
        """Remembers a symbolic link, which `finish` makes."""
        self._budget.entry(file=False)
        _parts(path)
        if not link_stays_inside("x/" + path, target):
            raise DatasetUnsafe(path, f"it is a link that leads out of its folder, to {target}")
        self._note(self._links, path, target)

    def same_file(self, path: str, other: str) -> None:
        """Remembers that `path` is the file `other` under a second name, which `finish` gives it."""
        self._budget.entry(file=True)
        _parts(path)
        *above, name = _parts(other)
        with self.opened(above, make=False) as folder:
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError as error:
                raise DatasetUnsafe(path, f"the file it names is not there ({error.strerror})") from error
        if not stat.S_ISREG(status.st_mode):
            raise DatasetUnsafe(path, "what it names is no file")
        self._budget.spend(status.st_size)  # whoever reads the folder reads it again
        self._note(self._hard, path, other)

    def finish(self, skip: Callable[[DatasetUnsafe], None] | None = None) -> None:
        """Makes the links. Nothing may be written after it. `skip` hears of those that cannot be made."""
        for make, noted in ((_hard_link, self._hard), (_soft_link, self._links)):
            for path, target in noted:
                try:
                    make(self, path, target)
                except DatasetUnsafe as error:
                    if skip is None:
                        raise
                    skip(error)

    def _note(self, noted: list[tuple[str, str]], path: str, target: str) -> None:
        self._noted += len(path) + len(target)
        if self._noted > _MAX_LINKS:
            raise DatasetTooLarge("The folder, counted in bytes of links,", self._noted, _MAX_LINKS)
        noted.append((path, target))

    @contextlib.contextmanager
    def opened(self, parts: list[str], *, make: bool = True) -> Iterator[int]:
        """The folder at `parts`, reached without following a link; made where `make` says so."""
        descriptor = os.dup(self._root)
        try:
            for part in parts:
                try:
                    with contextlib.suppress(FileExistsError):
                        if make:
                            os.mkdir(part, 0o755, dir_fd=descriptor)
                    below = os.open(part, _FOLDER, dir_fd=descriptor)
                except OSError as error:
                    raise DatasetUnsafe("/".join(parts), f"{part} is no folder ({error.strerror})") from error
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)


def _soft_link(writer: TreeWriter, path: str, target: str) -> None:
    *above, name = _parts(path)
    with writer.opened(above) as folder:
        try:
            if not _is_link_to(name, folder, target):
                os.symlink(target, name, dir_fd=folder)
        except OSError as error:
            raise DatasetUnsafe(path, f"something else is in its place ({error.strerror})") from error


def _hard_link(writer: TreeWriter, path: str, other: str) -> None:
    *above, name = _parts(path)
    *far, source = _parts(other)
    with writer.opened(above) as folder, writer.opened(far, make=False) as there:
        try:
            os.link(source, name, src_dir_fd=there, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise DatasetUnsafe(path, f"something else is in its place ({error.strerror})") from error


def write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    """Writes all of `data` at `offset`. Raises DatasetError where the disk is full or fails."""
    rest = memoryview(data)
    try:
        while rest:
            written = os.pwrite(descriptor, rest, offset)
            rest, offset = rest[written:], offset + written
    except OSError as error:
        raise DatasetError(f"The disk refuses more ({error.strerror})", "make room and try again.") from error


def _is_link_to(name: str, folder: int, target: str) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == target
    except OSError:
        return False


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if len(parts) > MAX_DEPTH or len(path) > 4096:
        raise DatasetUnsafe(path[:200], "its path is too long")
    for part in parts:
        if part in ("", ".", "..") or "\0" in part or len(part.encode()) > 255:
            raise DatasetUnsafe(path, "its path leaves its folder or cannot be")
    return parts
