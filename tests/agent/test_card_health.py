"""Cards that fall ill while they are watched: by the real pynvml over the library that stands in for a driver's, and in
the end on a real chain.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pynvml
import pytest
from tests.agent.conftest import sold
from tests.agent.nvml.standin import GPU_IS_LOST, RTX_4090, Card, StandIn

from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold_agent import _serve
from leasehold_agent._errors import EngineDown
from leasehold_agent.chain import Sale, Withholdings
from leasehold_agent.cli._status import status
from leasehold_agent.documents import write_status
from leasehold_agent.engine import Engine
from leasehold_agent.host import (
    SILENT,
    Ailment,
    CardLook,
    CardReading,
    CardWard,
    CardWatch,
    Silence,
    hash_of,
    take_inventory,
)
from leasehold_agent.host._health import BROKEN_XIDS, CALM_SECONDS, XID_SECONDS, Patient, judged
from leasehold_agent.host._readings import MOST_EVENTS
from leasehold_agent.reconciling import SECONDS_TO_SAY, CardHealth, HostFacts, LostCells
from leasehold_agent.reconciling._lost_cells import WELL_SECONDS
from leasehold_agent.store import told_of_cards

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

WELL = CardReading(temperature=60, slows_at=89, uncorrected=0)
HOT = replace(WELL, temperature=89)
BRAKED = replace(WELL, throttle=0x48)
NO_ANSWER = 0.2


@pytest.fixture
def watch(nvml: StandIn) -> Iterator[CardWatch]:
    made = CardWatch(seconds=patient(30))
    yield made
    made.close()


def causes(*looks: CardReading | Silence, xids: tuple[int, ...] = (), every: float = 2.0) -> list[str | None]:
    """What ails a card after each of these looks; the XIDs come with the first."""
    found: list[str | None] = []
    patient = Patient()
    for number, said in enumerate(looks):
        patient = judged(patient, said, xids if number == 0 else (), number * every)
        found.append(patient.ailment.cause if patient.ailment is not None else None)
    return found


class TestTheRule:
    def test_a_card_that_is_well(self) -> None:
        assert causes(WELL, WELL) == [None, None]
        assert causes(CardReading(), CardReading()) == [None, None], "one that knows nothing of itself"

    def test_what_its_driver_calls_lost_is_ill_at_once(self) -> None:
        assert causes(Silence(lost=True)) == ["silent"]

    @pytest.mark.parametrize(
        ("said", "cause"), [(Silence(lost=False), "silent"), (HOT, "heat"), (BRAKED, "throttled")]
    )
    def test_what_passes_has_to_be_seen_twice_in_a_row(self, said: CardReading | Silence, cause: str) -> None:
        assert causes(said, said) == [None, cause]
        assert causes(said, WELL, said, WELL, said) == [None] * 5

    @pytest.mark.parametrize("bits", [0x01, 0x04, 0x20, 0x25])
    def test_a_card_that_idles_or_keeps_its_limit_is_well(self, bits: int) -> None:
        limited = replace(WELL, throttle=bits)
        assert causes(limited, limited, limited) == [None] * 3

    def test_memory_that_is_broken(self) -> None:
        assert causes(replace(WELL, uncorrected=1)) == ["ecc"]
        assert causes(replace(WELL, remap_failed=True)) == ["ecc"]
        assert causes(replace(WELL, corrected=10_000)) == [None]

    @pytest.mark.parametrize("number", sorted(BROKEN_XIDS))
    def test_an_xid_that_means_it_is_broken_counts_for_a_while(self, number: int) -> None:
        assert causes(WELL, WELL, xids=(number, 13)) == ["xid", "xid"]
        assert causes(WELL, WELL, xids=(number,), every=XID_SECONDS) == ["xid", None]

    def test_a_tenants_own_mistakes_say_nothing_of_the_card(self) -> None:
        """Else whoever leases an eighth could have the rest taken off sale by reading past an array."""
        assert causes(WELL, xids=(8, 13, 31, 32, 43, 45, 68, 69, 94, 109)) == [None]

    def test_a_card_at_its_limit_does_not_flap(self) -> None:
        nearly = replace(WELL, temperature=86)
        assert causes(HOT, HOT, nearly, nearly) == [None, "heat", "heat", "heat"]
        assert causes(HOT, HOT, WELL, WELL, every=CALM_SECONDS / 2 - 1) == [None, "heat", "heat", "heat"]
        assert causes(HOT, HOT, WELL, WELL, every=CALM_SECONDS / 2)[-1] is None

    def test_what_is_told_does_not_change_with_each_degree(self) -> None:
        first = judged(judged(Patient(), HOT, (), 0), HOT, (), 2)
        second = judged(first, replace(HOT, temperature=93), (), 4)
        assert first.ailment == second.ailment == Ailment("heat", "89 °C")

    def test_calm_is_as_long_as_the_hosts_owner_says(self) -> None:
        ward, lost, well = (
            CardWard(calm=2),
            CardLook({"GPU-1": Silence(lost=True)}),
            CardLook({"GPU-1": WELL}),
        )
        assert [ward.see(look, now) for now, look in ((0, lost), (1, well), (2, well))] == [
            {"GPU-1": SILENT},
            {"GPU-1": SILENT},
            {},
        ]

    def test_a_card_that_nobody_looks_at_is_forgotten(self) -> None:
        health = CardWard()
        assert health.see(CardLook({"GPU-1": Silence(lost=True)}), 0) == {"GPU-1": SILENT}
        assert health.see(CardLook({}), 1) == {}


class TestALook:
    def test_what_a_card_says(self, nvml: StandIn, watch: CardWatch) -> None:
        card = nvml.add()
        card.set(
            {"gpu_use": 97, "memory_use": 40, "power": 612_500, "temperature": 71, "memory_used": 7 << 30}
        )
        card.set({"clock.sm": 1_755, "throttle": 4, "ecc.corrected.volatile": 3, "remapped": "1 2 0 1"})
        card.run((4_321, 5 << 30))
        assert watch.look([card.uuid]).cards[card.uuid] == CardReading(
            busy=97, memory_busy=40, memory_used=7 << 30, memory_bytes=85_520_809_984, temperature=71, slows_at=89,
            power_watts=612.5, clock_mhz=1_755, memory_clock_mhz=2_619, throttle=4, corrected=3, uncorrected=0,
            remap_failed=True, processes={4_321: 5 << 30},
        )  # fmt: skip

    def test_a_card_without_ecc(self, nvml: StandIn, watch: CardWatch) -> None:
        card = nvml.add(RTX_4090)
        said = watch.look([card.uuid]).cards[card.uuid]
        assert isinstance(said, CardReading)
        assert (said.temperature, said.slows_at, said.uncorrected, said.remap_failed) == (41, 97, None, False)

    def test_a_card_falls_off_the_bus_and_comes_back(self, nvml: StandIn, watch: CardWatch) -> None:
        card, other = nvml.add(), nvml.add()
        watch.look([card.uuid, other.uuid])
        card.lose()
        found = watch.look([card.uuid, other.uuid]).cards
        assert found[card.uuid] == Silence(lost=True)
        assert isinstance(found[other.uuid], CardReading)
        card.fail(None)
        assert isinstance(watch.look([card.uuid]).cards[card.uuid], CardReading)

    def test_one_that_is_lost_in_the_middle_of_it(self, nvml: StandIn, watch: CardWatch) -> None:
        """Its name is known still, and what is asked next fails."""
        card = nvml.add()
        card.fail(GPU_IS_LOST, "power")
        assert watch.look([card.uuid]).cards[card.uuid] == Silence(lost=True)

    def test_an_xid_is_told_once(self, nvml: StandIn, watch: CardWatch) -> None:
        card, other = nvml.add(), nvml.add()
        card.xid(13)
        watch.look([card.uuid, other.uuid])  # what was before is nobody's
        card.xid(31)
        other.xid(79)
        assert watch.look([card.uuid, other.uuid]).xids == {card.uuid: (31,), other.uuid: (79,)}
        assert watch.look([card.uuid, other.uuid]).xids == {}

    def test_a_tenant_cannot_drown_the_one_that_counts(
        self, nvml: StandIn, watch: CardWatch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What one look does not read, the next does; none is read without end."""
        monkeypatch.setattr("leasehold_agent.host._readings.MOST_EVENTS", 4)
        assert MOST_EVENTS > 4
        card = nvml.add()
        watch.look([card.uuid])
        for number in (13, 13, 13, 13, 13, 79):
            card.xid(number)
        assert watch.look([card.uuid]).xids == {card.uuid: (13, 13, 13, 13)}
        assert watch.look([card.uuid]).xids == {card.uuid: (13, 79)}

    def test_a_card_that_hangs_holds_one_thread_however_often_it_is_looked_at(self, nvml: StandIn) -> None:
        watch = CardWatch(NO_ANSWER)
        card, other = nvml.add(), nvml.add()
        watch.look([card.uuid, other.uuid])
        before = threading.active_count()
        card.hang()
        try:
            looks = [watch.look([card.uuid]).cards[card.uuid] for _ in range(5)]
            assert looks == [Silence(lost=False)] * 5
            assert watch.hangs
            assert threading.active_count() <= before + 2  # the card's, and that of its events
        finally:
            card.hang(False)
        while watch.hangs:
            watch.look([card.uuid])
        watch.close()

    def test_a_driver_that_does_not_begin(self, nvml: StandIn) -> None:
        watch = CardWatch(NO_ANSWER)
        card = nvml.add()
        nvml.set({"init.hang": 1})
        assert watch.look([card.uuid]).cards == {card.uuid: Silence(lost=False)}
        nvml.set({"init.hang": None})
        while watch.hangs:
            watch.look([card.uuid])
        watch.close()

    @pytest.mark.slow
    def test_a_host_without_cards_asks_nobody(self, nvml: StandIn, watch: CardWatch) -> None:
        nvml.set(init=999)
        assert watch.look([]) == CardLook({})

    @pytest.mark.slow
    def test_a_session_that_is_closed_is_opened_again(self, nvml: StandIn, watch: CardWatch) -> None:
        card = nvml.add()
        watch.look([card.uuid])
        watch.close()
        with pytest.raises(pynvml.NVMLError_Uninitialized):
            pynvml.nvmlDeviceGetCount()
        assert isinstance(watch.look([card.uuid]).cards[card.uuid], CardReading)


@pytest.mark.slow
def test_it_is_said_within_ten_seconds() -> None:
    """Two looks, their answers and the pauses before them; then a word is sent at once."""
    assert SECONDS_TO_SAY < 10


# ------------------------------------------------------------------------------------------------ on a real chain


@dataclass
class Watched:
    """An agent whose machine has a card that stands in, with what `serve` runs beside its loop."""

    rig: Rig
    card: Card
    health: CardHealth
    passed: float = 0.0

    def clock(self) -> float:
        return time.monotonic() + self.passed

    async def look(self, seconds: float = 2.0) -> None:
        """After so many seconds."""
        self.passed += seconds
        await self.health.look()

    async def withholds(self, cells: int) -> None:
        """Whatever the chain's index was behind of at a look, the next makes up for."""

        async def so() -> bool:
            await self.health.look()
            return bool((await self.rig.chain.pool().machine_of(self.rig.machine)).withheld == cells)

        await self.rig.until(so)

    async def words(self) -> int:
        """How many transactions the operator has sent."""
        sent = self.rig.chain.anvil.request(
            "eth_getTransactionCount", self.rig.identity.operator.address, "latest"
        )
        return int(sent, 16)


@pytest.fixture
async def watched(
    rig_of: Callable[..., Any], nvml: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Watched]:
    card, share = nvml.add(), HostFacts.share
    rig: Rig = await rig_of()
    nothing = tmp_path / "none"
    rig.host.facts.inventory = take_inventory(nothing, nothing)
    # The engine here has no cards to give: a container is made without.
    monkeypatch.setattr(HostFacts, "share", lambda *asked: replace(share(*asked), gpu_uuids=()))
    await rig.chain.pool(1).set_hardware(rig.machine, sold(rig.settings, card.uuid))
    kept, noted = Withholdings.of(rig.settings.state_dir, rig.chain.deployment), asyncio.Event()
    with ThreadPoolExecutor(1) as thread:
        lost = LostCells(kept, lambda: made.clock())
        wake = _serve._both(noted.set, rig.reconciler.wake)
        made = Watched(rig, card, CardHealth(rig.host, lost, thread, wake, CardWatch(patient(30))))
        rig.host.clock = made.clock
        sale = Sale(rig.host.chain, kept, rig.settings, made.clock)
        selling = asyncio.create_task(_serve._sell(rig.host, sale, noted))
        await rig.until(lambda: rig.host.facts.allocation(rig.host.snapshot).withheld == {rig.machine: 0})
        yield made
        selling.cancel()
        await asyncio.gather(selling, return_exceptions=True)
        made.health.watch.close()


FAULTS: dict[str, Callable[[Card], None]] = {
    "falls off the bus": lambda card: card.lose(),
    "XID 79": lambda card: card.xid(79),
    "uncorrectable errors": lambda card: card.set({"ecc.uncorrected.volatile": 1}),
    "too hot": lambda card: card.set(temperature=95),
    "braked": lambda card: card.set(throttle=0x48),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.slow
async def test_a_card_falls_ill_and_its_cells_are_withheld(watched: Watched, fault: str) -> None:
    """Within two looks, whatever it is."""
    await watched.look()
    FAULTS[fault](watched.card)
    for _ in range(2):
        await watched.look()
    await watched.withholds(0xFF)


@pytest.mark.slow
async def test_status_shows_each_card(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = watched.rig
    watched.card.set({"name": "[red]H100", "temperature": 61, "gpu_use": 97, "memory_used": 3 << 29})
    rig.host.facts.inventory = take_inventory(rig.settings.state_dir, rig.settings.state_dir)
    monkeypatch.setenv("LEASEHOLD_AGENT_STATE_DIR", str(rig.settings.state_dir))
    monkeypatch.setenv("COLUMNS", "160")

    async def shown() -> str:
        await watched.look()
        await write_status(rig.host, rig.runtime, None)
        status()
        return capsys.readouterr().out

    line = next(line for line in (await shown()).splitlines() if "H100" in line)
    row = [cell.strip() for cell in line.strip("│").split("│")]
    assert row == ["[red]H100", "0000:10:00.0", "97%", "1.5 of 80 GiB", "61", "72", "well"]
    watched.card.set({"ecc.uncorrected.volatile": 2})
    assert "ecc: 2 uncorrectable memory errors" in await shown()
    watched.card.lose()
    assert "silent: it does not answer" in await shown()


@pytest.mark.slow
async def test_a_card_that_flaps_sends_two_words_and_is_given_back_once(watched: Watched) -> None:
    await watched.look()
    before = await watched.words()
    for _ in range(10):
        watched.card.lose()
        await watched.look()
        await watched.withholds(0xFF)
        watched.card.fail(None)
        await watched.look(CALM_SECONDS)
    await watched.look()
    assert watched.rig.host.facts.ill == {}
    await watched.look(WELL_SECONDS - CALM_SECONDS)
    await watched.withholds(0xFF)
    await watched.look(CALM_SECONDS)
    await watched.withholds(0)
    assert await watched.words() == before + 2


@pytest.mark.slow
async def test_a_lease_is_told_by_file_and_signal(watched: Watched) -> None:
    """A shell that knows the signal writes a line for each; another program, which does not, runs on."""
    rig = watched.rig
    await watched.look()
    heard = "trap 'echo heard >> /tmp/heard' URG; sleep 600 & while :; do wait; done"
    workload = rig.workload(command=["sh", "-c", heard])
    await rig.until(lambda: rig.host.snapshot.machines[rig.machine].revision == 2)
    lease = await rig.open(workload, revision=2)
    await rig.reaches(lease, LeaseState.ACTIVE)
    file, folder = rig.host.leases.folder(lease).told / "health.json", rig.host.leases.folder(lease)
    assert not file.exists()
    watched.card.set({"ecc.uncorrected.volatile": 2})
    await watched.look()
    await rig.until(lambda: told_of_cards(folder) != b"")
    said = (await rig.inside(lease, "cat /run/leasehold/health.json"))[1]
    ailment = {
        "cause": "ecc",
        "detail": "2 uncorrectable memory errors",
        "uuid_hash": hash_of(watched.card.uuid),
    }
    assert json.loads(said) == {"cards": [ailment]}

    async def times(number: int) -> bool:
        return (await rig.inside(lease, "cat /tmp/heard"))[1] == "heard\n" * number

    await rig.until(lambda: times(1))
    watched.card.set({"ecc.uncorrected.volatile": 0})
    await watched.look(CALM_SECONDS)
    await rig.until(lambda: not file.exists())
    await rig.until(lambda: times(2))
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    container = await rig.container(lease)
    assert container is not None
    assert not await rig.host.containers.engine.killed_from_outside(container), "a word is no fault"


@pytest.mark.slow
async def test_a_signal_that_may_not_have_been_sent_is_sent_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent dies, or the engine is away, between the file and the signal."""
    rig, sent = watched.rig, list[str]()
    await watched.look()
    await rig.until(lambda: rig.host.snapshot.machines[rig.machine].revision == 2)
    lease = await rig.open(revision=2)
    await rig.reaches(lease, LeaseState.ACTIVE)
    send = Engine.signal

    async def fail_once(engine: Engine, name: str, signal: str) -> None:
        sent.append(signal)
        if len(sent) == 1:
            raise EngineDown("away")
        await send(engine, name, signal)

    monkeypatch.setattr(Engine, "signal", fail_once)
    watched.card.xid(79)
    await watched.look()

    def told() -> bool:
        watched.passed += 1  # the pause after a failure
        return told_of_cards(rig.host.leases.folder(lease)) != b""

    await rig.until(told)
    assert sent == ["SIGURG"] * 2


@pytest.mark.slow
async def test_a_lease_that_opens_on_an_ill_card_is_declined_with_a_sentence(watched: Watched) -> None:
    """It was opened before the word reached the chain."""
    rig = watched.rig
    watched.card.set({"ecc.uncorrected.volatile": 2})
    await rig.until(lambda: rig.host.snapshot.machines[rig.machine].revision == 2)
    rig.host.facts.ill = {hash_of(watched.card.uuid): Ailment("ecc", "2 uncorrectable memory errors")}
    lease = await rig.open(revision=2)
    await rig.reaches(lease, LeaseState.CANCELLED)
    detail = rig.host.leases.folder(lease).load().failure_detail
    assert detail == "cards: GPU 0 is ill, and given to nobody before it is well again."
