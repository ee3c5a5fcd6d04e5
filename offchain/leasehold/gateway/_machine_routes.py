"""Machines: searched, and one whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from leasehold.chain import ParamsRecord
from leasehold.gateway._board import Placed, item
from leasehold.gateway._errors import NoSuchThing, NotReady
from leasehold.gateway._gateway import Gateway, TheGateway
from leasehold.gateway._reading import MOST_SORT, After, Limit, Search, answered, machine_number, ready
from leasehold.gateway._words import counts_json, fault_json, quote_json, rating_json, terms_json
from leasehold.market import Funds, Wish, obstacle, quote

router = APIRouter(prefix="/api/v1", tags=["machines"])

_MOST_SECONDS = 10 * 366 * 86_400
_MOST_PAST = 32
"""Former terms in one answer."""


@router.get("/machines", summary="Search the pool's machines")
async def machines(
    gateway: TheGateway,
    q: Search = "",
    sort: Annotated[
        str, Query(max_length=MOST_SORT, description="A field; `-` before it for the largest first.")
    ] = "price",
    limit: Limit = 50,
    after: After = None,
) -> Response:
    gateway.market.at()
    behind = None if after is None else machine_number(after, "after")
    return ready(gateway.market.board.page(q, sort, limit, behind))


@router.get("/machines/{machine}", summary="All that is known of a machine")
async def machine(gateway: TheGateway, machine: str) -> Response:
    placed = placed_machine(gateway, machine)
    number = placed.listing.id
    history = (await gateway.index.terms_history(number))[-_MOST_PAST:]
    times = await gateway.index.block_times([block for block, _ in history])
    ratings = {
        rating.lease: rating
        for rating in await gateway.index.ratings(provider=placed.record.machine.provider)
    }
    rated = [
        ratings[record.lease.id]
        for record in await gateway.index.leases(machine=number)
        if record.lease.id in ratings
    ]
    return answered(
        gateway,
        {
            "machine": {
                **item(placed),
                "leases": counts_json(placed.listing),
                "spot": {"price": terms_json(placed.record.machine.terms)["spot_price"]},
                "terms_history": [
                    {
                        "revision": past.machine.revision,
                        "block": block,
                        "time": times.get(block),  # a reorganisation may have come in between
                        "price": str(past.machine.terms.price),
                        "spot_price": str(past.machine.terms.spot_price),
                    }
                    for block, past in history
                ],
                "faults": [fault_json(fault) for fault in await gateway.index.faults(machine=number)],
                "rated": [rating_json(rating) for rating in rated[-100:]],
            }
        },
    )


@router.get("/machines/{machine}/quote", summary="What a share of it costs, and what comes back when")
async def machine_quote(
    gateway: TheGateway,
    machine: str,
    seconds: Annotated[int, Query(ge=1, le=_MOST_SECONDS)],
    cells: Annotated[
        int | None, Query(ge=1, le=64, description="Eighths of a GPU; the least that it leases.")
    ] = None,
    spot: bool = False,
) -> Response:
    placed = placed_machine(gateway, machine)
    machine_ = placed.record.machine
    wish = Wish(cells or machine_.smallest_share, seconds, allow_unverified=True, spot=spot)
    now = gateway.market.at().timestamp
    versions = await gateway.index.params()
    rules = {version.version: version.params for version in versions}
    if machine_.params not in rules:
        raise NotReady()
    offered = quote(machine_, rules[machine_.params], wish, Funds(0, 0, 0))
    why = obstacle(machine_, version_at(versions, now), wish, now, gateway.money)
    body = {
        **quote_json(offered, gateway.money),
        "problem": None if why is None else {"code": why.code, "detail": str(why)},
    }
    return answered(gateway, {"quote": body})


def version_at(versions: Iterable[ParamsRecord], now: int) -> int:
    """Which of the pool's rules are in force; 0 where none are."""
    return max(
        (known.version for known in versions if not known.cancelled and known.in_force_at <= now), default=0
    )


def placed_machine(gateway: Gateway, text: str) -> Placed:
    """A machine on the board. Raises NoSuchThing."""
    gateway.market.at()
    placed = gateway.market.board.get(machine_number(text))
    if placed is None:
        raise NoSuchThing("machine", text[:40])
    return placed
