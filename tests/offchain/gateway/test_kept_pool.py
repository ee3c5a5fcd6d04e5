"""What the chain says of the pool is asked once a block, however many ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from leasehold.chain import Block
from leasehold.errors import RpcUnavailable
from leasehold.gateway._facts import PoolFacts
from leasehold.gateway._kept_pool import KEPT_SECONDS, KeptPool

from .conftest import CONTROLLER, Chain, World

FIRST, SECOND = (Block(number, "0x" + f"{number:064x}", number) for number in (1, 2))


class Asked(Chain):
    """A chain that counts how often it is asked for the pool. may: answer. failing: whether its node does not."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0
        self.failing = False
        self.may = asyncio.Event()
        self.may.set()

    async def pool(self) -> PoolFacts:
        self.times += 1
        await self.may.wait()
        if self.failing:
            raise RpcUnavailable(("it takes no connections",))
        return await super().pool()

    async def scores(self, providers: Iterable[str]) -> dict[str, int]:
        return {}


class Standing:
    """Where a market stands, and the time."""

    def __init__(self) -> None:
        self.block = FIRST
        self.now = 0.0


@pytest.fixture
async def chain() -> Asked:
    return Asked()


@pytest.fixture
def standing() -> Standing:
    return Standing()


@pytest.fixture
def kept(chain: Asked, standing: Standing) -> KeptPool:
    return KeptPool(chain, lambda: standing.block, lambda: standing.now)


async def test_a_block_is_asked_about_once(kept: KeptPool, chain: Asked, standing: Standing) -> None:
    first = await kept.facts()
    assert await kept.facts() is first
    assert chain.times == 1
    standing.block = SECOND
    assert await kept.facts() is not first
    assert chain.times == 2


async def test_without_blocks_it_is_asked_again_after_a_while(
    kept: KeptPool, chain: Asked, standing: Standing
) -> None:
    """An index that stands still would else keep a pool's pause from everybody."""
    await kept.facts()
    standing.now = KEPT_SECONDS - 0.1
    await kept.facts()
    assert chain.times == 1
    standing.now = KEPT_SECONDS
    await kept.facts()
    assert chain.times == 2


async def test_a_crowd_asks_once(kept: KeptPool, chain: Asked) -> None:
    chain.may.clear()
    crowd = [asyncio.create_task(kept.facts()) for _ in range(50)]
    await asyncio.sleep(0)
    chain.may.set()
    assert len(set(map(id, await asyncio.gather(*crowd)))) == 1
    assert chain.times == 1


async def test_who_leaves_takes_the_answer_from_nobody(kept: KeptPool, chain: Asked) -> None:
    chain.may.clear()
    leaving, staying = (asyncio.create_task(kept.facts()) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    chain.may.set()
    await staying
    assert leaving.cancelled()
    assert chain.times == 1


async def test_a_failure_is_told_and_not_kept(kept: KeptPool, chain: Asked) -> None:
    chain.failing = True
    with pytest.raises(RpcUnavailable):
        await kept.facts()
    chain.failing = False
    await kept.facts()
    assert chain.times == 2


async def test_a_block_that_comes_meanwhile_has_an_answer_of_its_own(
    kept: KeptPool, chain: Asked, standing: Standing
) -> None:
    chain.may.clear()
    before = asyncio.create_task(kept.facts())
    await asyncio.sleep(0)
    standing.block = SECOND
    after = asyncio.create_task(kept.facts())
    await asyncio.sleep(0)
    chain.may.set()
    assert await before is not await after
    assert await kept.facts() is await after
    assert chain.times == 2


async def test_routes_ask_no_node_twice_a_block(world: World) -> None:
    chain = Asked()
    world.gateway.pool = KeptPool(chain, world.gateway.market.at)
    for path in ("/api/v1/pools", f"/api/v1/pools/{CONTROLLER}", "/api/v1/pools"):
        await world.get(path)
    assert chain.times == 1
    await world.machine(1)
    await world.get("/api/v1/pools")
    assert chain.times == 2
