"""Leases and leave to spend that one account gives another: by the library alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import leasehold
from leasehold import AcceptLeases, AllowDelegate, RevokeDelegate, Transfer
from leasehold.agreements import FileRefused
from leasehold.chain.typed import Group
from leasehold.client import CannotAct, NotADelegate, NotTheTenant, PlanUsed, delegates_of
from leasehold.errors import ContractError, NotAuthorized, WrongProof
from leasehold.market import InvalidInput

from .conftest import OTHER, PROVIDER, RENTER, World


async def test_a_lease_goes_to_who_accepts_it_and_only_once(world: World) -> None:
    async with world.acting(OTHER) as other, world.acting(RENTER) as renter:
        accepted = (await other.carry_out(AcceptLeases((world.lease,)))).acceptance
        plan = await renter.plan(Transfer(world.lease, other.account, accepted))
        given = await renter.carry_out(plan)
        assert (given.lease, given.to) == (world.lease, other.account)
        assert (await other.lease(world.lease)).tenant == other.account
        with pytest.raises(PlanUsed):
            await renter.carry_out(plan)
        with pytest.raises(NotTheTenant, match="act for that account"):
            await renter.plan(Transfer(world.lease, other.account, accepted))


async def test_a_plan_made_before_the_lease_changed_hands_moves_nothing(world: World) -> None:
    async with world.acting(OTHER) as other, world.acting(RENTER) as renter:
        accepted = (await other.carry_out(AcceptLeases((world.lease,)))).acceptance
        first, second = [await renter.plan(Transfer(world.lease, other.account, accepted)) for _ in range(2)]
        await renter.carry_out(first)
        with pytest.raises(ContractError):
            await renter.carry_out(second)
        assert (await other.lease(world.lease)).tenant == other.account


async def test_an_acceptance_binds_who_signed_it_and_for_what_it_says(world: World) -> None:
    async with world.acting(OTHER) as other, world.acting(RENTER) as renter:
        accepted = (await other.carry_out(AcceptLeases((world.lease,), seconds=600))).acceptance
        with pytest.raises(FileRefused, match=r"ask .* for its own"):
            await renter.plan(Transfer(world.lease, world.address(PROVIDER), accepted))
        longer = accepted.model_copy(update={"deadline": accepted.deadline + 9_999})
        with pytest.raises(WrongProof):
            await renter.carry_out(Transfer(world.lease, other.account, longer))
        world.advance(700)
        with pytest.raises(FileRefused, match="worked until"):
            await renter.plan(Transfer(world.lease, other.account, accepted))
        with pytest.raises(InvalidInput, match="No lease is named"):
            await other.plan(AcceptLeases(()))


async def test_a_delegate_signs_nothing_in_the_accounts_name(world: World) -> None:
    """It would be a file that the chain refuses, once somebody has built upon it."""
    async with world.acting(OTHER, account=world.address(PROVIDER)) as delegate:
        with pytest.raises(CannotAct, match="signs nothing"):
            await delegate.carry_out(AcceptLeases((world.lease,)))


async def test_a_groups_signers_are_asked(world: World) -> None:
    group = Group.of(1, [world.address(OTHER)])
    async with world.acting(OTHER, group=group) as client:
        (made,) = [step async for step in client.steps(await client.plan(AcceptLeases((world.lease,))))]
        assert isinstance(made, leasehold.ProposalMade)
        assert (made.proposal.kind, made.proposal.account) == ("acceptance", client.account)


async def test_a_delegate_comes_and_goes(world: World) -> None:
    async with world.acting(RENTER) as renter:
        allow = AllowDelegate(world.address(OTHER), cap="1.5", period=86_400)
        plan = await allow.plan(renter)
        assert plan.cap == 15 * 10**17
        await renter.carry_out(plan)
        with pytest.raises(PlanUsed):  # it would begin anew, with nothing spent
            await renter.carry_out(plan)
        (record,) = await delegates_of(renter)
        assert (record.delegate, record.cap, record.period) == (world.address(OTHER), plan.cap, 86_400)
        for wrong in (
            replace(allow, cap="0"),
            replace(allow, delegate=renter.account),
            replace(allow, period=1 << 32),
        ):
            with pytest.raises(InvalidInput):
                await renter.plan(wrong)
        async with world.acting(OTHER, account=renter.account) as delegate:
            with pytest.raises((CannotAct, NotAuthorized)):
                await delegate.carry_out(AllowDelegate(world.address(PROVIDER), cap=1))
        await renter.carry_out(RevokeDelegate(world.address(OTHER)))
        with pytest.raises(NotADelegate, match="look at those"):
            await renter.plan(RevokeDelegate(world.address(OTHER)))
