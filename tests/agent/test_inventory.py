"""What a host has to sell, with the real pynvml over a library that answers from a file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.agent.nvml.standin import StandIn

from leasehold.market import Hardware
from leasehold_agent.host import Card, Inventory, default_address, take_inventory

CARD = Card("NVIDIA H100 80GB HBM3", 85_899_345_920, "GPU-0000")


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
