"""Every kind of misbehaving node: the rows are those of a rebuild, and what follows the chain lives on."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from devnet.anvil import Anvil
from devnet.odd_node import Kind, OddNode, Reply, kinds
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import Deployment, EventWatcher, Indexer, LeaseOpened, Pool, Rpc, _watcher, logs_since
from leasehold.chain._decode import topic_of
from leasehold.chain._tables import place_of
from leasehold.client import Observer, _index
from leasehold.errors import ChainError
from leasehold.home import Home
from leasehold_agent.chain import PoolGate, follow

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
_QUICK = {
    "logs in another order",
    "logs twice",
    "logs of another block",
    "logs with removed ones",
    "logs without times",
}
"""Those that a rebuild meets in a working day, too; event by event it meets every kind of logs."""
DEFAULTS = EventWatcher.__init__.__kwdefaults__ or {}
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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in _QUICK else [pytest.mark.slow]) for name in KINDS]
)
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


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, name in enumerate(name for name in KINDS if "logs" in name and "ranges" not in name)
    ],
)
async def test_what_comes_event_by_event_is_that_of_a_rebuild(
    chain: PoolChain, empty: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index at the head takes each block by itself, and commits it: a wrong one would stay."""
    monkeypatch.setattr(EventWatcher.__init__, "__kwdefaults__", {**DEFAULTS, "poll": 0.02})
    monkeypatch.setattr(_watcher, "_LAST_RETRY", 0.05)
    deployment = chain.deployment
    live, anew = (Path(shutil.copy(empty, tmp_path / f"{each}.db")) for each in ("live", "anew"))
    await approve_all(chain)
    machine = await register(chain)
    with OddNode(chain.anvil.url) as node:
        async with Rpc([node.url], sleep=hurried) as rpc, Indexer(url_of(live), deployment) as index:
            following = asyncio.create_task(follow(rpc, None, deployment, index, lambda: None, sleep=hurried))
            try:
                async with asyncio.timeout(patient(30)):
                    await index.reached(chain.anvil.block_number)
                    node.becomes(kinds()[name])
                    lease, _ = await chain.pool(RENTER).open(wants(machine))
                    await index.reached(chain.anvil.block_number)
                    await chain.pool(OPERATOR).start(lease, b"e" * 32)
                    await chain.pool(RENTER).close(lease)
                    await index.reached(chain.anvil.block_number)
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following
    assert node.odd
    async with Indexer(url_of(anew), deployment) as index:
        await index_to_head(chain, index)
    assert dump(live) == dump(anew)


async def test_an_index_that_believed_a_lie_is_built_anew(
    chain: PoolChain, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event stands where the next one belongs: the index failed at that block for ever, and the agent with it."""
    monkeypatch.setattr(EventWatcher.__init__, "__kwdefaults__", {**DEFAULTS, "poll": 0.02})
    live, anew = (Path(shutil.copy(empty, tmp_path / f"{each}.db")) for each in ("live", "anew"))
    await approve_all(chain)
    lease, _ = await chain.pool(RENTER).open(wants(await register(chain)))
    async with Indexer(url_of(live), chain.deployment) as index:
        await index_to_head(chain, index)
        with sqlite3.connect(live) as lie:
            lie.execute("UPDATE chain_leases SET place = ?", (place_of(chain.anvil.block_number + 1, 0),))
        lie.close()
        await chain.pool(OPERATOR).start(lease, b"e" * 32)
        rpc, wake = chain.rpc, lambda: None
        following = asyncio.create_task(follow(rpc, None, chain.deployment, index, wake, sleep=hurried))
        async with asyncio.timeout(patient(30)):
            await index.reached(chain.anvil.block_number)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    async with Indexer(url_of(anew), chain.deployment) as index:
        await index_to_head(chain, index)
    assert dump(live) == dump(anew)


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
            shared = _index.SharedIndex(
                Home(tmp_path), past.deployment, rpc, Observer(), contextlib.AsyncExitStack()
            )
            with pytest.raises(ChainError, match="nothing where a list of logs belongs"):
                await shared._catch_up(index, shown.append)
            assert node.asked < 150, "it asks without a pause"
    assert any("fails since" in text and "list of logs" in text for text in shown)


@pytest.mark.parametrize("name", ["ranges of ten blocks", "ranges by number of logs"])
async def test_what_is_asked_of_all_blocks_is_asked_in_parts(past: PoolChain, name: str) -> None:
    """Who signed as a quorum, which workloads a lease had: one question for the whole chain was refused for good."""
    wanted = {"address": past.deployment.controller, "topics": [topic_of(LeaseOpened)]}
    with OddNode(past.anvil.url, kinds()[name]) as node:
        async with Rpc([node.url]) as rpc:
            found = await logs_since(rpc, past.deployment.block, **wanted)
        assert node.odd
    assert len(found) == 2
    async with Rpc([past.anvil.url]) as rpc:
        assert found == await logs_since(rpc, past.deployment.block, **wanted)


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
