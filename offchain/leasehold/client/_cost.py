"""What an account's leases have cost, by day, by lease or by label: settled bills, and those that run as they stand.

A lease's cost is spread evenly over the seconds that were billed, from its start on: what a day is given is right to
the second while its price and share stay, and the sum over days is its cost to the unit always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from leasehold.chain import LeaseRecord, format_lease
from leasehold.client._choosing import KnownLease, known_leases
from leasehold.market import Json, Money

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

DAY: Final = 86_400
UNLABELLED: Final = "without a label"


class CostBy(StrEnum):
    """What costs are added up by."""

    DAY = "day"
    LEASE = "lease"
    LABEL = "label"


@dataclass(frozen=True)
class Spent:
    """What one lease cost on one day (days since 1970, UTC). units: token units. seconds: that were billed."""

    lease: KnownLease
    day: int
    units: int
    seconds: int


@dataclass(frozen=True)
class CostRow:
    """What is added up under one key: a day as 2026-11-24, a lease as `12 train`, a label as project=x."""

    key: str
    units: int
    seconds: int
    leases: int

    def to_json(self, money: Money) -> dict[str, Json]:
        """For a program, as `Plan.to_json`."""
        return {
            "key": self.key,
            "cost": money.exact(self.units),
            "seconds": self.seconds,
            "leases": self.leases,
        }


@dataclass(frozen=True)
class Costs:
    """rows: in the keys' order; of days, those without cost in between, too. units: of all, each lease counted once
    though it may have several labels.
    """

    by: CostBy
    rows: tuple[CostRow, ...]
    units: int

    def to_json(self, money: Money) -> dict[str, Json]:
        """For a program, as `Plan.to_json`."""
        rows: list[Json] = [row.to_json(money) for row in self.rows]
        return {"by": self.by.value, "rows": rows, "cost": money.exact(self.units), "token": money.symbol}


async def costs_of(
    client: PoolClient,
    by: CostBy = CostBy.DAY,
    *,
    labels: Mapping[str, str] | None = None,
    since: int | None = None,
    until: int | None = None,
) -> Costs:
    """What the account's leases have cost. labels: only of leases that have all of these. since, until: days since
    1970, both counted in.

    Raises:
        SettingsError: the home's names are damaged. ChainError.
    """
    index, now = await client.index(), await client.now()
    down = {record.machine.id: record.machine.down_since for record in await index.machines()}
    spent: list[Spent] = []
    for lease in await known_leases(client):
        if lease.tag.has(labels or {}):
            held = lease.record.lease
            bill = await client.bill(held, now, down_since=down.get(held.machine, 0))
            spent += spread(lease, bill.used if held.state.live else lease.record.paid + lease.record.fee)
    return added_up([part for part in spent if _within(part.day, since, until)], by)


def spread(lease: KnownLease, units: int) -> Iterator[Spent]:
    """A lease's cost by day, the sum of which is the cost."""
    start, left = lease.record.lease.start, units
    seconds = billed_seconds(lease.record, units)
    day, last = start // DAY, (start + max(0, seconds - 1)) // DAY
    while day <= last:
        begin, end = max(start, day * DAY), min(start + seconds, (day + 1) * DAY)
        part = left if day == last else units * (end - begin) // seconds
        left -= part
        if part or end > begin:
            yield Spent(lease, day, part, max(0, end - begin))
        day += 1


def billed_seconds(record: LeaseRecord, units: int) -> int:
    """How long the cost pays for at the lease's price; a hold fee pays for some of that."""
    lease = record.lease
    most = max(0, lease.end - lease.start)
    return min(most, -(-units * 3_600 // lease.hourly)) if lease.hourly else most


def added_up(spent: Sequence[Spent], by: CostBy) -> Costs:
    """Added up by one thing."""
    rows: dict[str, list[Spent]] = {}
    for part in spent:
        for key in _keys(part, by):
            rows.setdefault(key, []).append(part)
    keys: Iterable[str] = sorted(rows)
    if by is CostBy.DAY and spent:
        days = [part.day for part in spent]
        keys = map(_date, range(min(days), max(days) + 1))
    elif by is CostBy.LEASE:
        keys = rows  # by number, as they come
    made = tuple(_row(key, rows.get(key, ())) for key in keys)
    return Costs(by, made, sum(part.units for part in spent))


def _row(key: str, parts: Sequence[Spent]) -> CostRow:
    leases = {part.lease.id for part in parts}
    return CostRow(key, sum(part.units for part in parts), sum(part.seconds for part in parts), len(leases))


def _keys(part: Spent, by: CostBy) -> list[str]:
    if by is CostBy.DAY:
        return [_date(part.day)]
    if by is CostBy.LEASE:
        return [f"{format_lease(part.lease.id)} {part.lease.tag.name or ''}".rstrip()]
    return [f"{word}={value}" for word, value in part.lease.tag.labels.items()] or [UNLABELLED]


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).date().isoformat()


def _within(day: int, since: int | None, until: int | None) -> bool:
    return (since is None or day >= since) and (until is None or day <= until)
