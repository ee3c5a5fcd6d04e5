"""What a program has got to outlives its container, its agent and its machine: on a real engine and a real node."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.agent.test_changes import give_notice
from tests.training_loop import training

from devnet.patience import patient
from leasehold.chain import LeaseState, cid_of_digest
from leasehold.workload import digest, seal
from leasehold_agent._errors import NoContainer
from leasehold_agent.store import KeptCheckpoint

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
MIB = 1 << 20
CHECKPOINT: dict[str, Any] = {"interval": 10, "size": 32 * MIB, "key": "ab" * 32}

pytestmark = pytest.mark.slow


def loop(rig: Rig, **checkpoint: Any) -> Any:
    return rig.workload(command=training(10_000), grace=1, checkpoint=CHECKPOINT | checkpoint)


async def taken(rig: Rig, lease: int) -> str:
    """The CID of one that is taken now."""
    await rig.runtime.take_checkpoint(lease)
    await rig.until(lambda: not rig.host.checkpoints.facts(lease).running, 60)
    facts = rig.host.checkpoints.facts(lease)
    assert facts.trouble == ""
    return facts.kept[-1].cid


async def step_of(rig: Rig, lease: int) -> int:
    """0 while it does not run."""
    try:
        code, said = await rig.inside(lease, "cat /checkpoint/state || echo 0")
    except NoContainer:
        return 0
    return int(said.split()[0]) if code == 0 else 0


async def begun_at(rig: Rig, lease: int) -> int:
    """The step at which the loop has begun, by its log."""
    log = b"".join([data async for data in rig.runtime.logs(lease, None, False)]).decode()
    return int(log.split("begins at ")[1].split()[0])


async def step_at_least(rig: Rig, lease: int, step: int) -> bool:
    return await step_of(rig, lease) >= step


async def started(rig: Rig, workload: Any, **request: Any) -> int:
    lease = await rig.open(workload, **request)
    await rig.reaches(lease, LeaseState.ACTIVE, 60)
    return lease


async def closed(rig: Rig, lease: int) -> KeptCheckpoint:
    """The last checkpoint of a lease that its tenant has closed."""
    await rig.chain.pool(TENANT).close(lease)
    await rig.until(lambda: lease not in rig.host.volumes.held(), 60)
    return rig.host.checkpoints.noted(lease).kept[-1]


async def refused(rig: Rig, lease: int) -> tuple[str | None, str]:
    await rig.until(lambda: rig.host.leases.folder(lease).load().failure is not None, 60)
    notes = rig.host.leases.folder(lease).load()
    await rig.reaches(lease, LeaseState.CANCELLED)
    await rig.until(lambda: lease not in rig.host.volumes.held())
    return notes.failure, notes.failure_detail


class TestItGoesOn:
    async def test_on_another_lease_from_what_is_kept(self, rig: Rig) -> None:
        first = await started(rig, loop(rig))
        await rig.until(lambda: step_at_least(rig, first, 3))
        cid = await taken(rig, first)
        assert cid in await rig.ipfs.pins()
        assert (await rig.handle(first)).checkpoint == cid
        last = await closed(rig, first)
        assert last.why == "stop"
        second = await started(rig, loop(rig, source=last.cid))
        assert await begun_at(rig, second) >= 3
        rig.chain.anvil.request("evm_increaseTime", rig.settings.retention_max + 86_400)
        rig.chain.anvil.request("anvil_mine", "0x2")
        await rig.until(lambda: first not in rig.host.leases.folders(), 60)
        assert cid not in await rig.ipfs.pins()

    async def test_in_the_lease_that_renews_it_by_itself(self, rig: Rig) -> None:
        """With the very workload that it was opened with: nobody has to name a CID."""
        sealed = seal(loop(rig), rig.identity.age_recipient)
        first = await rig.open_sealed(sealed)
        await rig.reaches(first, LeaseState.ACTIVE, 60)
        await rig.until(lambda: step_at_least(rig, first, 3))
        await closed(rig, first)
        second = await rig.open_sealed(sealed, reuse=first)
        await rig.reaches(second, LeaseState.ACTIVE, 60)
        assert await begun_at(rig, second) >= 3

    async def test_in_another_workload_of_the_same_lease(self, rig: Rig) -> None:
        lease = await started(rig, loop(rig))
        await rig.until(lambda: step_at_least(rig, lease, 3))
        cid = await taken(rig, lease)
        before = rig.host.leases.folder(lease).load().volumes
        sealed = seal(loop(rig, source=cid), rig.identity.age_recipient)
        await rig.host.supplies.uploads.put(digest(sealed), sealed)
        await rig.chain.pool(TENANT).set_workload(lease, digest(sealed))

        async def runs_anew() -> bool:
            notes, container = rig.host.leases.folder(lease).load(), await rig.container(lease)
            return notes.workload == digest(sealed).hex() and container is not None and container.running

        await rig.until(runs_anew, 60)
        assert await begun_at(rig, lease) >= 3
        assert not set(before) & set(
            rig.host.leases.folder(lease).load().volumes
        )  # the folder before is gone

    async def test_through_a_stop_and_a_start_as_it_lay_there(self, rig: Rig) -> None:
        lease = await started(rig, loop(rig))
        await rig.until(lambda: step_at_least(rig, lease, 3))
        await rig.runtime.power(lease, "stop")

        async def last() -> bool:
            kept = rig.host.checkpoints.noted(lease).kept
            return bool(kept) and kept[-1].why == "stop"

        await rig.until(last, 60)
        cid = rig.host.checkpoints.noted(lease).newest
        assert await taken(rig, lease) == cid  # it stands still: the same folder is the same checkpoint
        await rig.runtime.power(lease, "start")
        await rig.until(lambda: step_at_least(rig, lease, 4), 60)


class TestNotice:
    async def test_one_is_taken_by_the_command_as_it_comes(self, rig: Rig) -> None:
        command = ["sh", "-c", "cp $LEASEHOLD_CHECKPOINT/state $LEASEHOLD_CHECKPOINT/saved"]
        lease = await started(rig, loop(rig, interval=86_400, command=command))
        await rig.until(lambda: step_at_least(rig, lease, 1))
        await give_notice(rig, lease)
        await rig.until(lambda: bool(rig.host.checkpoints.noted(lease).kept), 60)
        (made,) = rig.host.checkpoints.noted(lease).kept
        assert made.why == "notice"
        assert (await rig.inside(lease, "cat /checkpoint/saved"))[0] == 0


class TestTheAgentIsKilled:
    @pytest.mark.parametrize("step", ["checkpoint", "checkpoint-pin", "checkpoint-keep"])
    async def test_before_each_act(self, rig: Rig, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is offered is whole before and after, and the node keeps nothing that nobody knows of."""
        lease = await started(rig, loop(rig, interval=86_400))
        await rig.until(lambda: step_at_least(rig, lease, 1))
        whole = await taken(rig, lease)
        await rig.until(lambda: step_at_least(rig, lease, 5))
        reached = asyncio.Event()

        def stop_there(_: int, said: str) -> None:
            if said == step:
                reached.set()
                raise asyncio.CancelledError  # nothing of this process goes on behind it

        monkeypatch.setattr("leasehold_agent.reconciling._checkpoints.log_step", stop_there)
        await rig.runtime.take_checkpoint(lease)
        await asyncio.wait_for(reached.wait(), patient(60))
        monkeypatch.undo()
        await rig.restart()
        assert rig.host.checkpoints.noted(lease).newest == whole
        last = await taken(rig, lease)
        notes = rig.host.checkpoints.noted(lease)
        assert (notes.adding, notes.leaving) == ("", ())
        assert {whole, last} <= set(await rig.ipfs.pins())
        assert notes.cids == {whole, last}


class TestOddOnes:
    async def test_what_a_tenant_cannot_have(self, rig: Rig) -> None:
        """More than its disk, by itself or thrice; a checkpoint that nobody has; one of another key."""
        disk = rig.host.facts.disk_bytes
        lease = await rig.open(loop(rig, size=disk // 2))
        failure, detail = await refused(rig, lease)
        assert failure == "unsupported"
        assert "lease's cells buy" in detail
        nobodys = cid_of_digest(hashlib.sha256(b"nobody's").digest())
        lease = await rig.open(loop(rig, source=nobodys))
        assert (await refused(rig, lease))[0] == "dataset-missing"
        first = await started(rig, loop(rig))
        await rig.until(lambda: step_at_least(rig, first, 1))
        cid = await taken(rig, first)
        await closed(rig, first)
        lease = await rig.open(loop(rig, source=cid, key="cd" * 32))
        failure, detail = await refused(rig, lease)
        assert failure == "unsupported"
        assert "checkpoint: its folder" in detail

    async def test_a_folder_that_is_full_and_commands_that_never_end(self, rig: Rig) -> None:
        """The lease goes on, its tenant is told why none was made, and the one before stays."""
        lease = await started(rig, loop(rig, interval=86_400))
        await rig.until(lambda: step_at_least(rig, lease, 1))
        assert (await rig.inside(lease, "dd if=/dev/zero of=/checkpoint/full bs=1M count=64"))[0] != 0
        await taken(rig, lease)
        for command, trouble in (("yes", "printed more than"), ("sleep 600", "took longer than 1 s")):
            sealed = seal(
                loop(rig, interval=86_400, command=["sh", "-c", command], timeout=1),
                rig.identity.age_recipient,
            )
            await rig.host.supplies.uploads.put(digest(sealed), sealed)
            await rig.chain.pool(TENANT).set_workload(lease, digest(sealed))
            await rig.until(lambda: runs(rig, lease, sealed), 60)  # noqa: B023 - it is waited for here
            whole = rig.host.checkpoints.noted(lease).newest
            await rig.runtime.take_checkpoint(lease)
            await rig.until(lambda: trouble in rig.host.checkpoints.facts(lease).trouble, 60)  # noqa: B023
            assert rig.host.checkpoints.noted(lease).newest == whole
            assert (await rig.lease(lease)).state is LeaseState.ACTIVE
        engine = rig.host.containers.engine
        assert (await rig.inside(lease, "ps | grep -c '[s]leep 600'"))[1].strip() == "0"
        assert await engine.inspect(rig.host.containers.names.container(lease)) is not None


async def runs(rig: Rig, lease: int, sealed: bytes) -> bool:
    notes, container = rig.host.leases.folder(lease).load(), await rig.container(lease)
    return (
        notes.workload == digest(sealed).hex()
        and container is not None
        and container.running
        and notes.launched
    )
