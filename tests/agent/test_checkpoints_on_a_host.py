"""What a program has got to outlives its container, its agent and its machine: on a real engine and a real node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.training_loop import training

from leasehold.chain import LeaseState

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
    code, said = await rig.inside(lease, "cat /checkpoint/state || echo 0")
    return int(said.split()[0]) if code == 0 else 0


async def begun_at(rig: Rig, lease: int) -> int:
    """The step at which the loop has begun, by its log."""
    log = b"".join([data async for data in rig.runtime.logs(lease, None, False)]).decode()
    return int(log.split("begins at ")[1].split()[0])


class TestItGoesOn:
    async def test_on_another_lease_from_what_is_kept(self, rig: Rig) -> None:
        first = await rig.open(loop(rig))
        await rig.reaches(first, LeaseState.ACTIVE, 60)
        await rig.until(lambda: step_at_least(rig, first, 3))
        cid = await taken(rig, first)
        assert cid in await rig.ipfs.pins()
        assert (await rig.handle(first)).checkpoint == cid
        await rig.chain.pool(TENANT).close(first)
        await rig.until(lambda: not rig.host.volumes.held(), 60)
        last = rig.host.checkpoints.noted(first).kept[-1]
        assert last.why == "stop"
        second = await rig.open(loop(rig, source=last.cid))
        await rig.reaches(second, LeaseState.ACTIVE, 60)
        assert await begun_at(rig, second) >= 3


async def step_at_least(rig: Rig, lease: int, step: int) -> bool:
    return await step_of(rig, lease) >= step
