"""A sealed tree on IPFS, read by whoever has its key: tried before anything of it is kept, and unpacked for a person.

Who made it is believed in nothing. What lies below its CID is the index and the chunks that the index names, and no
block more; each is counted as it comes, not as its publisher says.
"""

import os
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from leasehold.chain import cid_of_digest
from leasehold.datasets._dag import Dag
from leasehold.datasets._fetch import Crew, Fetch
from leasehold.datasets._node import Cancellation, IpfsNode
from leasehold.datasets._sealed_tree import (
    CHUNK,
    DATA_FOLDER,
    INDEX_NAME,
    MAX_INDEX,
    TreeIndex,
    TreeSeal,
    decode_index,
)
from leasehold.datasets._tree_unpack import TreeUnpack
from leasehold.datasets._unixfs import Cid, NodeKind
from leasehold.errors import DatasetCorrupt, DatasetError, DatasetTooLarge, DestinationExists

_WORKERS: Final = 8
_PER_CHUNK: Final = 1_024
"""What naming one takes in folders on IPFS, at most."""
_AROUND: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class TreeFetched:
    """What was unpacked: where, bytes of its files, how many files. left_out: links that lead out of it, which are not
    made, and pipes and devices, which did not travel.
    """

    path: Path
    size: int
    files: int
    left_out: int = 0


@dataclass
class TreeFetch:
    """One tree. `most`: bytes of files that it may come to. `timeout`: seconds without a byte after which nobody has
    it.

    Each method raises DatasetTooLarge, DatasetCorrupt, WrongIdentity for another key, DatasetUnavailable,
    IpfsUnreachable, InvalidCid.
    """

    node: IpfsNode
    cid: str
    key: bytes
    most: int
    timeout: float
    cancellation: Cancellation
    _lengths: dict[int, int] = field(default_factory=dict)
    _tried: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> None:
        """Has the node fetch every block of it, and tries each: whoever unpacks it finds nothing missing or wrong."""
        index = self._index
        self._check_size(sum(segment.length for entry in index.entries for segment in entry.segments))
        self._check_folder(index)
        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="leasehold-tree") as pool:
            crew = Crew(pool, self.cancellation)
            crew.do((partial(self._try, number) for number in range(len(index.chunks))), 2 * _WORKERS)
        for entry in index.entries:
            if any(part.at + part.length > self._lengths[part.chunk] for part in entry.segments):
                raise DatasetCorrupt(self.cid, "a chunk is shorter than a file's part of it")

    def unpack(self, folder: Path) -> TreeFetched:
        """Puts it into `folder`, which is not there yet or empty; whole or not at all.

        Raises DestinationExists, and DatasetError where the disk fails.
        """
        if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
            raise DestinationExists(str(folder))
        index, draft = self._index, Path()
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            left_out = self._into(draft, index)
            draft.rename(folder)
        except OSError as error:
            said = error.strerror or type(error).__name__
            raise DatasetError(
                f"{folder} cannot be filled ({said})", "make room, or name another."
            ) from error
        finally:
            if draft != Path():
                shutil.rmtree(draft, ignore_errors=True)
        size = sum(segment.length for entry in index.entries for segment in entry.segments)
        files = sum(entry.kind in ("file", "same") for entry in index.entries)
        return TreeFetched(folder, size, files, left_out + index.skipped)

    def _into(self, draft: Path, index: TreeIndex) -> int:
        root = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            unpack = TreeUnpack(
                self.cid, index, self.key, self._chunk, self.most, self.cancellation.check, for_person=True
            )
            unpack.into(root)
            return unpack.left_out
        finally:
            os.close(root)

    # -------------------------------------------------------------------------------------------- privately

    @cached_property
    def _dag(self) -> Dag:
        return Dag(self.node, self.timeout, self.cancellation)

    @cached_property
    def _parts(self) -> dict[str, Cid]:
        """What its top folder holds: the index and the folder of chunks."""
        top = self._dag.node(Cid.parse(self.cid))
        if top.kind is not NodeKind.DIRECTORY:
            raise DatasetCorrupt(self.cid, "it is no export of a volume")
        parts = {item.path: item.cid for item in self._dag.entries(top, "")}
        if parts.keys() != {INDEX_NAME, DATA_FOLDER}:
            raise DatasetCorrupt(self.cid, "it is no export of a volume")
        return parts

    @cached_property
    def _index(self) -> TreeIndex:
        """Its blocks are counted first: a file of no bytes can have blocks without end."""
        cid = self._parts[INDEX_NAME]
        self._dag.weigh(cid, MAX_INDEX + _AROUND)
        fetch = Fetch(
            self.node,
            timeout=self.timeout,
            max_bytes=MAX_INDEX,
            progress=None,
            cancellation=self.cancellation,
        )
        sealed = b"".join(fetch.chunks(cid.text))
        index = decode_index(TreeSeal(self.key).open(sealed, b"index"), self.cid)
        if len(set(index.chunks)) < len(index.chunks):
            raise DatasetCorrupt(self.cid, "it names a chunk twice")
        return index

    def _check_size(self, size: int) -> None:
        if size > self.most:
            raise DatasetTooLarge("The checkpoint", size, self.most)

    def _check_folder(self, index: TreeIndex) -> None:
        """That whoever keeps the CID keeps the chunks, and nothing else."""
        expected = {cid_of_digest(chunk) for chunk in index.chunks}
        room = _AROUND + _PER_CHUNK * len(expected)
        held = self._dag.weigh(self._parts[DATA_FOLDER], room, leaves=False)
        if held != expected:
            raise DatasetCorrupt(self.cid, "it holds other blocks than its chunks")

    def _try(self, number: int) -> None:
        sealed = self._chunk(self._index.chunks[number])
        length = len(TreeSeal(self.key).open(sealed, b"chunk"))
        if length > CHUNK:
            raise DatasetCorrupt(self.cid, "a chunk is larger than any")
        with self._lock:
            self._lengths[number] = length
            self._tried += length
        self._check_size(self._tried)

    def _chunk(self, digest: bytes) -> bytes:
        """A sealed one, by its SHA-256."""
        return self.node.block(Cid.parse(cid_of_digest(digest)), self.timeout, self.cancellation)
