"""Images of containers from their tenant's side: asked for, sealed to a key of their own, and begun with elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.offchain.client.test_checkpoints import FIRST, ME, NUMBER, SECOND, Node, keeping

from leasehold.client._commits import CommitContainer, CommitContainerPlan, ContainerCommitted
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import AgentError, WorkloadError
from leasehold.home import DatasetKeys
from leasehold.market.wire import LeaseImage
from leasehold.workload import load_workload, seal, unseal


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.client._commits._EVERY", 0.0)


class Maker:
    """The agent of a machine that makes an image, `looks` looks after one was asked for."""

    def __init__(self, cid: str = FIRST, *, trouble: str = "", overtaken: bool = False) -> None:
        self.cid, self.trouble, self.overtaken, self.looks = cid, trouble, overtaken, 3
        self.asked: list[str] = []

    async def commit(self, lease: int, recipient: str) -> LeaseImage:
        self.asked.append(recipient)
        return await self.image(lease)

    async def image(self, lease: int) -> LeaseImage:
        self.looks -= 1
        whose = recipient_of(new_identity()) if self.overtaken else self.asked[-1]
        return LeaseImage(
            lease="1", cid=self.cid, recipient=whose, size=9, running=self.looks > 0, trouble=self.trouble
        )


async def committed(folder: Path, maker: Maker, node: Node, *, keep: bool = True) -> ContainerCommitted:
    client = keeping(folder, maker, node)  # type: ignore[arg-type]  # it makes images
    plan = await CommitContainer(NUMBER, keep).plan(client)
    steps = [step async for step in plan.steps()]
    assert isinstance(steps[-1], ContainerCommitted)
    return steps[-1]


async def test_it_is_sealed_to_a_key_that_stays_here(tmp_path: Path) -> None:
    maker, node = Maker(), Node(FIRST)
    made = await committed(tmp_path, maker, node)
    assert (made.image, made.size, made.kept, made.unkept) == (f"ipfs:{FIRST}", 9, True, "")
    assert node.pinned == [FIRST]
    assert DatasetKeys(tmp_path).all() == {FIRST: made.key}
    assert maker.asked == [recipient_of(made.key)]
    assert made.key not in repr(made)


async def test_each_has_a_key_of_its_own(tmp_path: Path) -> None:
    """A machine that runs one opens that one alone."""
    one = await committed(tmp_path, Maker(), Node())
    two = await committed(tmp_path, Maker(SECOND), Node(), keep=False)
    assert one.key != two.key
    assert not one.kept
    assert "cannot be had" in one.unkept or one.unkept
    assert (two.kept, two.unkept) == (False, "")


async def test_its_tenant_alone(tmp_path: Path) -> None:
    client = keeping(tmp_path, Maker(), Node(), tenant="0x" + "33" * 20)  # type: ignore[arg-type]  # as above
    with pytest.raises(NotTheTenant):
        await CommitContainer(NUMBER).plan(client)
    assert CommitContainerPlan(client, NUMBER, True).to_json() == {"lease": "1"}
    assert ME


@pytest.mark.parametrize(
    ("maker", "said"),
    [
        (Maker(trouble="no room"), "No image was made: no room"),
        (Maker(overtaken=True), "Another image was made"),
    ],
)
async def test_what_went_wrong_is_said_and_leaves_no_key(tmp_path: Path, maker: Maker, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        await committed(tmp_path, maker, Node())
    assert DatasetKeys(tmp_path).all() == {}


async def test_an_agent_takes_no_other_key_away(tmp_path: Path) -> None:
    """It names a dataset that was sealed here as its image: the key of that would be written over."""
    DatasetKeys(tmp_path).keep(FIRST, new_identity())
    before = DatasetKeys(tmp_path).all()
    with pytest.raises(AgentError, match="sealed here before"):
        await committed(tmp_path, Maker(), Node(FIRST))
    assert DatasetKeys(tmp_path).all() == before


class TestWorkload:
    def test_who_names_it_here_hands_its_key_to_the_machine_alone(self, tmp_path: Path) -> None:
        keys, key, machine = DatasetKeys(tmp_path), new_identity(), new_identity()
        keys.keep(FIRST, key)
        workload = keys.given_to(load_workload({"version": 1, "image": f"ipfs:{FIRST}"}))
        assert workload.image_key == key
        assert key not in repr(workload)
        opened = unseal(seal(workload.for_tenant(ME), recipient_of(machine)), machine)
        assert opened.image_key == key
        assert keys.given_to(load_workload({"version": 1, "image": f"ipfs:{SECOND}"})).image_key is None
        written = load_workload({"version": 1, "image": f"ipfs:{FIRST}", "image_key": machine})
        assert keys.given_to(written).image_key == machine

    def test_what_has_none_keeps_the_bytes_that_it_had(self) -> None:
        assert b"image_key" not in load_workload({"version": 1, "image": f"ipfs:{FIRST}"}).canonical()

    @pytest.mark.parametrize("image", ["sha256:" + "0" * 64, "x@sha256:" + "0" * 64])
    def test_a_key_is_for_an_archive(self, image: str) -> None:
        with pytest.raises((WorkloadError, ValidationError), match="image_key"):
            load_workload({"version": 1, "image": image, "image_key": new_identity()})
        with pytest.raises((WorkloadError, ValidationError), match="age identity"):
            load_workload({"version": 1, "image": f"ipfs:{FIRST}", "image_key": "secret"})
