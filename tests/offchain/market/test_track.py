"""What the chain remembers of a machine, and how machines are found by it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from leasehold.chain import (
    FaultKind,
    FaultRecord,
    FaultState,
    Lease,
    LeaseRecord,
    LeaseState,
    RatingRecord,
)
from leasehold.market import UPTIME_SPAN, track_of

NOW = 100 * 86_400
DAY = 86_400


def lease(
    number: int, state: LeaseState, *, reason: str = "", noticed: bool = False, spot: bool = False
) -> LeaseRecord:
    held = Lease(
        id=number << 16,
        tenant="0x1",
        machine=1,
        placement=0,
        state=state,
        spot=spot,
        noticed=noticed,
        start=1,
        end=2,
        deposit=0,
        settled=0,
        price=0,
        revision=1,
        params=1,
        backup=bytes(32),
    )
    return LeaseRecord(held, 1, b"", b"", b"", reason, 0, 0, 0)


def fault(number: int, begin: int, end: int, **more: object) -> FaultRecord:
    record = FaultRecord(
        fault=number,
        machine=1,
        kind=FaultKind.SELF_REPORTED,
        state=FaultState.FILED,
        from_=begin,
        to=end,
        opened_at=0,
        filed_at=0,
        deadline=0,
        bps=0,
        amount=0,
        pot=0,
        reported=0,
        rest=0,
        sink="",
        compensated=0,
        rules=1,
    )
    return replace(record, **more)  # type: ignore[arg-type]


def rating(stars: int, fee: int) -> RatingRecord:
    return RatingRecord(1, "0x2", "0x1", stars, bytes(32), fee, 0)


def test_leases_that_began_count_against_those_that_did_not() -> None:
    leases = [
        lease(1, LeaseState.ENDED),
        lease(2, LeaseState.ACTIVE, noticed=True),
        lease(3, LeaseState.ENDED, noticed=True, spot=True),  # spot leases may be ended
        lease(4, LeaseState.CANCELLED, reason="image-unknown"),
        lease(5, LeaseState.CANCELLED),
        lease(6, LeaseState.REJECTED),  # a tenant's word
        lease(7, LeaseState.OPENED),  # may yet begin
    ]
    track = track_of(leases, [], [], NOW)
    assert (track.started, track.declined, track.unstarted, track.terminated) == (3, 1, 1, 1)
    assert track.start_rate == Decimal("60.0")
    assert track_of([leases[-1]], [], [], NOW).start_rate is None


def test_uptime_counts_each_second_once_and_the_last_thirty_days_alone() -> None:
    begin = NOW - UPTIME_SPAN
    faults = [
        fault(1, begin - DAY, begin + DAY),  # a day of it
        fault(2, NOW - 2 * DAY, NOW - DAY),
        fault(3, NOW - 2 * DAY, NOW - DAY),  # the same day, by another path
        fault(4, NOW - DAY // 2, 0, state=FaultState.RUNNING),
        fault(5, begin - 9 * DAY, begin - 8 * DAY),
        fault(6, begin, NOW, state=FaultState.DROPPED),
        fault(7, begin, NOW, kind=FaultKind.FALSE_HARDWARE),
    ]
    track = track_of([], faults, [], NOW)
    assert (track.downtime, track.outages) == (2 * DAY + DAY // 2, 4)
    assert track.uptime == Decimal("91.67")
    assert track_of([], [fault(1, 1, 0, state=FaultState.RUNNING)], [], NOW).uptime == 0


def test_stars_weigh_what_was_paid() -> None:
    assert track_of([], [], [rating(5, 300), rating(1, 100)], NOW).stars == Decimal("4.00")
    free = track_of([], [], [rating(5, 0)], NOW)
    assert (free.stars, free.ratings) == (None, 1)
