"""Datasets on the host's disk, shared between leases and kept after them while there is room.

A public dataset is shared by all. An encrypted one is kept in clear for the tenant who brought the key and
for that key only, under a name that says neither: another tenant who knows the CID finds nothing. What is
complete has its final name, so a fetch that was cut short is taken up again.
"""

from __future__ import annotations

import asyncio
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

_USELESS = (DatasetCorrupt, DatasetUnsafe, InvalidCid, WorkloadError)
"""What will be no better next time: a broken dataset, or a key that does not open it."""


class DatasetCache:
    """A folder of datasets. `room` is the most that is kept once nothing uses it, `reserve` free space left
    alone.
    """

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

    async def _fetch(
        self, mount: DatasetMount, name: str, in_use: Collection[str], progress: Progress
    ) -> None:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = self._root / f".part-{name}"
        try:
            size = await self._source.size(mount.cid, timeout=self._wait)
            await asyncio.to_thread(self._make_room, size, {*in_use, name})
            # The size is the publisher's word. What is there of it already counts as well as what is free.
            free = shutil.disk_usage(self._root).free + await asyncio.to_thread(_size, partial)
            await self._source.fetch(
                mount.cid,
                partial,
                key=mount.key,
                progress=progress,
                timeout=self._wait,
                max_bytes=max(0, min(self._room, free - self._reserve)),
            )
        except DatasetUnavailable as error:
            raise Declined("dataset-missing", f"Nobody delivered the dataset {mount.cid} in time.") from error
        except DatasetTooLarge as error:
            raise Declined("no-disk", f"The dataset {mount.cid} does not fit: {error}") from error
        except _USELESS as error:
            raise Declined("dataset-missing", f"The dataset {mount.cid} is of no use: {error}") from error
        await asyncio.to_thread(_open_to_all, partial)
        partial.rename(self.path(name))

    def _make_room(self, size: int, keep: Collection[str]) -> None:
        """Drop what was used longest ago until `size` fits. Raises Declined("no-disk")."""
        kept = {name: _size(self.path(name)) for name in self._complete()}
        oldest = sorted(set(kept) - set(keep), key=lambda name: self.path(name).stat().st_mtime)

        def full() -> bool:
            free = shutil.disk_usage(self._root).free
            return sum(kept.values()) + size > self._room or free - size < self._reserve

        while full():
            if not oldest:
                raise Declined("no-disk", f"The dataset's {size} bytes do not fit on this host's disk.")
            victim = oldest.pop(0)
            shutil.rmtree(self.path(victim))
            del kept[victim]

    def _complete(self) -> list[str]:
        if not self._root.is_dir():
            return []
        return [path.name for path in self._root.iterdir() if not path.name.startswith(".")]


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def _open_to_all(folder: Path) -> None:
    """Readable by whatever user a container runs as; the cache's own folder keeps the host's users out."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644 | (path.stat().st_mode & 0o111))
