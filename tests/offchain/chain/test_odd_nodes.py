"""Every kind of misbehaving node: the rows are those of a rebuild, and what follows the chain lives on."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devnet.anvil import Anvil
from devnet.odd_node import Kind, OddNode, Reply, kinds
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import Deployment, Indexer, Pool, Rpc
from leasehold.cli import _index
from leasehold.errors import ChainError
from leasehold_agent._chain_gate import PoolGate, follow

from .indexing import (
    OPERATOR,
    PROVIDER,
    RENTER,
    UNIT,
    approve_all,
    dump,
    index_to_head,
    register,
    url_of,
    wants,
)

KINDS = sorted(kinds())
BLOCKS = 40  # between the older events and the newer ones: the first come in ranges, the last one by one
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def past(pool_state: Any) -> Iterator[PoolChain]:
    """A chain with a history that nobody adds to."""
    anvil = Anvil()
    anvil.start(state=pool_state.state)
    try:
        deployment = Deployment.load(pool_state.deployment)
        asyncio.run(_live(PoolChain(anvil, deployment, Rpc([anvil.url]))))
        yield PoolChain(anvil, deployment, Rpc([anvil.url]))
    finally:
        anvil.stop()


async def _live(chain: PoolChain) -> None:
    async with chain.rpc:
        await approve_all(chain)
        machine = await register(chain)
        chain.anvil.mine(BLOCKS)
        renter, operator = chain.pool(RENTER), chain.pool(OPERATOR)
        await renter.deposit(chain.address(RENTER), 3 * UNIT)
        first, _ = await renter.open(wants(machine))
        await operator.start(first, b"e" * 32)
        chain.anvil.mine(BLOCKS)
        second, _ = await renter.open(wants(machine))
        await operator.start(second, b"f" * 32)
        await renter.close(first)
        await chain.pool(PROVIDER).withdraw(chain.address(PROVIDER), 1)


@pytest.fixture(scope="module")
def stranger() -> Iterator[Anvil]:
    """Another chain of the same number, as a restart makes one: longer than ours."""
    with Anvil() as other:
        other.mine(500)
        yield other


@pytest.fixture(scope="module")
def rebuilt(past: PoolChain, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows as a node gives them that does nothing odd."""
    path = tmp_path_factory.mktemp("rebuilt") / "index.db"

    async def build() -> None:
        async with Rpc([past.anvil.url]) as rpc, Indexer(url_of(path), past.deployment) as index:
            await index_to_head(PoolChain(past.anvil, past.deployment, rpc), index)

    asyncio.run(build())
    return dump(path)


@pytest.fixture(scope="module")
def empty(past: PoolChain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that has its tables and nothing in them."""
    path = tmp_path_factory.mktemp("empty") / "index.db"

    async def make() -> None:
        async with Indexer(url_of(path), past.deployment):
            pass

    asyncio.run(make())
    return path


async def hurried(seconds: float) -> None:
    """Stands in for `asyncio.sleep` where a node is waited for."""
    await asyncio.sleep(min(seconds, 0.01))


async def met(rpc: Rpc, deployment: Deployment) -> None:
    """As the agent does at its start: until the chain has been found."""
    while True:
        with suppress(ChainError):
            await rpc.check_chain(deployment)
            return
        await hurried(1)


def test_the_table_is_long_enough() -> None:
    assert len(KINDS) >= 40


@pytest.mark.parametrize("name", KINDS)
async def test_the_rows_are_those_of_a_rebuild(
    past: PoolChain, stranger: Anvil, rebuilt: Rows, empty: Path, tmp_path: Path, name: str
) -> None:
    path, deployment = Path(shutil.copy(empty, tmp_path / "index.db")), past.deployment
    head = past.anvil.request("eth_getBlockByNumber", "latest", False)["hash"]
    with OddNode(past.anvil.url, kinds()[name], stranger=stranger.url) as node:
        async with Rpc([node.url], sleep=hurried) as rpc, Indexer(url_of(path), deployment) as index:
            await met(rpc, deployment)
            gate = PoolGate(rpc, Pool(rpc, deployment), index, past.address(OPERATOR), past.address(PROVIDER))
            following = asyncio.create_task(follow(rpc, None, deployment, index, lambda: None, sleep=hurried))
            try:
                async with asyncio.timeout(patient(60)):
                    while True:
                        seen, at = await gate.snapshot([]), await index.head()
                        if seen.current and at is not None and at.hash == head and node.odd:
                            break
                        assert not following.done(), following
                        await asyncio.sleep(0.05)
                assert [lease.state.name for lease in seen.leases.values()] == ["ACTIVE"]
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following
    assert dump(path) == rebuilt


async def test_a_command_that_gets_nowhere_shows_why_and_ends(
    past: PoolChain, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that never gives logs: the prompt hung at a percentage for ever."""
    monkeypatch.setattr(_index, "_LOOK", 0.05)
    monkeypatch.setattr(_index, "_PATIENCE", 0.5)
    path, shown = Path(shutil.copy(empty, tmp_path / "index.db")), list[str]()
    never = Kind(kinds()["logs that are null"].bend, lasts=True)
    with OddNode(past.anvil.url, never) as node:
        async with Rpc([node.url], sleep=hurried) as rpc, Indexer(url_of(path), past.deployment) as index:
            session: Any = SimpleNamespace(rpc=rpc, deployment=past.deployment)
            with pytest.raises(ChainError, match="nothing where a list of logs belongs"):
                await _index._catch_up(session, index, shown.append)
            assert node.asked < 150, "it asks without a pause"
    assert any("fails since" in text and "list of logs" in text for text in shown)


@pytest.mark.parametrize("seconds", ["1", "3600"])
async def test_who_asks_to_be_left_alone_is_left_alone(past: PoolChain, seconds: str) -> None:
    """One 429 among many ends no command; one that asks for an hour ends it at once, and says so."""
    waited: list[float] = []

    async def noted(pause: float) -> None:
        waited.append(pause)

    with OddNode(past.anvil.url) as node:
        limited = Reply(b"", 429, {"retry-after": seconds})
        node.kind = Kind(lambda exchange: limited if node.odd < 2 else None, lasts=False)
        async with Rpc([node.url], sleep=noted) as rpc:
            if seconds == "1":
                assert await rpc.block_number() > 0
                assert waited[0] == 1.0
            else:
                with pytest.raises(ChainError, match="HTTP 429"):
                    await rpc.block_number()
                assert waited == []
