"""Validators' seats, the rounds in which committees measured machines, and what faults took of stakes."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from leasehold.gateway._errors import NoSuchThing
from leasehold.gateway._gateway import TheGateway
from leasehold.gateway._reading import After, Limit, answered, listed, machine_number
from leasehold.gateway._words import fault_json, round_json, seat_json, vote_json

router = APIRouter(prefix="/api/v1", tags=["committee"])


@router.get("/validators", summary="Seats, and who has them")
async def validators(gateway: TheGateway, limit: Limit = 200, after: After = None) -> Response:
    behind = -1 if after is None else machine_number(after, "after")
    seats = await gateway.index.seats()
    left = [seat for seat in seats if seat.seat > behind]
    following = str(left[limit - 1].seat) if len(left) > limit else None
    return listed(gateway, map(seat_json, left[:limit]), len(seats), following)


@router.get("/rounds", summary="Verifications, the newest first")
async def rounds(
    gateway: TheGateway, machine: str | None = None, limit: Limit = 50, after: After = None
) -> Response:
    number = None if machine is None else machine_number(machine)
    known = sorted(await gateway.index.rounds(machine=number), key=lambda r: r.round, reverse=True)
    before = None if after is None else machine_number(after, "after")
    left = [round_ for round_ in known if before is None or round_.round < before]
    following = str(left[limit - 1].round) if len(left) > limit else None
    return listed(gateway, map(round_json, left[:limit]), len(known), following)


@router.get("/rounds/{number}", summary="A verification, and what each seat said")
async def round_(gateway: TheGateway, number: str) -> Response:
    record = await gateway.index.round(machine_number(number, "round"))
    if record is None:
        raise NoSuchThing("round", number[:20])
    votes = await gateway.index.votes(record.round)
    return answered(gateway, {"round": {**round_json(record), "votes": [vote_json(vote) for vote in votes]}})


@router.get("/faults", summary="Outages and other faults, the newest first")
async def faults(
    gateway: TheGateway, machine: str | None = None, limit: Limit = 50, after: After = None
) -> Response:
    number = None if machine is None else machine_number(machine)
    known = sorted(await gateway.index.faults(machine=number), key=lambda f: f.fault, reverse=True)
    before = None if after is None else machine_number(after, "after")
    left = [fault for fault in known if before is None or fault.fault < before]
    following = str(left[limit - 1].fault) if len(left) > limit else None
    return listed(gateway, map(fault_json, left[:limit]), len(known), following)
