"""What a host has to sell, with the real pynvml over a library that answers from a file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leasehold.market import Hardware
from leasehold_agent.host import Card, Inventory, default_address, take_inventory

STUB = Path(__file__).parent / "nvml_stub" / "nvml.c"
CARD = Card("NVIDIA H100 80GB HBM3", 85_899_345_920, "GPU-0000")
_ASK = """
import json
from leasehold_agent.host import take_inventory
print(json.dumps(take_inventory().document(cpu_units=None, disk_bytes=1, quota=True, runtimes=("runc",))))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is part of the development tools"
    folder = tmp_path_factory.mktemp("nvml")
    built = [
        compiler,
        "-shared",
        "-fPIC",
        "-Wall",
        "-Werror",
        "-o",
        str(folder / "libnvidia-ml.so.1"),
        str(STUB),
    ]
    subprocess.run(built, check=True)
    return folder


def ask(library: Path, cards: str, tmp_path: Path) -> dict[str, object]:
    file = tmp_path / "cards"
    file.write_text(cards)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "NVML_STUB": str(file)}
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env=environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def test_cards_by_nvml(library: Path, tmp_path: Path) -> None:
    found = ask(library, "NVIDIA H100|85899345920|GPU-a|ok\nNVIDIA H100|85899345920|GPU-b|ok\n", tmp_path)
    gpus = found["gpus"]
    assert isinstance(gpus, list)
    assert [gpu["model"] for gpu in gpus] == ["NVIDIA H100"] * 2
    assert gpus[1]["uuid_hash"] == hashlib.sha256(b"GPU-b").hexdigest()
    assert "GPU-b" not in json.dumps(found)
    assert (found["driver"], found["cpu_units"]) == ("570.00", 0)


def test_a_card_that_is_lost_is_not_offered(library: Path, tmp_path: Path) -> None:
    found = ask(library, "NVIDIA H100|1|GPU-a|lost\nNVIDIA H100|1|GPU-b|ok\n", tmp_path)
    gpus = found["gpus"]
    assert isinstance(gpus, list)
    assert len(gpus) == 1


def test_a_host_without_cards_sells_units(library: Path, tmp_path: Path) -> None:
    found = ask(library, "", tmp_path)
    assert found["gpus"] == []
    units = found["cpu_units"]
    assert isinstance(units, int)
    assert units >= 1
    Hardware.model_validate(found)


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
