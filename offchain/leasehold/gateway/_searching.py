"""Searches that are asked as searches are, answered before any route: their page is bytes that are put together.

The route `/api/v1/machines` stays what describes a search, and what refuses one. Here a call is answered only where
nothing of it is in doubt: each parameter known, once, and of a form that the route takes as it stands, and a page that
the board has. All else goes on to the route, which says what is wrong in its own words. So a search costs what it
costs, and not the solving of a route's parameters, which was as much again.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from leasehold.errors import LeaseholdError
from leasehold.gateway._gateway import gateway_of
from leasehold.gateway._reading import JSON, MOST, MOST_SEARCH, MOST_SORT

_PATH: Final = "/api/v1/machines"
_NAMES: Final = frozenset(("q", "sort", "limit", "after"))
_LIMIT: Final = re.compile(r"[1-9][0-9]{0,2}")
_AFTER: Final = re.compile(r"[0-9]{1,18}")


class PlainSearches:
    """Stands before the routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = _page(scope) if _is_search(scope) else None
        if page is None:
            await self._app(scope, receive, send)
            return
        headers = [
            (b"cache-control", b"no-cache"),
            (b"content-length", b"%d" % len(page)),
            (b"content-type", JSON.encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": page})


def _is_search(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == _PATH)


def _page(scope: Scope) -> bytes | None:
    """What the route would answer; `None` where that is for the route to say."""
    asked = _asked(scope["query_string"])
    if asked is None:
        return None
    try:
        gateway = gateway_of(HTTPConnection(scope))
        gateway.market.at()
        return gateway.market.board.page(*asked)
    except LeaseholdError:
        return None


def _asked(query: bytes) -> tuple[str, str, int, int | None] | None:
    """What is looked for, by which order, how many, after which; as Starlette reads a query."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    said = dict(pairs)
    if len(said) != len(pairs) or not said.keys() <= _NAMES:
        return None
    text, sort = said.get("q", ""), said.get("sort", "price")
    limit, after = said.get("limit", "50"), said.get("after")
    plain = len(text) <= MOST_SEARCH and len(sort) <= MOST_SORT and _LIMIT.fullmatch(limit)
    if not plain or int(limit) > MOST or (after is not None and not _AFTER.fullmatch(after)):
        return None
    return text, sort, int(limit), None if after is None else int(after)
