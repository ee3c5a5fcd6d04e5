"""Reads a folder that a stranger filled, without ever leaving it.

Every step is an `open` relative to the folder before it, without following links, and what was opened is looked at
again: between two looks a hostile process may have put a link where a folder was.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from leasehold.errors import DatasetError, DatasetTooLarge, DatasetUnsafe

MAX_ENTRIES = 1_000_000
MAX_DEPTH = 128
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class EntryKind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in the folder. A file's `descriptor` is open only until the walk goes on."""

    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False
    target: str = ""
    descriptor: int = -1


class Walk:
    """Iterates over a folder's entries, parents before children, sorted, so that two walks give the same.

    strict: refuse what cannot travel (a link that leads out of the folder, a device, a name that is not UTF-8, what
    lies too deep);
    otherwise it is left out and its path kept in `skipped`.
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._count = 0
        self.skipped: list[str] = []

    def below(self, descriptor: int, path: str) -> Iterator[Entry]:
        """The entry that `descriptor` has open, under the name `path`, and everything below it.

        Links may point anywhere in the entry that the walk began with, so `path` is a bare name at first.

        Raises DatasetUnsafe, DatasetTooLarge beyond MAX_ENTRIES, DatasetError when a file cannot be read.
        """
        self._count += 1
        if self._count > MAX_ENTRIES:
            raise DatasetTooLarge("The folder, counted in entries,", self._count, MAX_ENTRIES)
        if path.count("/") >= MAX_DEPTH:
            self._refuse(path, f"it lies more than {MAX_DEPTH} folders deep")
            return
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            executable = bool(status.st_mode & stat.S_IXUSR)
            yield Entry(path, EntryKind.FILE, status.st_size, executable, descriptor=descriptor)
        elif stat.S_ISDIR(status.st_mode):
            yield Entry(path, EntryKind.FOLDER)
            with os.scandir(descriptor) as listing:
                names = sorted((e.name for e in listing), key=os.fsencode)
            for name in names:
                yield from self._child(descriptor, name, f"{path}/{name}")
        else:
            self._refuse(path, "it is neither file nor folder")

    def _child(self, folder: int, name: str, path: str) -> Iterator[Entry]:
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            self._refuse(path.encode("utf-8", "replace").decode(), "its name is not UTF-8")
            return
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                yield from self._link(path, os.readlink(name, dir_fd=folder))
                return
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                self._refuse(path, "it is neither file nor folder")
                return
            descriptor = os.open(name, _FLAGS, dir_fd=folder)
        except OSError as error:
            if self._strict:
                raise DatasetError(
                    f"{path} cannot be read ({error.strerror})", "correct its permissions."
                ) from error
            self.skipped.append(path)
            return
        try:
            yield from self.below(descriptor, path)
        finally:
            os.close(descriptor)

    def _link(self, path: str, target: str) -> Iterator[Entry]:
        if link_stays_inside(path, target):
            yield Entry(path, EntryKind.LINK, target=target)
        else:
            self._refuse(path, f"it is a link that leads out of its folder, to {target}")

    def _refuse(self, path: str, problem: str) -> None:
        if self._strict:
            raise DatasetUnsafe(path, problem)
        self.skipped.append(path)


def link_stays_inside(path: str, target: str) -> bool:
    """Whether a link at `path`, whose first part is the folder itself, points into that folder.

    `..` may only lead: then it climbs folders, which are what they seem, and what comes after goes down, through
    links perhaps, for which the same holds. (`a -> .` and `b -> a/..` would lead out together.)
    """
    parts = target.split("/")
    climbs = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    return (
        target != ""
        and not target.startswith("/")
        and "\0" not in target
        and len(target) <= 4096
        and ".." not in parts[climbs:]
        and climbs <= len(PurePosixPath(path).parts) - 2
    )


@contextlib.contextmanager
def opened_below(root: int, path: str) -> Iterator[int]:
    """Opens `path` below the open folder `root`, following no link on the way.

    Raises OSError: FileNotFoundError where there is nothing, ELOOP or ENOTDIR where a link is in the way.
    """
    descriptor = os.dup(root)
    try:
        for part in PurePosixPath(path.lstrip("/")).parts:
            if part == "..":
                raise FileNotFoundError(path)
            below = os.open(part, _FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)
