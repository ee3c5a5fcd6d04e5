"""What the chain wants of this host: the leases of its machines, as they stand at the head."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from leasehold.chain import Block, ClosingOrder, LeaseState, Machine
from leasehold.market import TenantRecord
from leasehold_agent._errors import DeclineReason


@dataclass(frozen=True)
class Desired:
    """A lease on the chain. Times are unix seconds of the chain's clock.

    While OPENED, `window_ends` is the last moment at which `start` counts; `end` means nothing before ACTIVE.
    `author` is the tenant who set the workload: not the lease's any more once it was transferred. `noticed`: the
    provider has given notice, and `end` is the new one. `result` is the CID last published, in its binary form.
    `hardware` is the digest of what the machine was described as when the lease was sold. `seen` is the block up to
    which it was: on a branch without that block its number may be another lease's.
    """

    lease: int
    machine: int
    tenant: str
    state: LeaseState
    placement: int
    workload: bytes
    start: int
    end: int
    window_ends: int
    author: str
    spot: bool = False
    noticed: bool = False
    result: bytes | None = None
    hardware: bytes = b""
    seen: Block | None = field(default=None, compare=False)

    @property
    def duration(self) -> int:
        """Seconds for which it was opened, while it is OPENED."""
        return self.end - self.start

    def live_at(self, now: int) -> bool:
        """Whether it should be running: not started and still startable, or started and not past its end."""
        if self.state is LeaseState.OPENED:
            return now <= self.window_ends
        return self.state is LeaseState.ACTIVE and now < self.end


BEHIND = 2
"""Blocks that index and head may be apart, and what the index says still counts as current."""
PROVE_TIME = 3_600
"""Seconds after the last moment for an answer, in which anybody may prove that there was none. Then it is over."""


@dataclass(frozen=True)
class StandingChallenge:
    """A challenge that stands: somebody wants a sign of life. `until` is the last moment for it, unix seconds."""

    challenge: int
    machine: int
    until: int


@dataclass(frozen=True)
class RunningOutage:
    """An outage that runs since `since`, unix seconds. reported: by this machine's own operator."""

    fault: int
    machine: int
    since: int
    reported: bool


@dataclass(frozen=True)
class ChainSnapshot:
    """The head as this agent knows it. `current` is false while it may be behind: then nothing is torn down.

    `block` and `block_hash` are the head's, `now` the chain's time, `machines` those whose operator this agent is, and
    by machine `asked` the challenges that stand, `outages` those that run and `hardware` the digest of what it is
    described as. `strangers` are machines that name this key
    and belong to another provider than this host's owner: they are not served.
    """

    current: bool
    block: int = 0
    now: int = 0
    machines: Mapping[int, Machine] = field(default_factory=dict)
    leases: Mapping[int, Desired] = field(default_factory=dict)
    asked: Mapping[int, StandingChallenge] = field(default_factory=dict)
    outages: Mapping[int, RunningOutage] = field(default_factory=dict)
    strangers: tuple[int, ...] = ()
    hardware: Mapping[int, bytes] = field(default_factory=dict)
    block_hash: str = ""


class ChainGate(Protocol):
    """All that the reconciler asks of the chain. Methods raise ChainError when no node answers.

    What writes returns once it is mined. It reads the state that it is about first, and does nothing where it
    would have no effect, so that each may be asked again after a crash. What is said of a lease is said on the branch
    of the chain on which it was seen, and raises BranchGone where that is gone before it is mined.
    """

    async def snapshot(self, known: Collection[int]) -> ChainSnapshot:
        """Live leases of this agent's machines, and those of `known` that the chain knows. Never raises."""
        ...

    async def is_live(self, lease: int) -> bool:
        """Whether the lease should be running, asked of the node itself and not of the index. Where several nodes are
        configured, it should until two of them say that it should not.
        """
        ...

    async def is_tenant(self, lease: int, tenant: str) -> bool:
        """Whether the lease is that account's, asked so too. Where several nodes are configured, two have to say so."""
        ...

    async def has_workload(self, lease: int, workload: bytes) -> bool:
        """Whether that workload was set last, asked so too. Where several nodes are configured, two have to say so."""
        ...

    async def start(self, lease: Desired, endpoint: bytes) -> None: ...

    async def decline(self, lease: Desired, reason: DeclineReason) -> None: ...

    async def publish(self, lease: Desired, cid: bytes) -> int:
        """Returns the block that says it, 0 where the lease is none that has results."""
        ...

    async def stands(self, order: ClosingOrder) -> bool:
        """Whether its tenant has signed it, has the lease, and has not used, taken back or outlived the order."""
        ...

    async def close(self, order: ClosingOrder, most: int, seen: Block | None = None) -> bool:
        """Close an active lease for its tenant, what outages take off its bill first; returns whether the order stands.

        most: wei that it may cost. seen: as a lease's. Raises GasKept where that, or what the operator has to spare, is
        too little, and OrderVoid where it does not pass now and may later.
        """
        ...

    async def recover(self, machine: int) -> None:
        """The machine takes leases again, after it left one unstarted."""
        ...

    async def answer(self, asked: StandingChallenge) -> None:
        """The machine lives."""
        ...

    async def end_outage(self, outage: RunningOutage) -> None:
        """The machine is back."""
        ...

    async def record_of(self, tenant: str) -> TenantRecord:
        """What the chain remembers of an account as a tenant, as far as this agent's index goes."""
        ...

    async def standbys(self, digests: Collection[bytes]) -> Collection[bytes]:
        """Those of `digests` that a live lease of the pool names as what its standby here would run.

        All of them while no node answers: what cannot be told is kept.
        """
        ...
