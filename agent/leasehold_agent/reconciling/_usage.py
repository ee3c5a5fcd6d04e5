"""What each lease that runs uses, looked at again and again, and kept for its tenant to see."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import structlog

from leasehold_agent.cards import WHOLE
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import CardReading, LeaseUsage, containers_of, usage_of
from leasehold_agent.reconciling._reconciler import Reconciler
from leasehold_agent.store import History, LeaseSample

_log = structlog.get_logger("leasehold_agent")
USAGE_SECONDS: Final = 10.0


@dataclass
class UsageWatch:
    """`leases` is by lease, `card_memory` bytes by lease and the SHA-256 of a card's UUID. `now`: unix seconds."""

    reconciler: Reconciler
    leases: Mapping[int, LeaseUsage] = field(default_factory=dict)
    card_memory: Mapping[tuple[int, str], int] = field(default_factory=dict)
    history: History | None = None
    now: Callable[[], float] = time.time

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
        if self.history is not None:
            await asyncio.to_thread(self.history.keep, self._samples(), int(self.now()))

    async def of(self, lease: int, tenant: str) -> Sequence[LeaseSample]:
        """What is kept of a lease's time with that tenant, oldest first."""
        return [] if self.history is None else await asyncio.to_thread(self.history.of, lease, tenant)

    def _samples(self) -> dict[tuple[int, str], LeaseSample]:
        """By lease and tenant: of a card that others have cells of, no more than what the lease itself does there."""
        host, samples = self.reconciler.host, dict[tuple[int, str], LeaseSample]()
        given = host.facts.allocation(host.snapshot).given
        for lease, usage in self.leases.items():
            desired = host.snapshot.leases.get(lease)
            if desired is None or lease not in given:
                continue
            cards = [part.card for part in given[lease].parts if part.cells == WHOLE]
            own = [host.facts.readings[card] for card in cards if card in host.facts.readings]
            memory = [used for (of, _), used in self.card_memory.items() if of == lease]
            busy = [reading.busy for reading in own if reading.busy is not None]
            samples[lease, desired.tenant] = LeaseSample(
                at=int(self.now()),
                **asdict(usage),
                card_memory=sum(memory) if given[lease].parts else None,
                card_busy=sum(busy) / len(busy) if busy else None,
                card_temperature=max((r.temperature for r in own if r.temperature is not None), default=None),
            )
        return samples


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
