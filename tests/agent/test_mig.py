"""Slices of cards by the real pynvml and the words of the real nvidia-smi, over a library and a tool that stand in for
them.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.nvml.smi import install, said
from tests.agent.nvml.standin import RTX_4090, Card, StandIn

from leasehold.errors import SettingsError
from leasehold_agent.cards import (
    CardBusy,
    Devices,
    Fences,
    HeldDevices,
    LeaseShare,
    MachinePart,
    Mig,
    ToolFailed,
    fences_of,
)
from leasehold_agent.cards._mig_geometry import (
    Instance,
    created,
    instances_of,
    profiles_of,
    slot_of,
    smallest_share_of,
)
from leasehold_agent.cards._tools import Program
from leasehold_agent.host import mig_devices, mig_enabled, take_inventory

LEAST = {"mig-h100-80gb": 1, "mig-a100-40gb": 1, "mig-a30-24gb": 2}
STARTS = {1: range(7), 2: (0, 2, 4), 4: (0, 4), 8: (0,)}


def profiles(transcript: str) -> tuple[object, ...]:
    return profiles_of(said(transcript, "nvidia-smi mig -lgip"), said(transcript, "nvidia-smi mig -lgipp"))


class TestWhatTheToolPrints:
    @pytest.mark.parametrize(("transcript", "least"), LEAST.items())
    def test_every_place_of_the_chain_has_a_slice(self, transcript: str, least: int) -> None:
        known = profiles(transcript)
        assert smallest_share_of(known) == least  # type: ignore[arg-type]  # as they are
        for share, starts in STARTS.items():
            for start in starts:
                slot = slot_of(known, ((1 << share) - 1) << start)  # type: ignore[arg-type]
                assert (slot is not None) == (share >= least)

    @pytest.mark.parametrize(
        ("transcript", "cells", "argument"),
        [
            ("mig-h100-80gb", 0x01, "19:0"), ("mig-h100-80gb", 0x40, "19:6"), ("mig-h100-80gb", 0x30, "14:4"),
            ("mig-h100-80gb", 0x0F, "9:0"), ("mig-h100-80gb", 0xF0, "9:4"), ("mig-h100-80gb", 0xFF, "0:0"),
            ("mig-a30-24gb", 0x03, "14:0"), ("mig-a30-24gb", 0x30, "14:2"), ("mig-a30-24gb", 0xF0, "5:2"),
            ("mig-a30-24gb", 0xFF, "0:0"),
        ],
    )  # fmt: skip
    def test_which_slice_a_place_is(self, transcript: str, cells: int, argument: str) -> None:
        slot = slot_of(profiles(transcript), cells)  # type: ignore[arg-type]
        assert slot is not None
        assert slot.argument == argument

    @pytest.mark.parametrize("cells", [0, 0x05, 0x80, 0x06, 0x1E, 0x07])
    def test_what_the_chain_never_leases(self, cells: int) -> None:
        assert slot_of(profiles("mig-h100-80gb"), cells) is None  # type: ignore[arg-type]

    def test_all_that_fits_by_memory_fits_by_compute(self) -> None:
        """Seven compute slices for eight of memory: whatever stands beside each other has enough."""
        known = profiles("mig-h100-80gb")
        for cards in (
            [0x0F, 0xF0],
            [0x0F, 0x30, 0x40],
            [0xF0, 1, 2, 4, 8],
            [0xF0, 3, 12],
            [1 << n for n in range(7)],
        ):
            slots = [slot_of(known, cells) for cells in cards]  # type: ignore[arg-type]
            assert sum(slot.profile.compute for slot in slots if slot) <= 7

    def test_instances(self) -> None:
        listed = said("mig-a100-40gb", "nvidia-smi mig -lgi")
        assert instances_of(listed) == (
            Instance(7, 19, 0, 1), Instance(8, 19, 1, 1), Instance(4, 14, 2, 2), Instance(2, 9, 4, 4),
        )  # fmt: skip
        assert created(said("mig-a100-40gb", "nvidia-smi mig -cgi 9,19,14,19")) == 2
        assert created("Unable to create a GPU instance") is None

    @pytest.mark.parametrize("text", ["", "No MIG-enabled devices found.", "|" * 10_000])
    def test_what_is_no_table(self, text: str) -> None:
        assert (profiles_of(text, text), instances_of(text)) == ((), ())
        assert smallest_share_of(()) == 8


@pytest.fixture
def card(nvml: StandIn) -> Card:
    made = nvml.add(mig=1)
    made.partition([])
    return made


@pytest.fixture
def asked(nvml: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = install(tmp_path / "bin", nvml)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return log


def lines_of(asked: Path) -> list[str]:
    return asked.read_text().splitlines()


class TestSlices:
    async def test_made_for_a_lease_and_destroyed_after_it(self, card: Card, asked: Path) -> None:
        mig = Mig()
        assert await mig.smallest_share(card.uuid) == 1
        first = await mig.give(1, card.uuid, 0x0F, mine=(), held=())
        second = await mig.give(1, card.uuid, 0x30, mine=(), held=(first,))
        assert set(mig_devices(card.uuid).values()) == {first, second}
        assert first.startswith("MIG-")
        await mig.take_back(1, card.uuid, [first])
        assert set(mig_devices(card.uuid).values()) == {second}
        done = [line.split()[3:] for line in lines_of(asked)]
        assert ["-cgi", "9:0", "-C"] in done
        assert done[-2:] == [["-dci", "-gi", "1"], ["-dgi", "-gi", "1"]]

    @pytest.mark.slow
    async def test_ones_own_is_given_again(self, card: Card, asked: Path) -> None:
        """As after a restart of the agent, or of the container."""
        first = await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        assert await Mig().give(1, card.uuid, 0x03, mine=(first,), held=()) == first

    async def test_nobody_gets_a_slice_that_was_anothers(self, card: Card, asked: Path) -> None:
        """Of the same size, at the same place: its memory would be as the other left it."""
        before = await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        assert await Mig().give(1, card.uuid, 0x03, mine=(), held=()) != before

    @pytest.mark.slow
    async def test_a_slice_that_has_become_anothers_is_let_be(self, card: Card, asked: Path) -> None:
        """The end of a lease that takes its time, while the next one begins: the driver names their slices alike."""
        mig = Mig()
        before = await mig.give(1, card.uuid, 0x03, mine=(), held=())
        after = await mig.give(2, card.uuid, 0x03, mine=(), held=())
        mig._whose[before] = 2
        card.set({"mig.0.uuid": before, "slices": (card.get("slices") or "").replace(after, before)})
        await mig.take_back(1, card.uuid, [before])
        assert set(mig_devices(card.uuid).values()) == {before}
        assert await mig.give(1, card.uuid, 0x03, mine=(before,), held=()) != before

    @pytest.mark.slow
    async def test_a_slice_in_the_way_goes(self, card: Card, asked: Path) -> None:
        small = await Mig().give(1, card.uuid, 0x04, mine=(), held=())
        large = await Mig().give(1, card.uuid, 0xFF, mine=(small,), held=())
        assert set(mig_devices(card.uuid).values()) == {large}

    async def test_what_another_container_has_is_waited_for(self, card: Card, asked: Path) -> None:
        other = await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        with pytest.raises(CardBusy, match="another lease's"):
            await Mig().give(1, card.uuid, 0x0F, mine=(), held=(other,))
        assert set(mig_devices(card.uuid).values()) == {other}

    @pytest.mark.slow
    async def test_what_a_process_computes_on_is_waited_for(self, card: Card, asked: Path) -> None:
        slice_ = await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        card.run((4_711, 1 << 20, 1, 0))
        with pytest.raises(CardBusy, match="process"):
            await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        with pytest.raises(CardBusy):
            await Mig().take_back(1, card.uuid, [slice_])
        card.run()
        await Mig().take_back(1, card.uuid, [slice_])
        assert mig_devices(card.uuid) == {}

    @pytest.mark.slow
    async def test_what_was_half_made_goes(self, card: Card, asked: Path) -> None:
        """A GPU instance without a compute instance has no UUID: nobody can have it."""
        await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        await Program("nvidia-smi")("mig", "-i", card.uuid, "-dci", "-gi", "1")
        whole = await Mig().give(1, card.uuid, 0xFF, mine=(), held=())
        assert set(mig_devices(card.uuid).values()) == {whole}

    @pytest.mark.slow
    async def test_two_leases_at_once(self, card: Card, asked: Path) -> None:
        mig = Mig()
        given = await asyncio.gather(*(mig.give(1, card.uuid, 1 << n, mine=(), held=()) for n in range(7)))
        assert len(set(given)) == len(mig_devices(card.uuid)) == 7

    async def test_the_second_card_is_not_the_first(self, card: Card, asked: Path, nvml: StandIn) -> None:
        other = nvml.add(mig=1)
        other.partition([])
        await Mig().give(1, other.uuid, 0x01, mine=(), held=())
        assert (len(mig_devices(card.uuid)), len(mig_devices(other.uuid))) == (0, 1)

    async def test_a_card_that_is_not_cut(self, card: Card, asked: Path) -> None:
        card.partition(None)
        with pytest.raises(ToolFailed, match="No MIG-enabled devices found"):
            await Mig().give(1, card.uuid, 0x01, mine=(), held=())

    async def test_an_argument_that_the_tool_does_not_have(self, card: Card, asked: Path) -> None:
        for wrong in (["-cgi", "19:0"], ["-cgi", "19", "-C"], ["-lgi", "-x"], ["-dgi"]):
            with pytest.raises(ToolFailed, match="Invalid argument"):
                await Program("nvidia-smi")("mig", "-i", card.uuid, *wrong)
        with pytest.raises(ToolFailed, match="Invalid argument"):
            await Program("nvidia-smi")("mig", "-i", "0", "-lgi")


class TestModes:
    """Several whole cards are no slices: a process could use one of these only."""

    async def test_what_a_card_was_cut_into_goes_with_the_mode(self, card: Card, asked: Path) -> None:
        left = await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        with pytest.raises(CardBusy, match="another lease's"):
            await Mig().leave_whole(card.uuid, held=(left,))
        assert set(mig_devices(card.uuid).values()) == {left}
        await Mig().leave_whole(card.uuid, held=())
        assert (card.get("mig"), mig_devices(card.uuid), mig_enabled(card.uuid)) == ("0", {}, False)
        before = lines_of(asked)
        await Mig().leave_whole(card.uuid, held=())
        assert lines_of(asked) == before
        await Mig().cut(card.uuid)
        assert mig_enabled(card.uuid)

    async def test_a_change_that_waits_for_a_reset_is_taken_back(self, card: Card, asked: Path) -> None:
        """It would come about at the next reset, under whoever has the card then."""
        card.run((4_711, 1 << 20))
        with pytest.raises(CardBusy, match="holds the card"):
            await Mig().leave_whole(card.uuid, held=())
        assert (card.get("mig"), card.get("mig_pending")) == ("1", "1")
        assert [line.split()[2:] for line in lines_of(asked)][-2:] == [["-mig", "0"], ["-mig", "1"]]

    async def test_a_card_without_the_mode(self, card: Card, asked: Path, nvml: StandIn) -> None:
        gaming = nvml.add(RTX_4090)
        assert not mig_enabled(gaming.uuid)
        await Mig(smi=Program("nvidia-smi-nowhere")).leave_whole(gaming.uuid, held=())

    async def test_a_process_in_a_slice(self, card: Card, asked: Path) -> None:
        slice_ = await Mig().give(1, card.uuid, 0x03, mine=(), held=())
        card.run((4_711, 1 << 20, 1, 0))
        with pytest.raises(CardBusy, match="process"):
            await Mig().leave_whole(card.uuid, held=())
        assert set(mig_devices(card.uuid).values()) == {slice_}


class TestWhatIsSold:
    """What `describe` says that shares are kept apart by."""

    def part(self, *cards: Card) -> MachinePart:
        found = {card.uuid: card for card in take_inventory().gpus}
        return MachinePart(tuple(found[card.uuid] for card in cards), len(cards), len(cards))

    async def test_slices_where_all_cards_are_cut(self, card: Card, asked: Path) -> None:
        assert await fences_of(self.part(card), "auto", Mig()) == Fences(("mig",), 1, fault_domain="share")
        assert await fences_of(self.part(card), "mig", Mig()) == Fences(("mig",), 1, fault_domain="share")
        assert await fences_of(self.part(card), "whole", Mig()) == Fences(("whole",), 8)

    async def test_whole_where_one_is_not(self, card: Card, asked: Path, nvml: StandIn) -> None:
        part = self.part(card, nvml.add())
        fences = await fences_of(part, "auto", Mig())
        assert (fences.isolation, fences.smallest_share, len(fences.cautions)) == (("whole",), 8, 1)
        with pytest.raises(SettingsError, match="-mig 1"):
            await fences_of(part, "mig", Mig())

    async def test_several_cards_that_stay_cut_are_no_several_cards(
        self, card: Card, asked: Path, nvml: StandIn
    ) -> None:
        other = nvml.add(mig=1)
        other.partition([])
        assert (await fences_of(self.part(card, other), "auto", Mig())).cautions == ()
        for ampere in (card, other):
            ampere.set(capability="8 0")
        fences = await fences_of(self.part(card, other), "auto", Mig())
        assert (fences.isolation, len(fences.cautions)) == (("mig",), 1)

    async def test_a_card_with_half_as_many_slices(
        self, card: Card, nvml: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(tmp_path / "bin", nvml, "mig-a30-24gb")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        assert await fences_of(self.part(card), "auto", Mig()) == Fences(("mig",), 2, fault_domain="share")

    async def test_no_card_and_no_tool(
        self, card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert await fences_of(MachinePart((), 4, 4), "auto", Mig()) == Fences((), 1)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SettingsError, match="cannot be seen"):
            await fences_of(self.part(card), "auto", Mig())


class TestGiving:
    """What a container gets of its lease's cards."""

    def share(self, *cards: Card, cells: int = 0xFF, cut: bool = False) -> LeaseShare:
        return LeaseShare(1.0, 1, 1, tuple(card.uuid for card in cards), cells, cut)

    async def test_whole_cards_once_nobody_has_them(self, nvml: StandIn) -> None:
        first, second = nvml.add(), nvml.add()
        devices = Devices()
        share = self.share(first, second)
        assert await devices.give(1, share, mine=(), held=HeldDevices()) == {
            c.uuid: c.uuid for c in (first, second)
        }
        with pytest.raises(CardBusy, match="another lease's"):
            await devices.give(1, share, mine=(), held=HeldDevices({second.uuid}))
        second.run((4_711, 1 << 20))
        with pytest.raises(CardBusy, match="process"):
            await devices.give(1, share, mine=(), held=HeldDevices())

    async def test_whole_cards_whose_driver_does_not_say(self, nvml: StandIn) -> None:
        share = replace(self.share(), gpu_uuids=("AMD-1",), watched=False)
        assert await Devices().give(1, share, mine=(), held=HeldDevices()) == {"AMD-1": "AMD-1"}
        with pytest.raises(CardBusy):
            await Devices().give(1, share, mine=(), held=HeldDevices({"AMD-1"}))

    async def test_a_card_that_does_not_answer_is_not_given(self, nvml: StandIn) -> None:
        card = nvml.add()
        card.lose()
        with pytest.raises(OSError, match="does not answer"):
            await Devices().give(1, self.share(card), mine=(), held=HeldDevices())

    @pytest.mark.slow
    async def test_several_whole_cards_are_left_whole(self, card: Card, asked: Path, nvml: StandIn) -> None:
        """And cut again for whoever comes next, but not under whoever has one still."""
        other = nvml.add(mig=1)
        other.partition([])
        devices, both = Devices(), self.share(card, other)
        left = await devices.mig.give(7, other.uuid, 0x0F, mine=(), held=())
        with pytest.raises(CardBusy):
            await devices.give(1, both, mine=(), held=HeldDevices({left}))
        given = await devices.give(1, both, mine=(), held=HeldDevices())
        assert given == {card.uuid: card.uuid, other.uuid: other.uuid}
        assert [mig_enabled(known.uuid) for known in (card, other)] == [False, False]

        part = self.share(card, cells=0x03, cut=True)
        with pytest.raises(CardBusy):
            await devices.give(2, part, mine=(), held=HeldDevices({card.uuid, other.uuid}))
        card.run((4_711, 1 << 20))
        with pytest.raises(CardBusy):
            await devices.give(2, part, mine=(), held=HeldDevices({other.uuid}))
        assert not mig_enabled(card.uuid)
        card.run()
        assert set(await devices.give(2, part, mine=(), held=HeldDevices({other.uuid}))) == set(
            mig_devices(card.uuid).values()
        )

    async def test_a_slice_of_a_card_that_is_cut(self, card: Card, asked: Path) -> None:
        devices = Devices()
        given = await devices.give(1, self.share(card, cells=0x03, cut=True), mine=(), held=HeldDevices())
        assert list(given.values()) == [card.uuid]
        assert set(mig_devices(card.uuid).values()) == set(given)
        await devices.take_back(1, given)
        assert mig_devices(card.uuid) == {}
        await devices.take_back(1, {card.uuid: card.uuid})

    async def test_what_cannot_be_taken_back_holds_up_nobody(self, card: Card, asked: Path) -> None:
        devices = Devices()
        given = await devices.give(1, self.share(card, cells=0x03, cut=True), mine=(), held=HeldDevices())
        card.run((4_711, 1 << 20, 1, 0))
        await devices.take_back(1, given)
        card.lose()
        await devices.take_back(1, given)


class TestTools:
    async def test_one_that_is_not_here(self) -> None:
        with pytest.raises(ToolFailed, match="No such file"):
            await Program("nvidia-smi-nowhere")("-L")

    async def test_one_that_does_not_end_is_ended(self, tmp_path: Path) -> None:
        tool, began = tmp_path / "tool", tmp_path / "began"
        os.mkfifo(began)
        tool.write_text(f"#!/bin/sh\necho $$ > {began}\nexec sleep 600\n")
        tool.chmod(0o755)
        running = asyncio.create_task(Program(str(tool))())
        process = int(await asyncio.to_thread(began.read_text))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

    async def test_one_that_takes_too_long_is_not_waited_for(self) -> None:
        with pytest.raises(ToolFailed, match="has not ended in 0"):
            await Program("sleep", seconds=0.01)("600")
