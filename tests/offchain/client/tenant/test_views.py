"""What one rents and what failed, as the library shows it."""

from __future__ import annotations

import pytest

from leasehold import faults_of, leases_of, view_fault, view_lease
from leasehold.chain import FaultState
from leasehold.errors import UnknownFault, UnknownLease

from .conftest import OPERATOR, OTHER, RENTER, UNIT, World


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
