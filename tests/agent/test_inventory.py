"""What a host has to sell, with the real pynvml over a library that answers from a file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.agent.nvml.standin import StandIn

from leasehold.chain import Machine, MachineStatus
from leasehold.market import Contact, Hardware, Listing, Money, parse_search
from leasehold_agent.documents import Measurements, Pace, keep_measured, last_measured
from leasehold_agent.host import Card, Inventory, default_address, take_inventory

CARD = Card("NVIDIA H100 80GB HBM3", 85_899_345_920, "GPU-0000")
MONEY = Money("TUSD", 18)


def document(inventory: Inventory) -> dict[str, Any]:
    """What it comes to, as others read it."""
    made = inventory.document(cpu_units=None, disk_bytes=1, quota=True, runtimes=("runc",))
    Hardware.model_validate(made)
    return made


def test_cards_by_nvml(nvml: StandIn) -> None:
    nvml.add()
    second = nvml.add()
    found = document(take_inventory())
    assert [gpu["model"] for gpu in found["gpus"]] == ["NVIDIA H100 80GB HBM3"] * 2
    assert found["gpus"][1]["uuid_hash"] == hashlib.sha256(second.uuid.encode()).hexdigest()
    assert second.uuid not in json.dumps(found)
    assert (found["driver"], found["cpu_units"]) == ("615.71.05", 0)


def test_a_card_that_is_lost_is_not_offered(nvml: StandIn) -> None:
    nvml.add().lose()
    nvml.add()
    assert len(document(take_inventory())["gpus"]) == 1


def test_a_server_is_found_by_what_its_driver_says(nvml: StandIn, tmp_path: Path) -> None:
    """From eight cards by NVML, through the document that is published, to a renter's search."""
    nvml.set(driver="615.71.05", cuda=13_040)
    cards = [nvml.add(numa=n // 4) for n in range(8)]
    nvml.join(*cards)
    keep_measured(tmp_path, Measurements(1, Pace(3 * 10**9, 2 * 10**9), 940_000_000, 500_000_000))
    server = listing({**document(take_inventory()), "isolation": ["whole", "mig"]}, last_measured(tmp_path))
    for text in (
        "class:h100-80g gpu:h100 mem>=80",
        "isolation:mig",
        "cuda>=13.4 driver>=615 capability>=9",
        "pcie>=5 lanes:16",
        "nvlink:8 numa:2 ecc:yes",
        "down>=900 up>=500 disk_speed>=2GB",
    ):
        assert parse_search(text).matches(server), text
    for text in ("cuda>=13.5", "driver>=616", "pcie>=6", "down>=941", "isolation:mps", "class:h200"):
        assert not parse_search(text).matches(server), text


def test_one_slow_slot_makes_a_slow_machine(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add()
    nvml.add(pcie_max=3)
    assert not parse_search("pcie>=4").matches(listing(document(take_inventory()), {}))


def listing(hardware: dict[str, Any], measured: dict[str, object]) -> Listing:
    """A machine of the pool with that document, and what was measured last."""
    contact = {"version": 1, "endpoints": [], "certificate": "", "age_recipient": "age1q", **measured}
    machine = Machine(
        **{field.name: 0 for field in fields(Machine)} | {"id": 1, "status": MachineStatus.VERIFIED}
    )
    return Listing(machine, MONEY, Hardware.model_validate(hardware), Contact.model_validate(contact))


def test_a_host_without_cards_sells_units(nvml: StandIn) -> None:
    found = document(take_inventory())
    assert found["gpus"] == []
    assert found["cpu_units"] >= 1


def test_this_host() -> None:
    """Whatever it has: the document that comes of it is one that others accept."""
    document = take_inventory().document(cpu_units=2, disk_bytes=10, quota=False, runtimes=("runc",))
    Hardware.model_validate(document)
    assert default_address().count(".") == 3


@pytest.mark.parametrize(("cores", "asked", "units"), [(1, None, 1), (2, None, 1), (64, None, 8), (64, 3, 3)])
def test_units_of_a_host_without_cards(cores: int, asked: int | None, units: int) -> None:
    host = Inventory((), None, "", cores, 1, (), "")
    assert host.units(asked) == units


def test_units_of_a_host_with_cards_are_its_cards() -> None:
    assert Inventory((CARD,) * 10, "1", "", 64, 1, (), "").units(3) == 8
