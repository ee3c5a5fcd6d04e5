"""A volume leaves one host as a CID and begins on another with what it held, wherever either is cut off."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.offchain.datasets.odd_trees import look, odd_tree

from devnet.patience import patient
from leasehold.chain import LeaseState, cid_of_digest
from leasehold.datasets import FilePart, Ipfs, Listed
from leasehold.errors import DatasetCorrupt, DatasetUnavailable, IpfsUnreachable, WrongIdentity
from leasehold.workload import VolumeMount
from leasehold_agent._errors import NoContainer, VolumeTrouble
from leasehold_agent.host import MountSpace, SealedDisk
from leasehold_agent.reconciling import Carrying, LeaseBook
from leasehold_agent.reconciling._carrying import _Filling
from leasehold_agent.reconciling._fair_places import FairPlaces
from leasehold_agent.store import Volumes, volume_id

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
MIB = 1 << 20
A, B = "0x00000000000000000000000000000000000000A1", "0x00000000000000000000000000000000000000B2"
SIZE = 32 * MIB
MODELS = VolumeMount(name="models", path="/data", size=SIZE, key="ab" * 32)
LEASE, NEXT = 1 << 16, 2 << 16


class MemoryIpfs:
    """As far as a volume asks of a node: what is added is there, by its hash."""

    def __init__(self) -> None:
        self.blocks: dict[str, bytes] = {}
        self.folders: dict[str, dict[str, str]] = {}
        self.unpinned: list[str] = []
        self.pins: set[str] = set()
        self.away = False
        self.before_block = lambda: None

    async def add_stream(self, parts: Iterable[object], *, pin: bool = True, **_: object) -> str:
        def add() -> str:
            files = {}
            for part in parts:
                if isinstance(part, FilePart):
                    data = b"".join(part.chunks)
                    cid = cid_of_digest(hashlib.sha256(data).digest())
                    self.blocks[cid] = data
                    files[part.path.rpartition("/")[2]] = cid
            root = cid_of_digest(hashlib.sha256(repr(sorted(files.items())).encode()).digest())
            self.folders[root] = files
            self.pins |= {root} if pin else set()
            return root

        return await asyncio.to_thread(add)

    async def ls(self, cid: str, **_: object) -> list[Listed]:
        if cid not in self.folders:
            raise DatasetUnavailable(cid)
        return [Listed(name, file, 0) for name, file in self.folders[cid].items()]

    async def read_file(self, cid: str, most: int, **_: object) -> bytes:
        return self.blocks[cid]

    async def get_block(self, cid: str, _: float) -> bytes:
        await asyncio.to_thread(self.before_block)
        if cid not in self.blocks:
            raise DatasetUnavailable(cid)
        return self.blocks[cid]

    async def pin(self, cid: str, **_: object) -> None:
        self.pins.add(cid)

    async def unpin(self, cid: str) -> None:
        if self.away:
            raise IpfsUnreachable("/ip4/127.0.0.1/tcp/5001", "it is away")
        self.pins.discard(cid)
        self.unpinned.append(cid)


class Bench:
    """A host's volumes without the rest of it."""

    def __init__(self, folder: Path, ipfs: MemoryIpfs) -> None:
        self.free = 1 << 40
        self.volumes = Volumes(folder / "volumes", MountSpace())
        self.leases = LeaseBook(folder / "leases", "")
        self.carrying = Carrying(self.volumes, self.leases, cast(Ipfs, ipfs), lambda: self.free, 5.0)
        for lease in (LEASE, NEXT):
            self.leases.folder(lease).path.mkdir(parents=True)

    async def exported(self, lease: int = LEASE) -> str:
        self.carrying.begin(lease, volume_id(A, "models"), MODELS)
        await asyncio.gather(self.carrying._tasks[lease], return_exceptions=True)
        export = self.carrying.export_of(lease, "models")
        assert export is not None
        return export.cid or export.detail

    def close(self) -> None:
        for volume in self.volumes.all():
            SealedDisk(self.volumes.root / volume, self.volumes.space).close()


@pytest.fixture
def ipfs() -> MemoryIpfs:
    return MemoryIpfs()


@pytest.fixture
def here(tmp_path: Path, ipfs: MemoryIpfs) -> Iterator[Bench]:
    bench = Bench(tmp_path / "here", ipfs)
    yield bench
    bench.close()


@pytest.fixture
def there(tmp_path: Path, ipfs: MemoryIpfs) -> Iterator[Bench]:
    bench = Bench(tmp_path / "there", ipfs)
    yield bench
    bench.close()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110  # what is looked for announces nothing
        await asyncio.sleep(0.005)


async def filled(bench: Bench, cid: str, **changes: object) -> Path:
    mount = MODELS.model_copy(update={"source": cid, **changes})
    data = await bench.volumes.attach(NEXT, A, mount, SIZE)
    await bench.carrying.fill(volume_id(A, "models"), mount, SIZE)
    await bench.volumes.filled(volume_id(A, "models"))
    return data


class TestFromHostToHost:
    async def test_it_begins_with_what_it_held(self, here: Bench, there: Bench, ipfs: MemoryIpfs) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"kept" * MIB)
        (data / "folder").mkdir()
        (data / "folder" / "link").symlink_to("../file")
        cid = await here.exported()
        copy = await filled(there, cid)
        assert (copy / "file").read_bytes() == b"kept" * MIB
        assert (copy / "folder" / "link").readlink() == Path("../file")
        assert not any(b"kept" in data for data in ipfs.blocks.values())
        known = there.volumes.get(volume_id(A, "models"))
        assert known is not None
        assert known.filling == ""

    async def test_of_the_next_export_what_did_not_change_is_there(
        self, here: Bench, ipfs: MemoryIpfs
    ) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        for number in range(6):
            (data / str(number)).write_bytes(bytes([number]) * 2 * MIB)
        first = await here.exported()
        before = set(ipfs.blocks)
        (data / "0").write_bytes(b"changed")
        second = await here.exported()
        assert len(set(ipfs.blocks) - before) == 2  # one chunk, and the index
        assert (here.carrying.export_of(LEASE, "models"), ipfs.unpinned) != (None, [])
        assert ipfs.unpinned == [first]
        assert second != first
        await here.carrying.forget(LEASE)
        assert ipfs.unpinned == [first, second]

    async def test_what_another_lease_has_exported_too_stays(self, here: Bench, ipfs: MemoryIpfs) -> None:
        await here.volumes.attach(LEASE, A, MODELS, SIZE)
        cid = await here.exported()
        shutil.copy(here.leases.folder(LEASE).exports, here.leases.folder(NEXT).exports)
        await here.carrying.forget(LEASE)
        assert ipfs.unpinned == []
        assert (here.carrying.export_of(NEXT, "models") or MODELS).cid == cid  # type: ignore[union-attr]  # it is one

    async def test_what_a_node_could_not_be_told_is_told_to_whoever_clears_up(
        self, here: Bench, ipfs: MemoryIpfs
    ) -> None:
        """Its folder goes with what lists it, and the node would keep it for ever."""
        await here.volumes.attach(LEASE, A, MODELS, SIZE)
        cid = await here.exported()
        ipfs.away = True
        assert await here.carrying.forget(LEASE) == {cid}
        ipfs.away = False
        assert await here.carrying.forget(LEASE) == set()
        assert ipfs.unpinned == [cid]

    async def test_another_key_and_another_cid_open_nothing(
        self, here: Bench, there: Bench, ipfs: MemoryIpfs
    ) -> None:
        await here.volumes.attach(LEASE, A, MODELS, SIZE)
        cid = await here.exported()
        with pytest.raises(WrongIdentity):
            await filled(there, cid, key="cd" * 32)
        there.volumes.space.unmount(there.volumes.data(volume_id(A, "models")).parent)
        with pytest.raises(DatasetUnavailable):
            await filled(there, cid_of_digest(bytes(32)))
        ipfs.folders[cid].pop("index")
        with pytest.raises(DatasetCorrupt):
            await filled(there, cid)


class TestOddNames:
    """Files with newlines in their names, names of 255 bytes, links, holes, empty folders, modes and owners."""

    async def there_and_back(self, here: Bench, there: Bench, files: int, size: int) -> None:
        tree = await here.volumes.attach(LEASE, A, MODELS, size)
        await asyncio.to_thread(odd_tree, tree / "tree", files)
        told = await asyncio.to_thread(look, tree)
        await here.volumes.detach(LEASE)
        again = await here.volumes.attach(NEXT, A, MODELS, size)  # the lease is over, and renewed
        assert await asyncio.to_thread(look, again) == told
        cid = await here.exported(NEXT)
        mount = MODELS.model_copy(update={"source": cid, "size": size})
        copy = await there.volumes.attach(NEXT, A, mount, size)
        await there.carrying.fill(volume_id(A, "models"), mount, size)
        assert await asyncio.to_thread(look, copy) == told

    @pytest.mark.slow
    async def test_they_come_back_as_they_went(self, here: Bench, there: Bench) -> None:
        await self.there_and_back(here, there, 2_000, 128 * MIB)

    @pytest.mark.deep
    async def test_a_hundred_thousand_do(self, here: Bench, there: Bench) -> None:
        await self.there_and_back(here, there, 100_000, 1 << 30)


class TestCutOff:
    @pytest.mark.parametrize("pinned", [False, True])
    async def test_one_that_was_kept_as_the_agent_died_goes_with_its_lease(
        self, here: Bench, ipfs: MemoryIpfs, pinned: bool
    ) -> None:
        """And is not told as done, for the node may not have it."""
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"kept")
        pin = ipfs.pin

        async def die(cid: str, **options: object) -> None:
            if pinned:
                await pin(cid)
            raise asyncio.CancelledError

        ipfs.pin = die  # type: ignore[method-assign]
        await here.exported()
        again = Carrying(here.volumes, here.leases, cast(Ipfs, ipfs), lambda: 1 << 40, 5.0)
        assert again.export_of(LEASE, "models") is None
        assert await again.forget(LEASE) == set()
        assert ipfs.pins == set()
        assert ipfs.unpinned == list(ipfs.folders)

    async def test_an_equal_one_that_another_lease_lets_go_of_meanwhile(
        self, here: Bench, ipfs: MemoryIpfs
    ) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"kept")
        cid = await here.exported(NEXT)
        add_stream = ipfs.add_stream

        async def add(*parts: Any, **options: Any) -> str:
            added = await add_stream(*parts, **options)
            await here.carrying.forget(NEXT)
            return added

        ipfs.add_stream = add  # type: ignore[method-assign]
        assert await here.exported(LEASE) == cid
        assert ipfs.unpinned == [cid]
        assert ipfs.pins == {cid}

    async def test_one_that_takes_the_place_of_another(self, here: Bench, ipfs: MemoryIpfs) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"one")
        await here.exported()
        (data / "file").write_bytes(b"two")
        assert ipfs.pins == {await here.exported()}

    async def test_a_volume_that_could_not_be_made_counts_for_nobody(self, here: Bench) -> None:
        with pytest.raises(VolumeTrouble):
            await here.volumes.attach(LEASE, A, MODELS, 1 << 60)
        assert here.volumes.all() == {}
        assert list(here.volumes.root.iterdir()) == []

    async def test_half_of_an_export_is_none(self, here: Bench, there: Bench, ipfs: MemoryIpfs) -> None:
        """Killed while it was filled: the next attempt begins with an empty volume."""
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"kept")
        cid = await here.exported()
        mount = MODELS.model_copy(update={"source": cid})
        half = await there.volumes.attach(NEXT, A, mount, SIZE)
        (half / "half").write_bytes(b"x")
        copy = await filled(there, cid)
        assert [path.name for path in copy.iterdir()] == ["file"]
        (copy / "mine").write_bytes(b"x")
        again = await there.volumes.attach(
            NEXT, A, mount, SIZE
        )  # it is there now: its source is not asked again
        assert (again / "mine").exists()

    async def test_a_lease_that_ends_lets_go_of_its_volume(self, here: Bench) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(bytes(8 * MIB))
        reading, go_on = threading.Event(), threading.Event()

        def room() -> int:
            reading.set()
            go_on.wait()
            return 1 << 40

        here.carrying.room = room
        here.carrying.begin(LEASE, volume_id(A, "models"), MODELS)
        with pytest.raises(VolumeTrouble, match="being exported"):
            here.carrying.begin(LEASE, volume_id(A, "models"), MODELS)
        await asyncio.to_thread(reading.wait)
        closing = asyncio.create_task(here.carrying.close(LEASE))
        go_on.set()
        await closing
        await here.carrying.aclose()

    async def test_a_lease_that_ends_while_its_volume_is_filled(
        self, here: Bench, there: Bench, ipfs: MemoryIpfs
    ) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        for number in range(4):
            (data / str(number)).write_bytes(bytes([number]) * 2 * MIB)
        cid = await here.exported()
        asked, go_on = threading.Event(), threading.Event()

        def slow() -> None:
            asked.set()
            go_on.wait()

        ipfs.before_block = slow  # type: ignore[assignment]  # as slow as a node may be
        filling = asyncio.create_task(filled(there, cid))
        await asyncio.to_thread(asked.wait)
        filling.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await filling
        await there.volumes.detach(NEXT)
        assert there.volumes.held() == {}

    async def test_a_slow_source_holds_up_nobody_and_loses_nothing(
        self, here: Bench, there: Bench, ipfs: MemoryIpfs
    ) -> None:
        """Four tenants with sources that give a chunk now and then would have had all places for good."""
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        for number in range(4):
            (data / str(number)).write_bytes(bytes([number]) * 2 * MIB)
        slow = await here.exported()
        slow_chunks = set(ipfs.blocks)
        (data / "0").write_bytes(b"other" * MIB)
        for number in range(1, 4):
            (data / str(number)).unlink()
        quick = await here.exported()

        carrying, asked, go_on = there.carrying, list[str](), threading.Event()
        carrying.fillings = FairPlaces(1, 0.01)
        get_block = ipfs.get_block

        async def get_slowly(cid: str, wait: float) -> bytes:
            asked.append(cid)
            if cid in slow_chunks and len(asked) == 3:
                await asyncio.to_thread(go_on.wait)
            return await get_block(cid, wait)

        ipfs.get_block = get_slowly  # type: ignore[method-assign]
        trickling = asyncio.create_task(filled(there, slow))
        await until(lambda: len(asked) == 3)
        mount = MODELS.model_copy(update={"name": "other", "source": quick})
        await there.volumes.attach(LEASE, B, mount, SIZE)
        filling = asyncio.create_task(there.carrying.fill(volume_id(B, "other"), mount, SIZE))
        await until(lambda: carrying.fillings._held[0].lost.is_set())
        carrying.fillings.window = patient(
            60
        )  # once is enough: on a slow machine either would lose its place again
        go_on.set()
        await filling
        assert (there.volumes.seen(volume_id(B, "other")) / "0").read_bytes() == b"other" * MIB
        copy = await trickling
        assert [(copy / str(n)).read_bytes() for n in range(4)] == [bytes([n]) * 2 * MIB for n in range(4)]
        again = [cid for cid in slow_chunks if asked.count(cid) > 1]
        assert len(again) <= 2, "what had come is not asked for again, but of the file that was begun"

    async def test_another_index_than_the_one_it_began_with(
        self, here: Bench, there: Bench, ipfs: MemoryIpfs
    ) -> None:
        """Its tenant has the key and could make one: it is believed where it was left."""
        filling = _Filling(volume_id(A, "models"), MODELS.model_copy(update={"source": "cid"}), SIZE)
        filling.check(b"index")
        filling.check(b"index")
        with pytest.raises(DatasetCorrupt, match="another one"):
            filling.check(b"other index")

    async def test_an_index_that_does_not_end_holds_up_nobody(
        self, here: Bench, there: Bench, ipfs: MemoryIpfs
    ) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"kept")
        cid = await here.exported()
        carrying, read_file, endless = there.carrying, ipfs.read_file, asyncio.Event()
        carrying.indexing = FairPlaces(1, 0.01)

        async def never(cid: str, most: int, **options: object) -> bytes:
            ipfs.read_file = read_file  # type: ignore[method-assign]
            endless.set()
            return await asyncio.Event().wait() and b""

        ipfs.read_file = never  # type: ignore[method-assign]
        trickling = asyncio.create_task(filled(there, cid))
        await endless.wait()
        mount = MODELS.model_copy(update={"name": "other", "source": cid})
        await there.volumes.attach(LEASE, B, mount, SIZE)
        await there.carrying.fill(volume_id(B, "other"), mount, SIZE)
        assert (await trickling / "file").read_bytes() == b"kept"

    async def test_a_full_disk_and_what_cannot_be_read_are_said(self, here: Bench, ipfs: MemoryIpfs) -> None:
        data = await here.volumes.attach(LEASE, A, MODELS, SIZE)
        (data / "file").write_bytes(b"x")
        here.free = 0
        assert "no room" in await here.exported()
        here.free = 1 << 40
        await here.volumes.detach(LEASE)
        assert "No such file" in await here.exported()
        ipfs.add_stream = None  # type: ignore[assignment,method-assign]  # what nobody foresaw
        await here.volumes.attach(LEASE, A, MODELS, SIZE)
        assert await here.exported() == "internal error"
        here.leases.folder(LEASE).exports.write_text("no json")
        await here.carrying.forget(LEASE)
        assert here.carrying.export_of(LEASE, "models") is None


@pytest.mark.slow
class TestOnAHost:
    async def test_it_is_carried_by_its_cid_and_the_cid_goes_with_the_lease(self, rig: Rig) -> None:
        volume: dict[str, Any] = {"name": "models", "path": "/data", "size": SIZE, "key": "ab" * 32}
        first = await rig.open(rig.workload(grace=0, volumes=[volume]))
        await rig.reaches(first, LeaseState.ACTIVE)
        await rig.inside(
            first, "mkdir /data/d; echo kept > /data/d/f; ln /data/d/f /data/g; chmod 751 /data/d"
        )
        with pytest.raises(NoContainer):
            await rig.runtime.export(first, "other")
        await rig.runtime.export(first, "models")

        async def done() -> str:
            (facts,) = await rig.runtime.volumes(first)
            assert facts.attached
            assert facts.used is not None
            assert facts.size == SIZE
            return facts.export.cid or "" if facts.export else ""

        await rig.until(done)
        cid = await done()
        assert cid in await rig.ipfs.pins()
        with pytest.raises(VolumeTrouble, match="attached to lease 1"):
            await rig.runtime.discard(first, "models")
        await rig.chain.pool(TENANT).close(first)
        await rig.until(lambda: not rig.host.volumes.held())
        await rig.runtime.discard(first, "models")
        assert rig.host.volumes.all() == {}
        second = await rig.open(rig.workload(grace=0, volumes=[volume | {"source": cid}]))
        await rig.reaches(second, LeaseState.ACTIVE, 60)
        assert (await rig.inside(second, "cat /data/d/f; stat -c '%a %h' /data/d /data/g"))[
            1
        ] == "kept\n751 2\n644 2\n"
        rig.chain.anvil.request("evm_increaseTime", rig.settings.retention_max + 86_400)
        rig.chain.anvil.request("anvil_mine", "0x2")
        await rig.until(lambda: first not in rig.host.leases.folders())
        assert cid not in await rig.ipfs.pins()

    async def test_what_is_here_from_before_is_not_taken_for_an_export(self, rig: Rig) -> None:
        """Nor lost to one: a lease that moves back finds what it left here, which is older than what it brings."""
        volume: dict[str, Any] = {"name": "models", "path": "/data", "size": SIZE, "key": "ab" * 32}
        first = await rig.open(rig.workload(grace=0, volumes=[volume]))
        await rig.reaches(first, LeaseState.ACTIVE)
        await rig.inside(first, "echo old > /data/f")
        await rig.chain.pool(TENANT).close(first)
        await rig.until(lambda: not rig.host.volumes.held())
        source = cid_of_digest(hashlib.sha256(b"newer").digest())
        second = await rig.open(rig.workload(grace=0, volumes=[volume | {"source": source}]))
        await rig.until(lambda: rig.host.leases.folder(second).load().failure is not None)
        assert rig.host.leases.folder(second).load().failure == "unsupported"
        await rig.reaches(second, LeaseState.CANCELLED)
        third = await rig.open(rig.workload(grace=0, volumes=[volume]))
        await rig.reaches(third, LeaseState.ACTIVE)
        assert (await rig.inside(third, "cat /data/f"))[1] == "old\n"

    async def test_a_source_that_nobody_has_is_no_lease(self, rig: Rig) -> None:
        source = cid_of_digest(hashlib.sha256(b"nobody's").digest())
        volume = {"name": "models", "path": "/data", "size": SIZE, "key": "ab" * 32, "source": source}
        lease = await rig.open(rig.workload(grace=0, volumes=[volume]))
        await rig.until(lambda: rig.host.leases.folder(lease).load().failure is not None)
        assert rig.host.leases.folder(lease).load().failure == "dataset-missing"
        await rig.until(lambda: rig.host.volumes.all() == {})
