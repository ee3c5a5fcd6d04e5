"""The client of one IPFS node: what everything else in Leasehold uses of IPFS."""

# ruff: noqa: ASYNC109  # these limit silence, not the whole: `asyncio.timeout` cannot tell the two apart

import asyncio
import contextlib
import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from leasehold.chain import cid_of_digest
from leasehold.datasets._age import encrypted, new_identity, recipient_of
from leasehold.datasets._dag import Dag
from leasehold.datasets._fetch import Fetch, Fetched, Progress
from leasehold.datasets._multipart import FilePart, FolderPart, LinkPart, Multipart, Part
from leasehold.datasets._node import Cancellation, IpfsNode
from leasehold.datasets._tar import file_chunks, tar_stream
from leasehold.datasets._tree_fetch import TreeFetch, TreeFetched
from leasehold.datasets._unixfs import MAX_BLOCK, Cid, NodeKind
from leasehold.datasets._walk import Entry, EntryKind, Walk
from leasehold.errors import DatasetError, DatasetTooLarge, DatasetUnavailable, IpfsError

T = TypeVar("T")

# Written out in full, so that a folder has one CID whatever the node's configuration says. Pieces of 1 MiB travel
# twice as fast as the 256 KiB that were usual.
_LONG_AT_ONCE: Final = 64
_ADD_OPTIONS: Final = {
    "cid-version": "1",
    "hash": "sha2-256",
    "raw-leaves": "true",
    "chunker": "size-1048576",
    "max-file-links": "1024",
    "trickle": "false",
    "inline": "false",
    "nocopy": "false",
    "wrap-with-directory": "false",
    "preserve-mode": "false",
    "preserve-mtime": "false",
    "progress": "true",
}
_ROOT: Final = "dataset"


@dataclass(frozen=True, slots=True)
class Dataset:
    """What was added. `size`: bytes as they lie on IPFS. `key`: the identity that opens it where it is sealed."""

    cid: str
    size: int
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a folder on IPFS. `size`: bytes, as its publisher says."""

    name: str
    cid: str
    size: int


@dataclass(frozen=True, slots=True)
class Peer:
    """A node: its peer id, and where others reach it."""

    peer_id: str
    addresses: tuple[str, ...]


class Ipfs:
    """Talks to the node at `api`, a multiaddr such as `/ip4/127.0.0.1/tcp/5001`.

        async with Ipfs(api) as ipfs:
            dataset = await ipfs.add_folder(Path("digits"))
            await ipfs.fetch(dataset.cid, Path("copy"))

    Every call ends in bounded time: `timeout` is the seconds without any progress after which it gives up.
    Cancelling a call cuts its connections and waits for its threads. Errors: IpfsUnreachable, DatasetUnavailable,
    IpfsError and what each call names.
    """

    def __init__(self, api: str, *, timeout: float = 60.0, threads: int = 8) -> None:
        self.api = api
        self.timeout = timeout
        self._node = IpfsNode(api, timeout)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="leasehold-ipfs")
        # What a publisher may make last as long as he likes keeps nothing else waiting.
        self._long = ThreadPoolExecutor(_LONG_AT_ONCE, thread_name_prefix="leasehold-ipfs-long")

    async def __aenter__(self) -> "Ipfs":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets the threads end. Nothing can be called afterwards."""
        for pool in (self._pool, self._long):
            pool.shutdown(wait=False, cancel_futures=True)

    # --------------------------------------------------------------------------------------------------- adding

    async def add_folder(
        self,
        path: Path,
        *,
        encrypt: bool = False,
        encrypt_to: Sequence[str] = (),
        pin: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Dataset:
        """Adds a folder, hidden files included; one folder has one CID, on any node.

        encrypt: as one sealed archive, under a new key, which is returned and which nobody else has. encrypt_to:
        more recipients (age) that may open it; naming any means `encrypt`.
        Raises DatasetUnsafe for a link that leads out of the folder or for a device, DatasetError when a file
        cannot be read or shrinks meanwhile.
        """
        adding = _Adding(
            path, tuple(encrypt_to), encrypt or bool(encrypt_to), pin, self._threadsafe(progress)
        )
        return await self._in_thread(lambda cancellation: self._add_folder(adding, timeout, cancellation))

    async def add_stream(
        self, parts: Iterable[Part], *, pin: bool = True, timeout: float | None = None
    ) -> str:
        """Adds a tree that is made while it is sent: the first part is its root folder. Its CID."""
        return await self._in_thread(lambda cancellation: self._add(parts, pin, timeout, cancellation))

    async def put_block(self, data: bytes, *, pin: bool = True) -> str:
        """Adds one raw block. Its CID follows from its SHA-256, so that the chain need hold no more.

        Raises DatasetTooLarge over 2 MiB.
        """
        if len(data) > MAX_BLOCK:
            raise DatasetTooLarge("The block", len(data), MAX_BLOCK)
        return await self._in_thread(lambda _: self._put_block(data, pin))

    # ------------------------------------------------------------------------------------------------- fetching

    async def fetch(
        self,
        cid: str,
        dest: Path,
        *,
        key: str | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
    ) -> Fetched:
        """Fetches a dataset into the folder `dest`, every byte checked against the CID.

        A folder's entries land in `dest`, a single file in `dest/<cid>`, a sealed dataset (`key`: its identity)
        unpacked in `dest`. Files that are right already are kept, others completed or replaced, and what does
        not belong to the dataset stays: give it a folder of its own. `progress(done, total)` runs in the loop.
        Raises DatasetUnavailable, DatasetCorrupt, DatasetUnsafe, DatasetTooLarge (over `max_bytes` or the disk's
        room, before anything is downloaded where the publisher's figures are true), DatasetError when the disk
        fails, WrongIdentity, SealBroken, AgeKeyInvalid, InvalidCid.
        """
        report = self._threadsafe(progress)

        def work(cancellation: Cancellation) -> Fetched:
            fetch = self._fetching(timeout, max_bytes, report, cancellation)
            return fetch.public(cid, dest) if key is None else fetch.sealed(cid, dest, key)

        return await self._in_thread(work, self._long)

    async def read_file(self, cid: str, max_bytes: int, *, timeout: float | None = None) -> bytes:
        """A small file's bytes, checked. Raises DatasetTooLarge over `max_bytes`, and what `fetch` does."""
        return await self._in_thread(
            lambda cancellation: b"".join(self._fetching(timeout, max_bytes, None, cancellation).chunks(cid))
        )

    async def get_block(self, cid: str, timeout: float | None = None) -> bytes:
        """One block, checked. Raises DatasetUnavailable, DatasetCorrupt, InvalidCid."""
        limit = timeout if timeout is not None else self.timeout
        parsed = Cid.parse(cid)
        return await self._in_thread(
            lambda cancellation: self._node.block(parsed, limit, cancellation), self._long
        )

    async def blocks_below(
        self, chain: Sequence[str], cids: Sequence[str], *, timeout: float | None = None
    ) -> list[bytes]:
        """The blocks of `cids`, checked. Each hangs from the last of `chain`, and each of that from the one before: of
        what does not, the node is asked for nothing.

        Raises DatasetCorrupt where one does not, DatasetUnavailable, InvalidCid.
        """
        limit = timeout if timeout is not None else self.timeout
        links, wanted = [Cid.parse(cid) for cid in chain], [Cid.parse(cid) for cid in cids]
        return await self._in_thread(
            lambda cancellation: Dag(self._node, limit, cancellation).below(links, wanted), self._long
        )

    async def ls(self, cid: str, *, timeout: float | None = None) -> list[Listed]:
        """A folder's entries, checked; of a file none."""
        limit = timeout if timeout is not None else self.timeout

        def work(cancellation: Cancellation) -> list[Listed]:
            dag = Dag(self._node, limit, cancellation)
            node = dag.node(Cid.parse(cid))
            entries = dag.entries(node, "") if node.kind in (NodeKind.DIRECTORY, NodeKind.HAMT) else iter(())
            return [Listed(entry.path, entry.cid.text, entry.size) for entry in entries]

        return await self._in_thread(work)

    async def size(self, cid: str, *, timeout: float | None = None) -> int:
        """Bytes of everything below `cid`, as its publisher says."""
        limit = timeout if timeout is not None else self.timeout

        def work(cancellation: Cancellation) -> int:
            parsed = Cid.parse(cid)
            node = Dag(self._node, limit, cancellation).node(parsed)
            return node.size or sum(link.size for link in node.links)

        return await self._in_thread(work, self._long)

    async def weigh(self, cid: str, most: int, *, timeout: float | None = None) -> None:
        """Has the node fetch all of `cid`, counting what comes. Raises DatasetTooLarge over `most` bytes, and what
        `get_block` does.
        """
        limit = timeout if timeout is not None else self.timeout
        parsed = Cid.parse(cid)
        await self._in_thread(
            lambda cancellation: Dag(self._node, limit, cancellation).weigh(parsed, most), self._long
        )

    # --------------------------------------------------------------------------------------------- sealed trees

    async def check_tree(self, cid: str, key: bytes, most: int, *, timeout: float | None = None) -> None:
        """Has the node fetch a tree that is sealed under `key`, and tries every block of it: whoever unpacks it finds
        nothing missing or wrong.

        Raises DatasetTooLarge over `most` bytes of files, DatasetCorrupt, WrongIdentity, DatasetUnavailable.
        """
        await self._in_thread(
            lambda cancellation: self._tree(cid, key, most, timeout, cancellation).check(), self._long
        )

    async def fetch_tree(
        self, cid: str, key: bytes, folder: Path, most: int, *, timeout: float | None = None
    ) -> TreeFetched:
        """Unpacks a tree that is sealed under `key` into `folder`, which is new or empty; whole or not at all. Nothing
        of it lies or leads outside.

        Raises DestinationExists, DatasetTooLarge over `most` bytes of files, DatasetCorrupt, WrongIdentity,
        DatasetUnavailable, DatasetError where the disk fails.
        """
        return await self._in_thread(
            lambda cancellation: self._tree(cid, key, most, timeout, cancellation).unpack(folder), self._long
        )

    # -------------------------------------------------------------------------------------------------- pinning

    async def pin(self, cid: str, *, timeout: float | None = None) -> None:
        """Has the node fetch and keep all of `cid`. Raises DatasetUnavailable when nothing comes any more."""
        limit = timeout if timeout is not None else self.timeout
        Cid.parse(cid)
        await self._in_thread(lambda cancellation: self._pin(cid, limit, cancellation))

    async def unpin(self, cid: str) -> None:
        """Lets the node drop `cid` when it needs room. Does nothing where it was not pinned."""
        Cid.parse(cid)
        with contextlib.suppress(_NotPinned):
            await self._in_thread(lambda _: self._unpin(cid))

    async def is_pinned(self, cid: str) -> bool:
        """Whether the node was told to keep all of `cid`, by whomever."""
        Cid.parse(cid)
        try:
            await self._in_thread(lambda _: self._node.command("pin/ls", cid, type="recursive"))
        except IpfsError as error:
            if "not pinned" in error.reason:
                return False
            raise
        return True

    async def pins(self) -> list[str]:
        """What the node was told to keep, sorted."""
        answers = await self._in_thread(lambda _: self._node.command("pin/ls", type="recursive"))
        return sorted(cid for answer in answers for cid in answer.get("Keys") or {})

    # ---------------------------------------------------------------------------------------------------- peers

    async def id(self) -> Peer:
        """Who the node is."""
        answer = (await self._in_thread(lambda _: self._node.command("id")))[0]
        return Peer(str(answer["ID"]), tuple(str(a) for a in answer["Addresses"] or ()))

    async def swarm_connect(self, address: str) -> None:
        """Connects the node to another, at a multiaddr that ends in its peer id. Raises IpfsError."""
        await self._in_thread(lambda _: self._node.command("swarm/connect", address))

    async def command(self, name: str, *arguments: str, **options: str) -> list[dict[str, Any]]:
        """What the node's RPC API answers to a command that has no method here. Raises IpfsError."""
        return await self._in_thread(lambda _: self._node.command(name, *arguments, body=None, **options))

    # ------------------------------------------------------------------------------------------------ privately

    async def _in_thread(
        self, work: Callable[[Cancellation], T], pool: ThreadPoolExecutor | None = None
    ) -> T:
        cancellation = Cancellation()
        future = asyncio.get_running_loop().run_in_executor(pool or self._pool, work, cancellation)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            cancellation.cancel()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            raise

    def _threadsafe(self, progress: Progress | None) -> Progress | None:
        if progress is None:
            return None
        loop = asyncio.get_running_loop()

        def report(done: int, total: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop may be gone before the last thread
                loop.call_soon_threadsafe(progress, done, total)

        return report

    def _tree(
        self, cid: str, key: bytes, most: int, timeout: float | None, cancellation: Cancellation
    ) -> TreeFetch:
        limit = timeout if timeout is not None else self.timeout
        return TreeFetch(self._node, cid, key, most, limit, cancellation)

    def _fetching(
        self,
        timeout: float | None,
        max_bytes: int | None,
        progress: Progress | None,
        cancellation: Cancellation,
    ) -> Fetch:
        return Fetch(
            self._node,
            timeout=timeout if timeout is not None else self.timeout,
            max_bytes=max_bytes,
            progress=progress,
            cancellation=cancellation,
        )

    def _add_folder(self, adding: "_Adding", timeout: float | None, cancellation: Cancellation) -> Dataset:
        try:
            root = os.open(adding.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise DatasetError(
                f"{adding.path} is no folder to read ({error.strerror})", "name another."
            ) from error
        try:
            total = sum(entry.size for entry in Walk(strict=True).below(root, _ROOT))
            meter = _Meter(total, adding.progress)
            entries = Walk(strict=True).below(root, _ROOT)
            if not adding.encrypt:
                cid = self._add(public_parts(entries, meter.count), adding.pin, timeout, cancellation)
                return Dataset(cid, meter.done)
            key = new_identity()
            archive = meter.count(tar_stream(_below_root(entries)))
            sealed = _Meter(0, None)
            stream = sealed.count(encrypted(archive, [recipient_of(key), *adding.encrypt_to]))
            cid = self._add([FilePart(_ROOT, stream)], adding.pin, timeout, cancellation)
            return Dataset(cid, sealed.done, key)
        finally:
            os.close(root)

    def _add(
        self, parts: Iterable[Part], pin: bool, timeout: float | None, cancellation: Cancellation
    ) -> str:
        multipart = Multipart()
        options = {**_ADD_OPTIONS, "pin": str(pin).lower()}
        limit = timeout if timeout is not None else self.timeout
        answers = self._node.add(multipart.body(parts), multipart.content_type, options, limit, cancellation)
        last = deque(answers, maxlen=1).pop()
        cid = last.get("Hash")
        if not isinstance(cid, str) or "/" in str(last.get("Name", "")):
            raise IpfsError("add", "it did not say what it added")
        return cid

    def _put_block(self, data: bytes, pin: bool) -> str:
        expected = cid_of_digest(hashlib.sha256(data).digest())
        multipart = Multipart()
        body = b"".join(multipart.body([FilePart("block", [data])]))
        options = {"cid-codec": "raw", "mhtype": "sha2-256", "pin": str(pin).lower()}
        answer = self._node.command(
            "block/put", body=body, content_type=multipart.content_type, allow_big_block="true", **options
        )[0]
        if answer.get("Key") != expected:
            raise IpfsError("block/put", f"it calls the block {answer.get('Key')} and not {expected}")
        return expected

    def _pin(self, cid: str, timeout: float, cancellation: Cancellation) -> None:
        """Kubo reports twice a second how many nodes it has; when that number stands still, nobody has the rest."""
        # Nodes never send an empty block to one another, and empty files need it.
        self._put_block(b"", pin=False)
        seen, since = -1, time.monotonic()
        options = {"recursive": "true", "progress": "true"}
        lines = self._node.lines("pin/add", cid, timeout, cancellation, **options)
        with contextlib.closing(lines) as answers:
            for answer in answers:
                if answer.get("Pins"):
                    return
                count = int(answer.get("Progress") or 0)
                if count > seen:
                    seen, since = count, time.monotonic()
                elif time.monotonic() - since > timeout:
                    break
        raise DatasetUnavailable(cid)

    def _unpin(self, cid: str) -> None:
        try:
            self._node.command("pin/rm", cid)
        except IpfsError as error:
            if "not pinned" in error.reason:
                raise _NotPinned(error.what, error.reason) from error
            raise


@dataclass(frozen=True, slots=True)
class _Adding:
    path: Path
    encrypt_to: tuple[str, ...]
    encrypt: bool
    pin: bool
    progress: Progress | None


class _NotPinned(IpfsError):
    """There was nothing to unpin."""


class _Meter:
    """Counts the bytes that pass."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done = 0
        self._total = total
        self._progress = progress

    def count(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.done += len(chunk)
            if self._progress is not None:
                self._progress(self.done, max(self._total, self.done))
            yield chunk


def public_parts(
    entries: Iterable[Entry],
    count: Callable[[Iterator[bytes]], Iterator[bytes]] = iter,
    *,
    prefix: str = "",
) -> Iterator[Part]:
    """What a walk found as parts of a body, below `prefix`, file by file; `count` sees every file's bytes pass."""
    for entry in entries:
        path = prefix + entry.path
        if entry.kind is EntryKind.FOLDER:
            yield FolderPart(path)
        elif entry.kind is EntryKind.LINK:
            yield LinkPart(path, entry.target)
        else:
            yield FilePart(path, count(file_chunks(entry)))


def _below_root(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Paths relative to the folder itself, which has no entry of its own."""
    for entry in entries:
        _, _, path = entry.path.partition("/")
        if path:
            yield Entry(path, entry.kind, entry.size, entry.executable, entry.target, entry.descriptor)
