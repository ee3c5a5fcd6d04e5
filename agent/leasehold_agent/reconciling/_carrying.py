"""Volumes on their way: exported while their lease lives, and filled of an export where one is made.

An export is sealed under the volume's own key and lies on the host's IPFS node until the lease goes, or another export
takes its place. One that a restart of the agent cuts off is asked for again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from leasehold.chain import cid_of_digest, format_lease
from leasehold.datasets import MAX_INDEX, Ipfs, TreePack, TreeSeal, TreeUnpack, decode_index, tree_state
from leasehold.errors import DatasetCorrupt, DatasetError, LeaseholdError
from leasehold.files import write_private
from leasehold.workload import VolumeMount
from leasehold_agent._errors import VolumeTrouble
from leasehold_agent._runtime import VolumeExport
from leasehold_agent.reconciling._fair_places import FairPlaces, PlaceHeld
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.store import Volumes

T = TypeVar("T")
_log = structlog.get_logger("leasehold_agent")
_AT_ONCE = 4
_LOOKS_AT_ONCE = 8
"""Threads of their own: sources that trickle hold the others."""
_WINDOW = 30.0
"""Seconds after which whoever fills a volume may have to let another one."""
_INDEX = "index"
_COMING = "+"
"""Begins the note of what the node is to keep and may not yet: no volume's name does."""


@dataclass
class Carrying:
    """`ipfs` is a client of its own: what lasts here keeps nobody else waiting. `room`: bytes that may be added now.
    `wait`: seconds without an answer after which a node is given up.
    """

    volumes: Volumes
    leases: LeaseBook
    ipfs: Ipfs
    room: Callable[[], int]
    wait: float
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _told: dict[tuple[int, str], VolumeExport] = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _notes: asyncio.Lock = field(default_factory=asyncio.Lock)
    fillings: FairPlaces = field(default_factory=lambda: FairPlaces(_AT_ONCE, _WINDOW))
    indexing: FairPlaces = field(default_factory=lambda: FairPlaces(1, _WINDOW))
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="leasehold-volumes")
    )

    _looking: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_LOOKS_AT_ONCE, thread_name_prefix="leasehold-checkpoints")
    )

    # ------------------------------------------------------------------------------------------------ exporting

    def export_of(self, lease: int, name: str) -> VolumeExport | None:
        """How the last export of a lease's volume stands, if one was asked for."""
        if (told := self._told.get((lease, name))) is not None:
            return told
        cid = self._kept(lease).get(name)
        return None if cid is None else VolumeExport("done", cid)

    def begin(self, lease: int, volume: str, mount: VolumeMount) -> None:
        """Export a volume that the lease has attached. Raises VolumeTrouble while another one of the lease's is."""
        if (task := self._tasks.get(lease)) is not None and not task.done():
            raise VolumeTrouble("A volume of this lease is being exported: wait for that.")
        self._told[lease, mount.name] = VolumeExport("running")
        self._tasks[lease] = asyncio.create_task(self._export(lease, volume, mount))

    async def close(self, lease: int) -> None:
        """Nothing of the lease is exported any more: its volumes are to be closed."""
        if (task := self._tasks.pop(lease, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def forget(self, lease: int) -> set[str]:
        """The host's IPFS node may drop what was exported of the lease; what it could not be told of now."""
        await self.close(lease)
        for place in [place for place in self._told if place[0] == lease]:
            del self._told[place]
        return {cid for cid in set(self._kept(lease).values()) if not await self._dropped(lease, cid)}

    async def aclose(self) -> None:
        """The agent ends."""
        for lease in list(self._tasks):
            await self.close(lease)
        for pool in (self._pool, self._looking):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _export(self, lease: int, volume: str, mount: VolumeMount) -> None:
        place = (lease, mount.name)
        try:
            async with self._turns:
                log_step(lease, f"export {mount.name}")
                cid = await self._added(place, volume, mount)
                await self._keep(lease, mount.name, cid)
            self._told[place] = replace(self._told[place], state="done", cid=cid)
            _log.info("exported", lease=format_lease(lease), volume=mount.name, cid=cid)
        except asyncio.CancelledError:
            self._told[place] = VolumeExport("failed", detail="It was cut off.")
            raise
        except (LeaseholdError, OSError, TimeoutError) as error:
            self._told[place] = VolumeExport("failed", detail=str(error))
            _log.warning("export", lease=format_lease(lease), volume=mount.name, problem=str(error))
        except Exception:  # noqa: BLE001 - a task of its own, that nobody waits for
            self._told[place] = VolumeExport("failed", detail="internal error")
            _log.exception("export", lease=format_lease(lease), volume=mount.name)

    async def _added(self, place: tuple[int, str], volume: str, mount: VolumeMount) -> str:
        def read(size: int) -> None:
            if self.room() < size:
                raise VolumeTrouble("This host's disk has no room for an export.")
            self._told[place] = replace(self._told[place], read=self._told[place].read + size)

        return await self._packed(volume, TreePack(bytes.fromhex(mount.key or ""), read))

    async def _packed(self, volume: str, pack: TreePack) -> str:
        given_up = threading.Event()
        pack.going = partial(_going, given_up)
        with _opened(await asyncio.to_thread(self.volumes.seen, volume)) as root:
            adding = self.ipfs.add_stream(pack.parts(root), pin=False, timeout=self.wait)
            return await _to_its_end(asyncio.ensure_future(adding), given_up)

    async def _keep(self, lease: int, name: str, cid: str) -> None:
        """Noted, then kept by the node, then told; and the one before is let go of. Whoever is killed between finds it
        noted, and whoever lets go of the same one for another lease.
        """
        await self._note(lease, {_COMING + name: cid})
        await self.ipfs.pin(cid, timeout=self.wait)
        before = await self._note(lease, {name: cid, _COMING + name: ""})
        if (former := before.get(name)) not in (None, cid):
            await self._dropped(lease, former or "")

    async def _note(self, lease: int, changes: dict[str, str]) -> dict[str, str]:
        """Change what is noted of a lease, where "" is nothing; what was noted before."""
        async with self._notes:
            before, file = self._kept(lease), self.leases.folder(lease).exports
            left = {name: cid for name, cid in {**before, **changes}.items() if cid}
            await asyncio.to_thread(write_private, file, json.dumps(left, sort_keys=True))
            return before

    def _kept(self, lease: int) -> dict[str, str]:
        with contextlib.suppress(FileNotFoundError, ValueError):
            raw = json.loads(self.leases.folder(lease).exports.read_text())
            return {str(name): str(cid) for name, cid in raw.items()}
        return {}

    async def _dropped(self, lease: int, cid: str) -> bool:
        async with self._notes:  # who notes the same one meanwhile has it kept after this
            others = [self._kept(number).values() for number in self.leases.folders() if number != lease]
            if any(cid in cids for cids in others):
                return True
            try:
                await self.ipfs.unpin(cid)
            except (DatasetError, TimeoutError) as error:
                _log.warning("unpin", lease=format_lease(lease), cid=cid, problem=str(error))
                return False
            return True

    # ------------------------------------------------------------------------------------------------- checkpoints

    async def state(self, volume: str) -> bytes:
        """What an attached volume looks like now, as one digest.

        Raises DatasetError for what would not travel, OSError, EngineDown.
        """
        given_up = threading.Event()

        def work() -> bytes:
            with _opened(self.volumes.seen(volume)) as root:
                return tree_state(root, partial(_going, given_up))

        looking = asyncio.get_running_loop().run_in_executor(self._looking, work)
        return await _to_its_end(looking, given_up)

    async def added(self, volume: str, key: str) -> tuple[str, int]:
        """An export of an attached volume, and the bytes that were read for it. The node has it, and was not told to
        keep it. Raises as `state`, and VolumeTrouble where the disk has no room.
        """
        total = 0

        def read(size: int) -> None:
            nonlocal total
            if self.room() < size:
                raise VolumeTrouble("This host's disk has no room for a checkpoint.")
            total += size

        return await self._packed(volume, TreePack(bytes.fromhex(key), read)), total

    async def pin(self, cid: str) -> None:
        """Have the node keep it. Raises DatasetError, TimeoutError."""
        await self.ipfs.pin(cid, timeout=self.wait)

    # ------------------------------------------------------------------------------------------------- filling

    async def fill(self, volume: str, mount: VolumeMount, most: int) -> None:
        """Write into an empty volume what its export holds, `most` bytes at most.

        It goes on from where it was each time that it had to let another one. Raises DatasetUnavailable,
        DatasetCorrupt, DatasetTooLarge, WrongIdentity, EngineDown, OSError.
        """
        known = self.volumes.get(volume)
        whose, filling = "" if known is None else known.tenant, _Filling(volume, mount, most)
        # Whoever waits for a place holds no index meanwhile.
        await self.fillings.in_turns(whose, lambda place: self._fill(filling, place))

    async def _fill(self, filling: _Filling, place: PlaceHeld) -> None:
        given_up, loop = threading.Event(), asyncio.get_running_loop()
        sealed = await self._index(filling.cid, place)
        filling.check(sealed)

        def going() -> None:
            place.check()
            _going(given_up)

        def fetch(digest: bytes) -> bytes:
            going()
            coming = self.ipfs.get_block(cid_of_digest(digest), self.wait)
            block = asyncio.run_coroutine_threadsafe(coming, loop).result()
            place.got += len(block)
            return block

        def work() -> None:
            with _opened(self.volumes.seen(filling.volume)) as root:
                filling.go_on(sealed, root, fetch, going)

        working = loop.run_in_executor(self._pool, work)
        await _to_its_end(working, given_up)

    async def _index(self, cid: str, filling: PlaceHeld) -> bytes:
        """Raises PlaceLost: what has come lies at the host's node."""

        async def read(indexing: PlaceHeld) -> bytes:
            reading = asyncio.ensure_future(self._read_index(cid))
            try:
                return await indexing.unless_lost(reading)
            finally:
                await _ended(reading)

        queued = asyncio.ensure_future(self.indexing.in_turns(filling.whose, read))
        try:
            return await filling.unless_lost(queued)
        finally:
            await _ended(queued)

    async def _read_index(self, cid: str) -> bytes:
        listed = {entry.name: entry.cid for entry in await self.ipfs.ls(cid, timeout=self.wait)}
        if _INDEX not in listed:
            raise DatasetCorrupt(cid, "it is no export of a volume")
        return await self.ipfs.read_file(listed[_INDEX], MAX_INDEX, timeout=self.wait)


def _going(given_up: threading.Event) -> None:
    if given_up.is_set():
        raise TimeoutError


async def _to_its_end(working: asyncio.Future[T], given_up: threading.Event) -> T:
    """What a thread makes, or a task that has one. Whoever is cut off waits until it has let go of the volume, which is
    then closed: it does at the next entry or chunk.
    """
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        given_up.set()
        if isinstance(working, asyncio.Task):  # a future of a thread's would be done while that still runs
            working.cancel()
        await asyncio.wait([working])
        if not working.cancelled():
            working.exception()
        raise


@dataclass
class _Filling:
    """How far a volume is filled of its export."""

    volume: str
    mount: VolumeMount
    most: int
    made: int = 0
    begun: bool = False
    digest: bytes = b""

    @property
    def cid(self) -> str:
        assert self.mount.source is not None
        return self.mount.source

    def check(self, sealed: bytes) -> None:
        """Raises DatasetCorrupt for another index than the one that it was begun with."""
        digest = hashlib.sha256(sealed).digest()
        if self.digest not in (b"", digest):
            raise DatasetCorrupt(self.cid, "its index is another one than before")
        self.digest = digest

    def go_on(
        self, sealed: bytes, root: int, fetch: Callable[[bytes], bytes], going: Callable[[], None]
    ) -> None:
        """In a thread. Raises what `TreeUnpack` does, and what `fetch` and `going` do."""
        key = bytes.fromhex(self.mount.key or "")
        index = decode_index(TreeSeal(key).open(sealed, b"index"), self.cid)
        unpack = TreeUnpack(self.cid, index, key, fetch, self.most, going, self.made, self.begun)
        try:
            unpack.into(root)
        finally:
            self.made, self.begun = unpack.made, unpack.begun


async def _ended(work: asyncio.Future[bytes]) -> None:
    """Nobody wants it any more, whatever comes of it."""
    work.cancel()
    await asyncio.wait([work])
    if not work.cancelled():
        work.exception()


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
