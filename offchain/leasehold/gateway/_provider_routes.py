"""Providers: their machines, what these have earned, and what is owed to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from leasehold.chain import Income, LeaseState, format_lease
from leasehold.gateway._board import Placed
from leasehold.gateway._errors import NoSuchThing
from leasehold.gateway._gateway import Gateway, TheGateway
from leasehold.gateway._reading import address, answered
from leasehold.gateway._words import fault_json
from leasehold.market import claimable
from leasehold.tables import Table

router = APIRouter(prefix="/api/v1", tags=["providers"])

Days = Annotated[int, Query(ge=1, le=3_660, description="How far back, in days.")]
_DAY: Final = 86_400
_MOST_LEASES: Final = 1_000  # that are looked at for what can be claimed


@router.get("/providers/{provider}", summary="A provider's machines, stake, earnings and claims")
async def provider(gateway: TheGateway, provider: str, days: Days = 30) -> Response:
    account, machines = _machines(gateway, provider)
    head = gateway.market.at()
    income = await gateway.index.income(account, since=head.timestamp - days * _DAY)
    cells = sum(placed.listing.machine.gpus * 8 for placed in machines)
    leased = sum(placed.listing.machine.leased.bit_count() for placed in machines)
    faults = [
        fault
        for placed in machines
        if placed.listing.track is not None and placed.listing.track.outages
        for fault in await gateway.index.faults(machine=placed.listing.id)
    ]
    ledger = await gateway.index.ledger(account, last=1)
    body: dict[str, object] = {
        "provider": account,
        "machines": [placed.listing.id for placed in machines],
        "stake": str(sum(placed.listing.machine.stake for placed in machines)),
        "balance": str(ledger.balance),
        "score": next((p.listing.track.score for p in machines if p.listing.track is not None), None),
        "cells": cells,
        "leased_cells": leased,
        "claimable": str(await _claimable(gateway, machines)),
        "earnings": [{"day": day, "amount": str(amount)} for day, amount in _by_day(income)],
        "faults": [fault_json(fault) for fault in faults],
    }
    return answered(gateway, {"provider": body})


@router.get(
    "/providers/{provider}/earnings.csv",
    summary="What each lease brought, movement by movement",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}},
)
async def earnings(gateway: TheGateway, provider: str, days: Days = 366) -> Response:
    account, _ = _machines(gateway, provider)
    income = await gateway.index.income(account, since=gateway.market.at().timestamp - days * _DAY)
    rows = [
        (
            datetime.fromtimestamp(moved.time, UTC).isoformat().replace("+00:00", "Z"),
            moved.entry.kind,
            gateway.money.exact(moved.entry.amount),
            gateway.money.symbol,
            "" if moved.entry.lease is None else format_lease(moved.entry.lease),
            "" if moved.entry.machine is None else str(moved.entry.machine),
            moved.entry.tx_hash,
        )
        for moved in income
    ]
    table = Table(("time", "kind", "amount", "token", "lease", "machine", "transaction"), rows)
    headers = {"Cache-Control": "no-cache", "Content-Disposition": f'attachment; filename="{account}.csv"'}
    return Response(table.csv(), 200, headers, "text/csv; charset=utf-8")


def _machines(gateway: Gateway, text: str) -> tuple[str, list[Placed]]:
    """An account and its machines. Raises NoSuchThing: it never had one."""
    gateway.market.at()
    account = address(text)
    machines = [placed for placed in gateway.market.board if placed.record.machine.provider == account]
    if not machines:
        raise NoSuchThing("provider", account)
    return account, machines


async def _claimable(gateway: Gateway, machines: Iterable[Placed]) -> int:
    own = {placed.listing.id: placed.listing.machine for placed in machines}
    rules = {known.version: known.params for known in await gateway.index.params()}
    now = gateway.market.at().timestamp
    active = await gateway.index.leases_page(machines=own, states=(LeaseState.ACTIVE,), limit=_MOST_LEASES)
    return sum(
        claimable(record.lease, rules[record.lease.params], machine.terms.trial, now, machine)
        for record in active
        if record.lease.params in rules and (machine := own.get(record.lease.machine)) is not None
    )


def _by_day(income: Iterable[Income]) -> list[tuple[int, int]]:
    """What each day brought, by the day's first second in UTC."""
    days: dict[int, int] = defaultdict(int)
    for moved in income:
        days[moved.time - moved.time % _DAY] += moved.entry.amount
    return sorted(days.items())
