"""What containers get where parts of cards are sold by MPS, and what machines say of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.nvml.standin import Card
from tests.agent.programs.mps_here import GIB, Here
from tests.agent.test_inventory import listing

from leasehold.errors import SettingsError
from leasehold.market import parse_search
from leasehold_agent.cards import (
    CardBusy,
    Devices,
    HeldDevices,
    LeaseShare,
    MachinePart,
    Mig,
    MpsDaemons,
    MpsHost,
    ToolFailed,
    fences_of,
)
from leasehold_agent.documents import hardware_document
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import take_inventory, takes_many

CARD = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65"


def share_of(card: Card, cells: int, mps: str = "hard") -> LeaseShare:
    parts = mps if cells != 0xFF else ""
    return LeaseShare(1.0, 1, 1, (card.uuid,), cells, mps=parts, card_bytes=16 * GIB)


class TestGiving:
    """What a container gets where parts of cards are sold by MPS."""

    async def test_a_part_beside_others(self, here: Here) -> None:
        devices = Devices(mps=here.mps())
        for lease, cells in ((7, 0x01), (9, 0xF0)):
            beside = HeldDevices(parts={here.card.uuid})
            share = share_of(here.card, cells)
            assert await devices.give(lease, share, mine=(), held=beside, timed=True) == {
                here.card.uuid: here.card.uuid
            }
        assert devices.place(9, share_of(here.card, 0xF0)).group == "/leasehold/ab/9"
        await devices.fit(7, share_of(here.card, 0x0F))
        assert here.limit(7) == "0,7936"
        await devices.show(7, "f00")
        await devices.take_back(7, {})
        assert here.namespaces == {"lease_7", "lease_9"}, "only slices were taken back, and there are none"
        await devices.end_part(7)
        assert here.namespaces == {"lease_9"}

    async def test_never_beside_who_has_it_alone_or_takes_turns(self, here: Here) -> None:
        devices = Devices(mps=here.mps())
        for held in (HeldDevices(alone={here.card.uuid}), HeldDevices(shared={here.card.uuid})):
            with pytest.raises(CardBusy, match="another lease's"):
                await devices.give(7, share_of(here.card, 0x01), mine=(), held=held, timed=True)
        for timed in (True, False):
            share = share_of(here.card, 0x03 if timed else 0xFF, "")
            with pytest.raises(CardBusy, match="another lease's"):
                await devices.give(7, share, mine=(), held=HeldDevices(parts={here.card.uuid}), timed=timed)

    async def test_a_part_that_becomes_the_whole_card(self, here: Here) -> None:
        """Its tenant may then have several processes on it, as on any card."""
        devices = Devices(mps=here.mps())
        await devices.give(7, share_of(here.card, 0x0F), mine=(), held=HeldDevices(), timed=True)
        whole = share_of(here.card, 0xFF)
        assert await devices.give(7, whole, mine=(), held=HeldDevices()) == {here.card.uuid: here.card.uuid}
        assert takes_many(here.card.uuid)
        assert devices.place(7, whole).mounts == ()
        await devices.fit(7, whole)

    async def test_what_cannot_be_taken_back_holds_up_nobody(self, here: Here) -> None:
        devices = Devices(mps=here.mps())
        await devices.give(7, share_of(here.card, 0x0F), mine=(), held=HeldDevices(), timed=True)
        (here.groups.path(7) / "cgroup.events").write_text("populated 1")
        await devices.end_part(7)
        here.card.lose()
        (here.groups.path(7) / "cgroup.events").unlink()
        await devices.end_part(7)

    async def test_an_agent_that_was_not_started_for_it(self, here: Here) -> None:
        with pytest.raises(ToolFailed, match="not started"):
            await Devices().give(7, share_of(here.card, 0x01), mine=(), held=HeldDevices(), timed=True)
        assert Devices().place(7, share_of(here.card, 0x01)).mounts == ()
        await Devices().show(7, "f00")
        await Devices().fit(7, share_of(here.card, 0x01))
        await Devices().end_part(7)

    def test_a_smaller_part_is_a_new_container(self) -> None:
        """What runs would keep the memory and the threads that it has, at a price of less."""
        parts = [LeaseShare(1.0, 1, 1, ("GPU-1",), cells, mps="hard") for cells in (0x01, 0x0F)]
        assert parts[0].is_less_of(parts[1])
        assert not parts[1].is_less_of(parts[0])
        assert not replace(parts[0], mps="").is_less_of(parts[1])


class TestWhatIsSold:
    """What `describe` says where the owner sells parts by MPS."""

    def part(self, *cards: Card) -> MachinePart:
        found = {card.uuid: card for card in take_inventory().gpus}
        return MachinePart(tuple(found[card.uuid] for card in cards), len(cards), len(cards))

    def host(self, here: Here, driver: str = "615.71.05", **more: object) -> MpsHost:
        host = MpsHost(driver, "13.4", here.groups, here.tools.program("nvidia-cuda-mps-control"))
        return replace(host, **more)  # type: ignore[arg-type]  # as a test likes

    async def test_down_to_an_eighth_with_limits_that_were_tried(self, here: Here) -> None:
        host = self.host(here)
        fences = await fences_of(self.part(here.card), "mps", Mig(), mps=host)
        assert (fences.isolation, fences.smallest_share, fences.fault_domain) == (("mps",), 1, "card")
        assert "ends that of all tenants" in fences.cautions[0]
        assert here.groups.leases() == set(), "nothing of the trial is left"
        assert host.kind == "hard"

    async def test_cooperative_where_no_limit_holds(self, here: Here) -> None:
        old, bare = self.host(here, "570.133.20"), self.host(here, limits=None)
        for host, why in ((old, "570.133.20"), (bare, "version 2")):
            fences = await fences_of(self.part(here.card), "mps", Mig(), mps=host)
            assert fences.isolation == ("mps", "cooperative")
            assert fences.fault_domain == "card"
            assert why in fences.cautions[0]
            assert host.kind == "cooperative"
            assert isinstance(host.parts(here.folder).service, MpsDaemons)
        here.nvml.set(no_memory_limits=1)
        fences = await fences_of(self.part(here.card), "mps", Mig(), mps=self.host(here))
        assert fences.isolation == ("mps", "cooperative")
        assert "Not Supported" in fences.cautions[0]

    async def test_not_of_cards_that_are_no_good_for_it(self, here: Here) -> None:
        part = self.part(here.card)
        for wrong, why in (
            ({"vendor": "amd"}, "NVIDIA"),
            ({"mig": True}, "mig"),
            ({"capability": "6.1"}, "7.0"),
        ):
            spoiled = replace(part, cards=(replace(part.cards[0], **wrong),))
            with pytest.raises(SettingsError, match=why):
                await fences_of(spoiled, "mps", Mig(), mps=self.host(here))

    async def test_not_without_the_tool(
        self, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SettingsError, match="MPS is not here"):
            await fences_of(self.part(here.card), "mps", Mig())

    async def test_a_search_finds_it(self, here: Here) -> None:
        """From the cards and the tools, through the document that is published."""
        part = self.part(here.card)
        engine = EngineFacts(quota=True, runtimes=("runc",), root=Path("/none"))
        for driver, found, not_found in (
            ("615.71.05", ["isolation:mps", "isolation:mps fault_domain:card"], ["isolation:cooperative"]),
            ("570.1", ["isolation:mps", "isolation:cooperative"], ["isolation:mps -isolation:cooperative"]),
        ):
            fences = await fences_of(part, "mps", Mig(), mps=self.host(here, driver))
            made = hardware_document(
                take_inventory(), part, engine, 1 << 30, fences.isolation, fault_domain=fences.fault_domain
            )
            machine = listing(made, {})
            for text in found:
                assert parse_search(text).matches(machine), text
            for text in (*not_found, "isolation:mig", "fault_domain:share"):
                assert not parse_search(text).matches(machine), text
