"""What a gateway does beside answering: follow the chain, fetch documents, ask for scores. It ends with none of them.

A node that gives no answer stops nobody who reads: the index stands where it stood, and every answer says at which
block that is. What fails is said by `/readyz` and tried again.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from leasehold.chain import EventWatcher, IndexBroken, IndexConflict, IndexTorn, Item, Pool
from leasehold.client import PoolClient
from leasehold.errors import ChainError
from leasehold.gateway._gateway import Gateway

_log = structlog.get_logger("leasehold.gateway")

AGAIN: Final = 2.0
"""Seconds after which what failed is tried again."""
SCORES_EVERY: Final = 300.0


async def follow(gateway: Gateway, client: PoolClient) -> None:
    """Writes the index at the chain's head, for ever."""
    while True:
        try:
            await _followed(gateway, client)
        except IndexConflict:
            gateway.trouble = "Another gateway writes the index."
            await gateway.index.refresh()
        except (IndexBroken, IndexTorn) as error:
            gateway.trouble = str(error)
            await gateway.index.clear()
        except (ChainError, SQLAlchemyError) as error:
            gateway.trouble = str(error)
        _log.warning("gateway.follows_again", trouble=gateway.trouble)
        await asyncio.sleep(AGAIN)


async def _followed(gateway: Gateway, client: PoolClient) -> None:
    sources = await Pool(client.rpc, client.deployment).event_sources()
    target = await client.rpc.header()
    gateway.woken.set()  # what the index has from before is served at once

    async def committed(items: Sequence[Item]) -> None:
        gateway.trouble = None
        if gateway.market.head is not None or target is None or items[-1].block.number >= target.number:
            gateway.woken.set()  # while it fills for the first time, once at the end is enough

    ws = gateway.settings.ws or None
    async with EventWatcher(client.rpc, ws, sources, client.deployment.block) as watcher:
        gateway.watcher = watcher
        await gateway.index.run(watcher, committed)


async def keep_market(gateway: Gateway) -> None:
    """Keeps the market at the index's head whenever it was moved, for ever."""
    while True:
        await gateway.woken.wait()
        gateway.woken.clear()
        first = gateway.market.head is None
        try:
            await gateway.market.refresh()
            if first and gateway.market.head is not None:
                _keep_what_stays()
        except (IndexConflict, SQLAlchemyError) as error:
            _log.warning("gateway.reads_again", error=type(error).__name__)
            await asyncio.sleep(AGAIN)
            gateway.woken.set()


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
            _log.warning("gateway.no_scores", error=str(error))
        await sleep(SCORES_EVERY if known else AGAIN)
