"""A folder of code on its owner's computer: what of it goes along, and the bytes that a machine lacks.

Ignored is what `.leaseholdignore` says, in whichever folder one lies; where the topmost has none, `.gitignore` takes
its place everywhere. `.git` never goes along. Links are kept as they are and never followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Collection, Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from leasehold.errors import CodeInvalid
from leasehold.workload._code_tree import CHUNK, MAX_CODE_ENTRIES, CodeEntry, CodeKind, CodeTree

OWN_IGNORE, GIT_IGNORE = ".leaseholdignore", ".gitignore"
_NEVER: Final = frozenset({b".git"})
_SETTLED_NS: Final = 2_000_000_000
"""A file that was written so lately may be written again without another time: it is read anew next time."""
_LATEST: Final = (1 << 33) - 1

Seen = tuple[int, int, int, int]
"""By what a file is known to be as it was: size, time of its bytes and of its entry in nanoseconds, number."""
KnownFiles = MutableMapping[bytes, tuple[Seen, tuple[bytes, ...]]]
"""The chunks of files that were read before, by path."""


_Rules = tuple[tuple[str, GitIgnoreSpec], ...]
"""What each folder on the way says, from the topmost: its path with a slash, and its patterns."""


@dataclass(frozen=True)
class CodeFolder:
    """A folder that goes in with a workload: `path` here, `at` in the container. ignore: more patterns, as git's."""

    path: Path
    at: str = "/work"
    ignore: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> CodeFolder:
        """`DIR`, or with its place in the container `DIR:/PATH`."""
        folder, colon, at = text.rpartition(":")
        return cls(Path(folder), at) if colon and at.startswith("/") else cls(Path(text))


@dataclass(frozen=True)
class CodeContents:
    """What a look at a folder found. skipped: paths of what cannot travel (sockets, devices, files nobody may read)."""

    folder: CodeFolder
    tree: CodeTree
    skipped: tuple[str, ...] = ()
    _places: dict[bytes, tuple[bytes, int]] = field(default_factory=dict, repr=False)
    _rules: dict[bytes, _Rules] = field(default_factory=dict, repr=False)

    def ignores(self, path: bytes) -> bool:
        """Whether something of that path would be left behind, or lies in what would."""
        parts = path.split(b"/")
        rules = self._rules.get(b"", ())
        for number, part in enumerate(parts, 1):
            below = b"/".join(parts[:number])
            if part in _NEVER or _ignored(below, rules, isfolder=number < len(parts)):
                return True
            rules = self._rules.get(below, rules)
        return _ignored(path, rules, isfolder=True)

    def pieces(self, wanted: Collection[bytes]) -> Iterator[bytes]:
        """The bytes of those chunks, read now: who is given them checks them against the list.

        Raises CodeInvalid where a file is shorter than it was, or gone.
        """
        root = os.fsencode(self.folder.path)
        last, descriptor = b"", -1
        try:
            for chunk, size in self.tree.chunks.items():
                if chunk not in wanted:
                    continue
                path, offset = self._places[chunk]
                if path != last:
                    if descriptor >= 0:
                        os.close(descriptor)
                    descriptor, last = _opened(root, path), path
                piece = os.pread(descriptor, size, offset)
                if len(piece) != size:
                    raise CodeInvalid(f"`{os.fsdecode(path)}` was written to while it was read")
                yield piece
        finally:
            if descriptor >= 0:
                os.close(descriptor)


def survey(folder: CodeFolder, known: KnownFiles | None = None, *, read: bool = True) -> CodeContents:
    """What of the folder goes along. Only files that `known` does not have as they are now are read, and then it does.
    Without `read` none are, and what is found has no chunks.

    Raises:
        CodeInvalid: there is no such folder, or more in it than can go along.
    """
    look = _Look(folder, known if known is not None else {}, read)
    try:
        look.folder(os.fsencode(folder.path), b"", ())
    except OSError as error:
        raise CodeInvalid(f"`{folder.path}` cannot be read as a folder ({error.strerror})") from None
    # A folder's names in order, each with what is below it, are all paths in the order of their parts.
    return CodeContents(folder, CodeTree(tuple(look.entries)), tuple(look.skipped), look.places, look.rules)


class _Look:
    def __init__(self, folder: CodeFolder, known: KnownFiles, read: bool) -> None:
        self._read = read
        self.rules: dict[bytes, _Rules] = {}
        self.entries: list[CodeEntry] = []
        self.skipped: list[str] = []
        self.places: dict[bytes, tuple[bytes, int]] = {}
        self._known = known
        self._before = dict(known)
        known.clear()  # what is there no more is forgotten
        self._now = time.time_ns()
        self._file = OWN_IGNORE if (folder.path / OWN_IGNORE).is_file() else GIT_IGNORE
        self._more: _Rules = (("", GitIgnoreSpec.from_lines(folder.ignore)),) if folder.ignore else ()

    def folder(self, place: bytes, path: bytes, rules: _Rules) -> None:
        """All below one folder, which lies at `place`."""
        with os.scandir(place) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        rules = self.rules[path] = self._with_own(place, path, rules)
        for entry in entries:
            below = path + b"/" + entry.name if path else entry.name
            isfolder = entry.is_dir(follow_symlinks=False)
            if entry.name in _NEVER or _ignored(below, rules, isfolder=isfolder):
                continue
            if len(self.entries) >= MAX_CODE_ENTRIES:
                raise CodeInvalid(f"it has more than {MAX_CODE_ENTRIES} entries that are not ignored")
            try:
                self._entry(entry, below, rules)
            except PermissionError:
                self.skipped.append(os.fsdecode(below))

    def _entry(self, entry: os.DirEntry[bytes], path: bytes, rules: _Rules) -> None:
        status = entry.stat(follow_symlinks=False)
        mode, when = stat.S_IMODE(status.st_mode), min(max(0, int(status.st_mtime)), _LATEST)
        if stat.S_ISDIR(status.st_mode):
            self.entries.append(CodeEntry(path, CodeKind.FOLDER, mode, when))
            self.folder(entry.path, path, rules)
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(entry.path)
            self.entries.append(CodeEntry(path, CodeKind.LINK, 0o777, when, target=target))
        elif stat.S_ISREG(status.st_mode):
            size, chunks = status.st_size, tuple[bytes, ...]()
            if self._read:
                size, chunks = self._file_chunks(entry.path, path, status)
            self.entries.append(CodeEntry(path, CodeKind.FILE, mode, when, size, chunks))
            for number, chunk in enumerate(chunks):
                self.places.setdefault(chunk, (path, number * CHUNK))
        else:
            self.skipped.append(os.fsdecode(path))

    def _file_chunks(
        self, place: bytes, path: bytes, status: os.stat_result
    ) -> tuple[int, tuple[bytes, ...]]:
        seen = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if (before := self._before.get(path)) is not None and before[0] == seen:
            self._known[path] = before
            return status.st_size, before[1]
        size, chunks = _read(place, status.st_size)
        if size == status.st_size and max(seen[1], seen[2]) < self._now - _SETTLED_NS:
            self._known[path] = (seen, chunks)
        return size, chunks

    def _with_own(self, place: bytes, path: bytes, rules: _Rules) -> _Rules:
        try:
            with open(os.path.join(place, os.fsencode(self._file)), errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            lines = []
        own = self._more if not path else ()
        if not lines:
            return (*rules, *own)
        return (*rules, *own, (os.fsdecode(path + b"/") if path else "", GitIgnoreSpec.from_lines(lines)))


def _ignored(path: bytes, rules: _Rules, *, isfolder: bool) -> bool:
    """The nearest folder's word counts, where it has one."""
    if not rules:
        return False
    text = os.fsdecode(path) + ("/" if isfolder else "")
    for prefix, patterns in reversed(rules):
        if (said := patterns.check_file(text[len(prefix) :]).include) is not None:
            return said
    return False


def _read(place: bytes, expected: int) -> tuple[int, tuple[bytes, ...]]:
    """A file's size and chunks. A regular file is read short at its end alone. expected: its size, by which as little
    is asked for as there should be: for the most, room would be made and given back for each small file.
    """
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size, chunks = 0, list[bytes]()
        while True:
            most = min(CHUNK, max(0, expected - size) + 1)
            if len(piece := os.pread(descriptor, most, size)) == most < CHUNK:  # it has grown
                piece = os.pread(descriptor, CHUNK, size)
            size += len(piece)
            if piece:
                chunks.append(hashlib.sha256(piece).digest())
            if len(piece) < CHUNK:
                break
        return size, tuple(chunks)
    finally:
        os.close(descriptor)


def _opened(root: bytes, path: bytes) -> int:
    try:
        return os.open(os.path.join(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise CodeInvalid(f"`{os.fsdecode(path)}` went away while it was read ({error.strerror})") from None
