"""Groups: whose signatures make one account. Those that the chain tells of, and those that have something to sign here.

A group's address is made of its signers, so whoever is told of one works that out and need not believe it; who owns a
Safe, its reader asks the chain.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.requests import HTTPConnection
from starlette.responses import Response

from leasehold.agreements import GroupTerms
from leasehold.chain import GroupRecord
from leasehold.gateway._errors import NoSuchThing
from leasehold.gateway._gateway import TheGateway
from leasehold.gateway._gathering import Gathering
from leasehold.gateway._reading import MOST, After, Limit, address, answered, listed, machine_number
from leasehold.gateway._words import group_json

router = APIRouter(prefix="/api/v1", tags=["groups"])
_FIRST: Final = "0x" + "0" * 40  # before the address of any group


@router.get("/groups", summary="Groups and Safes that an account signs for, as far as is known here")
async def groups(
    gateway: TheGateway,
    connection: HTTPConnection,
    member: Annotated[str, Query(max_length=64)],
    limit: Limit = MOST,
    after: After = None,
) -> Response:
    """Those first for which it has signed something that is open, then those that were deployed, the oldest before the
    others, then those that ask for its signature. Strangers can name it in groups of theirs, and push none of its own
    out of the list. One that is of two kinds stands there twice.
    """
    gateway.market.at()
    who, gathering = address(member), _gathering(connection)
    of_chain = after is None or after.isdigit()
    every: dict[str, GroupTerms] = {}
    if after is None and gathering is not None:
        every |= await gathering.signed_by(who, limit // 2)
    deployed, following = dict[str, GroupTerms](), None
    if of_chain:
        place = None if after is None else machine_number(after, "after")
        records, more = await gateway.index.groups_of(who, after=place, limit=limit - len(every))
        deployed = {record.account: _terms(record) for record in records}
        every |= deployed
        following = None if more is None else str(more)
    if following is None and gathering is not None:
        last, room = _FIRST if of_chain else address(after or ""), limit - len(every)
        asking, following = await gathering.asking(who, after=last, limit=room) if room else ({}, last)
        every |= {account: terms for account, terms in asking.items() if account not in every}
    rows = (group_json(account, terms, account in deployed) for account, terms in every.items())
    return listed(gateway, rows, None, following)


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
