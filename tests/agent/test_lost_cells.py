"""Cells that nobody could be given go out of sale, and only those that this agent took come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.chain import LeaseState, Machine, MachineStatus, Terms
from leasehold.errors import ChainError
from leasehold_agent.chain import ChainSnapshot
from leasehold_agent.documents import canonical
from leasehold_agent.host import Card
from leasehold_agent.reconciling._withholding import WELL_SECONDS, Withhold, Withholding, due

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TERMS = Terms(1, 0, 1, 1, 0, 60_000)
MACHINE = Machine(
    1, "0xp", "0xo", MachineStatus.VERIFIED, False, False, False, 2, 1, 1, 0, 0, 0, 0, 0, TERMS
)  # fmt: skip


class World:
    """A chain of one machine, a clock, and the agent over them; `restart` makes it anew."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "withheld.json"
        self.machine, self.now, self.sent, self.fails = MACHINE, 1_000.0, 0, False
        self.restart()

    def restart(self) -> None:
        self.agent = Withholding(self, self.file, lambda: self.now)  # type: ignore[arg-type]  # as far as it is used

    async def withhold(self, machine: int, out: int, back: int) -> None:
        if self.fails:
            raise ChainError("no node answers")
        self.sent += 1
        self.machine = replace(self.machine, withheld=self.machine.withheld & ~back | out)

    async def pass_by(self, lost: int, seconds: float = 0.0) -> int:
        """A look at cards of which `lost` is gone, after so many seconds; returns what is out of sale then."""
        self.now += seconds
        self.agent.begin(ChainSnapshot(True, machines={1: self.machine}), {1: lost})
        await self.agent.settle()
        return self.machine.withheld


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_is_due() -> None:
    chain = ChainSnapshot(True, machines={1: replace(MACHINE, withheld=0x0F)})
    assert due(chain, {1: 0xFF}, {}) == [Withhold(1, 0xF0, 0)]
    assert due(chain, {1: 0x0F}, {}) == []
    assert due(chain, {}, {1: 0x33}) == [Withhold(1, 0, 0x03)]
    retired = ChainSnapshot(True, machines={1: replace(MACHINE, status=MachineStatus.RETIRED)})
    assert due(retired, {1: 0xFF}, {}) == []


async def test_a_card_goes_and_comes_back(world: World) -> None:
    assert await world.pass_by(0xFF00) == 0xFF00
    assert await world.pass_by(0xFF00, 60) == 0xFF00
    assert await world.pass_by(0, 60) == 0xFF00, "it has only just come back"
    assert await world.pass_by(0, WELL_SECONDS) == 0
    assert (world.sent, world.agent.noted()) == (2, {})


async def test_a_card_that_comes_and_goes_costs_gas_once(world: World) -> None:
    for _ in range(20):
        await world.pass_by(0xFF, WELL_SECONDS / 2)
        await world.pass_by(0, 60)
    assert (world.sent, world.machine.withheld) == (1, 0xFF)


async def test_what_the_provider_withholds_is_left_to_him(world: World) -> None:
    world.machine = replace(MACHINE, withheld=0x0F0F)
    assert await world.pass_by(0x00FF) == 0x0FFF
    await world.pass_by(0, 1)
    assert await world.pass_by(0, WELL_SECONDS) == 0x0F0F
    world.machine = replace(MACHINE, withheld=0)
    await world.pass_by(0, 1)
    world.machine = replace(MACHINE, withheld=0xF0)
    assert await world.pass_by(0, 2 * WELL_SECONDS) == 0xF0


async def test_what_the_provider_puts_back_too_early_goes_again(world: World) -> None:
    await world.pass_by(0xFF)
    world.machine = replace(MACHINE, withheld=0)
    assert await world.pass_by(0xFF, 60) == 0xFF


async def test_a_restart_anywhere_forgets_nothing(world: World) -> None:
    world.fails = True
    assert await world.pass_by(0xFF) == 0
    world.fails = False
    world.restart()
    assert await world.pass_by(0xFF, 60) == 0xFF
    world.restart()
    await world.pass_by(0, 1)
    assert await world.pass_by(0, WELL_SECONDS) == 0


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "\x00"])
async def test_a_note_that_cannot_be_read_gives_nothing_back(world: World, text: str) -> None:
    await world.pass_by(0xFF)
    world.file.write_text(text)
    await world.pass_by(0, 1)
    assert await world.pass_by(0, WELL_SECONDS) == 0xFF


@pytest.mark.slow
async def test_a_machine_whose_card_is_gone_on_a_real_chain(rig_of: Callable[..., Any]) -> None:
    """Its lease is declined with a sentence, its cells are out of sale, and the card comes back."""
    rig: Rig = await rig_of()
    await rig.until(lambda: rig.host.snapshot.current)
    card = Card("m", 1, "GPU-gone")
    document = {"gpus": [{"uuid_hash": card.uuid_hash}], "host_units": 1}
    digest = rig.host.facts.hardware.keep(canonical(document))
    await rig.chain.pool(1).set_hardware(rig.machine, digest)
    await rig.until(lambda: rig.host.snapshot.hardware.get(rig.machine) == digest)

    async def withheld(cells: int) -> bool:
        rig.reconciler.wake()
        return (await rig.chain.pool().machine_of(rig.machine)).withheld == cells

    await rig.until(lambda: withheld(0xFF))
    await rig.until(lambda: rig.host.snapshot.machines[rig.machine].withheld == 0xFF)
    rig.host.facts.inventory = replace(rig.host.facts.inventory, gpus=(card,))
    passed = rig.reconciler._withholding.clock
    await rig.until(lambda: not rig.host.facts.allocation(rig.host.snapshot).withheld[rig.machine])
    rig.reconciler._withholding.begin(rig.host.snapshot, {})
    rig.reconciler._withholding.clock = lambda: passed() + 2 * WELL_SECONDS
    await rig.until(lambda: withheld(0))
    rig.host.facts.inventory = replace(rig.host.facts.inventory, gpus=())
    rig.host.chain.withhold = _nothing  # type: ignore[method-assign]  # played: too late to keep the lease away
    lease = await rig.open(revision=2)
    await rig.reaches(lease, LeaseState.CANCELLED)
    notes = rig.host.leases.folder(lease).load()
    assert (notes.failure, notes.failure_detail) == (
        "no-card",
        "cards: GPU 0 does not answer, or is not in this host any more.",
    )


async def _nothing(machine: int, out: int, back: int) -> None:
    """Nobody hears of it in time."""
