"""What the agent says of a lease is said on the branch of the chain on which it saw the lease, and on no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import Block, Lease, LeaseRequest, LeaseState, ResultPublished
from leasehold.errors import BranchGone
from leasehold_agent.chain import Desired, PoolGate

from .test_windows_of_challenges import OPERATOR, PROVIDER, TENANT, TERMS, gate_of

OTHER = 4


@dataclass(frozen=True)
class Taken:
    """A lease that the agent saw, whose number a reorganisation then gave to somebody else."""

    chain: PoolChain
    gate: PoolGate
    seen: Desired

    async def lease(self) -> Lease:
        return await self.chain.pool().lease_of(self.seen.lease)

    async def as_if_the_same(self) -> Desired:
        """The same tenant may open the same again, in the same second: then the block alone tells them apart."""
        now = await self.lease()
        return replace(self.seen, tenant=now.tenant, start=now.start)


@pytest.fixture
async def taken(chain: PoolChain, tmp_path: Path) -> AsyncIterator[Taken]:
    for account in (PROVIDER, TENANT, OTHER):
        await chain.token(account).approve(chain.deployment.controller, 10**30)
    consent, operator = await chain.consent(PROVIDER, chain.signer(OPERATOR)), chain.address(OPERATOR)
    provider = chain.pool(PROVIDER)
    machine, _ = await provider.register(TERMS, 1, 1, bytes(32), bytes(32), operator, consent)
    wanted = LeaseRequest(
        machine=machine,
        revision=1,
        max_price=TERMS.price,
        workload=bytes(32),
        allow_unverified=True,
        share=8,
        duration=3_600,
    )
    lease, _ = await chain.pool(TENANT).open(wanted)
    async with gate_of(chain, tmp_path, OPERATOR) as gate:
        seen = (await gate.snapshot(())).leases[lease]
        chain.anvil.reorg(1)
        assert (await chain.pool(OTHER).open(wanted))[0] == lease
        yield Taken(chain, gate, seen)


@pytest.mark.slow
async def test_it_was_seen_up_to_a_block(taken: Taken) -> None:
    assert isinstance(taken.seen.seen, Block)
    assert taken.seen.tenant == taken.chain.address(TENANT)
    assert (await taken.lease()).tenant == taken.chain.address(OTHER)


async def test_a_lease_of_that_number_is_neither_started_nor_declined(taken: Taken) -> None:
    """Its bill would begin before it runs, or it would be sent away for what another one lacked."""
    await taken.gate.start(taken.seen, bytes(32))
    await taken.gate.decline(taken.seen, "not-ready")
    assert (await taken.lease()).state is LeaseState.OPENED


async def test_nor_where_it_looks_the_same(taken: Taken) -> None:
    same = await taken.as_if_the_same()
    with pytest.raises(BranchGone):
        await taken.gate.start(same, bytes(32))
    with pytest.raises(BranchGone):
        await taken.gate.decline(same, "not-ready")
    assert (await taken.lease()).state is LeaseState.OPENED


async def test_nor_is_a_result_published_for_it(taken: Taken) -> None:
    operator = taken.chain.pool(OPERATOR)
    await operator.start(taken.seen.lease, bytes(32))
    with pytest.raises(BranchGone):
        await taken.gate.publish(taken.seen, b"the former tenant's")
    receipt = await operator.publish_result(taken.seen.lease, b"its own")
    assert [type(event) for event in operator.events(receipt)] == [ResultPublished]
    assert (await taken.lease()).state is LeaseState.ACTIVE


async def test_what_it_saw_on_this_branch_it_says(taken: Taken) -> None:
    chain, head = taken.chain, await taken.chain.rpc.header()
    assert head is not None
    here = replace(await taken.as_if_the_same(), seen=Block(head.number, head.hash, head.timestamp))
    await taken.gate.start(here, bytes(32))
    assert (await chain.pool().lease_of(here.lease)).state is LeaseState.ACTIVE
