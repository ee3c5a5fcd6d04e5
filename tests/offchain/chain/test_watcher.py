"""The watcher against a real chain: order, exactly once, reorganisations, failures."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from devnet.anvil import Anvil
from leasehold.chain import Applied, EventWatcher, RolledBack, Rpc
from leasehold.chain._events import Transferred
from leasehold.chain._watcher import WINDOW

from .conftest import Emitter

DEADLINE = 30


@pytest.fixture
async def rpc(anvil: Anvil) -> AsyncIterator[Rpc]:
    async with Rpc([anvil.url]) as client:
        yield client


def amounts(items: list[Applied | RolledBack]) -> list[int]:
    events = [e for item in items if isinstance(item, Applied) for e in item.events]
    assert all(isinstance(e, Transferred) for e in events)
    return [e.amount for e in events if isinstance(e, Transferred)]


async def take(
    watcher: EventWatcher, until: Callable[[list[Applied | RolledBack]], bool]
) -> list[Applied | RolledBack]:
    items: list[Applied | RolledBack] = []
    async with asyncio.timeout(DEADLINE):
        async for item in watcher:
            items.append(item)
            if until(items):
                return items
    raise AssertionError("the watcher ended")


async def test_the_past_comes_in_order_and_once(anvil: Anvil, rpc: Rpc, emitter: Emitter) -> None:
    for n in range(5):
        emitter.emit(*range(10 * n, 10 * n + 10))
        anvil.mine(WINDOW)
    head = anvil.block_number
    async with EventWatcher(rpc, None, [emitter.address], 1) as watcher:
        items = await take(watcher, lambda seen: seen[-1].block.number == head)
    assert amounts(items) == list(range(50))
    numbers = [item.block.number for item in items]
    assert numbers == sorted(set(numbers))
    assert numbers[-WINDOW:] == list(range(head - WINDOW + 1, head + 1))
    first = next(i for i in items if isinstance(i, Applied) and i.events)
    block = anvil.request("eth_getBlockByNumber", hex(first.block.number), False)
    assert first.block.hash == block["hash"]
    assert first.block.timestamp == int(block["timestamp"], 16) == first.events[0].log.timestamp
