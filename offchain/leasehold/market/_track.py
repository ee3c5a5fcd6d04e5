"""What the chain remembers of a machine: a pure function of the index's records.

A provider can rent from himself, which costs the pool's fee, and so make a record look better: what was started and how
it was rated say how it went for those who came, and no more. A score cannot be had for less than it is worth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from leasehold.chain import FaultKind, FaultRecord, FaultState, LeaseRecord, LeaseState, RatingRecord

UPTIME_SPAN: Final = 30 * 86_400
"""Seconds that `uptime` looks back."""


@dataclass(frozen=True)
class Track:
    """How a machine has done. started, declined, unstarted: leases that began, that its agent refused, that nobody
    started in time. terminated: ended early by the provider, spot leases not counted. outages: in the last 30 days, and
    downtime in seconds of them. ratings: how many, and stars, their mean by what each weighs; `None` without any that
    weighs something. score: the provider's, 0 to 1000; `None` where nobody asked.
    """

    started: int
    declined: int
    unstarted: int
    terminated: int
    outages: int
    downtime: int
    ratings: int
    stars: Decimal | None
    score: int | None = None

    @property
    def start_rate(self) -> Decimal | None:
        """Of those that could have begun, how many of 100 did; `None` without any."""
        asked = self.started + self.declined + self.unstarted
        return (Decimal(100 * self.started) / asked).quantize(Decimal("0.1")) if asked else None

    @property
    def uptime(self) -> Decimal:
        """Of 100 parts of the last 30 days those in which it was not down."""
        return (Decimal(100 * (UPTIME_SPAN - self.downtime)) / UPTIME_SPAN).quantize(Decimal("0.01"))


def track_of(
    leases: Iterable[LeaseRecord],
    faults: Iterable[FaultRecord],
    ratings: Iterable[RatingRecord],
    now: int,
    *,
    score: int | None = None,
) -> Track:
    """A machine's, from its leases, its faults and the ratings of its leases. now: unix seconds."""
    records, rated = list(leases), list(ratings)
    spans = [span for fault in faults if (span := _down_in(fault, now - UPTIME_SPAN, now)) is not None]
    weight = sum(rating.fee for rating in rated)
    return Track(
        started=sum(map(_started, records)),
        declined=sum(
            record.lease.state is LeaseState.CANCELLED and bool(record.reason) for record in records
        ),
        unstarted=sum(record.lease.state is LeaseState.CANCELLED and not record.reason for record in records),
        terminated=sum(record.lease.noticed and not record.lease.spot for record in records),
        outages=len(spans),
        downtime=_covered(spans),
        ratings=len(rated),
        stars=_mean(rated, weight) if weight else None,
        score=score,
    )


def _started(record: LeaseRecord) -> bool:
    """Whether it began. What was rejected says nothing: that is a tenant's word, before the start or in the trial."""
    return record.lease.state in (LeaseState.ACTIVE, LeaseState.ENDED)


def _down_in(fault: FaultRecord, begin: int, now: int) -> tuple[int, int] | None:
    """The part of an outage that lies in the span; `None` of one that was dropped, or is none."""
    if fault.kind is FaultKind.FALSE_HARDWARE or fault.state is FaultState.DROPPED:
        return None
    span = max(begin, fault.from_), min(now, fault.to or now)
    return span if span[0] < span[1] else None


def _covered(spans: list[tuple[int, int]]) -> int:
    """Seconds in any of them: outages may overlap."""
    covered, end = 0, 0
    for first, last in sorted(spans):
        covered += max(0, last - max(first, end))
        end = max(end, last)
    return covered


def _mean(ratings: Iterable[RatingRecord], weight: int) -> Decimal:
    total = sum(rating.stars * rating.fee for rating in ratings)
    return (Decimal(total) / weight).quantize(Decimal("0.01"))
