"""Cells that nobody could be given are to be out of sale: of cards that are gone or ill, of machines not known here.

A card that comes and goes is for sale again once it has been well for a while, and each time for twice as long, so that
what it costs in gas is bounded: five words in the first hour, and eight a day in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leasehold.chain import MachineStatus
from leasehold_agent.chain import ChainSnapshot, Withholdings

WELL_SECONDS = 600
"""For so long a card has to be well before it is for sale again, unless the host's owner says otherwise."""
LONGEST_SECONDS = 6 * 3_600
"""However often it came and went."""
FORGIVEN_SECONDS = 24 * 3_600
"""A card that has been for sale for so long counts as one that was never ill."""


@dataclass(frozen=True)
class _Rest:
    """How long a cell had to be whole the last time, and when it was for sale again."""

    seconds: float
    over: float


@dataclass
class LostCells:
    """`kept` is where each machine's reasons stand; whoever sends them sends ours too. `clock` is monotonic seconds.
    rest: as `WELL_SECONDS`.
    """

    kept: Withholdings
    clock: Callable[[], float]
    rest: float = WELL_SECONDS
    _since: dict[tuple[int, int], float] = field(default_factory=dict)
    _rests: dict[tuple[int, int], _Rest] = field(default_factory=dict)

    def note(self, chain: ChainSnapshot, lost: Mapping[int, int]) -> bool:
        """Have the cells `lost` of each machine out of sale, and those that were a while ago; whether these are others
        than before. Raises OSError.
        """
        changed = False
        for number, machine in chain.machines.items():
            if machine.status is not MachineStatus.RETIRED:
                cells = lost.get(number, 0)
                noted = self.kept.known(number).reasons.get("ill", 0)
                wanted = cells | self._healing(number, noted & ~cells)
                self.kept.put(number, "ill", wanted)
                changed |= wanted != noted
        return changed

    def _healing(self, machine: int, cells: int) -> int:
        """Of cells that are whole again, those that have not been for long; a restart counts anew."""
        now, healing = self.clock(), 0
        whole = {(machine, cell) for cell in range(cells.bit_length()) if cells >> cell & 1}
        others = {place: since for place, since in self._since.items() if place[0] != machine}
        self._since = others | {place: self._since.get(place, now) for place in whole}
        for place in whole:
            rest = self._rest(place)
            healing |= (now - self._since[place] < rest) << place[1]
            if now - self._since[place] >= rest:
                self._rests[place] = _Rest(rest, now)
        return healing

    def _rest(self, place: tuple[int, int]) -> float:
        """For how long the cell has to be whole, by when it was ill before."""
        last, since = self._rests.get(place), self._since[place]
        if last is None or since - last.over > FORGIVEN_SECONDS:
            return self.rest
        return min(2 * last.seconds, max(self.rest, LONGEST_SECONDS))
