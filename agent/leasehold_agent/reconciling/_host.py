"""This host with all its parts, as the loop has it. Each step takes of it what it needs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from leasehold_agent._runtime import CommandStream
from leasehold_agent.cards import Devices, LeaseShare
from leasehold_agent.chain import ChainGate, ChainSnapshot, Desired
from leasehold_agent.host import HostMemory, HostPolicy, LeasePolicy
from leasehold_agent.reconciling._carrying import Carrying
from leasehold_agent.reconciling._checkpoints import Checkpoints
from leasehold_agent.reconciling._committing import Committing
from leasehold_agent.reconciling._container_spec import policy_of
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._host_facts import HostFacts
from leasehold_agent.reconciling._leases import LeaseBook
from leasehold_agent.reconciling._plan import DiskRoom
from leasehold_agent.reconciling._supplies import Supplies
from leasehold_agent.store import Volumes

Endpoint = Callable[[Desired, Collection[tuple[int, str, int]]], bytes]
"""The document that says where a lease can be reached, whose container has such ports."""


class LeaseReaders(Protocol):
    """Where the files of leases are read that are over."""

    def left(self, lease: int) -> int:
        """Seconds for which the lease's files can still be read."""
        ...

    async def exec(
        self,
        lease: int,
        command: Sequence[str],
        *,
        tty: bool,
        env: Mapping[str, str],
        size: tuple[int, int] | None,
    ) -> CommandStream:
        """A command among them. Raises NotRead, TooManyRequests, EngineDown."""
        ...

    async def close(self, lease: int) -> None:
        """Nobody reads them any more, nor is about to."""
        ...

    def sweep(self, *, wanted: bool) -> None:
        """Begin to close what has been open for long enough. wanted: the disk's room, by those who pay for it."""
        ...

    async def aclose(self) -> None:
        """The agent ends."""
        ...


class IdleCards(Protocol):
    """What the owner has his cards do while nobody leases them."""

    async def look(self, held: Collection[str]) -> None:
        """Begin what follows from the chain as it was last seen. held: cards that containers of leases have."""
        ...

    async def leave(self, cards: Collection[str]) -> None:
        """Nothing of that is on these cards any more, nor about to be. Raises CardBusy, EngineDown."""
        ...

    def policies(self) -> Sequence[LeasePolicy]:
        """What its networks may reach."""
        ...

    def shown(self) -> Sequence[Mapping[str, object]]:
        """A line for each card on which something is, or should be."""
        ...

    async def aclose(self) -> None:
        """The agent ends. What runs goes on."""
        ...


class NothingIdle:
    """The owner has them do nothing."""

    async def look(self, held: Collection[str]) -> None: ...

    async def leave(self, cards: Collection[str]) -> None: ...

    def policies(self) -> Sequence[LeasePolicy]:
        return ()

    def shown(self) -> Sequence[Mapping[str, object]]:
        return ()

    async def aclose(self) -> None: ...


@dataclass
class Host:
    """`estranged` says why this host's leases may run elsewhere: then nothing is done with them here. `reachable` says
    whether it listens to tenants; `clock` is monotonic seconds, `sleep` waits that long. `snapshot` is the chain as it
    was last seen, and `kept` the leases that are over and would make way, by how much room there is. `helper` is what
    is lent to images without a shell. `idle` is what cards do that nobody leases. `memory`: whom the kernel ended as
    the host's ran out.
    """

    facts: HostFacts
    leases: LeaseBook
    containers: Containers
    supplies: Supplies
    volumes: Volumes
    carrying: Carrying
    checkpoints: Checkpoints
    committing: Committing
    chain: ChainGate
    endpoint: Endpoint
    devices: Devices = field(default_factory=Devices)
    estranged: str | None = None
    reachable: Callable[[], bool] = lambda: True
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    kept: Mapping[DiskRoom, Sequence[int]] = field(default_factory=dict)
    helper: Path | None = None
    snapshot: ChainSnapshot = field(default_factory=lambda: ChainSnapshot(current=False))
    readers: LeaseReaders = field(init=False)
    idle: IdleCards = field(default_factory=NothingIdle)
    memory: HostMemory = field(default_factory=HostMemory)

    def share(self, desired: Desired) -> LeaseShare:
        """What the lease's cells come to on this host."""
        return self.facts.share(desired, self.snapshot)

    def datasets_in_use(self) -> set[str]:
        """Those of leases that run, or that a reorganisation may bring back."""
        return self.leases.datasets_in_use(self.snapshot.block - self.facts.settings.confirmations)

    async def guard(self) -> None:
        """Put the firewall in place for every lease that has a folder here."""
        settings, policies = self.facts.settings, list[LeasePolicy]()
        for lease, folder in sorted(self.leases.folders().items()):
            if (notes := folder.load()).cleared:
                continue
            over = notes.gone_at is not None
            workload = None if over else self.leases.workload(lease)
            policies.append(policy_of(self.containers.names.bridge(lease), workload))
        policies += self.idle.policies()
        policy = HostPolicy(
            internet=settings.egress != "none",
            deny=settings.egress_deny,
            dns=settings.dns,
            refused_ports=settings.host_egress.refused_ports,
        )
        await self.containers.firewall.apply(policies, policy)
