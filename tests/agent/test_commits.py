"""A container as an image without the rest of a host: what of it is whole, whose it is, what is tried against it."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.agent.test_carrying import A, B
from tests.agent.test_checkpoints import LEASE, NOW, RUNS, Node
from tests.agent.test_image_bombs import image, tar

from leasehold.datasets import Ipfs, decrypt, encrypt, new_identity, recipient_of
from leasehold.errors import DatasetTooLarge, SealBroken, WrongIdentity
from leasehold_agent._errors import CommitUnderWay, Declined, EngineDown
from leasehold_agent._runtime import CommitFacts
from leasehold_agent.engine import Claimant, Images
from leasehold_agent.engine._image_archive import survey
from leasehold_agent.engine._local_image import LocalImage, config_with
from leasehold_agent.engine._sealed_archive import open_archive
from leasehold_agent.host import MountSpace
from leasehold_agent.reconciling import Carrying, Checkpoints, Committing, Containers, LeaseBook
from leasehold_agent.reconciling._committing import _rest
from leasehold_agent.store import CommitNotes, Notes, Volumes, read_commit, write_commit

MIB = 1 << 20
NEXT = 2 << 16
KEY, OTHER = new_identity(), new_identity()
BASE = {
    "Architecture": "amd64", "Os": "linux", "Created": "2026-01-01T00:00:00Z",
    "Config": {"Env": ["PATH=/bin"], "Cmd": ["sh"], "User": "1000", "Volumes": {"/data": {}}},
}  # fmt: skip
FILES = tar(changed=b"by hand" * 9)


class Bench:
    """A host's images of containers, whose engine has one container that holds `files`."""

    def __init__(self, folder: Path) -> None:
        self.free, self.time, self.node, self.files = 1 << 40, NOW, Node(), [FILES]
        self.said: list[str] = []
        self.reading, self.goes_on, self.slept = asyncio.Event(), asyncio.Event(), list[float]()
        self.goes_on.set()
        self.leases, self.folder = LeaseBook(folder / "leases", ""), folder / "commits"
        volumes = Volumes(folder / "volumes", MountSpace())
        carrying = Carrying(volumes, self.leases, cast(Ipfs, self.node), lambda: self.free, 5.0)
        engine = SimpleNamespace(
            streams=SimpleNamespace(export=self._export),
            pause=self._said("pause"),
            unpause=self._said("unpause"),
            config_with=self._config,
            survey=self._survey,
        )
        containers = cast(Containers, SimpleNamespace(engine=engine))
        checkpoints = Checkpoints(containers, volumes, self.leases, carrying)
        self.commits = Committing(
            containers,
            self.leases,
            carrying,
            checkpoints,
            self.folder,
            64 * MIB,
            lambda: self.time,
            self._sleep,
        )
        for lease in (LEASE, NEXT):
            self.leases.folder(lease).save(Notes(tenant=A, author=A, machine=1))

    def _said(self, what: str) -> Any:
        async def say(_: str) -> None:
            self.said.append(what)

        return say

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def _export(self, container: str) -> AsyncIterator[bytes]:
        assert container == RUNS.id
        try:
            for part in self.files:
                self.said.append("read")
                self.reading.set()
                await self.goes_on.wait()
                yield part
        finally:
            self.said.append("closed")

    async def _config(self, base: str, layers: list[str]) -> bytes:
        assert base == "sha256:base"
        return config_with(BASE, layers)

    async def _survey(self, archive: Path, limit: int) -> object:
        return await asyncio.to_thread(survey, archive, limit)

    def begin(self, lease: int = LEASE, *, tenant: str = A, key: str = KEY, most: int = 32 * MIB) -> None:
        self.commits.begin(lease, tenant, recipient_of(key), RUNS, "sha256:base", most)

    async def made(self, lease: int = LEASE, **more: Any) -> CommitFacts:
        self.begin(lease, **more)
        await asyncio.wait([self.commits._tasks[lease]])
        return self.commits.facts(lease, more.get("tenant", A))

    def sealed(self, cid: str) -> bytes:
        return self.node.blocks[self.node.folders[cid]["image"]]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    yield made
    await made.commits.aclose()
    await made.commits.carrying.aclose()
    assert list(made.folder.glob("*")) == []  # nothing of it has a name, at any time


class TestMaking:
    async def test_it_is_one_layer_under_what_its_base_says_of_itself(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        facts = await bench.made()
        assert (facts.trouble, facts.running, facts.recipient) == ("", False, recipient_of(KEY))
        assert bench.node.pinned == [facts.cid]
        assert bench.said == ["pause", "read", "closed", "unpause"]
        opened = decrypt(bench.sealed(facts.cid), KEY, "it")
        assert len(opened) == facts.size
        (tmp_path / "opened").write_bytes(opened)
        assert len(survey(tmp_path / "opened", 64 * MIB).layers) == 1  # as another host looks at it
        with tarfile.open(fileobj=io.BytesIO(opened)) as archive:
            files = {member.name: cast(Any, archive.extractfile(member)).read() for member in archive}
        assert files["layer.tar"] == FILES
        assert json.loads(files["config.json"])["config"] == {
            "Env": ["PATH=/bin"],
            "Cmd": ["sh"],
            "User": "1000",
        }

    async def test_who_has_another_key_reads_nothing_of_it(self, bench: Bench) -> None:
        facts = await bench.made()
        with pytest.raises(WrongIdentity):
            decrypt(bench.sealed(facts.cid), OTHER, "it")

    async def test_the_next_takes_its_place_and_waits_a_little(self, bench: Bench) -> None:
        first = await bench.made()
        second = await bench.made(key=OTHER)
        assert bench.node.pinned == [second.cid]
        assert first.cid != second.cid
        assert await bench.commits.forget(LEASE) == set()
        assert bench.node.pinned == []

    async def test_what_it_asks_twice_is_made_once(self, bench: Bench) -> None:
        bench.goes_on.clear()
        bench.begin()
        bench.begin()
        await bench.reading.wait()
        with pytest.raises(CommitUnderWay):
            bench.begin(key=OTHER)
        assert bench.commits.facts(LEASE, A).running
        bench.goes_on.set()
        await asyncio.wait([bench.commits._tasks[LEASE]])
        assert bench.said.count("pause") == 1

    async def test_one_at_a_time_on_a_host(self, bench: Bench) -> None:
        """What is read for one lease at once is not read for a hundred."""
        bench.goes_on.clear()
        bench.begin()
        await bench.reading.wait()
        bench.begin(NEXT)
        assert bench.said == ["pause", "read"]
        bench.goes_on.set()
        await asyncio.wait([bench.commits._tasks[lease] for lease in (LEASE, NEXT)])
        assert bench.said == 2 * ["pause", "read", "closed", "unpause"]

    def test_who_asks_again_and_again_waits(self) -> None:
        assert _rest(CommitNotes(), NOW) == 0
        assert _rest(CommitNotes(ended_at=NOW, took=5), NOW) == 15
        assert _rest(CommitNotes(ended_at=NOW, took=5), NOW + 15) == 0
        assert _rest(CommitNotes(ended_at=NOW, took=9_000), NOW) == 600
        assert _rest(CommitNotes(ended_at=NOW + 10**9, took=5), NOW) == 15  # a clock that was set back


class TestTried:
    async def test_holes_without_end_are_cut_off(self, bench: Bench) -> None:
        """A sparse file of a petabyte is one block on the lease's disk, and all of it in a tar."""
        bench.files = [bytes(MIB)] * 1_000
        facts = await bench.made(most=2 * MIB)
        assert "holds more than 2,097,152 bytes" in facts.trouble
        assert bench.said.count("read") == 3
        assert bench.said[-2:] == ["closed", "unpause"]
        assert (facts.cid, bench.node.pinned, bench.node.blocks) == ("", [], {})

    async def test_nor_beyond_what_any_host_takes(self, bench: Bench) -> None:
        bench.files = [bytes(MIB)] * 100
        assert "holds more than 33,554,432 bytes" in (await bench.made(most=1 << 50)).trouble

    async def test_a_disk_without_room_keeps_what_it_has(self, bench: Bench) -> None:
        bench.free = len(FILES) - 1
        assert "no room" in (await bench.made()).trouble
        assert bench.said[-1] == "unpause"

    async def test_nor_is_the_disk_filled_while_it_is_added(self, bench: Bench) -> None:
        room = iter([1 << 40, 0])
        bench.commits.carrying.room = lambda: next(room, 0)
        assert "no room" in (await bench.made()).trouble
        assert bench.node.pinned == []

    async def test_what_no_host_would_load_is_not_offered(self, bench: Bench) -> None:
        bench.files = [b"no tar" * 200]
        assert "is no tar archive" in (await bench.made()).trouble
        assert bench.node.pinned == []

    async def test_it_is_not_sealed_to_who_had_the_lease(self, bench: Bench) -> None:
        """Asked for, and the lease sold while that waited for its turn: its new tenant's files are not his."""
        bench.goes_on.clear()
        bench.begin(NEXT)
        await bench.reading.wait()
        bench.begin()
        notes = bench.leases.folder(LEASE).load()
        notes.tenant = B
        bench.leases.folder(LEASE).save(notes)
        bench.goes_on.set()
        await asyncio.wait([bench.commits._tasks[lease] for lease in (LEASE, NEXT)])
        assert "another's now" in bench.commits.facts(LEASE, A).trouble
        assert bench.said.count("pause") == 1

    async def test_nor_is_the_next_tenant_told_of_it(self, bench: Bench) -> None:
        facts = await bench.made()
        assert bench.commits.facts(LEASE, B) == CommitFacts()
        notes = bench.leases.folder(LEASE).load()
        bench.leases.folder(LEASE).save(replace(notes, tenant=B))
        theirs = await bench.made(tenant=B, key=OTHER)
        assert bench.node.pinned == [theirs.cid]
        assert facts.cid in bench.node.unpinned


class TestCutOff:
    async def test_its_container_stops_in_the_middle(self, bench: Bench) -> None:
        bench.goes_on.clear()
        bench.begin()
        await bench.reading.wait()
        await bench.commits.close(LEASE)
        assert bench.said == ["pause", "read", "closed", "unpause"]
        facts = bench.commits.facts(LEASE, A)
        assert (facts.running, facts.cid) == (False, "")
        assert "cut off" in facts.trouble

    async def test_between_the_nodes_word_and_the_note(self, bench: Bench) -> None:
        """Killed there, it finds what the node may keep noted, and has it let go with the next, or with the lease."""
        before = await bench.made()
        noted = bench.commits._noted(LEASE).adds("half")
        write_commit(bench.leases.folder(LEASE).commit, noted)
        assert (noted.cid, noted.cids) == (before.cid, {before.cid, "half"})
        after = await bench.made()
        assert bench.node.pinned == [after.cid]
        assert {"half", before.cid} <= set(bench.node.unpinned)

    async def test_a_node_that_is_away_is_told_later(self, bench: Bench) -> None:
        facts = await bench.made()
        bench.node.away = True
        second = await bench.made()
        assert bench.commits._noted(LEASE).leaving == (facts.cid,)
        assert await bench.commits.forget(LEASE) == {facts.cid, second.cid}

    async def test_an_engine_that_goes_away_is_said(self, bench: Bench) -> None:
        async def gone(container: str) -> AsyncIterator[bytes]:
            yield FILES[:512]
            raise EngineDown("The Docker engine does not answer: it is gone")

        bench.commits.containers.engine.streams.export = gone  # type: ignore[method-assign,assignment]
        assert "does not answer" in (await bench.made()).trouble
        assert bench.said[-1] == "unpause"

    def test_notes_come_back_as_they_were_and_what_is_damaged_is_none(self, tmp_path: Path) -> None:
        notes = CommitNotes(A, "a", "age1", 7, 1, 2, 3, "why", "b", ("c",))
        write_commit(tmp_path / "notes", notes)
        assert read_commit(tmp_path / "notes") == notes
        for damage in ("{", "[]", '{"more": 1}'):
            (tmp_path / "notes").write_text(damage)
            assert read_commit(tmp_path / "notes") == CommitNotes()
        assert read_commit(tmp_path / "none") == CommitNotes()


class TestOpening:
    async def test_it_becomes_what_was_sealed(self, tmp_path: Path) -> None:
        archive, path = image([FILES]), tmp_path / "image"
        path.write_bytes(encrypt(archive, [recipient_of(KEY)]))
        await open_archive(path, KEY, len(archive))
        assert path.read_bytes() == archive

    async def test_not_by_another_key_nor_what_is_damaged_or_not_sealed(self, tmp_path: Path) -> None:
        sealed, path = encrypt(image([FILES]), [recipient_of(KEY)]), tmp_path / "image"
        path.write_bytes(sealed)
        with pytest.raises(WrongIdentity):
            await open_archive(path, OTHER, MIB)
        for damaged in (sealed[:-9], image([FILES])):
            path.write_bytes(damaged)
            with pytest.raises(SealBroken):
                await open_archive(path, KEY, MIB)

    async def test_a_seal_hides_no_size(self, tmp_path: Path) -> None:
        path = tmp_path / "image"
        path.write_bytes(encrypt(bytes(3 * MIB), [recipient_of(KEY)]))
        with pytest.raises(DatasetTooLarge):
            await open_archive(path, KEY, 2 * MIB)

    async def test_a_folder_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            await open_archive(tmp_path, KEY, MIB)


class OneEngine:
    """An engine that loads what it is given, and has it as long as nobody removes it."""

    def __init__(self) -> None:
        self.names: dict[str, str | None] = {}

    async def image_size(self, image: str) -> int | None:
        return 9 if image in self.names else None

    async def survey(self, archive: Path, limit: int) -> Any:
        return await asyncio.to_thread(survey, archive, limit)

    async def load_image(self, archive: Any, name: str | None) -> str:
        loaded = "sha256:" + hashlib.sha256(b"".join(archive.stream())).hexdigest()
        self.names[loaded] = name
        return loaded

    async def local_image(self, image: str) -> LocalImage | None:
        if image not in self.names:
            return None
        name = self.names[image]
        return LocalImage(image, 9, () if name is None else (name,), ())


class OneNode:
    """A node that has two archives."""

    def __init__(self, **archives: bytes) -> None:
        self.archives, self.fetched = archives, 0

    async def fetch(self, cid: str, dest: Path, **_: object) -> None:
        self.fetched += 1
        (dest / cid).write_bytes(self.archives[cid])


class TestWhoHasIt:
    """Once a host has a sealed image, others on it have as little of it as before."""

    @pytest.fixture
    def engine(self) -> OneEngine:
        return OneEngine()

    @pytest.fixture
    def finder(self, engine: OneEngine, tmp_path: Path) -> Images:
        node = OneNode(sealed=encrypt(image([FILES]), [recipient_of(KEY)]), plain=image([FILES + bytes(512)]))
        return Images(cast(Any, engine), cast(Ipfs, node), tmp_path / "images", wait=5, limit=64 * MIB)

    async def test_who_has_the_key_has_it_from_then_on(self, engine: OneEngine, finder: Images) -> None:
        first = await finder.ensure("ipfs:sealed", Claimant(A, key=KEY))
        assert await finder.ensure("ipfs:sealed", Claimant(B, key=KEY)) == first
        assert cast(OneNode, finder._source).fetched == 1
        assert engine.names == {first: None}  # nothing by which others could name it

    @pytest.mark.parametrize("key", [None, OTHER], ids=["none", "of another image"])
    async def test_who_has_not_gets_nothing(self, finder: Images, key: str | None) -> None:
        for _ in range(2):  # before it is here, and after
            with pytest.raises(Declined) as declined:
                await finder.ensure("ipfs:sealed", Claimant(B, key=key))
            assert declined.value.reason == "image-unknown"
            loaded = await finder.ensure("ipfs:sealed", Claimant(A, key=KEY))
        with pytest.raises(Declined):
            await finder.ensure(loaded, Claimant(B))

    async def test_what_is_not_sealed_is_not_opened(self, finder: Images) -> None:
        """A key that somebody wrote in vain makes no other image of it."""
        plain = await finder.ensure("ipfs:plain", Claimant(A))
        with pytest.raises(Declined, match="not sealed to the key"):
            await finder.ensure("ipfs:plain", Claimant(B, key=KEY))
        assert await finder.ensure("ipfs:plain", Claimant(B)) == plain

    async def test_notes_of_older_agents_are_read(
        self, finder: Images, engine: OneEngine, tmp_path: Path
    ) -> None:
        known = "sha256:" + "0" * 64
        engine.names[known] = "leasehold/ipfs:old"
        (tmp_path / "images").mkdir()
        old = {"named": "ipfs:old", "image": known, "private_to": [], "bare": False}
        (tmp_path / "images" / "old").write_text(json.dumps(old))
        assert await finder.ensure("ipfs:old", Claimant(A)) == known
