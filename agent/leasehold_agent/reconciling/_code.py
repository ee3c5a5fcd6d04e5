"""A tenant's folder of code, from its first byte here to the moment at which it is whole.

Only the list that the lease's own workload names is taken, and only pieces of it: a stranger can leave nothing here. It
is kept in the lease's folder, so that an agent that is started again knows what it still waits for.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leasehold.chain import InvalidCid
from leasehold.errors import (
    CodeInvalid,
    DatasetCorrupt,
    DatasetTooLarge,
    DatasetUnavailable,
    DatasetUnsafe,
    WorkloadError,
)
from leasehold.files import replace_file
from leasehold.market import format_size
from leasehold.market.wire import MAX_CODE
from leasehold.workload import Code, CodeEntry, CodeTree, Workload, unfolded
from leasehold_agent._errors import CodeUnwanted, Declined, NoContainer, UploadsFull
from leasehold_agent.engine import CodePart
from leasehold_agent.host import remove_tree
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import Record, log_step
from leasehold_agent.store import CodeStore

PART = 64 << 20
"""Bytes that are unpacked at a time at most: the engine holds the container as long."""
LEAST = 16 << 20
"""And at least, while the next are on their way: fewer are not worth the call."""
FIRST_LEAST = 1 << 19
"""But the first, by which whoever writes them begins while the next are on their way."""
_MOST_PACKS = 10_000
"""Of a folder that comes from IPFS: some MiB each, they are more than the room for code."""
_TREES_AT_HAND = 4
_NOT_YET = "The lease is not taken on here yet; hand the code over again in a moment."
_USELESS = (
    CodeUnwanted,
    DatasetCorrupt,
    DatasetTooLarge,
    DatasetUnavailable,
    DatasetUnsafe,
    InvalidCid,
    WorkloadError,
)
_MISSING = "Nobody handed over the code that the workload names."


@dataclass
class CodeIntake:
    """What is handed over for one lease. `account` is whose pieces they are."""

    host: Host
    lease: int
    account: str

    @property
    def store(self) -> CodeStore:
        return self.host.supplies.code

    async def offer(self, folded: bytes) -> list[bool]:
        """Of the pieces of a list that its tenant shows, which are lacking here.

        Raises:
            CodeUnwanted: it is not the one that the workload names, or too large. NoContainer: ask again.
        """
        code, workload = self._named()
        tree = await asyncio.to_thread(_read_tree, folded)
        if tree.digest.hex() != code.digest:
            raise CodeUnwanted("The lease's workload names another folder than this.")
        if tree.size > (most := self._most(workload)):
            raise CodeUnwanted(
                f"The folder has {format_size(tree.size)} and may have {format_size(most)} here: put what is large "
                "into a dataset."
            )
        folder = self.host.leases.folder(self.lease)
        try:
            await asyncio.to_thread(replace_file, folder.code, tree.encoded)
        except OSError as error:
            raise UploadsFull("This host's disk has no room for the code now; send it again.") from error
        record = self.host.leases.record(self.lease)
        remember_tree(self.host.leases.records.values(), record, tree)
        lacking = await asyncio.to_thread(self.store.lacking, self.account, tree.chunks)
        record.code_came.set()
        return lacking

    async def take(
        self, pack: bytes, keep_as: Callable[[Path], bool] = lambda path: False
    ) -> tuple[int, int]:
        """Keep a pack of its pieces; how many were new, and how many are lacking now. keep_as: as of `CodeStore.take`.
        Raises as `offer`.
        """
        tree = await self._tree()
        if tree is None:
            raise NoContainer(_NOT_YET)
        try:
            new = await asyncio.to_thread(self.store.take, self.account, pack, tree.chunks, keep_as)
        except CodeInvalid as error:
            raise CodeUnwanted(str(error)) from error
        except OSError as error:
            raise UploadsFull("This host's disk has no room for the code now; send it again.") from error
        left = await asyncio.to_thread(self.store.absent, self.account, tree.chunks)
        self.host.leases.record(self.lease).code_came.set()
        return new, len(left)

    async def arriving(self) -> AsyncIterator[CodePart]:
        """The folder's entries in order, some MiB at a time, as soon as all of their pieces are here.

        Raises Declined("code-missing") where nobody brings the next of them in time.
        """
        code, _ = self._named()
        record = self.host.leases.record(self.lease)
        log_step(self.lease, "code")
        fetching: asyncio.Future[None] | None = None
        if code.cid is not None:
            fetching = asyncio.ensure_future(self._fetched(code))
        first, until = 0, self.host.clock() + self.host.facts.settings.fetch_seconds
        try:
            while True:
                record.waiting, record.progress = "code-missing", "waiting for the code"
                record.code_came.clear()  # before the look: what comes in between is not missed
                part = await self._next(first)
                if part is None:
                    fetching = await self._wait(record.code_came, fetching, until)
                    continue
                yield part
                if part.last:
                    return
                first = part.end
        finally:
            if fetching is not None:
                fetching.cancel()
                await asyncio.gather(fetching, return_exceptions=True)

    async def _wait(
        self, came: asyncio.Event, fetching: asyncio.Future[None] | None, until: float
    ) -> asyncio.Future[None] | None:
        """Until something has come, or what fetches is done; that, while it is not."""
        coming = asyncio.ensure_future(came.wait())
        try:
            left = max(0.0, until - self.host.clock())
            waited: set[asyncio.Future[Any]] = {coming} if fetching is None else {coming, fetching}
            done, _ = await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            coming.cancel()
        if not done:
            raise Declined("code-missing", _MISSING)
        if fetching is not None and fetching.done():
            fetching.result()
            return None
        return fetching

    async def _next(self, first: int) -> CodePart | None:
        """The next entries from `first` on that are whole here; None while they are too few to be worth it."""
        tree = await self._tree()
        if tree is None:
            return None
        return await asyncio.to_thread(self._whole, tree, first)

    def _whole(self, tree: CodeTree, first: int) -> CodePart | None:
        """As `_next`, and nobody waits for it: a list of many small files takes a while."""
        window = list(_some(tree.entries[first:]))  # a look at all of it costs more than what has come since
        missing = self.store.absent(self.account, (chunk for entry in window for chunk in entry.chunks))
        end, size = first, 0
        for entry in window:
            if missing and not missing.isdisjoint(entry.chunks):
                break
            end, size = end + 1, size + entry.size
        last = end == len(tree.entries)
        enough = size >= (LEAST if first else FIRST_LEAST)
        return CodePart(tree, first, end, last) if last or enough else None

    async def _tree(self) -> CodeTree | None:
        """The list as it was shown for the workload that the lease has now."""
        code, _ = self._named()
        record = self.host.leases.record(self.lease)
        if record.code is None or record.code[0] != code.digest:
            try:
                encoded = await asyncio.to_thread(self.host.leases.folder(self.lease).code.read_bytes)
                tree = await asyncio.to_thread(CodeTree.decode, encoded)
            except (FileNotFoundError, CodeInvalid):
                return None
            if tree.digest.hex() != code.digest:
                return None
            remember_tree(self.host.leases.records.values(), record, tree)
            return tree
        return record.code[1]

    def _named(self) -> tuple[Code, Workload]:
        workload = self.host.leases.workload(self.lease)
        if workload is None:
            raise NoContainer(_NOT_YET)
        if workload.code is None:
            raise CodeUnwanted("The lease's workload names no folder of code.")
        return workload.code, workload

    def _most(self, workload: Workload) -> int:
        """Bytes: what the lease's disk holds, and what is kept here for one account."""
        desired = self.host.snapshot.leases.get(self.lease)
        if desired is None:
            raise NoContainer(_NOT_YET)
        disk = self.host.share(desired).disk_bytes
        return min(workload.disk or disk, disk, self.store.room // 2)

    async def _fetched(self, code: Code) -> None:
        """The same out of IPFS. Raises Declined where it is of no use, or nobody has it in time."""
        assert code.cid is not None
        settings = self.host.facts.settings
        place = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=settings.state_dir, prefix=".code-"))
        try:
            await self.host.supplies.ipfs.fetch(
                code.cid,
                place / "code",
                key=code.key,
                timeout=settings.fetch_seconds,
                max_bytes=self.store.room // 2,
            )
            for number, path in enumerate(await asyncio.to_thread(_parts, place / "code")):
                part = await asyncio.to_thread(_read_part, path)
                await (self.offer(part) if number == 0 else self.take(part))
        except _USELESS as error:
            raise Declined("code-missing", f"The code is not to be had from IPFS: {error}") from error
        finally:
            await asyncio.to_thread(remove_tree, place)


def remember_tree(records: Iterable[Record], record: Record, tree: CodeTree) -> None:
    """So that it is not read from the disk for each pack. Of few leases at a time: a list of 16 MiB is a hundred here,
    and nobody has to have it for long.
    """
    others = [other for other in records if other.code is not None and other is not record]
    for other in others[: max(0, len(others) + 1 - _TREES_AT_HAND)]:
        other.code = None
    record.code = (tree.digest.hex(), tree)


def _some(entries: Sequence[CodeEntry]) -> Iterator[CodeEntry]:
    """As many as are unpacked at a time, at most."""
    size = 0
    for entry in entries:
        yield entry
        if (size := size + entry.size) >= PART:
            return


def _parts(folder: Path) -> list[Path]:
    """The list, and then each pack, of a folder that a stranger wrote. Raises CodeUnwanted: no folder has so many."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in itertools.islice(entries, _MOST_PACKS + 2)]
    if len(names) > _MOST_PACKS + 1:
        raise CodeUnwanted(f"It comes in more than {_MOST_PACKS} packs.")
    return [folder / "tree", *(folder / name for name in sorted(names) if name.endswith(".pack"))]


def _read_part(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_CODE)


def _read_tree(folded: bytes) -> CodeTree:
    try:
        return CodeTree.decode(unfolded(folded))
    except CodeInvalid as error:
        raise CodeUnwanted(str(error)) from error
