"""What each lease that runs uses, looked at again and again while somebody wants to know."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import CardReading, LeaseUsage, containers_of, usage_of
from leasehold_agent.reconciling._reconciler import Reconciler

_log = structlog.get_logger("leasehold_agent")
USAGE_SECONDS: Final = 10.0


@dataclass
class UsageWatch:
    """`leases` is by lease, `card_memory` bytes by lease and the SHA-256 of a card's UUID."""

    reconciler: Reconciler
    leases: Mapping[int, LeaseUsage] = field(default_factory=dict)
    card_memory: Mapping[tuple[int, str], int] = field(default_factory=dict)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:  # noqa: BLE001 - nothing that a container shows may end the agent, and its sentinel with it
                _log.exception("usage")
            await self.reconciler.host.sleep(USAGE_SECONDS)

    async def look(self) -> None:
        running = {lease: c for lease, c in self.reconciler.containers.items() if c.running and c.pid > 0}
        readings = self.reconciler.host.facts.readings
        self.leases, self.card_memory = await asyncio.to_thread(_read, running, readings)


def _read(
    running: Mapping[int, ContainerFacts], readings: Mapping[str, CardReading]
) -> tuple[dict[int, LeaseUsage], Counter[tuple[int, str]]]:
    used = {lease: usage_of(container.id, container.pid) for lease, container in running.items()}
    leases = {container.id: lease for lease, container in running.items()}
    memory: Counter[tuple[int, str]] = Counter()
    for card, reading in readings.items():
        for pid, container in containers_of(reading.processes, leases.keys()).items():
            memory[leases[container], card] += reading.processes[pid]
    return {lease: usage for lease, usage in used.items() if usage is not None}, memory
