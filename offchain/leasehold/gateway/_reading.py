"""How routes read what a call says, and write what they answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import orjson
from fastapi import Query
from starlette.responses import Response

from leasehold.chain import parse_lease
from leasehold.client import parse_address
from leasehold.gateway._errors import MalformedCall
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._words import block_json

JSON: Final = "application/json"
MOST: Final = 200
MOST_SEARCH: Final = 500
"""Characters."""
MOST_SORT: Final = 40
_CACHE: Final = {"Cache-Control": "no-cache"}
_NUMBER: Final = re.compile(r"[0-9]{1,18}")

Limit = Annotated[int, Query(ge=1, le=MOST, description="At most so many.")]
After = Annotated[
    str | None,
    Query(max_length=64, description="What `next` was of the page before this one."),
]
Search = Annotated[
    str, Query(max_length=MOST_SEARCH, description="A search, as docs/reference/query.md has it.")
]


def answered(gateway: Gateway, body: Mapping[str, Any]) -> Response:
    """What is said of the chain, with the block at which it is said."""
    return written({"block": block_json(gateway.market.at()), **body})


def listed(
    gateway: Gateway,
    items: Iterable[Mapping[str, Any]],
    total: int | None = None,
    following: str | None = None,
) -> Response:
    """A list, or a page of one. total: of all pages, if they are several."""
    rows = list(items)
    return answered(
        gateway, {"items": rows, "total": len(rows) if total is None else total, "next": following}
    )


def written(body: object) -> Response:
    """JSON, for which nobody may answer in our place."""
    return Response(orjson.dumps(body), 200, _CACHE, JSON)


def ready(body: bytes) -> Response:
    """The same of bytes that were written before."""
    return Response(body, 200, _CACHE, JSON)


def machine_number(text: str, where: str = "machine") -> int:
    """The number of a machine, fault or round. Raises MalformedCall."""
    if not (text.isascii() and _NUMBER.fullmatch(text)):
        raise MalformedCall(where, f"`{text[:40]}` is no number")
    return int(text)


def address(text: str) -> str:
    """An account, as the chain writes it. Raises InvalidInput."""
    return parse_address(text[:64])


def lease_number(text: str) -> int:
    """A lease's id. Raises InvalidLeaseId."""
    number = parse_lease(text[:40])
    if number >= 2**63:
        raise MalformedCall("lease", f"`{text[:40]}` is no lease")
    return number
