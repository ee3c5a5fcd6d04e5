"""One thing done with several leases, in one transaction, on a real chain."""

from __future__ import annotations

import pytest

from leasehold import AllowDelegate, Close, Deposit, Extend, Rate, Reject
from leasehold.chain import LeaseState
from leasehold.client import Together, TogetherDone
from leasehold.client import _together as together
from leasehold.client._choosing_errors import TooManyTogether
from leasehold.client._errors import NotLive
from leasehold.errors import WrongState
from leasehold.market import NotEnoughFunds

from .conftest import OPERATOR, OTHER, RENTER, UNIT, World
from .test_choosing import FIRST, SECOND, THIRD, open_gang

ALL = (FIRST, SECOND, THIRD)


async def test_several_are_extended_and_closed_in_one_transaction_each(world: World) -> None:
    await open_gang(world, b"g" * 32)
    for lease in (SECOND, THIRD):
        await world.chain.pool(OPERATOR).start(lease, bytes(32))
    async with world.acting(RENTER) as client:
        longer = await client.plan(Together([Extend(lease, 3_600) for lease in ALL]))
        assert longer.payment is not None
        assert longer.payment.amount == sum(plan.payment.amount for plan in longer.plans) == 3 * UNIT
        extended = await client.carry_out(longer)
        assert [outcome.lease.end for outcome in extended.done] == [plan.end for plan in longer.plans]  # type: ignore[attr-defined]
        assert extended.receipt == extended.done[0].receipt == extended.done[-1].receipt
        world.advance(60)  # what has cost nothing cannot be rated
        plan = await client.plan(Together([Close(lease) for lease in ALL]))
        assert [told["lease"] for told in plan.to_json()["leases"]] == ["1", "2", "3"]  # type: ignore[index, union-attr, call-overload]
        closed = await client.carry_out(plan)
        assert len({outcome.receipt.tx_hash for outcome in closed.done}) == 1
        told = closed.to_json(client.money)["leases"]
        assert [(lease["lease"], lease["state"]) for lease in told] == [(n, "ended") for n in "123"]  # type: ignore[index, union-attr, call-overload]
        rated = await client.carry_out(Together([Rate(lease, 5) for lease in ALL]))
        assert len({outcome.receipt.tx_hash for outcome in rated.done}) == 3  # no calls of the pool
        assert len(await (await client.index(again=True)).ratings()) == 3


async def test_one_of_several_that_cannot_be_closed_leaves_all_as_they_are(world: World) -> None:
    await open_gang(world, b"g" * 32)
    pool = world.chain.pool(RENTER)
    async with world.acting(RENTER) as client:
        plan = await client.plan(Together([Close(lease) for lease in ALL]))
        await pool.close(THIRD)  # by another prompt, meanwhile
        with pytest.raises(WrongState):
            await client.carry_out(plan)
        assert [(await client.lease(lease)).state.live for lease in ALL] == [True, True, False]
        with pytest.raises(NotLive):
            await client.plan(Together([Close(lease) for lease in ALL]))
        assert (await client.carry_out(Together([Reject(SECOND)]))).to_json(client.money)["lease"] == "2"
        assert (await client.lease(SECOND)).state is LeaseState.REJECTED


async def test_what_all_take_together_has_to_be_there(world: World) -> None:
    """Each alone could be paid."""
    await open_gang(world, b"g" * 32)
    async with world.acting(RENTER) as client:
        holds = await client.token.balance(client.account)
        await client.token.transfer(world.address(OTHER), holds - 2 * UNIT)  # type: ignore[attr-defined]
        await client.plan(Extend(FIRST, 3_600))
        with pytest.raises(NotEnoughFunds):
            await client.plan(Together([Extend(lease, 3_600) for lease in ALL]))


async def test_a_delegates_calls_go_one_by_one(world: World) -> None:
    await open_gang(world, b"g" * 32)
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Deposit("10"))
        await renter.carry_out(AllowDelegate(world.address(OTHER), cap="2.5"))
        async with world.acting(OTHER, account=renter.account) as delegate:
            closed = await delegate.carry_out(Together([Close(lease) for lease in (SECOND, THIRD)]))
            assert isinstance(closed, TogetherDone)
            assert len({outcome.receipt.tx_hash for outcome in closed.done}) == 2


async def test_no_more_than_fit_into_a_block(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MOST_TOGETHER", 2)
    async with world.acting(RENTER) as client:
        with pytest.raises(TooManyTogether, match="3 leases, and 2 fit"):
            await client.plan(Together([Close(lease) for lease in ALL]))
