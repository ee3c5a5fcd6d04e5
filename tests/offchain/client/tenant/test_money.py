"""Money between a wallet and the ledger: by the library alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

import leasehold
from leasehold import Approve, Deposit, Withdraw
from leasehold.chain import UNLIMITED
from leasehold.chain.typed import Group
from leasehold.client import CannotAct, PlanUsed
from leasehold.errors import ContractError
from leasehold.market import AllowanceMissing, InvalidAmount, InvalidInput, NotEnoughFunds

from .conftest import OTHER, RENTER, UNIT, World


async def test_money_goes_in_and_out_by_whole_tokens(world: World) -> None:
    async with world.acting(OTHER) as client:
        with pytest.raises(AllowanceMissing):
            await client.carry_out(Deposit("10.5"))
        steps = [
            step async for step in client.steps(await Deposit(Decimal("10.5")).plan(client), approve=True)
        ]
        assert [type(step).__name__ for step in steps] == ["Approved", "PaidToLedger"]
        paid = await client.carry_out(Withdraw("0.5"))
        assert (paid.arrived, paid.ledger) == (UNIT // 2, 10 * UNIT)
        plan = await client.plan(Withdraw())
        assert (await client.carry_out(plan)).ledger == 0
        with pytest.raises(PlanUsed):
            await client.carry_out(plan)
        with pytest.raises(NotEnoughFunds, match="nothing in the ledger"):
            await client.plan(Withdraw())
        assert (await client.carry_out(Approve(None))).amount == UNLIMITED
        assert (await client.carry_out(Approve("0"))).amount == 0


async def test_two_plans_for_all_of_the_ledger_pay_it_once(world: World) -> None:
    async with world.acting(RENTER) as client:
        await client.carry_out(Deposit("4"))
        first, second = [await client.plan(Withdraw()) for _ in range(2)]
        await client.carry_out(first)
        await client.carry_out(Deposit("3"))
        with pytest.raises(ContractError):  # 4 are not there any more, and the 3 stay
            await client.carry_out(second)
        assert await client.pool.balance_of(client.account) == 3 * UNIT


async def test_what_cannot_move_is_said_before_it_is_sent(world: World) -> None:
    async with world.acting(OTHER) as client:
        block = world.chain.anvil.block_number
        for wish, refusal in (
            (Deposit("0"), InvalidAmount),
            (Deposit("2000000"), NotEnoughFunds),
            (Withdraw("1"), NotEnoughFunds),
            (Deposit("1", "lab"), InvalidInput),
        ):
            with pytest.raises(refusal):
                await client.plan(wish)
        assert world.chain.anvil.block_number == block
        async with world.acting(OTHER, account=world.address(RENTER)) as delegate:
            with pytest.raises((CannotAct, NotEnoughFunds)):
                await delegate.carry_out(Deposit("1"), approve=True)


async def test_a_group_is_warned_of_its_own_address(world: World) -> None:
    """Nobody has the key of that address: what goes there needs another round of signatures."""
    group = Group.of(1, [world.address(OTHER)])
    async with world.acting(RENTER) as renter, world.acting(OTHER, group=group) as client:
        await renter.carry_out(Deposit("2", client.account))
        assert "rescued" in (await client.plan(Withdraw())).cautions[0]
        plan = await client.plan(Withdraw(to=world.address(OTHER)))
        assert plan.cautions == ()
        (made,) = [step async for step in client.steps(plan)]
        assert isinstance(made, leasehold.ProposalMade)
