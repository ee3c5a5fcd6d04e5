"""Volumes: what tenants keep on this host from one lease to the next.

A volume is of one tenant and has one name. It is attached to one lease at a time, which is noted before its disk is
opened and after that is closed: whoever is killed between finds it noted. Its key is written nowhere. It stays as long
as some lease that had it is kept here, and goes with the last of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from leasehold.files import replace_file
from leasehold.workload import VolumeMount
from leasehold_agent._errors import VolumeHeld, VolumeTrouble
from leasehold_agent.host import MountSpace, SealedDisk, remove_tree

T = TypeVar("T")
_NOTE = "volume.json"
_AT_ONCE = 8


@dataclass(frozen=True)
class Volume:
    """tenant: whose it is. size: bytes of the host's disk. holder: the lease that it is attached to. filling: the
    export of which it is being filled: until that is done it is none, and is made anew. source: of which it was.
    """

    tenant: str
    name: str
    size: int
    holder: int | None = None
    filling: str = ""
    source: str = ""


def volume_id(tenant: str, name: str) -> str:
    """What it goes by on the disk: a tenant's name for it is part of no path."""
    return hashlib.sha256(f"{tenant.lower()}/{name}".encode()).hexdigest()[:32]


@dataclass
class Volumes:
    """The volumes below `root`. With each one thing is done at a time, in a thread, and to its end: whoever waits for
    it and is cut off leaves nothing half done behind the back of the next. What takes long with one, as the check of
    one that grows does, holds up no other tenant's.
    """

    root: Path
    space: MountSpace
    _locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    _attaching: defaultdict[int, set[asyncio.Future[Path]]] = field(default_factory=lambda: defaultdict(set))
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="leasehold-volume-disks")
    )

    def get(self, volume: str) -> Volume | None:
        """What is noted of a volume, by its id; None where there is none, or nothing that can be read: of it the key
        alone tells whose it is.
        """
        try:
            return Volume(**json.loads((self.root / volume / _NOTE).read_text()))
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
            return None

    def all(self) -> dict[str, Volume]:
        """Every volume here, by its id."""
        ids = [entry.name for entry in self.root.iterdir()] if self.root.is_dir() else []
        noted = {volume: self.get(volume) for volume in ids}
        return {volume: known for volume, known in noted.items() if known is not None}

    def held(self) -> dict[int, set[str]]:
        """Which lease has which attached."""
        holders: dict[int, set[str]] = {}
        for volume, known in self.all().items():
            if known.holder is not None:
                holders.setdefault(known.holder, set()).add(volume)
        return holders

    def data(self, volume: str) -> Path:
        """The folder that a container is given, as the engine sees it."""
        return self._disk(volume).data

    async def attach(self, lease: int, tenant: str, mount: VolumeMount, size: int) -> Path:
        """The volume's folder, opened for a lease; made where there is none, or made larger. One that is made of an
        export is noted as being filled, until `filled`.

        Raises VolumeHeld, WrongVolumeKey, VolumeTrouble, EngineDown, OSError.
        """
        assert mount.key is not None  # what has none is declined before
        key, volume = bytes.fromhex(mount.key), Volume(tenant, mount.name, size, lease, mount.source or "")
        work = self._begin(volume_id(tenant, mount.name), lambda: self._attach(volume, key))
        self._attaching[lease].add(work)
        work.add_done_callback(lambda _: self._attached(lease, work))
        return await asyncio.shield(work)

    async def filled(self, volume: str) -> None:
        """All of its export has come. Raises OSError."""
        await self._do(volume, lambda: self._filled(volume))

    async def discard(self, tenant: str, name: str) -> None:
        """Remove a volume that no lease has attached, if there is one. Raises VolumeHeld and as `detach`."""
        volume = volume_id(tenant, name)
        await self._do(volume, lambda: self._discard(volume))

    async def detach(self, lease: int) -> None:
        """Close all that the lease has attached. Raises VolumeTrouble, EngineDown, OSError."""
        if begun := self._attaching.get(
            lease
        ):  # whoever waited for it was cut off: it is attached in a moment
            await asyncio.wait(set(begun))
        for volume in self.held().get(lease, ()):
            await self._do(volume, partial(self._let_go, volume, lease))

    async def sweep(self, wanted: Callable[[], Collection[str]]) -> None:
        """Remove every volume that is none of those `wanted`, by their ids. Raises as `detach`."""
        kept = set(await asyncio.to_thread(wanted))
        for folder in list(self.root.iterdir()) if self.root.is_dir() else ():
            if folder.name not in kept and folder.is_dir():
                await self._do(folder.name, partial(self._sweep, folder.name, wanted))

    def _attach(self, wanted: Volume, key: bytes) -> Path:
        volume = volume_id(wanted.tenant, wanted.name)
        known, disk = self.get(volume), self._disk(volume)
        if known is not None and known.holder not in (None, wanted.holder):
            raise VolumeHeld(known.holder or 0)
        if known is not None and known.filling:
            disk.close()
            disk.file.unlink(missing_ok=True)
        if disk.made:
            wanted = replace(wanted, filling="", source="" if known is None else known.source)
        size = wanted.size
        if disk.made:
            size = disk.size if known is None else known.size
        new = not disk.made
        disk.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._note(volume, replace(wanted, size=size))
        try:
            disk.make(size)
            if wanted.size > size:
                disk.grow(wanted.size)
                self._note(volume, wanted)
            disk.open(key)
        except VolumeTrouble:
            if new:  # nothing is in it, and it counts for nobody
                self._remove(volume)
            else:
                self._release(volume)
            raise
        return disk.data

    def _let_go(self, volume: str, lease: int) -> None:
        if (known := self.get(volume)) is not None and known.holder == lease:
            self._release(volume)

    def _release(self, volume: str) -> None:
        self._disk(volume).close()
        if (known := self.get(volume)) is not None:
            self._note(volume, replace(known, holder=None))

    def _filled(self, volume: str) -> None:
        if (known := self.get(volume)) is not None:
            self._note(volume, replace(known, filling="", source=known.filling))

    def _discard(self, volume: str) -> None:
        known = self.get(volume)
        if known is not None and known.holder is not None:
            raise VolumeHeld(known.holder)
        if known is not None:
            self._remove(volume)

    def _sweep(self, volume: str, wanted: Callable[[], Collection[str]]) -> None:
        if volume not in wanted():  # it may have become so while it waited for its turn
            self._remove(volume)

    def _remove(self, volume: str) -> None:
        disk = self._disk(volume)
        disk.close()
        # First: what a crash leaves is no volume that somebody finds again.
        disk.file.unlink(missing_ok=True)
        remove_tree(disk.folder)

    def _note(self, volume: str, known: Volume) -> None:
        replace_file(self.root / volume / _NOTE, json.dumps(asdict(known), sort_keys=True).encode())

    def _disk(self, volume: str) -> SealedDisk:
        return SealedDisk(self.root / volume, self.space)

    def seen(self, volume: str) -> Path:
        """The folder that a container is given, as the agent reaches it. Blocks; raises EngineDown."""
        return self.space.seen(self.data(volume))

    def _attached(self, lease: int, work: asyncio.Future[Path]) -> None:
        self._attaching[lease].discard(work)
        if not self._attaching[lease]:
            del self._attaching[lease]
        if not work.cancelled():
            work.exception()  # it is told to whoever waited for it, if anybody still does

    async def _do(self, volume: str, work: Callable[[], T]) -> T:
        return await asyncio.shield(self._begin(volume, work))

    def _begin(self, volume: str, work: Callable[[], T]) -> asyncio.Future[T]:
        async def done() -> T:
            async with self._locks[volume]:
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)

        return asyncio.ensure_future(done())
