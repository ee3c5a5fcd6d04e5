"""How often anybody may ask, before anything is made of the question; and answers that are ready beforehand."""

from __future__ import annotations

import time
from collections.abc import Container
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from leasehold.market.wire import TooManyRequests
from leasehold.rates import RateLimit, network
from leasehold_agent.access import Buckets, Visitor
from leasehold_agent.api._problems import problem

REQUESTS: Final = RateLimit(600, 15)
"""Of one lease, or of one stranger's address."""
REQUESTS_OF_STRANGERS: Final = RateLimit(500, 10)
"""Of all addresses together from which no tenant came lately, beyond the first few of each connection; and again of all
peers together that an IPFS node introduces.
"""
FIRST: Final = 2
"""Requests of a stranger's connection that always count for nothing: as many as a tenant needs to be one no more. The
door lets in only so many connections.
"""
_PIECE: Final = 64 * 1024


class Gate:
    """Refuses requests that come too often. Outside everything that takes a request apart."""

    def __init__(
        self,
        app: ASGIApp,
        known: Container[str],
        *,
        rate: RateLimit = REQUESTS,
        strangers: RateLimit = REQUESTS_OF_STRANGERS,
    ) -> None:
        self._app = app
        self._known = known
        self._requests = Buckets(rate, time.monotonic)
        self._strangers = Buckets(strangers, time.monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            try:
                self._count(visitor_of(scope), scope.get("client"))
            except TooManyRequests as error:
                response = problem(error)
                response.headers["Connection"] = "close"
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _count(self, visitor: Visitor | None, client: object) -> None:
        address = visitor.network if visitor is not None else _address(client)
        if visitor is not None and visitor.lease is not None:
            self._requests.take(str(visitor.lease))
            return
        if visitor is not None and visitor.requests < FIRST:
            visitor.requests += 1
            return
        self._requests.take(address)
        if address not in self._known:
            self._strangers.take(_side(visitor))


def visitor_of(scope: Scope) -> Visitor | None:
    """Whose connection a request came by, where it came through a door."""
    visitor = scope.get("state", {}).get("visitor")
    return visitor if isinstance(visitor, Visitor) else None


def address_of(connection: HTTPConnection) -> str:
    """Who a caller is counted as."""
    visitor = visitor_of(connection.scope)
    return visitor.network if visitor is not None else _address(connection.scope.get("client"))


def side_of(connection: HTTPConnection) -> str:
    """By which kind of door a caller came: what strangers of one kind share, those of the other have beside it."""
    return _side(visitor_of(connection.scope))


def _side(visitor: Visitor | None) -> str:
    return "libp2p" if visitor is not None and visitor.introduced else ""


def _address(client: object) -> str:
    return network(str(client[0])) if isinstance(client, tuple | list) and client else ""


class Ready(Response):
    """JSON that was made before, sent in pieces: who does not read keeps no more than one of them waiting."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content, media_type="application/json")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = bytes(self.body)
        for start in range(0, max(1, len(body)), _PIECE):
            more = start + _PIECE < len(body)
            piece = body[start : start + _PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": more})
