"""Cells that nobody could be given go out of sale, and come back once they have been whole for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.chain import LeaseState, Machine, MachineStatus, Terms
from leasehold.errors import ContractError
from leasehold.market import canonical
from leasehold_agent.chain import ChainSnapshot, Sale, Withholdings
from leasehold_agent.host import Card
from leasehold_agent.reconciling._lost_cells import FORGIVEN_SECONDS, WELL_SECONDS, LostCells

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

MACHINE = Machine(
    1, "0xp", "0xo", MachineStatus.VERIFIED, False, False, False, 2, 1, 1, 0, 0, 0, 0, 0, Terms(1, 0, 1, 1, 0, 9)
)  # fmt: skip


class World:
    """A machine of two GPUs, a clock, and what is noted of them; `restart` makes it anew."""

    def __init__(self, folder: Path) -> None:
        self.kept, self.now = Withholdings(folder), 1_000.0
        self.restart()

    def restart(self) -> None:
        self.lost = LostCells(self.kept, lambda: self.now)

    def pass_by(self, lost: int, seconds: float = 0.0, machine: Machine = MACHINE) -> int:
        """A look at cards of which `lost` is gone, after so many seconds; returns what is to be out of sale then."""
        self.now += seconds
        self.lost.note(ChainSnapshot(True, machines={1: machine}), {1: lost})
        return self.kept.known(1).cells


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_card_goes_and_comes_back(world: World) -> None:
    assert world.pass_by(0xFF00) == 0xFF00
    assert world.pass_by(0xFF00, 60) == 0xFF00
    assert world.pass_by(0, 60) == 0xFF00, "it has only just come back"
    assert world.pass_by(0, WELL_SECONDS) == 0


def test_a_card_that_comes_and_goes_stays_out_of_sale(world: World) -> None:
    for _ in range(20):
        assert world.pass_by(0xFF, WELL_SECONDS - 60) == 0xFF
        assert world.pass_by(0, 60) == 0xFF


def test_what_a_card_that_flaps_costs_is_bounded(world: World) -> None:
    """It falls ill the moment it is for sale again, for a day: each change of what is to be out of sale is a word."""
    words, before, hours = 0, 0, list[int]()
    for second in range(0, 24 * 3_600, 60):
        now = world.pass_by(0 if before else 0xFF, 60)
        words, before = words + (now != before), now
        if second % 3_600 == 3_540:
            hours.append(words)
            words = 0
    assert hours[0] == 5
    assert max(hours[1:]) <= 2
    assert sum(hours) <= 18


def test_an_owner_who_is_sure_of_his_cards_waits_for_less(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.lost = LostCells(world.kept, lambda: world.now, rest=20)
    world.pass_by(0xFF)
    world.pass_by(0, 1)
    assert (world.pass_by(0, 19), world.pass_by(0, 1)) == (0xFF, 0)
    world.pass_by(0xFF, 60)
    world.pass_by(0, 1)
    assert (world.pass_by(0, 39), world.pass_by(0, 1)) == (0xFF, 0)


def test_a_card_that_was_well_for_long_is_forgiven(world: World) -> None:
    for _ in range(2):
        world.pass_by(0xFF, FORGIVEN_SECONDS + 1)
        world.pass_by(0, 60)
        assert world.pass_by(0, WELL_SECONDS - 1) == 0xFF
        assert world.pass_by(0, 1) == 0


@pytest.mark.slow
def test_one_card_heals_while_another_is_gone(world: World) -> None:
    world.pass_by(0xFFFF)
    world.pass_by(0xFF00, 1)
    assert world.pass_by(0xFF00, WELL_SECONDS) == 0xFF00


@pytest.mark.slow
def test_other_reasons_are_left_alone(world: World) -> None:
    world.kept.put(1, "paused", 0x0F)
    assert world.pass_by(0xFF00) == 0xFF0F
    world.pass_by(0, 1)
    assert world.pass_by(0, WELL_SECONDS) == 0x0F


@pytest.mark.slow
def test_a_restart_forgets_nothing(world: World) -> None:
    world.pass_by(0xFF)
    world.restart()
    assert world.pass_by(0, 60) == 0xFF
    assert world.pass_by(0, WELL_SECONDS) == 0


@pytest.mark.slow
def test_a_machine_that_retired_is_nobodys_concern(world: World) -> None:
    assert world.pass_by(0xFF, machine=replace(MACHINE, status=MachineStatus.RETIRED)) == 0


@pytest.mark.slow
async def test_a_lease_whose_card_is_gone_is_declined_and_the_card_is_out_of_sale(
    rig_of: Callable[..., Any],
) -> None:
    """On a real chain: the machine was described anew with a card that this host does not have."""
    rig: Rig = await rig_of()
    card = Card("m", 1, "GPU-gone")
    document = {"gpus": [{"uuid_hash": card.uuid_hash}], "host_units": 1}
    digest = rig.host.facts.hardware.keep(canonical(document))
    await rig.chain.pool(1).set_hardware(rig.machine, digest)
    await rig.until(lambda: rig.host.snapshot.hardware.get(rig.machine) == digest)
    assert rig.host.facts.allocation(rig.host.snapshot).withheld == {rig.machine: 0xFF}
    lease = await rig.open(revision=2)
    await rig.reaches(lease, LeaseState.CANCELLED)
    notes = rig.host.leases.folder(lease).load()
    assert (notes.failure, notes.failure_detail) == (
        "no-card",
        "cards: GPU 0 does not answer, or is not in this host any more.",
    )
    facts, kept = rig.host.facts, Withholdings.of(rig.settings.state_dir, rig.chain.deployment)
    LostCells(kept, rig.host.clock).note(rig.host.snapshot, facts.allocation(rig.host.snapshot).withheld)
    await Sale(rig.host.chain, kept, rig.settings, rig.host.clock).look(rig.host.snapshot)  # type: ignore[arg-type]  # the pool's gate
    assert (await rig.chain.pool().machine_of(rig.machine)).withheld == 0xFF
    with pytest.raises(ContractError):
        await rig.open(revision=2)
    facts.inventory = replace(facts.inventory, gpus=(card,))
    assert facts.allocation(rig.host.snapshot).withheld == {rig.machine: 0}
