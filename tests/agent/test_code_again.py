"""A container that somebody on the host has taken away comes back with its tenant's code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import LeaseState
from leasehold.workload import CodeContents, CodeFolder, fold, packs, survey
from leasehold_agent._errors import NoContainer
from leasehold_agent.reconciling._code import CodeIntake

if TYPE_CHECKING:
    from tests.agent.conftest import Rig


async def handed_over(rig: Rig, lease: int, code: CodeContents) -> bool:
    """Whether the agent has it; it does not know the lease at once."""
    desired = rig.host.snapshot.leases.get(lease)
    if desired is None:
        return False
    intake = CodeIntake(rig.host, lease, desired.author)
    try:
        await intake.offer(fold(code.tree.encoded))
    except NoContainer:
        return False
    for pack in packs(code.pieces(code.tree.chunks)):
        await intake.take(pack)
    return True


async def test_a_container_that_was_removed_has_its_code_again(rig: Rig, tmp_path: Path) -> None:
    """As by `docker container prune`: what it had written is lost, and what was brought can be had again."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "answer").write_text("42")
    code = survey(CodeFolder(tmp_path / "code", "/work"))
    lease = await rig.open(rig.workload(code={"digest": code.tree.digest.hex(), "path": "/work"}))
    await rig.until(lambda: handed_over(rig, lease, code))
    await rig.reaches(lease, LeaseState.ACTIVE)
    first = await rig.container(lease)
    assert first is not None
    assert await rig.inside(lease, "cat /work/answer") == (0, "42")

    await rig.host.containers.engine.remove(first.name)

    async def is_back() -> bool:
        now = await rig.container(lease)
        return now is not None and now.running and now.id != first.id

    await rig.until(is_back)
    assert await rig.inside(lease, "cat /work/answer") == (0, "42")
