"""A node of the chain that lies, beside one that does not: nothing that cannot be undone is done on its word alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devnet.anvil import Anvil
from devnet.odd_node import Exchange, Kind, OddNode, Reply
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import Deployment, Indexer, LeaseRequest, LeaseState, Pool, Rpc, Terms
from leasehold.chain.typed import AcceptTransfer, Domain, sign
from leasehold_agent.chain import PoolGate, Witnesses, follow
from leasehold_agent.reconciling._docker_runtime import _let_in
from leasehold_agent.store import Notes

PROVIDER, TENANT, THIEF, OPERATOR = 1, 2, 3, 4
UNIT = 10**18
TERMS = Terms(UNIT, 0, 60, 24 * 3_600, 300, 60_000)


@pytest.fixture
async def lease(chain: PoolChain) -> int:
    for account in (PROVIDER, TENANT):
        await chain.token(account).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 1, 1, b"h" * 32, b"c" * 32, chain.address(OPERATOR), consent
    )
    found, _ = await chain.pool(TENANT).open(
        LeaseRequest(
            machine=machine,
            revision=1,
            share=8,
            duration=3_600,
            max_price=UNIT,
            workload=b"w" * 32,
            allow_unverified=True,
        )
    )
    await chain.pool(OPERATOR).start(found, b"e" * 32)
    return found


@pytest.fixture
async def liar(chain: PoolChain, lease: int, tmp_path: Path) -> AsyncIterator[Liar]:
    """A copy of the chain as it is now, on which others then do what they like."""
    anvil = Anvil()
    anvil.start(state=chain.anvil.save(tmp_path / "state.json"))
    try:
        with OddNode(chain.anvil.url, Kind(_in_disguise, lasts=True), stranger=anvil.url) as node:
            async with Rpc([anvil.url]) as rpc:
                yield Liar(PoolChain(anvil, chain.deployment, rpc), node.url)
    finally:
        anvil.stop()


@dataclass(frozen=True)
class Liar:
    """A chain of its own, and the node that gives it out as ours."""

    chain: PoolChain
    url: str


def _in_disguise(exchange: Exchange) -> Reply:
    """The copy's answers, but block 0, which is ours."""
    ours, theirs = exchange.answers(), exchange.answers(exchange.stranger)
    first = [
        call["method"] == "eth_getBlockByNumber" and call["params"][0] == "0x0" for call in exchange.calls
    ]
    return Reply.of(
        exchange, [mine if is_first else lie for mine, lie, is_first in zip(ours, theirs, first, strict=True)]
    )


@asynccontextmanager
async def gate_of(chain: PoolChain, urls: list[str], folder: Path) -> AsyncIterator[PoolGate]:
    """A gate that hears the first of the addresses, with an index that follows it."""
    deployment: Deployment = chain.deployment
    async with (
        Rpc(urls[:1]) as rpc,
        Indexer(f"sqlite:///{folder / 'index.db'}", deployment) as index,
        Witnesses.of(urls, deployment) as witnesses,
    ):
        gate = PoolGate(
            rpc,
            Pool(rpc, deployment),
            index,
            chain.address(OPERATOR),
            chain.address(PROVIDER),
            witnesses=witnesses,
        )
        following = asyncio.create_task(follow(rpc, None, deployment, index, lambda: None))
        try:
            await _until(lambda: _current(gate))
            yield gate
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


async def _handed_over(chain: PoolChain, lease: int) -> None:
    """The tenant gives the lease to the thief, on this chain."""
    deadline, domain = chain.anvil.timestamp + 3_600, Domain(chain.anvil.chain_id, chain.deployment.accounts)
    accepts = AcceptTransfer(chain.address(THIEF), chain.deployment.controller, lease, deadline)
    proof = await sign(accepts, domain, chain.signer(THIEF))
    await chain.pool(TENANT).transfer_lease(lease, chain.address(THIEF), deadline, proof)


async def _current(gate: PoolGate) -> bool:
    return (await gate.snapshot([])).current


async def _until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(patient(30)):
        while not await done():  # noqa: ASYNC110  # nothing announces it
            await asyncio.sleep(0.05)


async def test_one_node_cannot_end_a_lease(chain: PoolChain, liar: Liar, lease: int, tmp_path: Path) -> None:
    await liar.chain.pool(TENANT).close(lease)
    async with gate_of(chain, [liar.url, chain.anvil.url], tmp_path) as gate:
        assert (await gate.snapshot([lease])).leases[lease].state is LeaseState.ENDED
        assert await gate.is_live(lease), "the second node says that it goes on"
        await chain.pool(TENANT).close(lease)
        assert not await gate.is_live(lease), "both say that it is over"


async def test_one_node_cannot_let_the_time_run_out(
    chain: PoolChain, liar: Liar, lease: int, tmp_path: Path
) -> None:
    liar.chain.anvil.advance(100_000)
    async with gate_of(chain, [liar.url, chain.anvil.url], tmp_path) as gate:
        seen = await gate.snapshot([lease])
        assert not seen.leases[lease].live_at(seen.now)
        assert await gate.is_live(lease)
        chain.anvil.advance(100_000)
        assert not await gate.is_live(lease)


async def test_one_node_cannot_name_another_tenant(
    chain: PoolChain, liar: Liar, lease: int, tmp_path: Path
) -> None:
    thief = chain.address(THIEF)
    await _handed_over(liar.chain, lease)
    async with gate_of(chain, [liar.url, chain.anvil.url], tmp_path) as gate:
        desired = (await gate.snapshot([lease])).leases[lease]
        assert desired.tenant == thief
        assert not await gate.is_tenant(lease, thief)
        assert _let_in(desired, Notes(tenant=chain.address(TENANT))) == "", "meanwhile nobody is let in"
        await _handed_over(chain, lease)
        assert await gate.is_tenant(lease, thief)
        assert _let_in(desired, Notes(tenant=thief)) == thief


async def test_one_node_cannot_have_another_workload_run(
    chain: PoolChain, liar: Liar, lease: int, tmp_path: Path
) -> None:
    """What runs would go for it, and what it leaves with it."""
    other = b"o" * 32
    await liar.chain.pool(TENANT).set_workload(lease, other)
    async with gate_of(chain, [liar.url, chain.anvil.url], tmp_path) as gate:
        assert (await gate.snapshot([lease])).leases[lease].workload == other
        assert not await gate.has_workload(lease, other)
        await chain.pool(TENANT).set_workload(lease, other)
        assert await gate.has_workload(lease, other)
        # Nor can it name again what was set once: the second node tells what came after.
        await chain.pool(TENANT).set_workload(lease, b"p" * 32)
        assert not await gate.has_workload(lease, other)


async def test_who_does_not_answer_agrees_with_nobody(
    chain: PoolChain, liar: Liar, lease: int, tmp_path: Path
) -> None:
    await chain.pool(TENANT).close(lease)
    await liar.chain.pool(TENANT).close(lease)
    async with gate_of(chain, [chain.anvil.url, liar.url], tmp_path) as gate:
        assert not await gate.is_live(lease)
        liar.chain.anvil.stop()
        assert await gate.is_live(lease)


async def test_with_one_node_its_word_is_taken(chain: PoolChain, lease: int, tmp_path: Path) -> None:
    async with gate_of(chain, [chain.anvil.url, chain.anvil.url], tmp_path) as gate:
        assert await gate.is_live(lease)
        await chain.pool(TENANT).close(lease)
        assert not await gate.is_live(lease)


async def test_one_node_is_asked_itself_where_the_index_may_be_behind(
    chain: PoolChain, lease: int, tmp_path: Path
) -> None:
    """In a reorganisation the index has undone what the new branch has too: what was set before is nobody's wish,
    and a container that made way for it would be lost with its data.
    """
    tenant, former, thief = chain.address(TENANT), b"w" * 32, chain.address(THIEF)
    async with gate_of(chain, [chain.anvil.url], tmp_path) as gate:
        assert await gate.has_workload(lease, former)
        assert await gate.is_tenant(lease, tenant)
        await chain.pool(TENANT).set_workload(lease, b"o" * 32)
        assert not await gate.has_workload(lease, former)
        assert await gate.has_workload(lease, b"o" * 32)
        await _handed_over(chain, lease)
        assert not await gate.is_tenant(lease, tenant)
        assert await gate.is_tenant(lease, thief)
