"""What a gateway does beside answering: follow the chain, fetch documents, ask for scores. It ends with none of them.

Of several gateways on one PostgreSQL one writes the index (`Indexer.run_elected`), and each is told by the database of
what was committed (`Indexer.changes`). News wake whoever reads, and looking every few seconds makes it right.

A node or a database that gives no answer stops nobody who reads: the market stands where it stood, and every answer
says at which block that is. What fails is said by `/readyz` and tried again.
"""

from __future__ import annotations

import asyncio
import gc
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from leasehold.chain import EventWatcher, IndexBroken, IndexConflict, Indexer, IndexTorn, Item, Pool
from leasehold.client import PoolClient
from leasehold.errors import ChainError
from leasehold.gateway._errors import for_owner, said_of
from leasehold.gateway._gateway import Gateway

_log = structlog.get_logger("leasehold.gateway")

AGAIN: Final = 2.0
"""Seconds after which what failed is tried again."""
LOOK_EVERY: Final = 10.0
"""Seconds after which the index is looked at without news."""
AWAY: Final = 5.0
"""Seconds without an answer of the nodes after which the log says so."""
SCORES_EVERY: Final = 300.0


async def kept_up(
    gateway: Gateway,
    name: str,
    work: Callable[[], Awaitable[None]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Has something done for ever, and begins it again when it ends. `/readyz` says so for a while.
    A gateway whose news come no more, or that removes nothing any more, would else look as well as any.
    """
    while True:
        try:
            await work()
            trace = ""
        except Exception as error:  # noqa: BLE001  # the outermost place of what is done beside answering
            trace = "".join(traceback.format_exception(error))  # never with the values of variables
        _log.error("gateway.task_ended", task=name, trace=trace)
        gateway.ended[name] = time.time()
        await sleep(AGAIN)


async def follow(gateway: Gateway, client: PoolClient) -> None:
    """Has the index at the chain's head, by this process or another, for ever."""
    while True:
        cause = ""
        try:
            await _followed(gateway, client)
        except (ChainError, SQLAlchemyError) as error:
            with suppress(ChainError, SQLAlchemyError):
                await _mended(gateway.index, error)
            gateway.trouble = _trouble(gateway.index, error)
            cause = for_owner(error)
        _log.warning("gateway.follows_again", trouble=gateway.trouble, cause=cause)
        await asyncio.sleep(AGAIN)


async def _followed(gateway: Gateway, client: PoolClient) -> None:
    gateway.woken.set()  # what the index has from before is served at once
    sources = await Pool(client.rpc, client.deployment).event_sources()
    head = await client.rpc.header()
    gateway.target = 0 if head is None else head.number

    async def committed(_: Sequence[Item]) -> None:
        gateway.trouble = None

    ws = gateway.settings.ws or None
    async with EventWatcher(client.rpc, ws, sources, client.deployment.block) as watcher:
        gateway.watcher = watcher
        await gateway.index.run_elected(watcher, committed)


async def _mended(index: Indexer, error: Exception) -> None:
    """What can be done about it before it is tried again."""
    if isinstance(error, IndexConflict) and not index.shared:
        await index.refresh()
    elif isinstance(error, IndexBroken | IndexTorn):
        await index.clear()


def _trouble(index: Indexer, error: Exception) -> str:
    if isinstance(error, IndexConflict):
        return (
            "Another release has the index's tables." if index.shared else "Another gateway writes the index."
        )
    return said_of(error)


async def tell_owner(gateway: Gateway, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Has the log say which nodes do not answer, and when some do again, for ever. Nobody else is told which."""
    told = ""
    while True:
        error = gateway.away(time.time(), AWAY)
        cause = "" if error is None else for_owner(error)
        if cause and cause != told:
            _log.warning("gateway.nodes_away", cause=cause)
        elif told and not cause:
            _log.info("gateway.nodes_answer")
        told = cause
        await sleep(LOOK_EVERY)


async def hear(gateway: Gateway) -> None:
    """Has the market read what was committed, here or by another process, for ever."""
    async with aclosing(gateway.index.changes()) as changes:
        async for _ in changes:
            if gateway.index.shared:
                gateway.trouble = None  # somebody writes
            gateway.woken.set()


async def keep_market(gateway: Gateway) -> None:
    """Keeps the market at the index's head, for ever."""
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY):
                await gateway.woken.wait()
        gateway.woken.clear()
        first = gateway.market.head is None
        if first and not await _filled(gateway):
            continue
        try:
            await gateway.market.refresh()
        except (ChainError, SQLAlchemyError) as error:
            gateway.unread = said_of(error)
            _log.warning("gateway.reads_again", error=type(error).__name__)
            await asyncio.sleep(AGAIN)
            gateway.woken.set()
        else:
            gateway.unread = None
            if first and gateway.market.head is not None:
                _keep_what_stays()


async def _filled(gateway: Gateway) -> bool:
    """Whether it is worth reading: while it fills for the first time, once at the end is enough."""
    head = await gateway.index.head()
    return head is not None and head.number >= gateway.target


def _keep_what_stays() -> None:
    """What was read at the start stays: no later collection of garbage looks through all of it, while others wait."""
    gc.collect()
    gc.freeze()


async def ask_scores(gateway: Gateway, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Keeps the providers' scores, for ever. While nobody has joined that it knows of, it looks again soon."""
    while True:
        known = any(True for _ in gateway.market.board)
        try:
            await gateway.market.score()
        except ChainError as error:
            _log.warning("gateway.no_scores", error=for_owner(error))
        await sleep(SCORES_EVERY if known else AGAIN)
