"""A container that its tenant stops, starts and starts anew: the lease goes on, whoever else begins anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold.chain import LeaseState
from leasehold.workload import Restart, digest, seal
from leasehold_agent._errors import NoContainer
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.reconciling._leases import Record
from leasehold_agent.reconciling._phases import phase_of
from leasehold_agent.reconciling._plan import (
    Action,
    Actual,
    BeginAnew,
    BringUp,
    Decline,
    HandOver,
    Publish,
    Replace,
    Rest,
    Rules,
    Stop,
    Tell,
    plan,
)
from leasehold_agent.store import Notes, Word, read_word, write_word

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
NOW = 1_000_000
WORKLOAD = bytes(32)
A = "0x00000000000000000000000000000000000000A1"
LEASE = Desired(
    lease=7,
    machine=1,
    tenant=A,
    state=LeaseState.ACTIVE,
    placement=0x01FF,
    workload=WORKLOAD,
    start=NOW - 100,
    end=NOW + 3_500,
    window_ends=NOW - 10,
    author=A,
)
NOTES = Notes(
    tenant=A, author=A, machine=1, workload=WORKLOAD.hex(), placement=0x01FF, launched=True, boot="b1"
)
RUNS = ContainerFacts("id", "name", {}, "running", 0, 7, None, (), started_at=5.0)
ENDED = replace(RUNS, state="exited", pid=0, finished_at=50.0)
STANDS = replace(NOTES, stopped=True)
RULES = Rules(boot="b1", confirmations=0, start_margin=20, retention_min=0, retention_max=0)


def act(actual: Actual, desired: Desired = LEASE, rules: Rules = RULES) -> Action | None:
    chain = ChainSnapshot(current=True, block=100, now=NOW, leases={7: desired})
    return next(iter(plan(chain, {7: actual}, rules)), None)


class TestPlan:
    @pytest.mark.parametrize(
        ("actual", "then"),
        [
            (Actual(NOTES, RUNS, word="stop"), Rest(7)),
            (Actual(NOTES, replace(RUNS, state="paused"), word="stop"), Rest(7)),
            (Actual(STANDS, RUNS, word="stop"), Rest(7)),  # killed before it was stopped
            (Actual(STANDS, ENDED, word="stop"), None),
            (Actual(STANDS, ENDED), BringUp(7)),  # he has said otherwise
            (Actual(STANDS, None, word="stop"), None),  # its container was to be made anew
            (Actual(NOTES, RUNS, word="restart"), BeginAnew(7)),
            (Actual(NOTES, ENDED, word="restart"), BeginAnew(7)),
            (Actual(STANDS, ENDED, word="restart"), BeginAnew(7)),  # killed before that was forgotten
            (Actual(NOTES, None, word="restart"), BeginAnew(7)),
            (Actual(NOTES, ENDED, word="stop"), Publish(7)),  # it had ended by itself before
            (Actual(NOTES, ENDED, word="stop", restart=Restart.ALWAYS), Rest(7)),
            (Actual(STANDS, ENDED, word="stop", restart=Restart.ALWAYS), None),
            (Actual(NOTES, RUNS), Tell(7)),
        ],
    )
    def test_what_follows(self, actual: Actual, then: Action | None) -> None:
        if isinstance(then, Tell):
            actual = replace(actual, ailing=True)
        assert act(actual) == then

    def test_a_reboot_starts_nothing_that_stands_still(self) -> None:
        assert act(Actual(STANDS, ENDED, word="stop"), rules=replace(RULES, boot="b2")) is None
        assert act(Actual(STANDS, ENDED), rules=replace(RULES, boot="b2")) == BringUp(7)

    @pytest.mark.parametrize("word", ["stop", "restart"])
    def test_it_stands_in_the_way_of_nothing_else(self, word: Word) -> None:
        resting = Actual(STANDS, ENDED, word=word)
        assert act(resting, replace(LEASE, workload=bytes([1]) * 32)) == Replace(7)
        assert act(resting, replace(LEASE, tenant="B")) == HandOver(7)
        assert act(replace(resting, networked=True), replace(LEASE, state=LeaseState.ENDED)) == Stop(
            7, "ended"
        )
        opened = replace(LEASE, state=LeaseState.OPENED, window_ends=NOW)
        assert act(resting, opened) == Decline(
            7, "not-ready"
        )  # of a lease that has not begun it says nothing


class TestWord:
    def test_it_holds_for_its_workload(self, tmp_path: Path) -> None:
        file = tmp_path / "word.json"
        assert read_word(file, "aa") == ""
        write_word(file, "stop", "aa")
        assert (read_word(file, "aa"), read_word(file, "bb")) == ("stop", "")
        write_word(file, "", "aa")
        write_word(file, "", "aa")
        assert read_word(file, "aa") == ""

    @pytest.mark.parametrize(
        "text", ["", "x", "[]", "{}", '{"word": "run", "workload": "aa"}', '{"word": "stop"}', "null"]
    )
    def test_what_cannot_be_read_was_not_said(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "word.json").write_text(text)
        assert read_word(tmp_path / "word.json", "aa") == ""


def test_it_is_shown_and_said_to_be_billed() -> None:
    phase, reason = phase_of(LEASE, STANDS, ENDED, Record(), rests=True)
    assert phase == "stopped"
    assert reason is not None
    assert "billed until its end" in reason
    over = replace(LEASE, state=LeaseState.ENDED)
    assert phase_of(over, STANDS, ENDED, Record(), rests=True)[0] == "stopping"
    assert phase_of(LEASE, NOTES, ENDED, Record(), done=True, rests=True)[0] == "finished"


def test_whose_fault_an_end_was_is_said() -> None:
    for record, words in (
        (Record(killed=True, starved=True), "The host had no memory left"),
        (Record(killed=True), "Somebody on the host"),
    ):
        phase, reason = phase_of(LEASE, NOTES, ENDED, record)
        assert phase == "running"
        assert reason is not None
        assert words in reason


async def runs(rig: Rig, lease: int) -> bool:
    container = await rig.container(lease)
    return container is not None and container.running


async def started(rig: Rig, **fields: object) -> int:
    lease = await rig.open(rig.workload(grace=0, **fields))
    await rig.until(lambda: lease in rig.host.snapshot.leases)
    await rig.until(lambda: rig.host.snapshot.leases[lease].state is LeaseState.ACTIVE)
    return lease


@pytest.mark.slow
class TestOnAHost:
    async def test_it_stands_still_through_everything_and_goes_on(self, rig: Rig) -> None:
        lease = await started(rig, restart="always")
        await rig.inside(lease, "echo kept > /state")
        await rig.runtime.power(lease, "stop")
        await rig.until(lambda: rig.host.leases.folder(lease).load().stopped)
        await rig.until(lambda: not rig.reconciler.containers[lease].running)
        await rig.restart()
        for _ in range(5):
            await rig.reconciler.tick()
            await rig.reconciler.settle()
        assert not await runs(rig, lease)
        assert (await rig.handle(lease)).phase == "stopped"
        assert (await rig.lease(lease)).state is LeaseState.ACTIVE
        with pytest.raises(NoContainer):
            await rig.runtime.exec(lease, ["true"])
        await rig.runtime.power(lease, "start")
        await rig.until(lambda: runs(rig, lease))
        assert (await rig.inside(lease, "cat /state"))[1] == "kept\n"

    async def test_it_begins_anew(self, rig: Rig) -> None:
        lease = await started(rig)
        before = await rig.container(lease)
        assert before is not None
        await rig.inside(lease, "echo kept > /state")
        await rig.runtime.power(lease, "restart")

        async def again() -> bool:
            container = await rig.container(lease)
            return container is not None and container.running and container.started_at > before.started_at

        await rig.until(again)
        await rig.until(lambda: not rig.host.leases.folder(lease).word.exists())
        assert (await rig.inside(lease, "cat /state"))[1] == "kept\n"

    async def test_a_command_that_has_ended_is_started_again(self, rig: Rig) -> None:
        lease = await started(
            rig, command=["sh", "-c", "echo x >> /runs; test $(wc -l < /runs) = 1 || sleep 600"]
        )
        await rig.until(lambda: rig.host.leases.folder(lease).load().ended)
        with pytest.raises(NoContainer, match="has ended by itself"):
            await rig.runtime.power(lease, "stop")
        await rig.runtime.power(lease, "start")
        await rig.until(lambda: runs(rig, lease))
        assert (await rig.inside(lease, "wc -l < /runs"))[1] == "2\n"

    async def test_another_workload_runs_and_an_ended_lease_is_put_away(self, rig: Rig) -> None:
        lease = await started(rig)
        await rig.runtime.power(lease, "stop")
        await rig.until(lambda: rig.host.leases.folder(lease).load().stopped)
        sealed = seal(rig.workload(grace=0, env={"NEW": "1"}), rig.identity.age_recipient)
        await rig.host.supplies.uploads.put(digest(sealed), sealed)
        await rig.chain.pool(TENANT).set_workload(lease, digest(sealed))

        async def new() -> bool:
            container = await rig.container(lease)
            labels = container.labels if container is not None and container.running else {}
            return labels.get("leasehold.workload") == digest(sealed).hex()

        await rig.until(new)
        await rig.runtime.power(lease, "stop")
        await rig.until(lambda: rig.host.leases.folder(lease).load().stopped)
        await rig.chain.pool(TENANT).close(lease)
        await rig.until(lambda: rig.host.leases.folder(lease).load().gone_at is not None)
        with pytest.raises(NoContainer, match="is over"):
            await rig.runtime.power(lease, "start")

    async def test_of_a_lease_that_has_not_begun_nothing_is_remembered(self, rig: Rig) -> None:
        with pytest.raises(NoContainer, match="has not begun"):
            await rig.runtime.power(99 << 16, "stop")
        assert not rig.host.leases.folder(99 << 16).exists
