"""What a lease's cells come to on its host's cards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold_agent.cards import Given, LeaseShare, Part
from leasehold_agent.cards._shares import share_of
from leasehold_agent.host import Card, take_inventory

H100 = Card("NVIDIA H100 80GB HBM3", 85_520_809_984, "GPU-1", mig=True, capability="9.0")


def share(placement: int, *cards: Card, sliced: bool = True) -> LeaseShare:
    parts = tuple(Part(card.uuid_hash, placement & 0xFF) for card in cards)
    inventory = replace(take_inventory(), gpus=cards)
    return share_of(inventory, Given(parts), placement=placement, units=2, memory=64, disk=64, sliced=sliced)


@pytest.mark.parametrize(
    ("capability", "can"), [("9.0", True), ("12.0", True), ("8.0", False), (None, False), ("odd", False)]
)
def test_since_hopper_a_mode_changes_at_once(capability: str | None, can: bool) -> None:
    assert replace(H100, capability=capability).recuts is can
    assert not replace(H100, capability=capability, mig=None).recuts


def test_one_card_is_had_in_a_slice() -> None:
    """All of it too; and where the mode was lost, as by a reboot, or is off for who had several."""
    for mig in (True, False):
        for placement in (0x0103, 0x01FF):
            given = share(placement, replace(H100, mig=mig))
            assert (given.cut, given.stays_cut) == (True, False)


def test_a_machine_that_was_not_sold_in_slices_has_none() -> None:
    assert not share(0x01FF, replace(H100, mig=False), sliced=False).cut
    assert share(0x01FF, H100, sliced=False).cut


def test_several_whole_cards_are_no_slices() -> None:
    two = H100, replace(H100, uuid="GPU-2")
    for sliced in (True, False):
        given = share(0x03FF, *two, sliced=sliced)
        assert (given.cut, given.stays_cut, len(given.gpu_uuids)) == (False, False, 2)


def test_several_whole_cards_that_only_a_reset_makes_whole() -> None:
    two = tuple(replace(H100, uuid=uuid, capability="8.0") for uuid in ("GPU-1", "GPU-2"))
    given = share(0x03FF, *two)
    assert (given.cut, given.stays_cut) == (True, True)
    uncut = tuple(replace(card, mig=False) for card in two)
    assert not share(0x03FF, *uncut).stays_cut


def test_parts_of_several_cards_stay_slices() -> None:
    assert share(0x0303, H100, replace(H100, uuid="GPU-2")).stays_cut
    plain = tuple(replace(H100, uuid=uuid, mig=None) for uuid in ("GPU-1", "GPU-2"))
    assert not share(0x0303, *plain).stays_cut
