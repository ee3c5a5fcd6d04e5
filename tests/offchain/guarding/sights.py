"""Leases as a guard may see them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leasehold.chain import Lease, LeaseState, cost
from leasehold.guarding._settings import GuardSettings
from leasehold.guarding._sights import LeaseSight, OwnSight, Snapshot
from leasehold.market import Money

NOW, HOUR = 1_000_000, 3_600
PRICE, CELLS = 2_000_000, 8
MONEY = Money("USDT", 6)
WELL = OwnSight(gas=10**18, left=10**12)


def lease(number: int = 1 << 16, **changes: Any) -> Lease:
    """One that runs since an hour, and for ten more."""
    made = Lease(
        number, "0xA", 7, 1 << 8 | 0xFF, LeaseState.ACTIVE, False, False, NOW - HOUR, NOW + 10 * HOUR, 0,
        PRICE, 1, 1, 0, b"\0" * 32, segment_start=NOW - HOUR,
    )  # fmt: skip
    made = replace(made, **changes)
    paid = cost(PRICE, CELLS, made.end - made.start, up=True)
    return replace(made, deposit=changes.get("deposit", paid), segment_start=made.start)


def sight(made: Lease | None = None, **changes: Any) -> LeaseSight:
    """One whose agent answers, and which has work."""
    usual: dict[str, Any] = {"answers": True, "idle": False, "window": 1_800}
    return LeaseSight(made or lease(), "train", **{**usual, **changes})


def snapshot(*sights: LeaseSight, **changes: Any) -> Snapshot:
    return replace(Snapshot(NOW, WELL, sights), **changes)


def settings(**table: Any) -> GuardSettings:
    return GuardSettings.of(table)
