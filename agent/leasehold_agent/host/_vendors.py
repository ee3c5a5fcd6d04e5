"""Whose cards are known, and what is said of everybody else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from leasehold_agent.host import _amd, _nvidia
from leasehold_agent.host._card import Card, VendorCards
from leasehold_agent.host._pci import DEVICES, PciDevice, graphics

Look = Callable[[Sequence[PciDevice]], VendorCards]
KNOWN: Final[Mapping[int, Look]] = {
    _nvidia.VENDOR: _nvidia.look_at_nvidia,
    _amd.VENDOR: _amd.look_at_amd,
}
"""By the vendor's number on the bus. NVIDIA's library is asked also where the bus shows none of its cards."""

OTHERS: Final[Mapping[int, str]] = {
    0x8086: "Intel",
    0x1DA3: "Habana",
    0x1E52: "Tenstorrent",
    0x1ED5: "Moore Threads",
    0x19E5: "Huawei",
    0xCABC: "Cambricon",
}


def find_cards(devices: Path = DEVICES) -> VendorCards:
    """The cards of one vendor, NVIDIA's first: a processor's own graphics are cards to AMD's library. Never fails: a
    vendor's trouble is a sentence.
    """
    present = graphics(devices)
    answers = [
        look([device for device in present if device.vendor == number]) for number, look in KNOWN.items()
    ]
    selling = next((answer for answer in answers if answer.cards), answers[0])
    beside = [card for answer in answers if answer is not selling for card in answer.cards]
    return VendorCards(
        cards=selling.cards,
        silent=tuple(card for answer in answers for card in answer.silent),
        driver=selling.driver,
        cuda=selling.cuda,
        problems=tuple(sentence for answer in answers for sentence in answer.problems),
        refused=(*map(_beside, beside), *_refused(present)),
    )


def _beside(card: Card) -> str:
    return f"{card.model} at {card.pci} is not sold beside another vendor's cards."


def _refused(present: Sequence[PciDevice]) -> tuple[str, ...]:
    """A sentence for each vendor whose cards nobody here knows how to share out."""
    addresses: dict[int, list[str]] = {}
    for device in present:
        if device.vendor not in KNOWN:
            addresses.setdefault(device.vendor, []).append(device.address)
    return tuple(
        f"Cards of {OTHERS.get(vendor, f'vendor {vendor:04x}')} ({', '.join(where)}) are not sold: "
        "this agent knows NVIDIA's and AMD's."
        for vendor, where in sorted(addresses.items())
    )
