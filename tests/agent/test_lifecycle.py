"""A lease's life: real chain, real engine, real IPFS; the agent in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold.workload import fetch_results

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2


async def test_from_open_to_results(rig: Rig, tmp_path: Path) -> None:
    """Opened, running, started on the chain, closed, stopped, outputs published; the data is kept."""
    reader = new_identity()
    output = {"path": "/results", "recipients": [recipient_of(reader)]}
    command = ["sh", "-c", "mkdir /results; echo 42 > /results/answer; exec sleep 600"]
    lease = await rig.open(rig.workload(command=command, outputs=[output], grace=1))
    await rig.reaches(lease, LeaseState.ACTIVE)
    running = await rig.container(lease)
    assert running is not None
    assert running.running
    handle = await rig.handle(lease)
    assert (handle.outputs, handle.machine, handle.container_id) == (("/results",), rig.machine, running.id)

    await rig.chain.pool(TENANT).close(lease)

    async def published() -> bool:
        return (await rig.handle(lease)).phase == "ended" and (await rig.handle(lease)).result_cid is not None

    await rig.until(published)
    stopped = await rig.container(lease)
    assert stopped is not None
    assert not stopped.running
    cid = (await rig.handle(lease)).result_cid
    assert cid is not None
    await fetch_results(cid, reader, tmp_path / "out", rig.ipfs)
    assert (tmp_path / "out" / "results" / "answer").read_text() == "42\n"
