"""Cells that nobody could be given are to be out of sale: of cards that are gone or ill, of machines not known here.

A card that comes and goes is for sale again once it has been well for a while, so that it costs no gas each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leasehold.chain import MachineStatus
from leasehold_agent.chain import ChainSnapshot, Withholdings

WELL_SECONDS = 600
"""For so long a card has to be well before it is for sale again."""


@dataclass
class LostCells:
    """`kept` is where each machine's reasons stand; whoever sends them sends ours too. `clock` is monotonic seconds."""

    kept: Withholdings
    clock: Callable[[], float]
    _since: dict[tuple[int, int], float] = field(default_factory=dict)

    def note(self, chain: ChainSnapshot, lost: Mapping[int, int]) -> None:
        """Have the cells `lost` of each machine out of sale, and those that were a while ago. Raises OSError."""
        for number, machine in chain.machines.items():
            if machine.status is not MachineStatus.RETIRED:
                cells = lost.get(number, 0)
                noted = self.kept.known(number).reasons.get("ill", 0)
                self.kept.put(number, "ill", cells | self._healing(number, noted & ~cells))

    def _healing(self, machine: int, cells: int) -> int:
        """Of cells that are whole again, those that have not been for long; a restart counts anew."""
        now, healing = self.clock(), 0
        whole = {(machine, cell) for cell in range(cells.bit_length()) if cells >> cell & 1}
        others = {place: since for place, since in self._since.items() if place[0] != machine}
        self._since = others | {place: self._since.get(place, now) for place in whole}
        for place in whole:
            healing |= (now - self._since[place] < WELL_SECONDS) << place[1]
        return healing
