"""A folder read into sealed chunks and an index, while whoever owns it may still write to it.

What lies there was made by a stranger, who can move it about meanwhile: no link is followed, nothing but plain files is
opened, and every folder is reached from the top, one name after the other.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from leasehold.datasets._multipart import FilePart, FolderPart, Part
from leasehold.datasets._sealed_tree import (
    CHUNK,
    DATA_FOLDER,
    INDEX_NAME,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_INDEX,
    MAX_LISTS,
    Segment,
    TreeEntry,
    TreeIndex,
    TreeSeal,
    encode_index,
    path_of,
)
from leasehold.errors import DatasetTooLarge, DatasetUnsafe

_ROOT: Final = "volume"
_LEAST: Final = 1 << 16
"""Small files share a chunk of so much at least; where one ends is for their names to say, so that a file that comes or
goes changes one chunk and not all that follow."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ENTRY, _SEGMENT, _DIGEST = 32, 10, 67
"""What each takes of the index at least."""
_GONE: Final = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO})


@dataclass
class TreePack:
    """One export. `read` hears of the bytes of each chunk that goes out, and may raise to end it; so may `going`, which
    is asked before each entry: to reach one may take hundreds of folders.
    """

    key: bytes
    read: Callable[[int], None] = lambda _: None
    going: Callable[[], None] = lambda: None
    entries: list[TreeEntry] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    skipped: int = 0
    _known: dict[bytes, int] = field(default_factory=dict)
    _links: dict[int, int] = field(default_factory=dict)
    _small: bytearray = field(default_factory=bytearray)
    _waiting: list[int] = field(default_factory=list)
    _lists: int = 0
    _bytes: int = 0

    def parts(self, root: int) -> Iterator[Part]:
        """What is added to IPFS of the folder that is open as `root`; the index comes last.

        Raises DatasetTooLarge, DatasetUnsafe for a tree deeper than any export, OSError.
        """
        seal = TreeSeal(self.key)
        yield FolderPart(_ROOT)
        yield FolderPart(f"{_ROOT}/{DATA_FOLDER}")
        for chunk in self._chunks_of(root):
            yield from self._sealed(seal, chunk)
        index = encode_index(TreeIndex(tuple(self.entries), tuple(self.chunks), self.skipped))
        yield FilePart(f"{_ROOT}/{INDEX_NAME}", iter([seal.seal(index, b"index")]))

    def _sealed(self, seal: TreeSeal, chunk: bytes) -> Iterator[Part]:
        sealed = seal.seal(chunk, b"chunk")
        digest = hashlib.sha256(sealed).digest()
        number, fresh = len(self.chunks), digest not in self._known
        if fresh:
            self._count(_DIGEST, lists=0)
            self.chunks.append(digest)
            self._known[digest] = number
            self.read(len(chunk))
            yield FilePart(f"{_ROOT}/{DATA_FOLDER}/{digest.hex()}", iter([sealed]))
        self._last = self._known[digest]

    _last: int = -1

    def _chunks_of(self, root: int) -> Iterator[bytes]:
        """The chunks in order; the entries that wait for one get its number once it is sealed."""
        device = os.fstat(root).st_dev
        folders = [-1]
        while folders:
            path = path_of(self.entries, parent := folders.pop())
            with reached(root, path) as folder:
                if folder is None:
                    continue
                for name in names_in(folder):
                    self.going()
                    if (number := self._noted(folder, parent, name, device)) is None:
                        continue
                    entry = self.entries[number]
                    if entry.kind == "folder":
                        if len(path) + 1 >= MAX_DEPTH:
                            raise DatasetUnsafe(
                                os.fsdecode(name), "its folders are nested deeper than travels"
                            )
                        folders.append(number)
                    elif entry.kind == "file" and entry.size:
                        yield from self._content(folder, number)
        yield from self._flushed()

    def _noted(self, folder: int, parent: int, name: bytes, device: int) -> int | None:
        """The number of an entry, put down without its content; None for what does not travel, or has gone."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            target = os.readlink(name, dir_fd=folder) if stat.S_ISLNK(status.st_mode) else b""
        except OSError as error:
            if error.errno in (*_GONE, errno.EINVAL):
                return None
            raise
        kinds = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
        kind = kinds.get(stat.S_IFMT(status.st_mode))
        if kind is None or status.st_dev != device:
            self.skipped += 1
            return None
        if len(self.entries) >= MAX_ENTRIES:
            raise DatasetTooLarge("The volume", len(self.entries), MAX_ENTRIES)
        self._count(_ENTRY + len(name) + len(target))
        number, first = len(self.entries), self._links.get(status.st_ino)
        facts = (status.st_mode & 0o7777, status.st_uid, status.st_gid, max(0, status.st_mtime_ns))
        if kind == "file" and first is not None:
            self.entries.append(TreeEntry(parent, name, "same", same=first))
            return number
        if kind == "file" and status.st_nlink > 1:
            self._links[status.st_ino] = number
        size = status.st_size if kind == "file" else 0
        made = TreeEntry(parent, name, kind, *facts, size=size, target=target)  # type: ignore[arg-type]  # of the three
        self.entries.append(made)
        return number

    def _content(self, folder: int, number: int) -> Iterator[bytes]:
        entry = self.entries[number]
        try:
            descriptor = os.open(entry.name, _FILE, dir_fd=folder)
        except OSError as error:
            if error.errno in _GONE:
                return  # gone since: it stays as a file of holes, as it was just before it went
            raise
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            if entry.size < CHUNK:
                yield from self._shared(descriptor, number)
            else:
                yield from self._own(descriptor, number)
        finally:
            os.close(descriptor)

    def _shared(self, descriptor: int, number: int) -> Iterator[bytes]:
        """A small file goes into a chunk with its neighbours."""
        entry = self.entries[number]
        data = os.pread(descriptor, entry.size, 0)
        ends = hashlib.sha256(self.key + entry.name).digest()[0] & 0x0F == 0
        if len(self._small) + len(data) > CHUNK or (ends and len(self._small) >= _LEAST):
            yield from self._flushed()
        if data:
            self._give(number, (Segment(0, len(data), -1, len(self._small)),))
            self._waiting.append(number)
            self._small += data

    def _own(self, descriptor: int, number: int) -> Iterator[bytes]:
        """A large one has chunks of its own, cut at fixed places: what is written inside it changes those alone."""
        segments = []
        size = self.entries[number].size
        for start, end in _extents(descriptor, size):
            offset = start
            while offset < end:
                most = min(end, offset - offset % CHUNK + CHUNK) - offset
                if not (data := os.pread(descriptor, most, offset)):
                    break
                yield data
                self._count(_SEGMENT)
                segments.append(Segment(offset, len(data), self._last, 0))
                offset += len(data)
        self._give(number, tuple(segments))

    def _count(self, size: int, *, lists: int = 1) -> None:
        """An index that nobody would read ends here, and not where the memory does. Raises DatasetTooLarge."""
        self._lists, self._bytes = self._lists + lists, self._bytes + size
        if self._lists > MAX_LISTS or self._bytes > MAX_INDEX:
            raise DatasetTooLarge("The list of the volume's files", self._bytes, MAX_INDEX)

    def _flushed(self) -> Iterator[bytes]:
        if not self._small:
            return
        yield bytes(self._small)
        for number in self._waiting:
            (segment,) = self.entries[number].segments
            self._give(number, (Segment(0, segment.length, self._last, segment.at),))
        self._small, self._waiting = bytearray(), []

    def _give(self, number: int, segments: tuple[Segment, ...]) -> None:
        e = self.entries[number]
        facts = (e.mode, e.owner, e.group, e.time, e.size)
        self.entries[number] = TreeEntry(e.parent, e.name, "file", *facts, segments=segments)


def names_in(folder: int) -> list[bytes]:
    """What is in a folder, in order. Raises DatasetTooLarge: more names than a tree may have, whatever they are of."""
    with os.scandir(folder) as entries:
        names = [os.fsencode(entry.name) for entry in itertools.islice(entries, MAX_ENTRIES + 1)]
    if len(names) > MAX_ENTRIES:
        raise DatasetTooLarge("A folder of the volume", len(names), MAX_ENTRIES)
    return sorted(names)


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file has data, up to the size that it was seen to have."""
    at = 0
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
            end = min(size, os.lseek(descriptor, start, os.SEEK_HOLE))
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but holes from here
                return
            raise
        if start >= size or end <= start:
            return
        yield start, end
        at = end


@contextlib.contextmanager
def reached(root: int, path: tuple[bytes, ...]) -> Iterator[int | None]:
    """A folder below `root`, open; None where it is none any more."""
    folder = os.dup(root)
    try:
        for name in path:
            try:
                below = os.open(name, _FOLDER, dir_fd=folder)
            except OSError as error:
                if error.errno in _GONE:
                    yield None
                    return
                raise
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)
