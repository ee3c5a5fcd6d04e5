"""Brings a dataset into a folder: checked, in constant memory, going on where an earlier attempt stopped.

A file is a run of leaves, each with a hash of its own. So whatever is on the disk already can be judged leaf by leaf:
what is right is kept and the rest is asked for, in requests of about 16 MiB, several at once. (Several at once are also
what makes it faster than `ipfs get`, which asks for one block after another.)

A sealed dataset is one stream that has to be opened from its beginning: going on means to read again what the node
has got already.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from leasehold.datasets._age import check_identity, decrypt_into
from leasehold.datasets._dag import Dag, Item, Leaf, spans
from leasehold.datasets._node import Cancellation, Cancelled, IpfsNode
from leasehold.datasets._pipe import piped
from leasehold.datasets._tar import untar
from leasehold.datasets._tree import Budget, TreeWriter, write_all
from leasehold.datasets._unixfs import MAX_BLOCK, RAW, Cid, NodeKind, UnixNode
from leasehold.datasets._walk import MAX_ENTRIES
from leasehold.errors import DatasetCorrupt, DatasetTooLarge, DatasetUnavailable, DatasetUnsafe, IpfsError

Progress = Callable[[int, int], None]
"""`(done, total)` in bytes; `total` is what the publisher says."""

_SMALL: Final = 4 * 1024 * 1024
_TINY: Final = 64 * 1024
_TOGETHER: Final = 32
_WORKERS: Final = 16  # small files wait 20 ms each for the node's next message to others
_STREAMS: Final = 4
_MAX_NESTING: Final = 128


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched: where it lies (a folder, or the one file), its content's bytes, how many files."""

    path: Path
    size: int
    files: int


class Fetch:
    """One fetch. `max_bytes` None: as much as the disk has room for."""

    def __init__(
        self,
        node: IpfsNode,
        *,
        timeout: float,
        max_bytes: int | None,
        progress: Progress | None,
        cancellation: Cancellation,
    ) -> None:
        self._dag = Dag(node, timeout, cancellation)
        self._cancellation = cancellation
        self._max_bytes = max_bytes
        self._progress = progress
        self._lock = threading.Lock()
        self._buffers = threading.local()
        self._done = 0
        self._total = 0
        self._files = 0

    # -------------------------------------------------------------------------------------------- in the open

    def public(self, text: str, dest: Path) -> Fetched:
        """Fetches `text` into the folder `dest`: a folder's entries, or a single file under its CID as name.

        Raises DatasetUnavailable, DatasetCorrupt, DatasetUnsafe, DatasetTooLarge, IpfsUnreachable, InvalidCid.
        """
        cid = Cid.parse(text)
        root = self._dag.node(cid)
        single = root.kind in (NodeKind.FILE, NodeKind.RAW)
        fresh = not dest.is_dir() or not any(dest.iterdir())
        with TreeWriter(dest, self._budget(text)) as writer:
            items = [Item(text, cid, root.size)] if single else self._plan(root, "", writer, 0)
            self._total = sum(item.size for item in items)
            self._check_size(text, dest if fresh else None)
            self._report(0)
            with ThreadPoolExecutor(_WORKERS, thread_name_prefix="leasehold-fetch") as pool:
                crew = Crew(pool, self._cancellation)
                tiny, others = _bundles(items)
                crew.do((partial(self._bundle, bundle, writer) for bundle in tiny), 2 * _WORKERS)
                small = (partial(self._small, item, writer) for item in others if item.size <= _SMALL)
                crew.do(small, 2 * _WORKERS)
                for item in items:
                    if item.size > _SMALL:
                        self._large(item, writer, crew)
            writer.finish()
        return Fetched(dest / text if single else dest, self._done, len(items))

    def _plan(self, folder: UnixNode, path: str, writer: TreeWriter, depth: int) -> list[Item]:
        """Makes the folders and notes the links; the files, which remain to be fetched."""
        if depth > _MAX_NESTING:
            raise DatasetUnsafe(path, "its folders are nested without end")
        if folder.kind not in (NodeKind.DIRECTORY, NodeKind.HAMT):
            raise DatasetUnsafe(path, "it is neither file, folder nor link")
        files: list[Item] = []
        for item in self._dag.entries(folder, path):
            if item.cid.codec == RAW:
                files.append(item)
                continue
            node = self._dag.node(item.cid)
            if node.kind in (NodeKind.FILE, NodeKind.RAW):
                files.append(Item(item.path, item.cid, node.size))
            elif node.kind is NodeKind.SYMLINK:
                writer.link(item.path, node.data.decode("utf-8", "replace"))
            else:
                writer.folder(item.path)
                files += self._plan(node, item.path, writer, depth + 1)
            if len(files) > MAX_ENTRIES:
                raise DatasetTooLarge("The dataset, counted in files,", len(files), MAX_ENTRIES)
        return files

    def _bundle(self, items: list[Item], writer: TreeWriter) -> None:
        """Files of one block each in one request: of their own, each request costs more than its bytes."""
        missing = []
        for item in items:
            with writer.file(item.path) as descriptor:
                if not self._is_there(item, descriptor):
                    missing.append(item)
        came = self._together(missing, writer) if missing else 0
        for item in missing[
            came:
        ]:  # from the first that is not what it should be, each says for itself what is wrong
            self._small(item, writer, again=True)

    def _together(self, items: list[Item], writer: TreeWriter) -> int:
        """Writes what comes and is right, in order; how many files that were."""
        came = 0
        with contextlib.suppress(DatasetUnavailable, IpfsError):
            for item, content in self._dag.together(items, self._buffer()):
                with writer.file(item.path, again=True) as descriptor:
                    write_all(descriptor, content, 0)
                    _cut(descriptor, item.size)
                self._got(item.size)
                came += 1
        return came

    def _is_there(self, item: Item, descriptor: int) -> bool:
        there = os.fstat(descriptor).st_size
        if item.cid.codec != RAW or not there == item.size <= MAX_BLOCK:
            return False
        whole = Leaf(0, there, item.cid)
        if not whole.accepts(_read(descriptor, whole, self._buffer())):
            return False
        self._got(there)
        return True

    def _small(self, item: Item, writer: TreeWriter, *, again: bool = False) -> None:
        with writer.file(item.path, again=again) as descriptor:
            if self._is_there(item, descriptor):
                return
            node = self._dag.node(item.cid)
            for span in spans(self._dag.leaves(item.cid, node)):
                self._span(item.cid.text, span, descriptor)
            _cut(descriptor, node.size)

    def _large(self, item: Item, writer: TreeWriter, crew: "Crew") -> None:
        node = self._dag.node(item.cid)
        with writer.file(item.path) as descriptor:
            leaves = self._dag.leaves(item.cid, node)
            crew.do(
                (partial(self._span, item.cid.text, span, descriptor) for span in spans(leaves)), _STREAMS
            )
            _cut(descriptor, node.size)

    def _span(self, root: str, span: list[Leaf], descriptor: int) -> None:
        """Puts a run of leaves in its place, but for those that are there."""
        buffer = self._buffer()
        missing: list[Leaf] = []
        there = os.fstat(descriptor).st_size
        for leaf in span:
            if leaf.offset + leaf.size <= there and leaf.accepts(_read(descriptor, leaf, buffer)):
                self._got(leaf.size)
            elif leaf.data is not None:
                write_all(descriptor, leaf.data, leaf.offset)
                self._got(leaf.size)
            else:
                missing.append(leaf)
        for run in spans(iter(missing)):
            for leaf, content in self._dag.read(root, run, buffer):
                write_all(descriptor, content, leaf.offset)
                self._got(leaf.size)

    # ------------------------------------------------------------------------------------------------ sealed

    def sealed(self, text: str, dest: Path, key: str) -> Fetched:
        """Fetches the one age-sealed archive `text` and unpacks it into the folder `dest`.

        Raises what `public` does, and WrongIdentity, SealBroken, AgeKeyInvalid. What was unpacked when it raises
        is authentic but not all.
        """
        check_identity(key)
        cid = Cid.parse(text)
        root = self._dag.node(cid)
        if root.kind not in (NodeKind.FILE, NodeKind.RAW):
            raise DatasetCorrupt(text, "a sealed dataset is one file")
        self._total = root.size
        self._check_size(text, dest)
        budget = Budget(None, f"The dataset {text}")  # what comes out is never more than what went in

        def feed(sink: BinaryIO) -> None:
            decrypt_into(sink, self._chunks(cid, root), key, f"dataset {text}")

        with TreeWriter(dest, budget) as writer, piped(feed) as source:
            untar(source, writer, budget)
        return Fetched(dest, budget.bytes, budget.files)

    def chunks(self, text: str) -> Iterator[bytes]:
        """A single file's bytes in order, checked. Raises DatasetCorrupt for a folder, and what `public` does."""
        cid = Cid.parse(text)
        root = self._dag.node(cid)
        self._total = root.size
        self._check_size(text, None)
        yield from self._chunks(cid, root)

    def _chunks(self, cid: Cid, root: UnixNode) -> Iterator[bytes]:
        buffer = self._buffer()
        for span in spans(self._dag.leaves(cid, root)):
            if any(leaf.data is not None for leaf in span):
                for leaf in span:
                    yield self._known(cid, leaf, buffer)
            else:
                for leaf, content in self._dag.read(cid.text, span, buffer):
                    self._got(leaf.size)
                    yield bytes(content)

    def _known(self, cid: Cid, leaf: Leaf, buffer: memoryview) -> bytes:
        self._got(leaf.size)
        if leaf.data is not None:
            return leaf.data
        return b"".join(bytes(content) for _, content in self._dag.read(cid.text, [leaf], buffer))

    # --------------------------------------------------------------------------------------------- privately

    def _budget(self, text: str) -> Budget:
        return Budget(self._max_bytes, f"The dataset {text}")

    def _check_size(self, text: str, fresh: Path | None) -> None:
        """Before anything is downloaded. Publishers can lie here, so every leaf is counted as well, in `_got`."""
        if self._max_bytes is not None and self._total > self._max_bytes:
            raise DatasetTooLarge(f"The dataset {text}", self._total, self._max_bytes)
        if fresh is not None:
            folder = next(parent for parent in (fresh, *fresh.resolve().parents) if parent.is_dir())
            room = os.statvfs(folder)
            free = room.f_bavail * room.f_frsize
            if self._total > free:
                raise DatasetTooLarge(f"The dataset {text}", self._total, free)

    def _buffer(self) -> memoryview:
        if not hasattr(self._buffers, "buffer"):
            self._buffers.buffer = memoryview(bytearray(MAX_BLOCK))
        buffer: memoryview = self._buffers.buffer
        return buffer

    def _got(self, size: int) -> None:
        self._cancellation.check()
        with self._lock:
            self._done += size
            if self._max_bytes is not None and self._done > self._max_bytes:
                raise DatasetTooLarge("The dataset", self._done, self._max_bytes)
        self._report(self._done)

    def _report(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, max(self._total, done))


class Crew:
    """Does jobs in a pool, a few ahead of need. The first that fails stops the others and is raised."""

    def __init__(self, pool: ThreadPoolExecutor, cancellation: Cancellation) -> None:
        self._pool = pool
        self._cancellation = cancellation

    def do(self, jobs: Iterator[Callable[[], None]], at_once: int) -> None:
        running: set[Future[None]] = set()
        try:
            for job in jobs:
                running.add(self._pool.submit(job))
                if len(running) >= at_once:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    _raise_first(done)
            _raise_first(wait(running).done)
        except BaseException:
            self._cancellation.cancel()
            wait(running)
            raise


def _bundles(items: list[Item]) -> tuple[list[list[Item]], list[Item]]:
    """Files of one small block, in bundles; and all the others."""
    tiny: list[Item] = []
    others: list[Item] = []
    for item in items:
        one = item.cid.codec == RAW and item.cid.inline is None and 0 < item.size <= _TINY
        (tiny if one else others).append(item)
    return [tiny[at : at + _TOGETHER] for at in range(0, len(tiny), _TOGETHER)], others


def _raise_first(done: set[Future[None]]) -> None:
    errors = [error for error in (future.exception() for future in done) if error is not None]
    for error in errors:
        if not isinstance(error, Cancelled):
            raise error
    if errors:
        raise errors[0]


def _cut(descriptor: int, size: int) -> None:
    """Drops what is behind `size`. A file that is right as it is keeps its time of change."""
    if os.fstat(descriptor).st_size != size:
        os.ftruncate(descriptor, size)


def _read(descriptor: int, leaf: Leaf, buffer: memoryview) -> memoryview:
    count = os.preadv(descriptor, [buffer[: leaf.size]], leaf.offset)
    return buffer[:count]
