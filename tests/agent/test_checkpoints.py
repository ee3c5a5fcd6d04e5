"""Checkpoints without the rest of a host: when they are due, what of them is whole, and what is tried against them."""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.agent.test_carrying import A, MemoryIpfs

from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold.datasets import Ipfs, tree_state
from leasehold.errors import DatasetTooLarge, DatasetUnavailable, WrongIdentity
from leasehold.workload import Workload, load_workload
from leasehold_agent._errors import EngineDown, NoContainer
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import MaintenanceWindow, MountSpace, SealedDisk
from leasehold_agent.reconciling import Carrying, Checkpoints, Containers, LeaseBook
from leasehold_agent.reconciling._checkpoint_due import due, wait_before, warned_of
from leasehold_agent.reconciling._checkpoint_folder import checkpoint_mount, folder_name
from leasehold_agent.reconciling._checkpoints import _AT_ONCE
from leasehold_agent.reconciling._plan import Actual, BringUp, Rules, plan
from leasehold_agent.reconciling._restoring import goes_on
from leasehold_agent.store import (
    CheckpointNotes,
    EarlyEnd,
    KeptCheckpoint,
    Notes,
    Volumes,
    read_checkpoints,
    volume_id,
    write_checkpoints,
)

MIB = 1 << 20
SIZE = 32 * MIB
LEASE, NEXT, NOW = 1 << 16, 2 << 16, 1_000_000
DIGEST = bytes(32)
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
WORKLOAD = load_workload(
    {
        "version": 1,
        "image": "i@sha256:" + "0" * 64,
        "checkpoint": {"interval": 60, "size": SIZE, "key": "ab" * 32},
    }
)
assert WORKLOAD.checkpoint is not None
MADE = WORKLOAD.checkpoint
RUNS = ContainerFacts("id", "name", {}, "running", 0, 0, None, (), started_at=NOW)
LEASED = Desired(
    lease=LEASE, machine=1, tenant=A, state=LeaseState.ACTIVE, placement=0x01FF, workload=DIGEST, start=0,
    end=NOW + 3_600, window_ends=NOW, author=A,
)  # fmt: skip


class TestWhen:
    """A pure function: nothing of it waits."""

    notes = CheckpointNotes(begun_at=NOW)

    def test_by_the_interval_from_the_start_and_from_the_last(self) -> None:
        assert due(MADE, CheckpointNotes(), "", NOW, NOW + 59) is None
        assert due(MADE, CheckpointNotes(), "", NOW, NOW + 60) == "interval"
        assert due(MADE, self.notes, "", 0, NOW + 59) is None
        assert due(MADE, self.notes, "", 0, NOW + 60) == "interval"

    def test_at_once_for_a_notice_that_none_was_taken_for(self) -> None:
        assert due(MADE, self.notes, "ends 5", 0, NOW + 10) == "notice"
        assert due(MADE, self.notes, "ends 5", 0, NOW + 9) is None  # one has just been begun
        assert due(MADE, replace(self.notes, heard="ends 5"), "ends 5", 0, NOW + 10) is None
        assert due(MADE, replace(self.notes, heard="ends 5"), "ends 4", 0, NOW + 10) == "notice"

    def test_a_host_does_little_else_for_nobody(self) -> None:
        """A folder that takes minutes to read, and a command that always fails."""
        slow, failing = replace(self.notes, took=100), replace(self.notes, failures=2)
        assert due(MADE, slow, "", 0, NOW + 399) is None
        assert due(MADE, slow, "", 0, NOW + 400) == "interval"
        assert due(MADE, failing, "", 0, NOW + 239) is None
        assert due(MADE, failing, "", 0, NOW + 240) == "interval"
        assert due(MADE, replace(failing, failures=1_000), "", 0, NOW + 60 * 32) == "interval"
        assert due(MADE, replace(failing, failures=9), "ends 5", 0, NOW + 10) == "notice"

    def test_nor_before_an_end_that_is_weeks_away(self) -> None:
        """A folder that never stands still is never whole, and maintenance is announced long before."""
        slow = replace(self.notes, took=100, failures=9)
        assert due(MADE, slow, "maintenance 9", 0, NOW + 399) is None
        assert due(MADE, slow, "maintenance 9", 0, NOW + 400) == "notice"

    def test_who_asks_again_and_again_waits_a_little(self) -> None:
        assert wait_before(self.notes, NOW + 1) == 0
        assert wait_before(replace(self.notes, took=5), NOW + 5) == 15
        assert wait_before(replace(self.notes, took=600), NOW + 600) == 60

    def test_what_is_ahead_in_one_word(self) -> None:
        window = MaintenanceWindow(NOW, NOW + 60)
        assert warned_of(None, None) == ""
        assert warned_of(EarlyEnd(5, "spot"), window) == f"ends 5 maintenance {NOW}"

    def test_a_folder_is_of_one_lease_and_one_workload(self) -> None:
        mount = checkpoint_mount(
            WORKLOAD.restored_from("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"), LEASED
        )
        assert mount is not None
        assert mount.name == folder_name(LEASE, "00" * 32) == f".checkpoint-{LEASE}-{'0' * 16}"
        assert mount.source == CID
        assert (
            checkpoint_mount(load_workload({"version": 1, "image": "i@sha256:" + "0" * 64}), LEASED) is None
        )

    def test_what_a_renewal_begins_with(self) -> None:
        named = MADE.model_copy(update={"source": "x"})
        assert goes_on(MADE, MADE, same=False)
        assert goes_on(named, MADE, same=True)  # what it named is what the one before began with
        assert not goes_on(named, MADE, same=False)
        assert not goes_on(MADE, None, same=False)
        assert not goes_on(MADE, MADE.model_copy(update={"key": "cd" * 32}), same=True)

    def test_a_container_that_is_held_for_one_is_left_alone(self) -> None:
        """Paused by anybody else it is brought up again, and so it is after a run of the agent that held it."""
        rules = Rules(boot="b1", confirmations=0, start_margin=20, retention_min=0, retention_max=0)
        notes = Notes(tenant=A, author=A, machine=1, workload=DIGEST.hex(), launched=True, boot="b1")
        chain = ChainSnapshot(current=True, block=1, now=NOW, leases={LEASE: LEASED})
        paused = Actual(notes, replace(RUNS, state="paused"))
        assert plan(chain, {LEASE: paused}, rules) == [BringUp(LEASE)]
        assert plan(chain, {LEASE: replace(paused, held=True)}, rules) == []
        exited = replace(
            paused, held=True, container=replace(RUNS, state="exited", exit_code=1, started_at=0.0)
        )
        assert plan(chain, {LEASE: exited}, rules) != []


class TestNotes:
    def test_two_are_kept_and_the_rest_leaves(self) -> None:
        notes = CheckpointNotes(adding="c")
        for place, cid in enumerate("abc"):
            notes = notes.with_kept(KeptCheckpoint(cid, place, "interval"))
        assert ([made.cid for made in notes.kept], notes.leaving, notes.newest) == (["b", "c"], ("a",), "c")
        again = notes.with_kept(KeptCheckpoint("b", 9, "asked"))
        assert ([made.cid for made in again.kept], again.leaving) == (["c", "b"], ("a",))

    def test_what_was_being_added_is_offered_to_nobody(self) -> None:
        """Killed between the node's word and the note."""
        notes = CheckpointNotes(adding="half", kept=(KeptCheckpoint("whole", 1, "stop"),))
        assert notes.newest == "whole"
        assert notes.given_up().leaving == ("half",)
        assert notes.cids == {"half", "whole"}

    def test_they_come_back_as_they_were_and_what_is_damaged_is_none(self, tmp_path: Path) -> None:
        notes = CheckpointNotes(5, 1, 2, "why", "ends 5", (KeptCheckpoint("a", 1, "stop", 7),), "b", ("c",))
        write_checkpoints(tmp_path / "notes", notes)
        assert read_checkpoints(tmp_path / "notes") == notes
        for damage in ("{", "[]", '{"kept": [{}]}', '{"kept": []}', '{"kept": [], "leaving": [], "more": 1}'):
            (tmp_path / "notes").write_text(damage)
            assert read_checkpoints(tmp_path / "notes") == CheckpointNotes()
        assert read_checkpoints(tmp_path / "none") == CheckpointNotes()


class Node(MemoryIpfs):
    """One that keeps what it is told to keep."""

    def __init__(self) -> None:
        super().__init__()
        self.pinned: list[str] = []
        self.before_pin: Callable[[], None] = lambda: None

    async def pin(self, cid: str, **_: object) -> None:
        self.before_pin()
        if cid not in self.folders:
            raise DatasetUnavailable(cid)
        self.pinned.append(cid)

    async def unpin(self, cid: str) -> None:
        await super().unpin(cid)
        self.pinned = [other for other in self.pinned if other != cid]


class Command:
    """A command inside a container, which says `parts` and ends with `code`; without one it never does."""

    def __init__(self, parts: Iterator[bytes], code: int | None) -> None:
        self.parts, self.code, self.closed = parts, code, False

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        for part in self.parts:
            yield 1, part
            await asyncio.sleep(0)
        if self.code is None:
            await asyncio.Event().wait()

    async def wait(self) -> int:
        assert self.code is not None
        return self.code

    async def close(self) -> None:
        self.closed = True


class PlainDisk(SealedDisk):
    """A volume's disk that is a folder: what is asked of its kernel other tests ask (`test_volume_disks.py`)."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def make(self, size: int) -> None:
        self.data.mkdir(exist_ok=True)
        self.file.touch()

    def open(self, key: bytes) -> None: ...

    def close(self) -> None: ...


class PlainVolumes(Volumes):
    def _disk(self, volume: str) -> SealedDisk:
        return PlainDisk(self.root / volume, self.space)


class Bench:
    """A host's checkpoints without the rest of it."""

    def __init__(self, folder: Path, node: Node) -> None:
        self.free, self.time, self.node = 1 << 40, NOW, node
        self.command = Command(iter([b"saved"]), 0)
        self.commands: list[Any] = []
        self.called = asyncio.Event()
        self.volumes = PlainVolumes(folder / "volumes", MountSpace())
        self.leases = LeaseBook(folder / "leases", "")
        self.carrying = Carrying(self.volumes, self.leases, cast(Ipfs, node), lambda: self.free, 5.0)
        self.state, self.held = "running", 0
        engine = SimpleNamespace(
            streams=SimpleNamespace(exec=self._exec), pause=self._pause, unpause=self._unpause
        )
        containers = cast(Containers, SimpleNamespace(engine=engine, inspect=self._inspect))
        self.checkpoints = Checkpoints(
            containers, self.volumes, self.leases, self.carrying, lambda: self.time, self._sleep
        )

    async def _exec(self, container: str, command: Any, **more: Any) -> Command:
        self.commands.append((container, command, more["env"]))
        self.called.set()
        return self.command

    async def _sleep(self, _: float) -> None: ...

    async def _pause(self, _: str) -> None:
        assert self.checkpoints.holding == {LEASE}
        self.state, self.held = "paused", self.held + 1

    async def _unpause(self, _: str) -> None:
        self.state = "running"

    async def _inspect(self, _: int) -> ContainerFacts:
        return replace(RUNS, state=self.state)

    async def attached(self, lease: int = LEASE, workload: Workload = WORKLOAD) -> Path:
        """A lease that is billed, and its folder."""
        folder, mount = self.leases.folder(lease), checkpoint_mount(workload, replace(LEASED, lease=lease))
        assert mount is not None
        folder.save(Notes(tenant=A, author=A, machine=1, workload=DIGEST.hex(), launched=True))
        self.leases.record(lease).workload = (DIGEST.hex(), workload)
        data = await self.volumes.attach(lease, A, mount, SIZE)
        if mount.source is not None:
            await self.carrying.fill(volume_id(A, mount.name), mount, SIZE)
            await self.volumes.filled(volume_id(A, mount.name))
        return data

    async def taken(self, lease: int = LEASE, container: ContainerFacts | None = RUNS) -> CheckpointNotes:
        self.checkpoints.begin(lease, container)
        await asyncio.wait([self.checkpoints._tasks[lease]])
        return self.checkpoints.noted(lease)

    async def close(self) -> None:
        await self.checkpoints.aclose()
        await self.carrying.aclose()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path / "here", Node())
    yield made
    await made.close()


def with_command(**fields: object) -> Workload:
    return WORKLOAD.validated(
        checkpoint={**MADE.model_dump(exclude_none=True), "command": ["save"], **fields}
    )


class TestTaking:
    async def test_what_lies_there_is_kept_and_another_lease_begins_with_it(self, bench: Bench) -> None:
        data = await bench.attached()
        (data / "state").write_bytes(b"weights" * MIB)
        notes = await bench.taken()
        assert (notes.trouble, notes.heard, notes.adding) == ("", "", "")
        assert [(made.why, made.at, made.read) for made in notes.kept] == [("asked", NOW, 7 * MIB)]
        assert bench.node.pinned == [notes.newest]
        copy = await bench.attached(NEXT, WORKLOAD.restored_from(notes.newest or ""))
        assert (copy / "state").read_bytes() == b"weights" * MIB

    async def test_the_newest_two_are_and_the_node_drops_the_third(self, bench: Bench) -> None:
        data = await bench.attached()
        made = []
        for step in range(3):
            (data / "state").write_text(str(step))
            made.append((await bench.taken()).newest)
        assert bench.node.pinned == made[1:]
        assert len(set(made)) == 3
        assert await bench.checkpoints.forget(LEASE) == set()
        assert bench.node.pinned == []

    async def test_a_folder_that_did_not_change_is_one_checkpoint(self, bench: Bench) -> None:
        await bench.attached()
        first, second = await bench.taken(), await bench.taken()
        assert first.newest == second.newest
        assert len(second.kept) == 1

    async def test_what_another_lease_keeps_too_stays(self, bench: Bench) -> None:
        await bench.attached()
        cid = (await bench.taken()).newest
        bench.leases.folder(NEXT).path.mkdir()
        write_checkpoints(
            bench.leases.folder(NEXT).checkpoints,
            CheckpointNotes(kept=(KeptCheckpoint(cid or "", 1, "stop"),)),
        )
        assert await bench.checkpoints.forget(LEASE) == set()
        assert bench.node.pinned == [cid]

    async def test_what_a_node_could_not_be_told_is_told_later(self, bench: Bench) -> None:
        data = await bench.attached()
        first = (await bench.taken()).newest
        for step in range(2):
            (data / "state").write_text(str(step))
            await bench.taken()
        assert first not in bench.node.pinned
        bench.node.away = True
        (data / "state").write_text("3")
        notes = await bench.taken()
        assert notes.trouble == ""
        assert len(notes.leaving) == 1
        assert await bench.checkpoints.forget(LEASE) == notes.cids
        bench.node.away = False
        (data / "state").write_text("4")
        assert (await bench.taken()).leaving == ()

    async def test_who_has_no_folder_has_none(self, bench: Bench) -> None:
        await bench.attached()
        for change in (
            {"tenant": "0xB"},  # it has changed hands: nothing is sealed for the tenant before
            {"launched": False},
            {"workload": "11" * 32},
        ):
            notes = bench.leases.folder(LEASE).load()
            bench.leases.folder(LEASE).save(replace(notes, **change))  # type: ignore[arg-type]  # of the three
            with pytest.raises(NoContainer):
                bench.checkpoints.begin(LEASE, RUNS)
            bench.leases.folder(LEASE).save(notes)
        await bench.volumes.detach(LEASE)
        with pytest.raises(NoContainer):
            bench.checkpoints.begin(LEASE, RUNS)


class TestTheCommand:
    async def test_it_is_called_inside_before(self, bench: Bench) -> None:
        data = await bench.attached(workload=with_command())
        bench.command.parts = iter([b""])
        assert (await bench.taken()).trouble == ""
        assert bench.commands == [("id", ("save",), {"LEASEHOLD_CHECKPOINT": "/checkpoint"})]
        assert bench.command.closed
        assert data.is_dir()

    async def test_not_in_one_that_does_not_run(self, bench: Bench) -> None:
        await bench.attached(workload=with_command())
        assert len((await bench.taken(container=None)).kept) == 1
        assert bench.commands == []

    @pytest.mark.parametrize(
        ("said", "code", "trouble"),
        [
            (iter([b"no space"]), 3, "ended with 3: no space"),
            (iter([]), None, "took longer than 0.01 s"),
            (iter(lambda: b"x" * (1 << 16), b""), None, "printed more than"),
        ],
        ids=["fails", "hangs", "prints for ever"],
    )
    async def test_what_goes_wrong_is_said_and_the_whole_one_stays(
        self, bench: Bench, said: Iterator[bytes], code: int | None, trouble: str
    ) -> None:
        workload = with_command()
        assert workload.checkpoint is not None
        hurried = workload.checkpoint.model_copy(update={"timeout": 0.01})  # nobody waits here for a second
        await bench.attached(workload=workload.model_copy(update={"checkpoint": hurried}))
        whole = (await bench.taken()).newest
        bench.command = Command(said, code)
        notes = await bench.taken()
        assert trouble in notes.trouble
        assert (notes.newest, notes.failures) == (whole, 1)
        assert bench.command.closed
        bench.command = Command(iter([]), 0)
        assert (await bench.taken()).failures == 0

    async def test_an_engine_that_is_away_is_said(self, bench: Bench) -> None:
        await bench.attached(workload=with_command())

        async def away(*_: object, **__: object) -> None:
            raise EngineDown("The Docker engine does not answer.")

        bench.checkpoints.containers.engine.streams.exec = away  # type: ignore[method-assign,assignment]  # it is away
        assert (await bench.taken()).trouble == "The Docker engine does not answer."
        await bench.checkpoints.before_end(LEASE)
        assert bench.checkpoints.noted(LEASE).failures == 2


def is_in_memory(folder: Path) -> bool:
    return b"tmpfs" in subprocess.check_output(("stat", "-f", "-c", "%T", folder))


class TestHalfIsNone:
    async def test_a_folder_that_changes_while_it_is_read(self, bench: Bench) -> None:
        """It is read again, and where it never stands still, while its container does; else nothing is kept of it."""
        data, left = await bench.attached(), [1]
        add, whole = bench.node.add_stream, (await bench.taken()).newest

        async def meanwhile(parts: Any, **more: Any) -> str:
            cid = await add(parts, **more)
            if bench.state == "running" and left[0]:
                left[0] -= 1
                (data / "state").write_text(str(left))
            return cid

        bench.node.add_stream = meanwhile  # type: ignore[method-assign]  # it writes while the node takes what came
        once = await bench.taken()
        assert (once.trouble, bench.held) == ("", 0)
        assert once.newest != whole
        left[0] = 100
        held = await bench.taken()
        assert (held.trouble, bench.held, bench.state, bench.checkpoints.holding) == ("", 1, "running", set())
        assert held.newest != once.newest
        bench.checkpoints.held_seconds = 0.0
        late = await bench.taken()
        assert "changed each time" in late.trouble
        assert (late.kept, bench.state, bench.checkpoints.holding) == (held.kept, "running", set())
        assert "changed each time" in (await bench.taken(container=None)).trouble

    async def test_what_is_written_into_a_mapped_file_shows(self, bench: Bench, tmp_path: Path) -> None:
        """As databases and arrays do: the kernel notes the time of the first write into a page, and of no other before
        that page is written back.
        """
        if is_in_memory(tmp_path):
            pytest.skip("Such files have no time of that kind; no volume of a host's is one.")
        data, add = await bench.attached(), bench.node.add_stream
        bench.checkpoints.sleep = asyncio.sleep
        (data / "array").write_bytes(bytes(mmap.PAGESIZE))
        with (data / "array").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[0] = 1

            async def meanwhile(parts: Any, **more: Any) -> str:
                cid = await add(parts, **more)
                if bench.state == "running":
                    mapped[0] = (mapped[0] + 1) % 256
                return cid

            bench.node.add_stream = meanwhile  # type: ignore[method-assign]  # it writes while the node takes what came
            notes = await bench.taken()
        assert (notes.trouble, bench.held) == ("", 1)

    @pytest.mark.parametrize("what", ["written", "renamed", "set back", "removed"])
    async def test_whatever_is_done_to_it_shows(self, bench: Bench, what: str) -> None:
        """Also where whoever writes sets the times back that he can set."""
        data = await bench.attached()
        (data / "folder").mkdir()
        state = data / "folder" / "state"
        state.write_text("one")
        status, root = state.stat(), os.open(data, os.O_RDONLY)
        try:
            before = tree_state(root)
            assert tree_state(root) == before
            if what == "removed":
                state.unlink()
            elif what == "renamed":
                (data / "new").write_text("one")
                (data / "new").rename(state)
            else:
                state.write_text("two")
                if what == "set back":
                    os.utime(state, ns=(status.st_atime_ns, status.st_mtime_ns))
            assert tree_state(root) != before
        finally:
            os.close(root)

    async def test_killed_at_each_step_nothing_half_is_offered(self, bench: Bench) -> None:
        data = await bench.attached()
        whole = (await bench.taken()).newest
        (data / "state").write_text("more")

        def die() -> None:
            raise OSError("killed")

        noted, bench.node.before_pin = bench.checkpoints.noted(LEASE), die
        await bench.taken()
        after = bench.checkpoints.noted(LEASE)
        assert after.newest == whole == noted.newest
        assert after.adding not in ("", whole)
        bench.node.before_pin = lambda: None
        (data / "state").write_text("most")
        last = await bench.taken()
        assert last.adding == ""
        assert after.adding in bench.node.unpinned
        assert len(last.kept) == 2

    @pytest.mark.slow
    async def test_a_node_that_is_away_leaves_what_there_is(self, bench: Bench) -> None:
        data = await bench.attached()
        whole = (await bench.taken()).newest
        (data / "state").write_text("more")
        bench.free = 0
        assert "no room" in (await bench.taken()).trouble
        bench.free = 1 << 40
        bench.node.add_stream = None  # type: ignore[assignment,method-assign]  # what nobody foresaw
        notes = await bench.taken()
        assert (notes.trouble, notes.newest) == ("internal error", whole)

    async def test_no_room_for_a_note_is_no_reason_to_fall_silent(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await bench.attached()

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("leasehold_agent.reconciling._checkpoints.write_checkpoints", full)
        assert await bench.taken() == CheckpointNotes()


class TestAttacks:
    async def test_more_names_than_travel(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ten million files, counted while they are listed: nothing is read of them."""
        monkeypatch.setattr("leasehold.datasets._tree_pack.MAX_ENTRIES", 20)
        monkeypatch.setattr("leasehold.datasets._tree_state.MAX_ENTRIES", 20)
        data = await bench.attached()
        for number in range(21):
            (data / str(number)).touch()
        assert "there is room for 20" in (await bench.taken()).trouble
        assert bench.node.folders == {}
        for number in range(21):
            (data / str(number)).unlink()
        for number in range(7):
            (data / str(number) / "a" / "b").mkdir(parents=True)  # spread, no folder has many
        assert "there is room for 20" in (await bench.taken()).trouble

    async def test_folders_without_end(self, bench: Bench) -> None:
        at = await bench.attached()
        for _ in range(257):
            at /= "d"
            at.mkdir()
        assert "nested deeper" in (await bench.taken()).trouble

    async def test_a_link_that_leads_out_is_a_link(self, bench: Bench, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("the host's own")
        data = await bench.attached()
        (data / "link").symlink_to(secret)
        (data / "up").symlink_to(tmp_path)
        notes = await bench.taken()
        assert notes.trouble == ""
        copy = await bench.attached(NEXT, WORKLOAD.restored_from(notes.newest or ""))
        assert (copy / "link").readlink() == secret
        assert not any(b"the host's own" in block for block in bench.node.blocks.values())
        assert notes.kept[-1].read == 0

    async def test_another_tenants_by_its_cid_opens_nothing(self, bench: Bench) -> None:
        data = await bench.attached()
        (data / "state").write_text("secret")
        cid = (await bench.taken()).newest or ""
        thief = WORKLOAD.validated(
            checkpoint={**MADE.model_dump(exclude_none=True), "key": "cd" * 32, "source": cid}
        )
        with pytest.raises(WrongIdentity):
            await bench.attached(NEXT, thief)

    async def test_one_that_unpacks_to_more_than_the_folder_holds(self, bench: Bench) -> None:
        data = await bench.attached()
        (data / "large").write_bytes(bytes(8 * MIB))
        cid = (await bench.taken()).newest or ""
        mount = checkpoint_mount(WORKLOAD.restored_from(cid), replace(LEASED, lease=NEXT))
        assert mount is not None
        await bench.volumes.attach(NEXT, A, mount, SIZE)
        with pytest.raises(DatasetTooLarge):
            await bench.carrying.fill(volume_id(A, mount.name), mount, 4 * MIB)

    async def test_no_tenant_names_anothers_folder(self) -> None:
        with pytest.raises(ValueError, match="pattern"):
            WORKLOAD.validated(volumes=[{"name": folder_name(LEASE, "00" * 32), "path": "/x"}])


class TestLook:
    seen = ChainSnapshot(current=True, block=1, now=NOW, leases={LEASE: LEASED})

    async def looked(self, bench: Bench, seen: ChainSnapshot | None = None, **facts: Any) -> list[str]:
        container = replace(RUNS, **facts)
        bench.checkpoints.look(seen or self.seen, {LEASE: container}, ())
        for task in list(bench.checkpoints._tasks.values()):
            await asyncio.wait([task])
        return [made.why for made in bench.checkpoints.noted(LEASE).kept]

    async def test_what_is_due_is_begun_and_nothing_else(self, bench: Bench) -> None:
        data = await bench.attached()
        bench.time = NOW + 59
        assert await self.looked(bench) == []
        bench.time = NOW + 60
        for facts in ({"state": "exited"}, {"started_at": NOW + 30}):
            assert await self.looked(bench, **facts) == []
        over = replace(self.seen, leases={LEASE: replace(LEASED, state=LeaseState.ENDED)})
        assert await self.looked(bench, over) == []
        bench.leases.folder(LEASE).save(replace(bench.leases.folder(LEASE).load(), stopped=True))
        assert await self.looked(bench) == []
        bench.leases.folder(LEASE).save(replace(bench.leases.folder(LEASE).load(), stopped=False))
        assert await self.looked(bench) == ["interval"]
        (data / "state").write_text("more")
        noticed = replace(self.seen, leases={LEASE: replace(LEASED, noticed=True, spot=True)})
        bench.time += 10
        assert await self.looked(bench, noticed) == ["interval", "notice"]
        bench.time += 10
        assert await self.looked(bench, noticed) == ["interval", "notice"]

    async def test_one_at_a_time(self, bench: Bench) -> None:
        await bench.attached(workload=with_command())
        bench.command = Command(iter([]), None)
        bench.checkpoints.begin(LEASE, RUNS)
        first = bench.checkpoints._tasks[LEASE]
        bench.checkpoints.begin(LEASE, RUNS)
        bench.time += 3_600
        bench.checkpoints.look(self.seen, {LEASE: RUNS}, ())
        assert bench.checkpoints._tasks[LEASE] is first
        assert bench.checkpoints.facts(LEASE).running
        await bench.checkpoints.close(LEASE)
        assert not bench.checkpoints.facts(LEASE).running

    async def test_the_last_word_of_a_container(self, bench: Bench) -> None:
        data = await bench.attached(workload=with_command())
        bench.command = Command(iter([]), None)
        bench.checkpoints.begin(LEASE, RUNS)  # it hangs, and is cut off
        await bench.called.wait()
        bench.command = Command(iter([]), 0)
        await bench.checkpoints.before_end(LEASE)
        (data / "state").write_text("written as it heard SIGTERM")
        await bench.checkpoints.after_end(LEASE)
        (made,) = bench.checkpoints.noted(LEASE).kept
        assert made.why == "stop"
        bench.state = "exited"
        await bench.checkpoints.before_end(LEASE)
        assert len(bench.commands) == 2
        await bench.volumes.detach(LEASE)
        await bench.checkpoints.after_end(LEASE)
        assert bench.checkpoints.noted(LEASE).failures == 0

    async def test_neighbours_that_take_all_day_hold_up_no_end(self, bench: Bench) -> None:
        """Their folders are large, their node is slow: whoever ends does not wait behind them."""
        await bench.attached()
        add, hang, hangs = bench.node.add_stream, list[int](), asyncio.Event()

        async def slow(parts: Any, **more: Any) -> str:
            hang.append(1)
            if len(hang) == _AT_ONCE:
                hangs.set()
            await asyncio.Event().wait()
            raise AssertionError

        bench.node.add_stream = slow  # type: ignore[method-assign]  # of a node that gives no answer
        for lease in range(LEASE + 1, LEASE + 13):
            await bench.attached(lease)
            bench.checkpoints.begin(lease, RUNS)
        await hangs.wait()
        bench.node.add_stream = add  # type: ignore[method-assign]
        async with asyncio.timeout(patient(20)):
            await bench.checkpoints.after_end(LEASE)
        assert [made.why for made in bench.checkpoints.noted(LEASE).kept] == ["stop"]
