"""What the agent's log says of its chain: that nobody answers, that somebody does again, that the past was changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from devnet.patience import patient
from devnet.pool import PoolChain
from devnet.relay import Relay
from leasehold.chain import Indexer, Pool, Rpc
from leasehold_agent.chain import PoolGate, follow

PROVIDER, OPERATOR = 1, 4


@dataclass
class Wall:
    """A host's clock, so many seconds behind the newest block."""

    chain: PoolChain
    behind: int = 0

    def __call__(self) -> float:
        return self.chain.anvil.timestamp - self.behind


@pytest.fixture
def wall(chain: PoolChain) -> Wall:
    return Wall(chain)


@pytest.fixture
async def gate(chain: PoolChain, relay: Relay, wall: Wall, tmp_path: Path) -> AsyncIterator[PoolGate]:
    """A gate whose node can be cut off, with an index that follows it."""
    deployment = chain.deployment
    async with (
        Rpc([relay.url]) as rpc,
        Indexer(f"sqlite:///{tmp_path / 'index.db'}", deployment) as index,
    ):
        made = PoolGate(
            rpc,
            Pool(rpc, deployment),
            index,
            chain.address(OPERATOR),
            chain.address(PROVIDER),
            wall=wall,
        )
        following = asyncio.create_task(follow(rpc, None, deployment, index, lambda: None))
        try:
            await until(made, lambda snapshot: snapshot.current)
            yield made
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


@pytest.fixture
async def relay(chain: PoolChain) -> AsyncIterator[Relay]:
    port = urlsplit(chain.anvil.url).port
    assert port is not None
    with Relay(port) as made:
        yield made


async def until(gate: PoolGate, holds: Callable[[Any], bool]) -> None:
    async with asyncio.timeout(patient(30)):
        while not holds(await gate.snapshot([])):  # noqa: ASYNC110  # nothing announces it
            await asyncio.sleep(0.05)


async def test_nobody_answers_and_somebody_does_again(gate: PoolGate, relay: Relay) -> None:
    """Each is said once, however often it is looked."""
    with capture_logs() as logs:
        await asyncio.to_thread(relay.cut)
        for _ in range(2):
            await until(gate, lambda snapshot: not snapshot.current)
        relay.mend()
        for _ in range(2):
            await until(gate, lambda snapshot: snapshot.current)
    lost, back = [line for line in logs if line["event"] == "chain"]
    assert (lost["log_level"], bool(lost["problem"])) == ("warning", True)
    assert (back["log_level"], back["problem"]) == ("info", None)


async def test_a_past_that_changes_is_told(gate: PoolGate, chain: PoolChain) -> None:
    await chain.token(PROVIDER).approve(chain.deployment.controller)
    await chain.pool(PROVIDER).deposit(chain.address(PROVIDER), 1)
    before = chain.anvil.block_number
    await gate._index.reached(before)
    with capture_logs() as logs:
        chain.anvil.reorg(1)
        chain.anvil.mine()
        await until(gate, lambda snapshot: snapshot.current and snapshot.block == before + 1)
    (told,) = [line for line in logs if line["event"] == "reorganisation"]
    assert told["block"] == before


async def test_a_chain_that_is_ahead_of_the_clock_is_told(
    gate: PoolGate, chain: PoolChain, wall: Wall
) -> None:
    """Blocks are not of the future: it is the host's clock, by which what tenants sign is judged."""
    with capture_logs() as logs:
        for wall.behind in (0, 9, 60, 61):
            chain.anvil.mine()
            await until(gate, lambda snapshot: snapshot.block == chain.anvil.block_number)
        wall.behind = -60  # no block comes for a minute
        await gate.snapshot([])
    assert [line["ahead"] for line in logs if line["event"] == "clock"] == [60]


async def test_what_no_block_changed_is_not_read_again(
    gate: PoolGate, chain: PoolChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is asked for: a lease that the host has something of is looked up, however old the block."""
    await until(gate, lambda snapshot: snapshot.current)
    before, asked, machines = await gate.snapshot([]), list[str](), Indexer.machines

    async def counted(index: Indexer) -> Any:
        asked.append("machines")
        return await machines(index)

    monkeypatch.setattr(Indexer, "machines", counted)
    assert (await gate.snapshot([])).block_hash == before.block_hash
    assert asked == []
    await gate.snapshot([1 << 16])
    assert asked == ["machines"]
    chain.anvil.mine()
    await until(gate, lambda snapshot: snapshot.block > before.block)
    assert len(asked) > 1


async def test_an_index_that_was_away_is_read_again(gate: PoolGate, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was broken is built anew, up to the same block, and may say something else of it."""
    await until(gate, lambda snapshot: snapshot.current)
    asked, machines = list[str](), Indexer.machines

    async def counted(index: Indexer) -> Any:
        asked.append("machines")
        return await machines(index)

    async def empty(_: Indexer) -> None:
        return None

    monkeypatch.setattr(Indexer, "machines", counted)
    with monkeypatch.context() as away:
        away.setattr(Indexer, "head", empty)
        assert not (await gate.snapshot([])).current
    assert (await gate.snapshot([])).current
    assert asked == ["machines"]
