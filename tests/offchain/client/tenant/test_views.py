"""What one rents and what failed, as the library shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold import faults_of, leases_of, view_fault, view_lease
from leasehold.chain import FaultState, LeaseRequest, LeaseState, Terms
from leasehold.errors import UnknownFault, UnknownLease

from .conftest import OPERATOR, OTHER, PROVIDER, RENTER, UNIT, World


async def test_leases_and_faults_are_seen_by_whoever_asks(world: World) -> None:
    world.advance(3_600)
    async with world.acting(RENTER) as renter, world.acting(OTHER) as other:
        (rented,) = await leases_of(renter)
        assert (rented.lease.id, rented.down_since) == (world.lease, 0)
        assert rented.bill.used == pytest.approx(2 * UNIT, rel=0.01)
        assert await leases_of(other) == []
        own, foreign = await view_lease(renter, world.lease), await view_lease(other, world.lease)
        assert own.lease == foreign.lease
        assert own.silence is not None  # nobody answers at that machine
        assert (foreign.status, foreign.silence) == (None, None)  # agents tell a tenant alone
        with pytest.raises(UnknownLease):
            await view_lease(other, 9 << 16)
        await (await world.chain.pool(OPERATOR).faults()).report_outage(world.machine)
        await other.index(again=True)
        (fault,) = await faults_of(other)
        assert (fault.state, fault.machine) == (FaultState.RUNNING, world.machine)
        assert await faults_of(other, 99) == []
        assert (await view_fault(other, fault.id)).losses == ()
        with pytest.raises(UnknownFault):
            await view_fault(other, 9)


async def test_a_lease_whose_slot_serves_another_is_seen_as_it_ended(world: World) -> None:
    """The chain knows it no more; its machine may keep it still, and is found by the index."""
    renter = world.chain.pool(RENTER)
    await renter.close(world.lease)
    wanted = LeaseRequest(
        machine=world.machine,
        revision=1,
        share=8,
        duration=7_200,
        max_price=2 * UNIT,
        workload=b"w" * 32,
        allow_unverified=True,
        reuse=world.lease,
    )
    following, _ = await renter.open(wanted)
    async with world.acting(RENTER) as client:
        with pytest.raises(UnknownLease):
            await client.lease(world.lease)
        before = await view_lease(client, world.lease)
        assert (before.lease.state, before.lease.machine) == (LeaseState.ENDED, world.machine)
        assert before.silence is not None  # its agent is asked, though nobody answers there
        assert (await client.known_lease(following)).state is LeaseState.OPENED
        with pytest.raises(UnknownLease):
            await client.known_lease(following + 1)


async def test_a_search_and_a_plan_look_at_the_chain_as_it_is_now(world: World) -> None:
    """A client that stays open: what it saw first is not what it plans from."""
    consent = await world.chain.consent(PROVIDER, world.chain.signer(OTHER))
    async with world.acting(RENTER, documents_timeout=0.1) as pool:
        assert [listing.id for listing in await pool.search()] == [world.machine]
        terms = Terms(UNIT, 0, 60, 30 * 86_400, 300, 60_000)
        second, _ = await world.chain.pool(PROVIDER).register(
            terms, 1, 1, b"h" * 32, b"c" * 32, world.address(OTHER), consent
        )
        assert [listing.id for listing in await pool.search()] == [second, world.machine]


async def test_rules_that_may_yet_come_are_asked_for_again(world: World) -> None:
    async with world.acting(RENTER) as pool:
        rules = await pool.params(1)
        assert (await pool.params(2)).start_window == 0
        await world.chain.pool(0).propose_params(replace(rules, fee_bps=rules.fee_bps + 1))
        assert (await pool.params(2)).fee_bps == rules.fee_bps + 1
