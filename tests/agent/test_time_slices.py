"""Time on a card that others compute on as well: who may be on it together, and what is sold of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from tests.agent.nvml.standin import RTX_4090, Card, StandIn

from devnet.cell_book import CellBook, NoRoom
from leasehold.errors import SettingsError
from leasehold_agent.cards import (
    CardBusy,
    Devices,
    Fences,
    HeldDevices,
    LeaseShare,
    MachinePart,
    Mig,
    fences_of,
)
from leasehold_agent.host import take_inventory, takes_many

WHOLE = 0xFF
_STEPS = 3_000


def share_of(card: str, cells: int) -> LeaseShare:
    return LeaseShare(1.0, 1, 1, (card,), cells)


class TestGiving:
    async def test_several_are_on_it_at_once(self, nvml: StandIn) -> None:
        card = nvml.add()
        devices, share = Devices(), share_of(card.uuid, 0x03)
        assert await devices.give(1, share, mine=(), held=HeldDevices(), timed=True) == {card.uuid: card.uuid}
        card.run((4_711, 1 << 30))  # the first computes
        beside = HeldDevices(shared={card.uuid})
        assert await devices.give(2, share, mine=(), held=beside, timed=True) == {card.uuid: card.uuid}

    @pytest.mark.parametrize("timed", [True, False])
    async def test_nobody_comes_to_whom_it_is_alone(self, nvml: StandIn, timed: bool) -> None:
        card = nvml.add()
        with pytest.raises(CardBusy, match="another lease's"):
            await Devices().give(
                1, share_of(card.uuid, 0x03), mine=(), held=HeldDevices(alone={card.uuid}), timed=timed
            )

    async def test_a_whole_card_waits_for_all_who_were_on_it(self, nvml: StandIn) -> None:
        card = nvml.add()
        with pytest.raises(CardBusy, match="another lease's"):
            await Devices().give(1, share_of(card.uuid, WHOLE), mine=(), held=HeldDevices(shared={card.uuid}))

    async def test_the_first_waits_for_what_the_one_before_left(self, nvml: StandIn) -> None:
        """No container is on it any more, a process of one is: its memory is not wiped yet."""
        card = nvml.add()
        card.run((4_711, 1 << 30))
        share = share_of(card.uuid, 0x03)
        with pytest.raises(CardBusy, match="process"):
            await Devices().give(1, share, mine=(), held=HeldDevices(), timed=True)
        card.run()
        assert await Devices().give(1, share, mine=(), held=HeldDevices(), timed=True)

    async def test_nothing_of_it_is_taken_back(self, nvml: StandIn) -> None:
        """The card is its neighbours' as well; there is no slice to destroy."""
        card = nvml.add()
        await Devices().take_back(1, {card.uuid: card.uuid})

    def test_a_smaller_part_is_given_without_a_new_container(self) -> None:
        """Only processors, memory and disk change; from and to a whole card, who else is on it does too."""
        parts = [share_of("GPU-1", cells).devices for cells in (0x01, 0x0F, WHOLE)]
        assert parts[0] == parts[1] != parts[2]
        cut = [replace(share_of("GPU-1", cells), cut=True).devices for cells in (0x01, 0x0F)]
        assert cut[0] != cut[1]


@dataclass
class Crowd:
    """Leases of two cards that come, change and go, and whose containers may outlive them."""

    rng: Random
    book: CellBook = field(default_factory=CellBook)
    devices: Devices = field(
        default_factory=lambda: Devices(Mig(enabled=lambda card: False), processes=lambda card: ())
    )
    on: dict[int, tuple[str, bool]] = field(
        default_factory=dict
    )  # by lease its container's card, and if it is shared

    def held(self, but: int) -> HeldDevices:
        others = [container for lease, container in self.on.items() if lease != but]
        return HeldDevices(
            frozenset(card for card, shared in others if not shared),
            frozenset(card for card, shared in others if shared),
        )

    def share(self, lease: int) -> LeaseShare:
        placement = self.book.leases[lease].placement
        return share_of(f"GPU-{(placement >> 8).bit_length()}", placement & WHOLE)

    async def step(self) -> None:
        ours, gone = sorted(self.book.leases), sorted(self.on.keys() - self.book.leases.keys())
        match self.rng.choice(("open", "open", "close", "resize", "end", "start", "start", "start")):
            case "open":
                self.book.open(1, self.rng.choice((1, 1, 2, 4, 8)))
            case "close" if ours:
                self.book.close(self.rng.choice(ours))
            case "resize" if ours:
                await self.resize(self.rng.choice(ours), self.rng.choice((1, 2, 4, 8)))
            case "end" if gone:
                del self.on[self.rng.choice(gone)]
            case "start" if ours:
                await self.start(self.rng.choice(ours))

    async def resize(self, lease: int, cells: int) -> None:
        before = self.share(lease).devices
        self.book.resize(lease, cells)
        if self.share(lease).devices != before:
            self.on.pop(lease, None)  # it is made anew

    async def start(self, lease: int) -> None:
        share, held = self.share(lease), self.held(lease)
        (card,), timed = share.gpu_uuids, share.cells != WHOLE
        free = card not in held.alone and (timed or card not in held.shared)
        try:
            assert await self.devices.give(lease, share, mine=(), held=held, timed=timed) == {card: card}
        except CardBusy:
            assert not free, "what nobody else has is given"
        else:
            self.on[lease] = (card, timed)

    def check(self) -> None:
        for card in ("GPU-1", "GPU-2"):
            alone = [shared for on, shared in self.on.values() if on == card and not shared]
            everybody = [on for on, _ in self.on.values() if on == card]
            assert not alone or len(everybody) == 1, "a whole card is nobody else's"


@pytest.mark.parametrize("seed", range(4))
async def test_whoever_comes_and_goes(seed: int) -> None:
    crowd = Crowd(Random(seed))
    crowd.book.register(1, 2, bytes(32))
    together = 0
    for _ in range(_STEPS):
        try:
            await crowd.step()
        except NoRoom:
            continue
        crowd.check()
        together = max(together, len(crowd.on))
    assert together > 4, "several were on a card at once"


class TestWhatIsSold:
    """What `describe` says where the owner offers time slices."""

    def part(self, *cards: Card) -> MachinePart:
        found = {card.uuid: card for card in take_inventory().gpus}
        return MachinePart(tuple(found[card.uuid] for card in cards), len(cards), len(cards))

    async def test_down_to_an_eighth_with_a_word_of_warning(self, nvml: StandIn) -> None:
        fences = await fences_of(self.part(nvml.add(), nvml.add()), "time-slice", Mig())
        assert (fences.isolation, fences.smallest_share) == (("time-slice",), 1)
        assert "no limit of memory" in fences.cautions[0]

    async def test_only_where_the_owner_names_them(self, nvml: StandIn) -> None:
        part = self.part(nvml.add(RTX_4090))
        for isolation in ("auto", "whole"):
            assert await fences_of(part, isolation, Mig()) == Fences(("whole",), 8)

    async def test_not_of_a_card_that_is_cut(self, nvml: StandIn) -> None:
        card = nvml.add()
        card.partition([])
        with pytest.raises(SettingsError, match=f"{card.uuid}: set `isolation` to `mig`"):
            await fences_of(self.part(nvml.add(), card), "time-slice", Mig())

    async def test_not_of_a_card_that_lets_one_process_in(self, nvml: StandIn) -> None:
        card = nvml.add(compute_mode=3)
        assert not takes_many(card.uuid)
        with pytest.raises(SettingsError, match=f"nvidia-smi -i {card.uuid} -c DEFAULT"):
            await fences_of(self.part(card), "time-slice", Mig())
        card.set(compute_mode=0)
        assert (await fences_of(self.part(card), "time-slice", Mig())).smallest_share == 1

    async def test_not_of_a_card_that_does_not_answer(self, nvml: StandIn) -> None:
        card = nvml.add()
        part = self.part(card)
        card.lose()
        with pytest.raises(SettingsError, match="cannot be seen"):
            await fences_of(part, "time-slice", Mig())

    async def test_not_of_a_card_whose_driver_says_not_who_computes(self, nvml: StandIn) -> None:
        (card,) = self.part(nvml.add()).cards
        part = MachinePart((replace(card, vendor="amd"),), 1, 1)
        with pytest.raises(SettingsError, match="NVIDIA's cards only"):
            await fences_of(part, "time-slice", Mig())

    async def test_a_host_without_cards_has_none(self) -> None:
        assert await fences_of(MachinePart((), 4, 4), "time-slice", Mig()) == Fences((), 1)
