"""What leases have cost, added up."""

from __future__ import annotations

import random

from leasehold.chain import Lease, LeaseRecord, LeaseState
from leasehold.client import CostBy, KnownLease, added_up, billed_seconds, costs_of, spread
from leasehold.client._cost import DAY
from leasehold.home import Kind, Tag

from .conftest import OPERATOR, RENTER, UNIT, World
from .test_choosing import FIRST, SECOND, THIRD, open_gang


def ran(number: int, start: int, seconds: int, hourly: int, **labels: str) -> KnownLease:
    """A whole GPU's lease that has ended."""
    held = Lease(
        id=number << 16,
        tenant="0x1",
        machine=1,
        placement=1 << 8 | 0xFF,
        state=LeaseState.ENDED,
        spot=False,
        noticed=False,
        start=start,
        end=start + seconds,
        deposit=0,
        settled=0,
        price=hourly,
        revision=1,
        params=1,
        backup=bytes(32),
    )
    return KnownLease(LeaseRecord(held, start, b"", b"", b"", "", 0, 0, 0), Tag(f"n{number}", labels))


def spent(known: KnownLease) -> int:
    return known.record.lease.hourly * (known.record.lease.end - known.record.lease.start) // 3_600


def test_a_lease_is_spread_over_the_days_that_it_ran_and_adds_up_to_the_unit() -> None:
    known = ran(1, 10 * DAY - 3_600, 2 * DAY, 3_600)
    assert [(part.day, part.seconds) for part in spread(known, spent(known))] == [
        (9, 3_600),
        (10, DAY),
        (11, DAY - 3_600),
    ]
    rng = random.Random(7)
    for _ in range(200):
        some = ran(1, rng.randrange(100 * DAY), rng.randrange(1, 9 * DAY), rng.randrange(1, 10**20))
        units = rng.randrange(0, spent(some) + 1)
        parts = list(spread(some, units))
        assert sum(part.units for part in parts) == units
        assert all(part.units >= 0 for part in parts)
        assert sum(part.seconds for part in parts) == billed_seconds(some.record, units)


def test_what_is_added_up_by_what() -> None:
    first, second = ran(1, DAY, 3_600, 100, project="x", run="1"), ran(2, 3 * DAY, 7_200, 100, project="x")
    parts = [*spread(first, 100), *spread(second, 200)]
    by_day = added_up(parts, CostBy.DAY)
    assert [(row.key, row.units, row.leases) for row in by_day.rows] == [
        ("1970-01-02", 100, 1),
        ("1970-01-03", 0, 0),  # nothing ran, and a picture without it would lie
        ("1970-01-04", 200, 1),
    ]
    assert [(row.key, row.units) for row in added_up(parts, CostBy.LEASE).rows] == [
        ("1 n1", 100),
        ("2 n2", 200),
    ]
    by_label = added_up(parts, CostBy.LABEL)
    assert [(row.key, row.units) for row in by_label.rows] == [("project=x", 300), ("run=1", 100)]
    assert by_label.units == 300  # once, under however many labels
    assert added_up([], CostBy.DAY).rows == ()


def test_what_cost_nothing_and_what_has_no_price() -> None:
    known = ran(1, DAY, 3_600, 100)
    assert list(spread(known, 0)) == []
    free = ran(1, DAY, 3_600, 0)
    assert billed_seconds(free.record, 0) == 3_600


async def test_costs_are_what_the_chain_says(world: World) -> None:
    await open_gang(world, b"g" * 32)
    for lease in (SECOND, THIRD):
        await world.chain.pool(OPERATOR).start(lease, bytes(32))
    world.advance(3_600)
    await world.chain.pool(RENTER).close(FIRST)
    async with world.acting(RENTER) as client:
        client.home.names(client.deployment).label(Kind.LEASE, FIRST, {"project": "x"})
        record = await (await client.index()).lease(FIRST)
        assert record is not None
        own = await costs_of(client, CostBy.LABEL, labels={"project": "x"})
        assert [(row.key, row.units) for row in own.rows] == [("project=x", record.paid + record.fee)]
        everything = await costs_of(client, CostBy.LEASE)
        assert [row.key for row in everything.rows] == ["1", "2", "3"]
        assert everything.units > own.units > 1.9 * UNIT
        assert (await costs_of(client, since=2**31)).rows == ()
