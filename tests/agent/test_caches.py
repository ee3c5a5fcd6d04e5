"""Datasets and images on their way in: real IPFS, real engine."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devnet import images
from devnet.engine import Engine as DevEngine
from devnet.kubo import Kubo
from leasehold.datasets import Ipfs
from leasehold.workload import DatasetMount
from leasehold_agent._errors import Declined, EngineDown, EngineRefused
from leasehold_agent.engine import Engine, Images
from leasehold_agent.engine._image_archive import survey
from leasehold_agent.engine._image_notes import ImageNote, ImageNotes
from leasehold_agent.reconciling import Supplies
from leasehold_agent.store import CodeStore, DatasetCache, UploadedWorkloads, packer

ALICE, BOB = "0xA", "0xB"
LIMIT = 1 << 30


@pytest.fixture
async def ipfs(kubo: Kubo) -> AsyncIterator[Ipfs]:
    async with Ipfs(kubo.api) as client:
        yield client


@pytest.fixture
async def engine(docker_engine: DevEngine) -> AsyncIterator[Engine]:
    found = Engine(docker_engine.url)
    yield found
    found.close()


def nothing(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def folder(tmp_path: Path, name: str, size: int = 10) -> Path:
    made = tmp_path / name
    made.mkdir()
    (made / "file").write_bytes(name.encode() * size)
    return made


class TestDatasets:
    def cache(self, tmp_path: Path, ipfs: Ipfs, *, room: int = 1 << 30, reserve: int = 0) -> DatasetCache:
        return DatasetCache(tmp_path / "cache", ipfs, room=room, reserve=reserve, wait=2)

    async def test_fetched_once_for_all(self, tmp_path: Path, ipfs: Ipfs, kubo: Kubo) -> None:
        cache = self.cache(tmp_path, ipfs)
        cid = (await ipfs.add_folder(folder(tmp_path, "shared"))).cid
        mount = DatasetMount(cid=cid, path="/data")
        found = await asyncio.gather(*(cache.get(mount, who, (), nothing) for who in (ALICE, BOB)))
        assert found[0] == found[1]
        assert (found[0] / "file").read_bytes() == b"shared" * 10
        assert (found[0] / "file").stat().st_mode & 0o777 == 0o644
        assert cache.public() == [cid]

    async def test_a_sealed_dataset_is_its_tenants_alone(self, tmp_path: Path, ipfs: Ipfs) -> None:
        cache = self.cache(tmp_path, ipfs)
        added = await ipfs.add_folder(folder(tmp_path, "secret"), encrypt=True)
        mount = DatasetMount(cid=added.cid, path="/data", key=added.key)
        found = await cache.get(mount, ALICE, (), nothing)
        assert (found / "file").read_bytes() == b"secret" * 10
        assert cache.name(mount, BOB) != cache.name(mount, ALICE) == found.name
        assert added.cid not in found.name
        assert cache.public() == []

    async def test_a_key_that_does_not_open_it(self, tmp_path: Path, ipfs: Ipfs) -> None:
        added = await ipfs.add_folder(folder(tmp_path, "locked"), encrypt=True)
        other = await ipfs.add_folder(folder(tmp_path, "other"), encrypt=True)
        mount = DatasetMount(cid=added.cid, path="/data", key=other.key)
        with pytest.raises(Declined) as refused:
            await self.cache(tmp_path, ipfs).get(mount, ALICE, (), nothing)
        assert refused.value.reason == "dataset-missing"

    async def test_what_was_used_longest_ago_makes_room(self, tmp_path: Path, ipfs: Ipfs) -> None:
        cache = self.cache(tmp_path, ipfs, room=250_000)
        mounts = []
        for name in ("aa", "bb", "cc"):
            cid = (await ipfs.add_folder(folder(tmp_path, name, 50_000))).cid
            mounts.append(DatasetMount(cid=cid, path="/data"))
        first = await cache.get(mounts[0], ALICE, (), nothing)
        second = await cache.get(mounts[1], ALICE, (), nothing)
        _age(first, 200)
        _age(second, 100)
        await cache.get(mounts[2], ALICE, {first.name}, nothing)
        assert first.is_dir()  # in use
        assert not second.is_dir()

    async def test_what_was_cut_short_counts_and_goes_first(self, tmp_path: Path, ipfs: Ipfs) -> None:
        """Leases that are declined for datasets that nobody delivers in full do not fill the disk."""
        cache = self.cache(tmp_path, ipfs, room=250_000)
        cids = [(await ipfs.add_folder(folder(tmp_path, name, 50_000))).cid for name in ("aa", "bb")]
        first = await cache.get(DatasetMount(cid=cids[0], path="/data"), ALICE, (), nothing)
        remains = [tmp_path / "cache" / f".part-{name}" for name in ("one", "two")]
        for part in remains:
            part.mkdir()
            (part / "file").write_bytes(bytes(60_000))
        await cache.get(DatasetMount(cid=cids[1], path="/data"), ALICE, (), nothing)
        assert not all(part.exists() for part in remains)
        assert first.is_dir()

    async def test_of_what_is_useless_nothing_remains(
        self, tmp_path: Path, ipfs: Ipfs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        added = await ipfs.add_folder(folder(tmp_path, "big", 50_000))
        cache = self.cache(tmp_path, ipfs)
        locked = await ipfs.add_folder(folder(tmp_path, "locked"), encrypt=True)
        other = (await ipfs.add_folder(folder(tmp_path, "other"), encrypt=True)).key
        with pytest.raises(Declined):
            await cache.get(DatasetMount(cid=locked.cid, path="/data", key=other), ALICE, (), nothing)
        usage, free = shutil.disk_usage(tmp_path), 1 << 40
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))

        def fills(done: int, total: int) -> None:
            nonlocal free
            free = 10  # somebody else, once the fetch has begun

        full = self.cache(tmp_path, ipfs, reserve=1 << 20)
        with pytest.raises(Declined) as refused:
            await full.get(DatasetMount(cid=added.cid, path="/data"), ALICE, (), fills)
        assert refused.value.reason == "no-disk"
        assert list((tmp_path / "cache").iterdir()) == []

    async def test_too_large_for_what_is_left(self, tmp_path: Path, ipfs: Ipfs) -> None:
        cid = (await ipfs.add_folder(folder(tmp_path, "large", 50_000))).cid
        mount = DatasetMount(cid=cid, path="/data")
        for cache in (
            self.cache(tmp_path, ipfs, room=1_000),
            self.cache(tmp_path, ipfs, reserve=1 << 60),
        ):
            with pytest.raises(Declined) as refused:
                await cache.get(mount, ALICE, (), nothing)
            assert refused.value.reason == "no-disk"


def _age(path: Path, seconds: int) -> None:
    import os

    now = path.stat().st_mtime
    os.utime(path, (now - seconds, now - seconds))


class TestImages:
    async def test_an_archive_on_ipfs(
        self, tmp_path: Path, ipfs: Ipfs, engine: Engine, docker_engine: DevEngine
    ) -> None:
        made = folder(tmp_path, "archive")
        (made / "image.tar").write_bytes(images.tiny().archive.read_bytes())
        (made / "file").unlink()
        root = await ipfs.add_folder(made)
        (entry,) = await ipfs.ls(root.cid)
        finder = Images(engine, ipfs, tmp_path / "images", wait=5)
        assert await finder.ensure(f"ipfs:{entry.cid}") == images.tiny().id
        # Known by now: the archive is not asked for again.
        (tmp_path / "images").chmod(0o500)
        assert await finder.ensure(f"ipfs:{entry.cid}") == images.tiny().id
        assert await finder.ensure(images.tiny().id) == images.tiny().id
        with pytest.raises(Declined, match="folder"):
            await Images(engine, ipfs, tmp_path / "i2", wait=5).ensure(f"ipfs:{root.cid}")

    async def test_bytes_that_are_no_archive(self, tmp_path: Path, ipfs: Ipfs, engine: Engine) -> None:
        root = await ipfs.add_folder(folder(tmp_path, "junk"))
        (entry,) = await ipfs.ls(root.cid)
        with pytest.raises(Declined) as refused:
            await Images(engine, ipfs, tmp_path / "images", wait=5).ensure(f"ipfs:{entry.cid}")
        assert refused.value.reason == "image-unknown"

    async def test_a_strangers_archive_takes_no_names(
        self, tmp_path: Path, ipfs: Ipfs, engine: Engine, docker_engine: DevEngine
    ) -> None:
        """Contact documents list images by name: a tenant must not put an image of its own under one."""
        known = images.tiny()
        layer = _layer(tmp_path)
        for names in (["leasehold/tiny:1"], ["leasehold/tiny:1", "leasehold/base:9"]):
            archive = tmp_path / "hostile.tar"
            hostile = images.archive_of(layer, names[0], {"Cmd": names}, archive)
            _rename(archive, names)
            assert await engine.load_image(survey(archive, LIMIT), "leasehold/ipfs:one") == hostile
            found = await engine.images()
            assert (known.id, "leasehold/tiny:1") in found
            assert (hostile, "leasehold/ipfs:one") in found
            assert "leasehold/base:9" not in {name for _, name in found}

    async def test_an_archive_of_several_leaves_nothing(self, tmp_path: Path, engine: Engine) -> None:
        layer = _layer(tmp_path)
        first, second, both = (tmp_path / name for name in ("1.tar", "2.tar", "both.tar"))
        ids = [
            images.archive_of(layer, name, {"Cmd": ["several", name]}, path)
            for name, path in (("leasehold/tiny:1", first), ("lht/second:1", second))
        ]
        _joined(first, second, both)
        with pytest.raises(EngineRefused, match="2 images"):
            survey(both, LIMIT)
        assert [await engine.image_size(each) for each in ids] == [None, None]
        assert (images.tiny().id, "leasehold/tiny:1") in await engine.images()

    async def test_an_archive_larger_than_the_disk_has_room_for(
        self, tmp_path: Path, ipfs: Ipfs, engine: Engine
    ) -> None:
        root = await ipfs.add_folder(folder(tmp_path, "large", 50_000))
        (entry,) = await ipfs.ls(root.cid)
        finder = Images(engine, ipfs, tmp_path / "images", wait=5, reserve=1 << 60)
        with pytest.raises(Declined, match="cannot be had"):
            await finder.ensure(f"ipfs:{entry.cid}")


def _layer(tmp_path: Path) -> Path:
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as tar:
        tar.addfile(tarfile.TarInfo("hostile"))
    return layer


def _entries(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: (tar.extractfile(member) or io.BytesIO()).read() for member in tar}


def _write(archive: Path, entries: dict[str, bytes]) -> None:
    with tarfile.open(archive, "w") as tar:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def _rename(archive: Path, names: list[str]) -> None:
    entries = _entries(archive)
    (described,) = json.loads(entries["manifest.json"])
    _write(archive, {**entries, "manifest.json": json.dumps([{**described, "RepoTags": names}]).encode()})


def _joined(first: Path, second: Path, both: Path) -> None:
    one, two = _entries(first), _entries(second)
    described = json.loads(one["manifest.json"]) + json.loads(two["manifest.json"])
    _write(both, {**one, **two, "manifest.json": json.dumps(described).encode()})


class TestEngine:
    async def test_asking_for_what_is_so_already(self, engine: Engine) -> None:
        facts = await engine.facts()
        assert facts.quota
        assert "runc" in facts.runtimes
        for _ in range(2):
            await engine.ensure_network("lht-net", "lh-test0", {"a": "b"})
        assert await engine.networks("a=b") == ["lht-net"]
        for _ in range(2):
            await engine.remove_network("lht-net")
            await engine.remove("lht-no-such-container")
            await engine.stop("lht-no-such-container", 0)
        assert await engine.inspect("lht-no-such-container") is None
        assert (images.tiny().id, "leasehold/tiny:1") in await engine.images()

    async def test_what_the_engine_refuses(self, engine: Engine, tmp_path: Path) -> None:
        with pytest.raises(EngineRefused):
            await engine.start("lht-no-such-container")
        (tmp_path / "x").write_bytes(b"no archive")
        with pytest.raises(EngineRefused):
            survey(tmp_path / "x", LIMIT)

    async def test_an_engine_that_is_not_there(self, tmp_path: Path) -> None:
        for url in (f"unix://{tmp_path}/none.sock", "tcp://127.0.0.1:1"):
            absent = Engine(url)
            with pytest.raises(EngineDown, match="does not answer"):
                await absent.facts()
            absent.close()


# -------------------------------------------------------------------------------------- what makes room first


class TestRoom:
    """Images and datasets by one order: what was used longest ago goes first, and nothing that a lease uses."""

    async def supplies(self, tmp_path: Path, ipfs: Ipfs, engine: Engine) -> Supplies:
        cache = DatasetCache(tmp_path / "cache", ipfs, room=LIMIT, reserve=0, wait=5)
        found = Images(engine, ipfs, tmp_path / "images", wait=5)
        uploads = UploadedWorkloads(tmp_path / "uploads")
        code = CodeStore(tmp_path / "code", room=LIMIT, reserve=0)
        return Supplies(ipfs, uploads, found, cache, packer(ipfs), code)

    async def archive(self, tmp_path: Path, ipfs: Ipfs, name: str) -> str:
        """An image on IPFS as a workload names it."""
        layer, made = _layer(tmp_path), tmp_path / f"of-{name}"
        made.mkdir()
        images.archive_of(layer, f"lht/{name}:1", {"Cmd": [name]}, made / "image.tar")
        (entry,) = await ipfs.ls((await ipfs.add_folder(made)).cid)
        return f"ipfs:{entry.cid}"

    async def test_what_was_used_longest_ago_goes_first(
        self, tmp_path: Path, ipfs: Ipfs, engine: Engine
    ) -> None:
        supplies = await self.supplies(tmp_path, ipfs, engine)
        names = [await self.archive(tmp_path, ipfs, name) for name in ("aaa", "bbb", "ccc")]
        ids = [await supplies.images.ensure(name) for name in names]
        mount = DatasetMount(cid=(await ipfs.add_folder(folder(tmp_path, "dd"))).cid, path="/data")
        data = await supplies.datasets.get(mount, ALICE, (), nothing)
        # Fetched as aaa, bbb, ccc, dataset; used last as bbb, dataset, ccc, aaa.
        for age, note in enumerate(reversed([_note(tmp_path, names[1]), data, _note(tmp_path, names[2])])):
            _age(note, 100 * (age + 1))
        _age(_note(tmp_path, names[0]), 1_000)
        supplies.used(names[0], ())
        gone = []
        while await supplies.forget_unused((), (), tmp_path):
            here = [await engine.image_size(each) is not None for each in ids]
            gone.append((*here, data.is_dir()))
        assert gone == [
            (True, False, True, True),
            (True, False, True, False),
            (True, False, False, False),
            (False, False, False, False),
        ]

    async def test_nothing_goes_that_a_lease_uses(self, tmp_path: Path, ipfs: Ipfs, engine: Engine) -> None:
        supplies = await self.supplies(tmp_path, ipfs, engine)
        name = await self.archive(tmp_path, ipfs, "eee")
        await supplies.images.ensure(name)
        mount = DatasetMount(cid=(await ipfs.add_folder(folder(tmp_path, "ff"))).cid, path="/data")
        data = await supplies.datasets.get(mount, ALICE, (), nothing)
        assert not await supplies.forget_unused([name], [data.name], tmp_path)
        assert not await supplies.forget_unused([name], (), Path("/proc"))  # room that would be elsewhere
        assert data.is_dir()
        assert await supplies.forget_unused((), [data.name], tmp_path)
        assert data.is_dir()

    async def test_what_is_taken_up_meanwhile_stays(self, tmp_path: Path, ipfs: Ipfs, engine: Engine) -> None:
        supplies = await self.supplies(tmp_path, ipfs, engine)
        name = await self.archive(tmp_path, ipfs, "ggg")
        await supplies.images.ensure(name)
        mount = DatasetMount(cid=(await ipfs.add_folder(folder(tmp_path, "hh"))).cid, path="/data")
        data = await supplies.datasets.get(mount, ALICE, (), nothing)
        for path in (_note(tmp_path, name), data):
            _age(path, 100)
        ((image_used, note),) = supplies.images.idle(())
        ((data_used, _),) = supplies.datasets.idle(())
        await supplies.images.ensure(name)
        await supplies.datasets.get(mount, ALICE, (), nothing)
        assert not await supplies.images.forget(note, image_used)
        assert not await supplies.datasets.forget(data.name, data_used)
        assert data.is_dir()

    async def test_an_image_under_a_container_that_has_ended_stays(
        self, tmp_path: Path, ipfs: Ipfs, engine: Engine, docker_engine: DevEngine
    ) -> None:
        """By its id the engine would remove it from under what is kept of a lease."""
        supplies = await self.supplies(tmp_path, ipfs, engine)
        name = await self.archive(tmp_path, ipfs, "iii")
        image = await supplies.images.ensure(name)
        with docker_engine.client() as client:
            client.containers.create(image, ["x"], name="lht-ended", network_mode="none")
        try:
            assert not await supplies.forget_unused((), (), tmp_path)
            assert await engine.image_size(image) is not None
        finally:
            await engine.remove("lht-ended")
        assert await supplies.forget_unused((), (), tmp_path)

    async def test_notes_of_an_older_agent(self, tmp_path: Path) -> None:
        """Their images are nobody's in particular, and go like others."""
        notes = ImageNotes(tmp_path)
        reference = "ghcr.io/a/b@sha256:" + "1" * 64
        (tmp_path / ImageNote(reference, "").file).write_text(reference)
        (tmp_path / "bafyx").write_text("sha256:" + "2" * 64)
        assert {note for _, note in notes.by_last_use()} == {
            ImageNote(reference, reference),
            ImageNote("ipfs:bafyx", "sha256:" + "2" * 64),
        }
        assert notes.of(reference) == ImageNote(reference, reference)


def _note(tmp_path: Path, named: str) -> Path:
    return tmp_path / "images" / ImageNote(named, "").file
