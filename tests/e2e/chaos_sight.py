"""What there is of leases, on the chain and beside the engine, seen cheaply: a run looks ten times a second, on the
processors that what it looks at needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from devnet.site import GENESIS, LABEL, Site
from leasehold.chain import Event, Lease, decode_log

from .chaos_ledger import Told, fold
from .chaos_remains import remains

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
    """Of one machine: all that a run judges by. settled: events of blocks that nothing replaces any more, up to block
    `until`.
    """

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

    @property
    def now(self) -> int:
        """The chain's time."""
        return self.site.world.anvil.timestamp

    def lease(self, number: int) -> Lease:
        """As the contract has it."""
        return self.site.owner.pool(lambda pool: pool.lease_of(number))

    def forget(self) -> None:
        """See all of the chain anew."""
        self.settled, self.until = [], 0

    def containers(self) -> list[SeenContainer]:
        """Of leases of this chain, running or not: one question to the engine, however many there are."""
        labels = [LABEL, f"{GENESIS}={self.site.world.facts['genesis'].lower()}"]
        with self.site.engine.client() as client:
            return [_seen(raw) for raw in client.api.containers(all=True, filters={"label": labels})]

    def written(self, container: str) -> str:
        """The id that its program has written, in the container's own file system; "" where there is none."""
        with self.site.engine.client() as client:
            done = client.containers.get(container).exec_run(["cat", "/id"])
        return str(done.output.decode().strip()) if done.exit_code == 0 else ""

    def cards(self, container: str) -> list[str]:
        """The cards that the engine was asked for, by their UUIDs."""
        with self.site.engine.client() as client:
            asked = client.api.inspect_container(container)["HostConfig"]["DeviceRequests"]
        return [card for request in asked or () for card in request["DeviceIDs"] or ()]

    def remains(self) -> set[str]:
        """What the host has that may be of leases."""
        return remains(self.site)

    def _events(self, first: int, last: int) -> list[Event]:
        query = {"address": self.site.sources, "fromBlock": hex(first), "toBlock": hex(last)}
        logs = self.site.world.anvil.request("eth_getLogs", query)
        return [event for event in map(decode_log, logs) if event is not None]


def _seen(raw: dict[str, Any]) -> SeenContainer:
    labels, runs = raw["Labels"], raw["State"] in ("running", "paused")
    lease = int(labels[LABEL].rpartition("/")[2].partition("@")[0])
    return SeenContainer(raw["Id"], lease, labels.get(WORKLOAD, ""), runs)
