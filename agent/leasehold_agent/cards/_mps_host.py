"""What a host has for MPS, and so which of its versions lets leases onto cards here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from leasehold_agent.cards._mig import CardBusy
from leasehold_agent.cards._mps import Mps
from leasehold_agent.cards._mps_book import PartsBook
from leasehold_agent.cards._mps_daemons import MpsDaemons
from leasehold_agent.cards._mps_groups import MemoryGroups
from leasehold_agent.cards._mps_servers import MpsServers
from leasehold_agent.cards._mps_words import lacks_namespaces
from leasehold_agent.cards._tools import Program, Tool, ToolFailed

_TRIAL, _TRIAL_MIB = 0, 1_024
"""A group of no lease, in which nothing runs."""


@dataclass(frozen=True)
class MpsHost:
    """`limits` are its control groups, where the engine's are of a kind in which the driver counts."""

    driver: str | None = None
    cuda: str | None = None
    limits: MemoryGroups | None = None
    control: Tool = field(default_factory=lambda: Program("nvidia-cuda-mps-control"))

    @property
    def kind(self) -> Literal["hard", "cooperative"]:
        """How far it keeps parts of a card apart, by what is here; where that cannot be done then, nothing is given."""
        return "hard" if self.lacks is None else "cooperative"

    @property
    def lacks(self) -> str | None:
        """Why no memory can be limited, as far as versions say; None where it can."""
        if (lacking := lacks_namespaces(self.driver, self.cuda)) is not None:
            return lacking
        return None if self.limits is not None else "the engine's control groups are not of version 2"

    async def problem(self, card: str) -> str | None:
        """Why no memory of this card can be limited, by trying; None where it can."""
        if self.lacks is not None or self.limits is None:
            return self.lacks
        try:
            await self.limits.limit(_TRIAL, card, _TRIAL_MIB)
            await self.limits.remove(_TRIAL, card)
        except (ToolFailed, CardBusy, OSError) as error:
            return str(error)
        return None

    def parts(self, folder: Path) -> Mps:
        """Parts of this host's cards; the daemon's files lie in the folder."""
        if self.lacks is None and self.limits is not None:
            return Mps(MpsServers(folder, self.limits), PartsBook(folder))
        return Mps(MpsDaemons(folder), PartsBook(folder))
