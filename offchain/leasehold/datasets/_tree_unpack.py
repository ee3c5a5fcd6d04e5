"""A sealed tree written into an empty folder, from an index that a stranger has made: as root for a container, or for a
person to whom all of it belongs.

Every entry is made in a folder that was made here before it and is reached from the top without following a link; what
is made is new, or it is refused.
"""

import errno
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from leasehold.datasets._sealed_tree import TreeEntry, TreeIndex, TreeSeal, path_of
from leasehold.datasets._tree_pack import reached
from leasehold.datasets._walk import link_stays_inside
from leasehold.errors import DatasetCorrupt, DatasetTooLarge

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_HAND: Final = 8


@dataclass
class TreeUnpack:
    """One import. `fetch` gives a sealed chunk by its SHA-256; `most`: bytes of files that may come of it. `going`: is
    asked before each entry, and may raise to end it: to reach one may take hundreds of folders.

    `made`: how many entries are there already. One that `fetch` or `going` has ended says how far it came, and another
    of the same index goes on there; what was begun of an entry (`begun`) is made anew.

    for_person: everything is its caller's, who can read and remove it, and a link that leads out of the tree is not
    made but counted (`left_out`): in a container it leads nowhere else.
    """

    cid: str
    index: TreeIndex
    key: bytes
    fetch: Callable[[bytes], bytes]
    most: int
    going: Callable[[], None] = lambda: None
    made: int = 0
    begun: bool = False
    for_person: bool = False
    left_out: int = 0
    _at_hand: OrderedDict[int, bytes] = field(default_factory=OrderedDict)

    def into(self, root: int) -> None:
        """Raises DatasetTooLarge, DatasetCorrupt, WrongIdentity, OSError, and what `fetch` raises."""
        size = sum(segment.length for entry in self.index.entries for segment in entry.segments)
        if size > self.most:
            raise DatasetTooLarge("The export", size, self.most)
        for entry in self.index.entries[self.made :]:
            self.going()
            with reached(root, self._path(entry.parent)) as folder:
                if folder is None:
                    raise DatasetCorrupt(self.cid, "a folder of it is none")
                self._make(folder, entry, root)
            self.made += 1
        self._finish(root)

    def _path(self, number: int) -> tuple[bytes, ...]:
        return path_of(self.index.entries, number)

    def _make(self, folder: int, entry: TreeEntry, root: int) -> None:
        if entry.kind == "folder":
            os.mkdir(entry.name, 0o700, dir_fd=folder)
        elif entry.kind == "link":
            self._link(folder, entry)
        elif entry.kind == "same":
            first = self._path(entry.same)
            with reached(root, first[:-1]) as source:
                if source is None:
                    raise DatasetCorrupt(self.cid, "a folder of it is none")
                os.link(first[-1], entry.name, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        else:
            self._write(folder, entry)

    def _link(self, folder: int, entry: TreeEntry) -> None:
        if self.for_person and not self._leads_inside(entry):
            self.left_out += 1
            return
        os.symlink(entry.target, entry.name, dir_fd=folder)
        if not self.for_person:
            os.chown(entry.name, entry.owner, entry.group, dir_fd=folder, follow_symlinks=False)
        os.utime(entry.name, ns=(entry.time, entry.time), dir_fd=folder, follow_symlinks=False)

    def _leads_inside(self, entry: TreeEntry) -> bool:
        depth = len(self._path(entry.parent))
        return link_stays_inside("x/" * (depth + 1) + "link", os.fsdecode(entry.target))

    def _write(self, folder: int, entry: TreeEntry) -> None:
        if self.begun:
            os.unlink(entry.name, dir_fd=folder)
            self.begun = False
        descriptor = os.open(entry.name, _NEW, 0o600, dir_fd=folder)
        self.begun = True
        try:
            for segment in entry.segments:
                data = self._chunk(segment.chunk)[segment.at : segment.at + segment.length]
                if len(data) != segment.length:
                    raise DatasetCorrupt(self.cid, "a chunk is shorter than a file's part of it")
                if os.pwrite(descriptor, data, segment.offset) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(descriptor, entry.size)
            self._dress(descriptor, entry)
            self.begun = False
        finally:
            os.close(descriptor)

    def _finish(self, root: int) -> None:
        """Folders get their modes and times once nothing more is made in them."""
        for number in reversed(range(len(self.index.entries))):
            self.going()
            if (entry := self.index.entries[number]).kind == "folder":
                with reached(root, self._path(number)) as folder:
                    if folder is not None:
                        self._dress(folder, entry)

    def _dress(self, descriptor: int, entry: TreeEntry) -> None:
        if self.for_person:
            os.fchmod(descriptor, entry.mode & 0o777 | (0o700 if entry.kind == "folder" else 0o600))
        else:
            os.fchown(descriptor, entry.owner, entry.group)
            os.fchmod(descriptor, entry.mode)
        os.utime(descriptor, ns=(entry.time, entry.time))

    def _chunk(self, number: int) -> bytes:
        if number not in self._at_hand:
            sealed = self.fetch(self.index.chunks[number])
            self._at_hand[number] = TreeSeal(self.key).open(sealed, b"chunk")
            if len(self._at_hand) > _AT_HAND:
                self._at_hand.popitem(last=False)
        return self._at_hand[number]
