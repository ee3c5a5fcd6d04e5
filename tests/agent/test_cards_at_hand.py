"""What the agent asks of any NVIDIA card, on the cards that are at hand: those of the library that stands in for a
driver's or, with `make test-gpu`, the real ones. Nothing here changes a card.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pynvml
import pytest
from tests.agent.nvml.standin import RTX_4090, StandIn

from devnet import images
from devnet.engine import Engine
from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold.market import Hardware, canonical, card_class
from leasehold_agent.cards import Fences, MachinePart, Mig, fences_of
from leasehold_agent.host import (
    Card,
    CardReading,
    CardWard,
    CardWatch,
    mig_devices,
    processes_on,
    take_inventory,
    takes_many,
)

from .conftest import REAL
from .test_gpu_leases import SEEN, Fleet

HOOK = "nvidia-container-runtime-hook"


@pytest.fixture
def cards(request: pytest.FixtureRequest) -> Iterator[list[Card]]:
    """All that answer, in the driver's order; two that stand in where no real ones are asked for."""
    if not REAL:
        stand_in: StandIn = request.getfixturevalue("nvml")
        stand_in.add()
        stand_in.add(RTX_4090, compute_mode=pynvml.NVML_COMPUTEMODE_DEFAULT)
    found = list(take_inventory().gpus)
    assert found, "there is no card"
    pynvml.nvmlInit()
    yield found
    pynvml.nvmlShutdown()


def handles(cards: list[Card]) -> list[Any]:
    return [pynvml.nvmlDeviceGetHandleByUUID(card.uuid) for card in cards]


def test_all_that_the_driver_counts_are_found(cards: list[Card]) -> None:
    assert len(cards) == pynvml.nvmlDeviceGetCount()
    assert len({card.uuid for card in cards}) == len(cards)
    assert take_inventory().driver == pynvml.nvmlSystemGetDriverVersion()


def test_each_is_the_same_by_uuid_and_by_address(cards: list[Card]) -> None:
    for card, handle in zip(cards, handles(cards), strict=True):
        by_address = pynvml.nvmlDeviceGetHandleByPciBusId(card.pci)
        assert pynvml.nvmlDeviceGetUUID(by_address) == card.uuid == pynvml.nvmlDeviceGetUUID(handle)


def test_its_facts_are_the_drivers(cards: list[Card]) -> None:
    for card, handle in zip(cards, handles(cards), strict=True):
        assert card.model == pynvml.nvmlDeviceGetName(handle)
        assert card.memory_bytes == pynvml.nvmlDeviceGetMemoryInfo(handle).total
        assert card.capability == ".".join(map(str, pynvml.nvmlDeviceGetCudaComputeCapability(handle)))


def test_described_twice_it_is_one_card(cards: list[Card]) -> None:
    """Clocks, links and heat move, and nothing of that is in the document."""
    again = [card.document() for card in take_inventory().gpus]
    assert canonical(again) == canonical([card.document() for card in cards])


def test_the_document_is_one_that_others_accept(cards: list[Card]) -> None:
    made = take_inventory().document(cpu_units=None, disk_bytes=1, quota=True, runtimes=("runc",))
    assert len(Hardware.model_validate(made).gpus) == len(cards)
    for card in cards:
        assert card.uuid not in str(made)
        assert re.fullmatch(r"[a-z0-9-]+-\d+g", card_class(card.model, card.memory_bytes) or "")


def test_what_it_does_now_is_read(cards: list[Card]) -> None:
    watch = CardWatch(patient(30))
    look = watch.look([card.uuid for card in cards])
    watch.close()
    for card in cards:
        reading = look.cards[card.uuid]
        assert isinstance(reading, CardReading)
        assert reading.memory_bytes == card.memory_bytes
        assert reading.memory_used is not None
        assert 0 <= reading.memory_used <= card.memory_bytes
        assert reading.temperature is None or 0 < reading.temperature < 120
        assert reading.busy is None or 0 <= reading.busy <= 100
        assert reading.power_watts is None or 0 < reading.power_watts < 3_000


def test_a_card_that_answers_and_is_cool_is_well(cards: list[Card]) -> None:
    watch, ward = CardWatch(patient(30)), CardWard()
    ills = [ward.see(watch.look([card.uuid for card in cards]), now) for now in (0.0, 2.0, 4.0)]
    watch.close()
    assert ills == [{}, {}, {}]


def test_who_computes_on_it_is_a_process_of_this_host(cards: list[Card]) -> None:
    for card in cards:
        assert all(Path(f"/proc/{process}").exists() for process in processes_on(card.uuid))


def test_it_tells_its_slices_or_whom_it_lets_in(cards: list[Card]) -> None:
    for card, handle in zip(cards, handles(cards), strict=True):
        if card.mig:
            assert all(device.startswith("MIG-") for device in mig_devices(card.uuid).values())
        else:
            mode = pynvml.nvmlDeviceGetComputeMode(handle)
            assert takes_many(card.uuid) is (mode == pynvml.NVML_COMPUTEMODE_DEFAULT)


async def test_what_keeps_its_shares_apart_is_known(cards: list[Card]) -> None:
    alike = [card for card in cards if card.model == cards[0].model]
    fences = await fences_of(MachinePart(tuple(alike), len(alike), len(cards)), "auto", Mig())
    assert isinstance(fences, Fences)
    assert fences.smallest_share in (1, 2, 4, 8)
    assert ("mig" in fences.isolation) is all(card.mig for card in alike)


@pytest.mark.skipif(not REAL, reason="the tool that stands in knows slices alone")
def test_the_vendors_tool_says_the_same(cards: list[Card]) -> None:
    query = ["nvidia-smi", "--query-gpu=uuid,name,driver_version", "--format=csv,noheader"]
    said = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    driver = take_inventory().driver
    assert said == [f"{card.uuid}, {card.model}, {driver}" for card in cards]


@pytest.fixture(scope="module")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that can be asked for cards: by the toolkit's own hook where there is one."""
    with pytest.MonkeyPatch.context() as patch:
        if shutil.which(HOOK) is None:
            hook = tmp_path_factory.mktemp("hook") / HOOK
            hook.write_text("#!/bin/sh\nexit 0\n")
            hook.chmod(0o755)
            patch.setenv("PATH", f"{hook.parent}:{os.environ['PATH']}")
        with Engine(size_gib=4) as engine:
            images.load(engine.url, images.tiny())
            yield engine


@pytest.mark.slow
async def test_a_lease_has_the_card_that_it_has_paid_for(
    cards: list[Card], rig_of: Callable[..., Any]
) -> None:
    """By the real chain and engine; where cards are real, the container has the files of just one."""
    rig = await rig_of()
    await rig.until(lambda: rig.host.snapshot.current)
    await rig.chain.pool(1).retire(rig.machine)
    fleet = Fleet(rig)
    whole = [card for card in cards if not card.mig]
    for card in whole:
        lease = await fleet.open(await fleet.join(card, host_units=len(cards)))
        await rig.reaches(lease, LeaseState.ACTIVE)
        container = await rig.container(lease)
        assert container is not None
        assert container.devices == (card.uuid,)
        _, text = await rig.inside(lease, f"{SEEN}; echo; ls /dev")
        asked, *files = text.split()
        assert asked in (card.uuid, "void")
        if REAL:
            assert len([file for file in files if re.fullmatch(r"nvidia\d+", file)]) == 1
        await fleet.close(lease)
