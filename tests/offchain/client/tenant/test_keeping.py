"""A lease that is kept going: by the library alone."""

from __future__ import annotations

import pytest

from leasehold import AcceptLeases, AllowDelegate, Deposit, KeepGoing, Transfer
from leasehold.client import LookFailed, PlanUsed
from leasehold.client._tenant_errors import KeptNoLonger
from leasehold.market import InvalidInput

from .conftest import OTHER, RENTER, World

HOUR = 3_600


async def test_a_lease_is_extended_before_its_end_and_not_past_its_bound(world: World) -> None:
    async with world.acting(RENTER) as renter:
        keep = KeepGoing(world.lease, by=HOUR, longest=3 * HOUR - 600, before=1_800, once=True)
        early = await renter.carry_out(keep)
        assert early.extended is None
        assert "nothing to do yet" in early.look.next.why
        world.advance(6_000)
        plan = await renter.plan(keep)
        kept = await renter.carry_out(plan)
        assert kept.extended is not None
        assert kept.extended.lease.end - early.look.lease.end == HOUR - 600
        with pytest.raises(PlanUsed):
            await renter.carry_out(plan)
        assert (await renter.carry_out(keep)).extended is None
        with pytest.raises(InvalidInput, match="steps of nothing"):
            await renter.plan(KeepGoing(world.lease, by=0, longest=HOUR))


async def test_nobody_pays_for_a_lease_that_has_changed_hands(world: World) -> None:
    """Who keeps it would go on paying for the new tenant, who may close it and take the money."""
    async with world.acting(RENTER) as renter, world.acting(OTHER) as other:
        world.advance(6_000)
        keep = KeepGoing(world.lease, by=HOUR, longest=9 * HOUR, before=1_800)
        plan = await renter.plan(keep)
        accepted = (await other.carry_out(AcceptLeases((world.lease,)))).acceptance
        await renter.carry_out(Transfer(world.lease, other.account, accepted))
        kept = await renter.carry_out(plan)
        assert (kept.extended, "was to be kept for" in kept.look.next.why) == (None, True)
        assert "close the lease for himself" in (await renter.plan(keep)).cautions[0]


async def test_a_delegate_keeps_it_as_far_as_its_cap(world: World) -> None:
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Deposit("10"))
        await renter.carry_out(AllowDelegate(world.address(OTHER), cap="2.5"))
        async with world.acting(OTHER, account=renter.account) as delegate:
            world.advance(6_000)
            keep = KeepGoing(world.lease, by=HOUR, longest=9 * HOUR, before=1_800, once=True)
            steps = [step async for step in delegate.steps(await keep.plan(delegate))]
            assert not any(isinstance(step, LookFailed) for step in steps)
            world.advance(HOUR)
            with pytest.raises(KeptNoLonger, match="not extended any more"):
                await delegate.carry_out(keep)
