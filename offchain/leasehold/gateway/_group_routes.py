"""Groups: whose signatures make one account. Those that the chain tells of, and those that have something to sign here.

A group's address is made of its signers, so whoever is told of one works that out and need not believe it; who owns a
Safe, its reader asks the chain.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import HTTPConnection
from starlette.responses import Response

from leasehold.agreements import GroupTerms
from leasehold.chain import GroupRecord
from leasehold.gateway._errors import NoSuchThing
from leasehold.gateway._gateway import TheGateway
from leasehold.gateway._gathering import Gathering
from leasehold.gateway._reading import address, answered, listed
from leasehold.gateway._words import group_json

router = APIRouter(prefix="/api/v1", tags=["groups"])


@router.get("/groups", summary="Groups and Safes that an account signs for, as far as is known here")
async def groups(
    gateway: TheGateway, connection: HTTPConnection, member: Annotated[str, Query(max_length=64)]
) -> Response:
    gateway.market.at()
    who, gathering = address(member), _gathering(connection)
    known = {} if gathering is None else await gathering.groups_of(who)
    told = {record.account: _terms(record) for record in await gateway.index.groups_of(who)}
    every = {**known, **told}
    return listed(gateway, (group_json(account, terms, account in told) for account, terms in every.items()))


@router.get("/groups/{account}", summary="Who signs for a group, and how many of them must")
async def group(gateway: TheGateway, connection: HTTPConnection, account: str) -> Response:
    gateway.market.at()
    whose, gathering = address(account), _gathering(connection)
    record = await gateway.index.group(whose)
    terms = _terms(record) if record is not None else None
    if terms is None and gathering is not None:
        terms = await gathering.group(whose)
    if terms is None:
        raise NoSuchThing("group", whose)
    return answered(gateway, {"group": group_json(whose, terms, record is not None)})


def _terms(record: GroupRecord) -> GroupTerms:
    return GroupTerms(threshold=record.threshold, signers=record.signers, salt="0x" + record.salt.hex())


def _gathering(connection: HTTPConnection) -> Gathering | None:
    """What groups are asked to sign, where this gateway gathers that."""
    found = getattr(connection.app.state, "parts", {}).get(Gathering)
    return found if isinstance(found, Gathering) else None
