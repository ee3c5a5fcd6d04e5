"""The host's cards: what a machine was sold as, who has which cells, and what keeps them apart.

Each file stands on none but those before it:

    _described     what a machine was described as, by the digest on the chain
    _allocation    which cells of which cards a lease has: a pure function
    _selection     which cards a machine is described with: no card of another
    _tools         the vendor's tools, as they are run
    _mig_geometry  slices of a card, from what nvidia-smi prints: pure functions
    _mig           slices of a card, made for a lease and destroyed after it
    _modes         by what cards are sold in parts, and in how small ones
    _shares        what these come to, with processors, memory and disk
    _devices       what a container is given of cards, once nobody else has it
"""

from leasehold_agent.cards._allocation import (
    CELLS_PER_GPU,
    WHOLE,
    Allocation,
    Given,
    Holding,
    LeasePlace,
    Part,
    allocate,
    cells_of,
)
from leasehold_agent.cards._described import Described, HardwareFiles
from leasehold_agent.cards._devices import Devices, HeldDevices
from leasehold_agent.cards._mig import CardBusy, Mig
from leasehold_agent.cards._modes import Fences, fences_of
from leasehold_agent.cards._selection import Asked, InService, MachinePart, choose_part
from leasehold_agent.cards._shares import LeaseShare, share_of, units_of
from leasehold_agent.cards._tools import ToolFailed

__all__ = [
    "CELLS_PER_GPU",
    "WHOLE",
    "Allocation",
    "Asked",
    "CardBusy",
    "Described",
    "Devices",
    "Fences",
    "Given",
    "HardwareFiles",
    "HeldDevices",
    "Holding",
    "InService",
    "LeasePlace",
    "LeaseShare",
    "MachinePart",
    "Mig",
    "Part",
    "ToolFailed",
    "allocate",
    "cells_of",
    "choose_part",
    "fences_of",
    "share_of",
    "units_of",
]
