"""Keeping out of sale what is to be, with the hours of the day: a look every few seconds, a word where it changes.

Leases that run are never touched. Whoever has another reason writes it among the others (`Withholdings.put`): the next
look sends it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

import structlog

from leasehold.chain import Machine, MachineStatus
from leasehold.errors import LeaseholdError
from leasehold.market import parse_cells
from leasehold_agent._backoff import Backoff
from leasehold_agent._config import AgentSettings
from leasehold_agent.chain._desired import ChainSnapshot
from leasehold_agent.chain._withholding import OutOfSale, Withholdings, all_cells

_log = structlog.get_logger("leasehold_agent")


def cells_of_hours(settings: AgentSettings, machine: Machine, now: int) -> int:
    """The cells that are the owner's own at unix second `now`, or would be before what is sold now has ended."""
    if settings.sale_hours.last_from(now, settings.hours_lead):
        return 0
    return parse_cells(settings.hours_cells, 8) & all_cells(machine)


def cells_before_maintenance(settings: AgentSettings, machine: Machine, now: int) -> int:
    """All cells, where even the shortest lease that began at `now` would reach into a window."""
    until = now + machine.terms.min_duration
    near = any(window.meets(now, until) for window in settings.maintenance_windows)
    return all_cells(machine) if near else 0


class SaleGate(Protocol):
    """As much of the chain as is needed here."""

    async def withhold(self, kept: Withholdings, machine: int, confirmations: int) -> None:
        """Have the chain withhold what is kept, and nothing where it does. Raises ChainError, GasKept, OSError."""
        ...


class Sale:
    """What a host's machines sell. clock: monotonic seconds."""

    def __init__(
        self, gate: SaleGate, kept: Withholdings, settings: AgentSettings, clock: Callable[[], float]
    ) -> None:
        self._gate, self._kept, self._settings, self._clock = gate, kept, settings, clock
        self._waited_for: dict[int, tuple[int, int]] = {}
        self._waits: defaultdict[int, Backoff] = defaultdict(Backoff)

    async def look(self, chain: ChainSnapshot) -> None:
        """See to each machine that is in service. What fails is tried again later; a chain that may be behind is not
        believed.
        """
        for machine in chain.machines.values() if chain.current else ():
            wait = self._waits[machine.id]
            if machine.status is MachineStatus.RETIRED or self._clock() < wait.until:
                continue
            try:
                await self._look_at(machine, chain)
                wait.reset()
            except (LeaseholdError, OSError, TimeoutError) as error:
                _log.warning("withhold", machine=machine.id, problem=str(error))
                wait.failed(self._clock())

    async def _look_at(self, machine: Machine, chain: ChainSnapshot) -> None:
        settings, confirmations = self._settings, self._settings.confirmations

        def seen(known: OutOfSale) -> OutOfSale:
            own = known.put("hours", cells_of_hours(settings, machine, chain.now))
            own = own.put("maintenance", cells_before_maintenance(settings, machine, chain.now))
            if not own.has_said(machine.withheld):
                return own  # the node is asked before that counts
            return own.heard(machine.withheld, chain.block, confirmations)

        known = self._kept.change(machine.id, seen)
        wanted = known.cells & all_cells(machine)
        if known.has_said(machine.withheld) and wanted == machine.withheld:
            return
        if not self._on_its_way(machine.id, known, wanted):
            _log.info("withhold", machine=machine.id, reasons=sorted(known.reasons))
            await self._gate.withhold(self._kept, machine.id, confirmations)

    def _on_its_way(self, machine: int, known: OutOfSale, wanted: int) -> bool:
        """Whether somebody else, such as `pause` beside the agent, has just sent it: it gets one look's time."""
        last = known.said[-1] if known.said else None
        if last is None or last[0] != wanted or self._waited_for.get(machine) == last:
            return False
        self._waited_for[machine] = last
        return True
