"""Datasets on the host's disk, shared between leases and kept after them while there is room.

A public dataset is shared by all. An encrypted one is kept in clear for the tenant who brought the key and
for that key only, under a name that says neither: another tenant who knows the CID finds nothing. What is
complete has its final name, so a fetch that was cut short is taken up again; until then what it left counts, and is
the first to go.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from leasehold.chain import InvalidCid
from leasehold.datasets import Ipfs, Progress
from leasehold.errors import (
    DatasetCorrupt,
    DatasetTooLarge,
    DatasetUnavailable,
    DatasetUnsafe,
    WorkloadError,
)
from leasehold.workload import DatasetMount
from leasehold_agent._errors import Declined
from leasehold_agent.host import remove_tree, tree_size

_USELESS = (DatasetCorrupt, DatasetUnsafe, InvalidCid, WorkloadError)
"""What will be no better next time: a broken dataset, or a key that does not open it."""
_PARTIAL = ".part-"


class DatasetCache:
    """A folder of datasets. `room` is the most that is kept once nothing uses it, `reserve` free space left alone."""

    def __init__(self, root: Path, source: Ipfs, *, room: int, reserve: int, wait: float) -> None:
        self._root = root
        self._source = source
        self._room = room
        self._reserve = reserve
        self._wait = wait
        self._locks: dict[str, asyncio.Lock] = {}

    def name(self, mount: DatasetMount, tenant: str) -> str:
        """The name of a dataset's folder here."""
        if mount.key is None:
            return mount.cid
        return (
            "private-" + hashlib.sha256("\0".join((mount.cid, mount.key, tenant)).encode()).hexdigest()[:40]
        )

    def path(self, name: str) -> Path:
        return self._root / name

    def public(self) -> list[str]:
        """CIDs that a renter may count on."""
        return sorted(n for n in self._complete() if not n.startswith("private-"))

    async def get(
        self, mount: DatasetMount, tenant: str, in_use: Collection[str], progress: Progress
    ) -> Path:
        """The dataset's folder, fetched if it is not here; two leases that want one fetch it once.

        Raises Declined("dataset-missing") when nobody has it, Declined("no-disk") when it does not fit.
        """
        name = self.name(mount, tenant)
        async with self._locks.setdefault(name, asyncio.Lock()):
            target = self.path(name)
            if not target.is_dir():
                await self._fetch(mount, name, in_use, progress)
            os.utime(target)  # the eviction's measure of what was used last
            return target

    def used(self, name: str) -> None:
        """A lease had it until now."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.path(name))

    def idle(self, in_use: Collection[str]) -> list[tuple[float, str]]:
        """What is here and nobody uses or fetches, what was used longest ago first, with unix seconds; what was never
        completed comes before all. Blocks for as long as the folder is read.
        """
        coming = {_partial(entry) for entry, lock in self._locks.items() if lock.locked()}
        uses = []
        for entry in self._all() - {*in_use} - coming:
            with contextlib.suppress(FileNotFoundError):
                used = 0.0 if entry.startswith(_PARTIAL) else self.path(entry).stat().st_mtime
                uses.append((used, entry))
        return sorted(uses)

    async def forget(self, name: str, used: float) -> bool:
        """Remove what was idle, unless it has been used since, or is now; whether it is gone."""
        lock = self._locks.setdefault(name.removeprefix(_PARTIAL), asyncio.Lock())
        if lock.locked():
            return False
        async with lock:
            with contextlib.suppress(FileNotFoundError):
                if name.startswith(_PARTIAL) or self.path(name).stat().st_mtime == used:
                    await asyncio.to_thread(remove_tree, self.path(name))
                    return True
            return False

    def lies_on(self, disk: Path) -> bool:
        """Whether what is removed here is room there."""
        folder = self._root if self._root.is_dir() else self._root.parent
        return disk.is_dir() and folder.is_dir() and folder.stat().st_dev == disk.stat().st_dev

    async def _fetch(
        self, mount: DatasetMount, name: str, in_use: Collection[str], progress: Progress
    ) -> None:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = self._root / _partial(name)
        try:
            size = await self._source.size(mount.cid, timeout=self._wait)
            others = await asyncio.to_thread(self._make_room, size, name, in_use)
            # The size is the publisher's word. What is there of it already counts as well as what is free.
            free = shutil.disk_usage(self._root).free + await asyncio.to_thread(tree_size, partial)
            most = max(0, min(self._room - others, free - self._reserve))
            await self._fetch_within(mount, partial, most, progress)
            await asyncio.to_thread(_open_to_all, partial)
            partial.rename(self.path(name))
        except DatasetUnavailable as error:
            raise Declined("dataset-missing", f"Nobody delivered the dataset {mount.cid} in time.") from error
        except DatasetTooLarge as error:
            await asyncio.to_thread(remove_tree, partial)
            raise Declined("no-disk", f"The dataset {mount.cid} does not fit: {error}") from error
        except _USELESS as error:
            await asyncio.to_thread(remove_tree, partial)
            raise Declined("dataset-missing", f"The dataset {mount.cid} is of no use: {error}") from error

    async def _fetch_within(
        self, mount: DatasetMount, partial: Path, max_bytes: int, progress: Progress
    ) -> None:
        """Ends a fetch that, with whatever else is written meanwhile, would take the disk's last."""
        full = False

        def show(done: int, total: int) -> None:
            nonlocal full
            progress(done, total)
            if not full and shutil.disk_usage(self._root).free < self._reserve:
                full = fetching.cancel()

        fetching = asyncio.ensure_future(
            self._source.fetch(
                mount.cid,
                partial,
                key=mount.key,
                progress=show,
                timeout=self._wait,
                max_bytes=max_bytes,
            )
        )
        try:
            await fetching
        except asyncio.CancelledError:
            if not full:
                raise
            raise DatasetTooLarge("The dataset, beside what else is written here,", max_bytes, 0) from None

    def _make_room(self, size: int, name: str, in_use: Collection[str]) -> int:
        """Drop what was used longest ago until `size` fits; what was never completed goes first.

        Returns the bytes of what stays. Raises Declined("no-disk").
        """
        kept = {entry: tree_size(self.path(entry)) for entry in self._all() - {_partial(name)}}
        oldest = [entry for _, entry in self.idle({*in_use, name, _partial(name)})]

        def full() -> bool:
            free = shutil.disk_usage(self._root).free + tree_size(self.path(_partial(name)))
            return sum(kept.values()) + size > self._room or free - size < self._reserve

        while full():
            if not oldest:
                raise Declined("no-disk", f"The dataset's {size} bytes do not fit on this host's disk.")
            victim = oldest.pop(0)
            remove_tree(self.path(victim))
            del kept[victim]
        return sum(kept.values())

    def _all(self) -> set[str]:
        return {path.name for path in self._root.iterdir()} if self._root.is_dir() else set()

    def _complete(self) -> list[str]:
        return [name for name in self._all() if not name.startswith(".")]


def _partial(name: str) -> str:
    """What a dataset is called here until it is complete."""
    return f"{_PARTIAL}{name}"


def _open_to_all(folder: Path) -> None:
    """Readable by whatever user a container runs as; the cache's own folder keeps the host's users out."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644 | (path.stat().st_mode & 0o111))
