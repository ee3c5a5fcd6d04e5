"""What every route has at hand: one object a process, in the application's state."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Annotated, Final, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from leasehold.chain import Deployment, EventWatcher, Indexer
from leasehold.client import PoolClient
from leasehold.gateway._documents import Documents
from leasehold.gateway._errors import NotReady, said_of
from leasehold.gateway._facts import Facts
from leasehold.gateway._figures import Figures
from leasehold.gateway._hub import Hub
from leasehold.gateway._kept_pool import KeptPool
from leasehold.gateway._limits import CallRates
from leasehold.gateway._market import Market
from leasehold.gateway._places import Places
from leasehold.gateway._settings import GatewaySettings
from leasehold.market import Money
from leasehold.rates import RateLimit

STALE: Final = 60.0
"""Seconds without an answer of the chain's nodes, after which others are better asked."""


@dataclass
class Gateway:
    """A gateway at work. client: the pool without a wallet, for who asks the chain or an agent; `None` where the
    gateway is only read from, as in tests of its routes. trouble: why the index does not follow, where it does not;
    unread: why it cannot be read. live: places of who listens; fetching: of who waits for a document; frames: what
    listeners may send. pool: what the chain says of the pool, for this block. woken: set when the index has moved;
    target: up to which block it is filled before it is read for the first time. ended: which of the tasks beside have
    ended unexpectedly, and when (unix seconds).
    """

    settings: GatewaySettings
    index: Indexer
    market: Market
    documents: Documents
    facts: Facts
    hub: Hub
    figures: Figures
    live: Places
    client: PoolClient | None = None
    trouble: str | None = None
    unread: str | None = None
    target: int = 0
    watcher: EventWatcher | None = None
    ended: dict[str, float] = field(default_factory=dict)
    fetching: Places = field(default_factory=lambda: Places({"all": 16, "caller": 4}))
    frames: CallRates = field(default_factory=lambda: CallRates(RateLimit(600, 60.0), time.monotonic))
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    started: float = field(default_factory=time.time)
    pool: KeptPool = field(init=False)

    def __post_init__(self) -> None:
        self.pool = KeptPool(self.facts, self.market.at)

    @property
    def deployment(self) -> Deployment:
        return self.settings.deployment

    def troubled(self, now: float) -> str | None:
        """Why it does not stand at the chain's head, if it does not. now: unix seconds."""
        if trouble := self.trouble or self.unread:
            return trouble
        if self.index.last_error is not None:
            return said_of(self.index.last_error)
        if lately := sorted(name for name, at in self.ended.items() if now - at < STALE):
            return f"What it does beside answering has failed and was begun again: {', '.join(lately)}."
        away = self.away(now, STALE)
        return None if away is None else said_of(away)

    def away(self, now: float, seconds: float) -> Exception | None:
        """Why the nodes have given no answer for so long, if they have given none. now: unix seconds."""
        writes, watcher = self.index.elected or not self.index.shared, self.watcher
        since = watcher.stale_since if watcher is not None and writes else None
        return (
            watcher.last_error
            if watcher is not None and since is not None and now - since >= seconds
            else None
        )

    @property
    def money(self) -> Money:
        return Money.of(self.settings.deployment)


def gateway_of(connection: HTTPConnection) -> Gateway:
    """The gateway that serves a call. Raises NotReady between the start and what it opens."""
    known = getattr(connection.app.state, "gateway", None)
    if known is None:
        raise NotReady()
    return cast(Gateway, known)


async def _gateway(connection: HTTPConnection) -> Gateway:
    """The same for routes: what is no coroutine is sent through a thread for each call, and waits there."""
    return gateway_of(connection)


TheGateway = Annotated[Gateway, Depends(_gateway)]
"""A route's parameter."""
