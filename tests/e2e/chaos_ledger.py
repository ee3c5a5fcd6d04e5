"""What the canonical chain says of every lease of a machine, folded from its events: what a host is held to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from leasehold.chain import (
    Event,
    LeaseCancelled,
    LeaseClosed,
    LeaseDeclined,
    LeaseExtended,
    LeaseOpened,
    LeaseRejected,
    LeaseResized,
    LeaseStarted,
    LeaseTerminated,
    ResultPublished,
    WorkloadSet,
    cost,
)

HOLD_FEE_BPS = 5_000
"""Of what its seconds are worth: as `scripts/pool.json` has it, by which the chain of a test is made."""


@dataclass
class Told:
    """One lease. Times are unix seconds of the chain's clock, sums token units.

    segments: from when on it held which placement. results: CIDs as they were published, of whichever of its workloads.
    paid, fee: what was taken of its deposit so far, as each event tells of the whole lease. given_up: its tenant has
    closed it before it was started, and pays for having held it.
    """

    lease: int
    tenant: str
    price: int
    workload: bytes
    start: int = 0
    end: int = 0
    over: bool = False
    given_up: bool = False
    declined: str = ""
    segments: list[tuple[int, int]] = field(default_factory=list)
    results: list[bytes] = field(default_factory=list)
    paid: int = 0
    fee: int = 0

    def live_at(self, now: int) -> bool:
        """Whether it is paid for, or waits to be started."""
        return not self.over and (not self.start or now < self.end)

    @property
    def bill(self) -> int:
        """What it comes to: nothing before it is started, but for who has held cells and given them up."""
        if self.given_up:
            return self.worth * HOLD_FEE_BPS // 10_000
        return self.worth if self.start else 0

    @property
    def worth(self) -> int:
        """What its seconds are worth, by segments of one share."""
        ends = [*(since for since, _ in self.segments[1:]), self.end]
        return sum(
            cost(self.price, _cells(placement), max(0, end - since))
            for (since, placement), end in zip(self.segments, ends, strict=True)
        )


def fold(events: Iterable[Event]) -> dict[int, Told]:
    """By lease. events: the pool's, oldest first."""
    told: dict[int, Told] = {}
    for event in events:
        if isinstance(event, LeaseOpened):
            told[event.lease] = Told(event.lease, event.tenant, event.price, event.workload)
            told[event.lease].segments = [(event.log.timestamp or 0, event.placement)]
        elif (lease := told.get(getattr(event, "lease", 0))) is not None:
            _take(lease, event)
    return told


def _take(lease: Told, event: Event) -> None:
    match event:
        case LeaseStarted():
            lease.start, lease.end = event.start, event.end
            lease.segments = [(event.start, lease.segments[-1][1])]
        case LeaseExtended() | LeaseTerminated():
            lease.end = event.end
        case LeaseResized():
            lease.segments.append((event.log.timestamp or 0, event.placement))
            lease.paid, lease.fee = event.paid, event.fee
        case WorkloadSet():
            lease.workload = event.workload
        case ResultPublished():
            lease.results.append(event.cid)
        case LeaseDeclined():
            lease.over, lease.declined = True, event.reason.rstrip(b"\0").decode()
        case LeaseCancelled():
            lease.over = True
        case LeaseRejected():
            lease.over, lease.given_up, lease.end = True, True, event.log.timestamp or 0
            lease.paid, lease.fee = event.paid, event.fee
        case LeaseClosed():
            lease.over, lease.end = True, event.end
            lease.paid, lease.fee = event.paid, event.fee


def _cells(placement: int) -> int:
    return (placement >> 8).bit_count() * (placement & 0xFF).bit_count()
