"""What there is of leases, on the chain and beside the engine, seen cheaply: a run looks ten times a second, on the
processors that what it looks at needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from devnet.site import GENESIS, LABEL, Site
from leasehold.chain import Event, decode_log

from .chaos_ledger import Told, fold

DEEPEST = 8
"""Blocks that a reorganisation replaces at most; the agent deletes nothing sooner."""
WORKLOAD = "leasehold.workload"


@dataclass(frozen=True)
class SeenContainer:
    """A lease's container. workload: the digest of what it was made for."""

    id: str
    lease: int
    workload: str
    running: bool


@dataclass
class Sight:
    """Of one machine. settled: events of blocks that nothing replaces any more, up to block `until`."""

    site: Site
    settled: list[Event] = field(default_factory=list)
    until: int = 0

    def told(self) -> dict[int, Told]:
        """Every lease that the chain has, by what its events say."""
        head = self.site.world.anvil.block_number
        recent = self._events(self.until, head)
        kept = [event for event in recent if (event.log.block_number or 0) < head - DEEPEST]
        told = fold([*self.settled, *recent])
        self.settled, self.until = [*self.settled, *kept], max(self.until, head - DEEPEST)
        return told

    def forget(self) -> None:
        """See all of the chain anew."""
        self.settled, self.until = [], 0

    def containers(self) -> list[SeenContainer]:
        """Of leases of this chain, running or not: one question to the engine, however many there are."""
        labels = [LABEL, f"{GENESIS}={self.site.world.facts['genesis'].lower()}"]
        with self.site.engine.client() as client:
            return [_seen(raw) for raw in client.api.containers(all=True, filters={"label": labels})]

    def _events(self, first: int, last: int) -> list[Event]:
        query = {"address": self.site.sources, "fromBlock": hex(first), "toBlock": hex(last)}
        logs = self.site.world.anvil.request("eth_getLogs", query)
        return [event for event in map(decode_log, logs) if event is not None]


def _seen(raw: dict[str, Any]) -> SeenContainer:
    labels, runs = raw["Labels"], raw["State"] in ("running", "paused")
    lease = int(labels[LABEL].rpartition("/")[2].partition("@")[0])
    return SeenContainer(raw["Id"], lease, labels.get(WORKLOAD, ""), runs)
