"""What a tenant does about a machine that is silent or was down: by the library alone."""

from __future__ import annotations

import asyncio

import pytest

from leasehold import ChallengeMachine, Deposit, ProveSilence, SettleFaults, SettlementMade
from leasehold.client import PlanStale, PlanUsed
from leasehold.errors import ChallengeStands, NoChallenge
from leasehold.market import AllowanceMissing, InvalidInput

from .conftest import OPERATOR, OTHER, RENTER, UNIT, World

DAY = 86_400


async def test_a_silent_machine_is_challenged_proven_and_settled(world: World) -> None:
    world.advance(400)  # its trial is over
    async with world.acting(RENTER) as renter, world.acting(OTHER) as other:
        plan = await renter.plan(ChallengeMachine(world.machine))
        challenged = await renter.carry_out(plan)
        assert challenged.challenge == 1
        with pytest.raises(PlanUsed):
            await renter.carry_out(plan)
        with pytest.raises(ChallengeStands):
            await other.carry_out(ProveSilence(world.machine))
        world.advance(601)
        assert (await other.carry_out(ProveSilence(world.machine))).fault == 1
        assert await renter.pool.balance_of(renter.account) == 5 * UNIT
        world.advance(600)
        await (await world.chain.pool(OPERATOR).faults()).recover(world.machine)
        await renter.index(again=True)
        settled = await renter.carry_out(SettleFaults())
        assert [made.settlement.kind for made in settled.made] == ["apply"]
        world.advance(2 * DAY + 1)
        steps = [step async for step in renter.steps(await SettleFaults(1).plan(renter))]
        assert [step.settlement.kind for step in steps if isinstance(step, SettlementMade)] == [
            "execute",
            "compensate",
        ]
        assert (await other.carry_out(SettleFaults(1, everyone=True))).made == ()


async def test_a_second_challenge_costs_what_it_said_or_is_not_made(world: World) -> None:
    """Each within a day takes twice the bond of the one before: who agreed to 5 does not pay 10."""
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Deposit("100"))
        first, second = [await renter.plan(ChallengeMachine(world.machine, world.lease)) for _ in range(2)]
        await renter.carry_out(first)
        await (await world.chain.pool(OPERATOR).faults()).answer(world.machine)
        ledger = await renter.pool.balance_of(renter.account)
        with pytest.raises(PlanStale):
            await renter.carry_out(second)
        assert await renter.pool.balance_of(renter.account) == ledger


async def test_two_tasks_with_one_plan_make_one_challenge(world: World) -> None:
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Deposit("100"))
        plan = await renter.plan(ChallengeMachine(world.machine))
        done = await asyncio.gather(*(renter.carry_out(plan) for _ in range(2)), return_exceptions=True)
        assert [type(each) for each in done if isinstance(each, BaseException)] == [PlanUsed]


async def test_who_may_not_and_who_cannot_pay(world: World) -> None:
    async with world.acting(RENTER) as renter, world.acting(OTHER) as other:
        with pytest.raises(InvalidInput, match="no running lease on machine"):
            await other.plan(ChallengeMachine(world.machine))
        with pytest.raises(InvalidInput, match="no running lease of yours"):
            await other.plan(ChallengeMachine(world.machine, world.lease))
        with pytest.raises(NoChallenge):
            await other.plan(ProveSilence(world.machine))
        await world.chain.token(RENTER).approve(world.chain.deployment.controller, 0)
        with pytest.raises(AllowanceMissing):
            await renter.carry_out(ChallengeMachine(world.machine))
        assert (await renter.carry_out(SettleFaults())).made == ()
