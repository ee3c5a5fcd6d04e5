"""Cells that nobody could be given are out of sale: of cards that are gone or ill, and of machines not known here.

What this agent takes out of sale is noted before it is, by machine: only that does it give back, for the provider
withholds cells too. A card that comes and goes is given back once it has been well for a while, so that it costs no gas
each time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from leasehold.chain import MachineStatus
from leasehold.errors import LeaseholdError
from leasehold.files import replace_file
from leasehold_agent._backoff import Backoff
from leasehold_agent.chain import ChainGate, ChainSnapshot

_log = structlog.get_logger("leasehold_agent")
WELL_SECONDS = 600
"""For so long a card has to be well before it is for sale again."""


@dataclass(frozen=True)
class Withhold:
    """The cells `out` go out of sale now, and `back` come back. Masks: bit `8 × gpu + cell`."""

    machine: int
    out: int
    back: int


def due(chain: ChainSnapshot, lost: Mapping[int, int], back: Mapping[int, int]) -> list[Withhold]:
    """What is to be said on the chain, at most one thing for a machine in service.

    lost: by machine, the cells that nobody could be given. back: those that this agent took out of sale and that are
    whole again.
    """
    said = []
    for number, machine in chain.machines.items():
        step = Withhold(
            number, lost.get(number, 0) & ~machine.withheld, back.get(number, 0) & machine.withheld
        )
        if machine.status is not MachineStatus.RETIRED and (step.out or step.back):
            said.append(step)
    return said


@dataclass
class Withholding:
    """Says it, one thing at a time for each machine. `clock` is monotonic seconds, `file` where it is noted."""

    chain: ChainGate
    file: Path
    clock: Callable[[], float]
    _since: dict[tuple[int, int], float] = field(default_factory=dict)
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _pauses: dict[int, Backoff] = field(default_factory=dict)

    def begin(self, chain: ChainSnapshot, lost: Mapping[int, int]) -> None:
        """Take up what is due. What has begun goes on by itself."""
        back = self._well(lost)
        for (
            number,
            machine,
        ) in chain.machines.items():  # mined long ago, by whomever: no concern of ours any more
            if stale := back.get(number, 0) & ~machine.withheld:
                self._note(number, 0, stale)
        for step in due(chain, lost, back):
            task, pause = self._tasks.get(step.machine), self._pauses.setdefault(step.machine, Backoff())
            if (task is None or task.done()) and self.clock() >= pause.until:
                self._tasks[step.machine] = asyncio.create_task(self._perform(step, pause))

    def noted(self) -> dict[int, int]:
        """By machine, the cells that this agent has taken out of sale."""
        try:
            return {int(machine): int(cells) for machine, cells in json.loads(self.file.read_text()).items()}
        except (OSError, ValueError, AttributeError):
            return {}  # what was withheld stays so until its provider gives it back

    async def settle(self) -> None:
        """Wait until what has begun has ended."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def drop(self) -> None:
        """Stop where it stands. What was sent already may still be mined."""
        for task in self._tasks.values():
            task.cancel()
        await self.settle()

    def _well(self, lost: Mapping[int, int]) -> dict[int, int]:
        """By machine, the noted cells that have been whole for `WELL_SECONDS`; a restart counts anew."""
        now, noted = self.clock(), self.noted()
        whole = [
            (machine, cell)
            for machine, cells in noted.items()
            for cell in range(cells.bit_length())
            if (cells & ~lost.get(machine, 0)) >> cell & 1
        ]
        self._since = {place: self._since.get(place, now) for place in whole}
        well = dict.fromkeys(noted, 0)
        for (machine, cell), since in self._since.items():
            well[machine] |= (now - since >= WELL_SECONDS) << cell
        return well

    async def _perform(self, step: Withhold, pause: Backoff) -> None:
        try:
            _log.warning("withhold", machine=step.machine, out=f"{step.out:#x}", back=f"{step.back:#x}")
            self._note(step.machine, step.out, 0)
            await self.chain.withhold(step.machine, step.out, step.back)
            self._note(step.machine, 0, step.back)
            pause.reset()
        except (LeaseholdError, OSError, TimeoutError) as error:
            _log.warning("withhold", machine=step.machine, problem=str(error))
        pause.failed(self.clock())  # until the index has heard of it, too

    def _note(self, machine: int, more: int, less: int) -> None:
        noted = self.noted()
        noted[machine] = noted.get(machine, 0) & ~less | more
        kept = {str(number): cells for number, cells in noted.items() if cells}
        replace_file(self.file, json.dumps(kept, sort_keys=True).encode())
