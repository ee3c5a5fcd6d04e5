"""Leases: anybody's, since the chain shows them to everybody. What runs in them is between tenant and agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from leasehold.chain import LeaseRecord, LeaseState, format_lease
from leasehold.gateway._errors import MalformedCall, NoSuchThing, NotReady
from leasehold.gateway._gateway import Gateway, TheGateway
from leasehold.gateway._reading import After, Limit, address, answered, lease_number, listed, machine_number
from leasehold.gateway._words import lease_json
from leasehold.market import bill

router = APIRouter(prefix="/api/v1", tags=["leases"])

_STATES: Final = {state.word: (state,) for state in LeaseState if state is not LeaseState.NONE}
_SETS: Final = {
    "live": tuple(state for state in LeaseState if state.live),
    "over": tuple(state for state in LeaseState if not state.live and state is not LeaseState.NONE),
}


@router.get("/leases", summary="Leases by tenant, provider, machine and state")
async def leases(
    gateway: TheGateway,
    tenant: Annotated[str | None, Query(max_length=64)] = None,
    provider: Annotated[str | None, Query(max_length=64)] = None,
    machine: Annotated[str | None, Query(max_length=20)] = None,
    state: Annotated[
        str | None, Query(max_length=20, description="A state's word, `live` or `over`.")
    ] = None,
    limit: Limit = 50,
    after: After = None,
) -> Response:
    gateway.market.at()
    whose = None if tenant is None else address(tenant)
    machines = _machines(gateway, provider, machine)
    states = None if state is None else _states(state)
    before = None if after is None else lease_number(after)
    if machines == ():
        return listed(gateway, [])
    records = await gateway.index.leases_page(
        tenant=whose, machines=machines, states=states, before=before, limit=limit + 1
    )
    total = await gateway.index.leases_count(tenant=whose, machines=machines, states=states)
    page = records[:limit]
    following = format_lease(page[-1].lease.id) if len(records) > limit else None
    return listed(gateway, map(lease_json, page), total, following)


@router.get("/leases/{lease}", summary="A lease, and what closing it would take")
async def lease(gateway: TheGateway, lease: str) -> Response:
    record = await _known(gateway, lease)
    rules = {known.version: known.params for known in await gateway.index.params()}
    placed = gateway.market.board.get(record.lease.machine)
    down = placed.record.machine.down_since if placed is not None else 0
    now = gateway.market.at().timestamp
    if record.lease.params not in rules:
        raise NotReady()
    owed = bill(record.lease, now, rules[record.lease.params], down_since=down)
    body = {
        **lease_json(record),
        "bill": {"at": now, "used": str(owed.used), "unused": str(owed.unused), "left": owed.left},
    }
    return answered(gateway, {"lease": body})


@router.get("/leases/{lease}/events", summary="What has become of it, event by event")
async def lease_events(gateway: TheGateway, lease: str) -> Response:
    record = await _known(gateway, lease)
    events = await gateway.index.lease_events(record.lease.id)
    return listed(
        gateway,
        (
            {
                "event": event.name,
                "block": event.block,
                "time": event.time,
                "tx": event.tx_hash,
                "lease": lease_json(event.record),
            }
            for event in events
        ),
    )


async def _known(gateway: Gateway, text: str) -> LeaseRecord:
    gateway.market.at()
    record = await gateway.index.lease(lease_number(text))
    if record is None:
        raise NoSuchThing("lease", text[:40])
    return record


def _machines(gateway: Gateway, provider: str | None, machine: str | None) -> tuple[int, ...] | None:
    """The machines whose leases are meant; `None` for all."""
    number = None if machine is None else machine_number(machine)
    if provider is None:
        return None if number is None else (number,)
    owner = address(provider)
    own = tuple(
        placed.listing.id for placed in gateway.market.board if placed.record.machine.provider == owner
    )
    return own if number is None else tuple(known for known in own if known == number)


def _states(text: str) -> Sequence[LeaseState]:
    states = _SETS.get(text) or _STATES.get(text)
    if states is None:
        raise MalformedCall("state", f"`{text}` is none of {', '.join([*_SETS, *_STATES])}")
    return states
