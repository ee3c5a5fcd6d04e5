"""`make test-gpu`: what the tests ask of cards, asked of the real ones of this host; what comes of it is kept in
docs/measured.

The library that stands in for a driver's has no part in it: tests that change cards are marked `standin` and left out.
Leases on real cards run where a Docker engine can be started that knows how to add a card to a container.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pynvml

from leasehold.market import card_class
from leasehold_agent.host import Card, Inventory, take_inventory

ROOT = Path(__file__).resolve().parents[1]
SUITE = (
    "test_cards_at_hand.py",
    "test_nvml.py",
    "test_cards_found.py",
    "test_inventory.py",
    "test_gpu_leases.py",
)
MEASURED = ROOT / "docs" / "measured"
_ENGINE = ("dockerd", "nvidia-container-runtime-hook")
_NOT_ITS_OWN = re.compile(r"^(=+|\.|\[|-+)|site-packages|^rootdir|^plugins|^cachedir|^configfile|^platform")


class NoCard(RuntimeError):
    """There is nothing here that the suite could run on; the text says what is missing."""


def cards() -> Inventory:
    """What the driver of this host says. Raises NoCard."""
    try:
        pynvml.nvmlInit()
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        raise NoCard(
            f"No driver of NVIDIA's answers here ({error}), so there is no card to test: `make test` runs the same "
            "tests on a library that stands in for it."
        ) from None
    inventory = take_inventory()
    if not inventory.gpus:
        raise NoCard("The driver answers, and no card does: `leasehold-agent check` says why.")
    return inventory


def run(inventory: Inventory, *, leases: bool) -> tuple[int, str]:
    """The suite's exit code and what it said. leases: with a real chain and engine as well."""
    markers = "not standin" if leases else "not standin and not slow"
    files = [str(Path("tests") / "agent" / name) for name in SUITE]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "--no-header", "--tb=short", "-m", markers, *files],
        cwd=ROOT,
        env=os.environ | {"LEASEHOLD_TEST_CARDS": "real"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def report(inventory: Inventory, said: str, *, leases: bool) -> str:
    """What is kept: the host's cards, and each test's line. No UUID and no address of this host is in it."""
    engine = (
        "with leases on a real engine" if leases else f"without leases: {' or '.join(_ENGINE)} is missing"
    )
    heads = [
        f"cards   {', '.join(card.model for card in inventory.gpus)}",
        f"driver  {inventory.driver}, CUDA {inventory.cuda}",
        f"kernel  {platform.release()}",
        f"suite   {engine}",
    ]
    lines = [line for line in said.splitlines() if line and not _NOT_ITS_OWN.search(line)]
    ending = [line.strip("= ") for line in said.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    return _hidden("\n".join([*heads, "", *lines, "", *ending[-1:]]) + "\n", inventory)


def _hidden(text: str, inventory: Inventory) -> str:
    for number, card in enumerate(inventory.gpus):
        text = text.replace(card.uuid, f"(UUID of card {number})")
    return text.replace(str(ROOT), ".")


def name_of(card: Card) -> str:
    """The file's: the class of the card, or its model where it has none."""
    known = card_class(card.model, card.memory_bytes)
    return f"gpu-{known or re.sub(r'[^a-z0-9]+', '-', card.model.lower()).strip('-')}.txt"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=MEASURED, help="the folder for what came of it")
    into: Path = parser.parse_args().into
    try:
        inventory = cards()
    except NoCard as error:
        print(error, file=sys.stderr)
        return 1
    leases = all(map(shutil.which, _ENGINE)) and os.geteuid() == 0
    code, said = run(inventory, leases=leases)
    print(said)
    into.mkdir(parents=True, exist_ok=True)
    file = into / name_of(inventory.gpus[0])
    file.write_text(report(inventory, said, leases=leases))
    print(f"Kept in {file}.")
    return code


if __name__ == "__main__":
    sys.exit(main())
