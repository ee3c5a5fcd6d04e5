"""A challenge has the window of the rules that the machine's provider had accepted when it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import Indexer, LeaseRequest, Pool, Terms
from leasehold_agent.chain import PoolGate, Told, follow
from leasehold_agent.chain._sentinel import Sentinel

PROVIDER, TENANT, OPERATOR = 1, 2, 3
DAY = 86_400
TERMS = Terms(10**18, 0, 1, 30 * DAY, 0, 60_000)


async def challenged(chain: PoolChain) -> tuple[int, int, int]:
    """A machine that a tenant asks for a sign of life, after which its provider accepts rules that give twice the time.

    Returns it, when it was asked, and the window of then.
    """
    for account in (PROVIDER, TENANT):
        await chain.token(account).approve(chain.deployment.controller, 10**30)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    provider, tenant, owner = chain.pool(PROVIDER), chain.pool(TENANT), chain.pool(0)
    machine, _ = await provider.register(TERMS, 1, 1, bytes(32), bytes(32), chain.address(OPERATOR), consent)
    lease, _ = await tenant.open(
        LeaseRequest(
            machine=machine,
            revision=1,
            max_price=TERMS.price,
            workload=bytes(32),
            allow_unverified=True,
            share=8,
            duration=4 * DAY,
        )
    )
    await chain.pool(OPERATOR).start(lease, bytes(32))
    rules = await owner.params(1)
    window = 2 * rules.challenge_window
    await owner.propose_params(
        replace(rules, challenge_window=window, claim_lag=max(rules.claim_lag, window))
    )
    chain.anvil.advance(2 * DAY + 1)
    faults = await tenant.faults()
    await tenant.deposit(chain.address(TENANT), await faults.bond_of(machine, chain.address(TENANT)))
    await faults.challenge(machine, lease)
    chain.anvil.advance(1)  # within one second, the chain does not say which came first
    await provider.set_terms(machine, replace(TERMS, price=TERMS.price - 1))
    assert (await provider.machine_of(machine)).params == 2
    return machine, (await faults.challenge_of(machine)).at, rules.challenge_window


@asynccontextmanager
async def gate_of(chain: PoolChain, folder: Path, account: int | None = None) -> AsyncIterator[PoolGate]:
    """A gate whose index has all that has happened. account: whose key it has."""
    async with Indexer(f"sqlite:///{folder / 'index.db'}", chain.deployment) as index:
        pool = chain.pool(account)
        woken = asyncio.Event()
        following = asyncio.create_task(follow(chain.rpc, None, chain.deployment, index, woken.set))
        try:
            async with asyncio.timeout(patient(60)):
                while (head := await index.head()) is None or head.number < chain.anvil.block_number:
                    await woken.wait()
                    woken.clear()
            yield PoolGate(chain.rpc, pool, index, chain.address(OPERATOR), chain.address(PROVIDER))
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


async def test_the_agent_answers_until_the_old_window_is_over(chain: PoolChain, tmp_path: Path) -> None:
    machine, asked_at, window = await challenged(chain)
    async with gate_of(chain, tmp_path) as gate:
        assert (await gate.snapshot(())).asked[machine].until == asked_at + window


async def test_so_does_the_sentinel(chain: PoolChain) -> None:
    machine, asked_at, window = await challenged(chain)
    operator: Pool = chain.pool(OPERATOR)
    sentinel = Sentinel(
        chain.rpc, operator, Told(), chain.address(OPERATOR), chain.address(PROVIDER), _alive, lambda: 0.0
    )
    chain.anvil.set_time(asked_at + window + 1)
    chain.anvil.mine()
    assert await sentinel.look() == []  # late by the old rules: the contract would refuse it
    assert (await (await operator.faults()).challenge_of(machine)).at == asked_at


async def _alive() -> bool:
    return True
