"""What leases use of their machines: all at a glance, and one over time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final

from leasehold.client import LeaseUse, TopRow
from leasehold.market import Money, format_amount, format_duration, format_share, format_size
from leasehold.market.wire import LeaseReading
from leasehold.tables._leases import lease_name
from leasehold.tables._table import Table

TOP_COLUMNS: Final = (
    "lease", ">on", "model", "state", ">share", ">gpu", ">gpu mem", ">cores", ">memory", ">in/s", ">out/s", ">spent",
    ">left",
)  # fmt: skip
READING_COLUMNS: Final = (
    "UTC", "cores", "memory", "processes", "disk read / written", "received / sent", "cards",
)  # fmt: skip
_MODEL: Final = 28  # characters: a stranger's words push no column off the screen


def top_table(rows: Iterable[TopRow], money: Money) -> Table:
    """What each lease does and has cost, a row each. What nobody knows is empty."""
    return Table(TOP_COLUMNS, [_row(row, money) for row in rows])


def readings_table(readings: Sequence[LeaseReading]) -> Table:
    """What a lease has used, a row a reading: rates since the one before, of the first none."""
    return Table(READING_COLUMNS, list(map(_reading, (None, *readings), readings)))


def _row(row: TopRow, money: Money) -> tuple[str, ...]:
    lease, use = row.record.lease, row.use or LeaseUse(0)
    state = "silent" if row.problem is not None else "past its end" if not row.bill.left else lease.state.word
    return (
        lease_name(lease.id, row.tag.name),
        str(lease.machine),
        (row.model or "?")[:_MODEL],
        state,
        format_share(lease.cells),
        _known(use.card_busy, "%"),
        _size(use.card_memory),
        "" if use.cores is None else f"{use.cores:.2f}",
        _size(use.memory),
        _size(use.received),
        _size(use.sent),
        format_amount(row.bill.used, money.decimals, places=6),
        format_duration(row.bill.left),
    )


def _reading(before: LeaseReading | None, reading: LeaseReading) -> tuple[str, ...]:
    """What was used since the reading before; a container that was started again begins at nought."""
    card = f"{_size(reading.card_memory)} {_known(reading.card_busy, '%')} {_known(reading.card_temperature, '°C')}"
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(reading.at)),
        _cores(before, reading),
        _size(reading.memory),
        _known(reading.processes),
        f"{_size(reading.read)} / {_size(reading.written)}",
        f"{_size(reading.received)} / {_size(reading.sent)}",
        card.strip(),
    )


def _cores(before: LeaseReading | None, reading: LeaseReading) -> str:
    if before is None or before.cpu_seconds is None or reading.cpu_seconds is None:
        return ""
    used, passed = reading.cpu_seconds - before.cpu_seconds, reading.at - before.at
    return f"{used / passed:.2f}" if used >= 0 and passed > 0 else ""


def _size(size: float | None) -> str:
    return "" if size is None else format_size(round(size))


def _known(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:.0f}{unit}"
