"""The host's cards: what a machine was sold as, who has which cells, and what keeps them apart.

Each file stands on none but those before it:

    _described     what a machine was described as, by the digest on the chain
    _allocation    which cells of which cards a lease has: a pure function
    _selection     which cards a machine is described with: no card of another
    _tools         the vendor's tools, as they are run
    _mig_geometry  slices of a card, from what nvidia-smi prints: pure functions
    _mig           slices of a card, made for a lease and destroyed after it
    _mps_words     MPS in the words of its tools: pure functions
    _mps_book      which leases have parts of cards by MPS, and their ways in
    _ending        a process that is looked at and then ended
    _mps_groups    what a lease may take of a card's memory, by control group
    _mps_pids      MPS's own processes, looked at and ended
    _place         what a container is made with for its part of a card
    _mps_servers   MPS with servers and namespaces
    _mps_daemons   MPS for those who keep to it
    _mps           parts of cards by either, given and taken back
    _mps_host      which of the two a host has
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
from leasehold_agent.cards._mps import Mps
from leasehold_agent.cards._mps_book import CardPart, PartsBook
from leasehold_agent.cards._mps_daemons import MpsDaemons
from leasehold_agent.cards._mps_groups import MemoryGroups
from leasehold_agent.cards._mps_host import MpsHost
from leasehold_agent.cards._mps_servers import MpsServers
from leasehold_agent.cards._place import Place
from leasehold_agent.cards._selection import Asked, InService, MachinePart, choose_part
from leasehold_agent.cards._shares import LeaseShare, share_of, units_of
from leasehold_agent.cards._tools import ToolFailed

__all__ = [
    "CELLS_PER_GPU",
    "WHOLE",
    "Allocation",
    "Asked",
    "CardBusy",
    "CardPart",
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
    "MemoryGroups",
    "Mig",
    "Mps",
    "MpsDaemons",
    "MpsHost",
    "MpsServers",
    "Part",
    "PartsBook",
    "Place",
    "ToolFailed",
    "allocate",
    "cells_of",
    "choose_part",
    "fences_of",
    "share_of",
    "units_of",
]
