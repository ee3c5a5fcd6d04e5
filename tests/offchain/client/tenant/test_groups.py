"""Two of three rent, pay, and change who they are: by the library alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from leasehold import AcceptLeases, Deposit, LeaseholdError, ProposalMade, Transfer, Withdraw
from leasehold.agreements import FileRefused, Proposal
from leasehold.chain.typed import Group
from leasehold.client import CannotAct, LeasesAccepted, PlanUsed
from leasehold.errors import ContractError
from leasehold.groups import (
    AskForSession,
    ExecuteProposal,
    ProposalExecuted,
    RenewProposal,
    RescueTokens,
    RotateGroup,
    SessionKept,
    SignProposal,
    make_group,
    standing_of,
    successor,
)
from leasehold.market import InvalidInput, NotEnoughFunds

from .conftest import OTHER, PROVIDER, RENTER, UNIT, World

ADA, GRACE = OTHER, 5


@pytest.fixture
def group(world: World) -> Group:
    return make_group(2, [world.address(who) for who in (ADA, GRACE, 6)])


async def filled(world: World, group: Group, whole: str) -> None:
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Deposit(whole, group.address(renter.deployment.accounts)))


async def withdrawing(world: World, group: Group, whole: str) -> Proposal:
    """The proposal to pay something out to PROVIDER."""
    async with world.acting(ADA, group=group) as client:
        plan = await client.plan(Withdraw(whole, world.address(PROVIDER)))
        (made,) = [step async for step in client.steps(plan)]
        assert isinstance(made, ProposalMade)
        return made.proposal


async def signed(
    world: World, proposal: Proposal, who: Sequence[int] = (ADA, GRACE)
) -> dict[str, tuple[bytes, ...]]:
    signatures = {}
    for signer in who:
        async with world.acting(signer) as client:
            done = await client.carry_out(SignProposal(proposal))
            signatures[done.signer] = done.proofs
    return signatures


async def test_two_signatures_pay_once(world: World, group: Group) -> None:
    await filled(world, group, "10")
    proposal = await withdrawing(world, group, "4")
    async with world.acting(PROVIDER) as anybody:
        with pytest.raises(FileRefused, match="1 of the 2"):
            await anybody.plan(ExecuteProposal(proposal, await signed(world, proposal, [ADA])))
        both = await signed(world, proposal)
        first, second = [await anybody.plan(ExecuteProposal(proposal, both)) for _ in range(2)]
        assert isinstance(await anybody.carry_out(first), ProposalExecuted)
        with pytest.raises(PlanUsed):
            await anybody.carry_out(first)
        with pytest.raises(ContractError):  # the nonce has gone on
            await anybody.carry_out(second)
        with pytest.raises(FileRefused, match="has been executed"):
            await anybody.plan(ExecuteProposal(proposal, both))
        assert (await standing_of(anybody, group)).ledger == 6 * UNIT
        again = (await anybody.carry_out(RenewProposal(proposal, unordered=True))).proposal
        with pytest.raises(FileRefused, match="does not hold"):  # what was signed was the other one
            await anybody.plan(ExecuteProposal(again, both))
        await anybody.carry_out(ExecuteProposal(again, await signed(world, again)))
        assert (await standing_of(anybody, group)).ledger == 2 * UNIT


async def test_who_is_no_signer_signs_nothing_and_a_group_executes_nothing(
    world: World, group: Group
) -> None:
    await filled(world, group, "1")
    proposal = await withdrawing(world, group, "1")
    async with world.acting(PROVIDER) as stranger, world.acting(ADA, group=group) as client:
        plan = await SignProposal(proposal).plan(stranger)
        assert not plan.is_signer
        with pytest.raises(FileRefused, match="no signer"):
            await stranger.carry_out(plan)
        with pytest.raises(CannotAct, match="pays its gas"):
            await client.plan(ExecuteProposal(proposal, {}))
        assert [call.function for call in plan.calls] == ["withdraw"]
        (call,) = proposal.execution.calls
        longer = replace(proposal.execution, calls=(replace(call, data=call.data + b"\0"),))
        with pytest.raises(LeaseholdError, match="cannot be shown"):  # what nobody can read, nobody signs
            await stranger.plan(SignProposal(replace(proposal, messages=(longer,))))
        world.advance(8 * 86_400)
        with pytest.raises(FileRefused, match="has passed"):
            await stranger.plan(SignProposal(proposal))


async def test_a_group_hands_all_it_has_to_its_successor(world: World, group: Group) -> None:
    await filled(world, group, "3")
    heirs = successor(group, replaced={world.address(6): world.address(7)})
    async with world.acting(RENTER) as renter, world.acting(ADA, group=group) as client:
        (asked,) = [step async for step in client.steps(await client.plan(AcceptLeases((world.lease,))))]
        assert isinstance(asked, ProposalMade)
        taken = await renter.carry_out(ExecuteProposal(asked.proposal, await signed(world, asked.proposal)))
        assert isinstance(taken, LeasesAccepted)
        await renter.carry_out(Transfer(world.lease, client.account, taken.acceptance))
        await renter.index(again=True)
        accepts = await RotateGroup(group, heirs).plan(renter)
        assert (accepts.accepts, accepts.ledger, len(accepts.leases)) == (True, 3 * UNIT, 1)
        accepted = await renter.carry_out(
            ExecuteProposal(accepts.proposal, await signed(world, accepts.proposal))
        )
        assert isinstance(accepted, LeasesAccepted)
        wrong = accepted.acceptance.model_copy(update={"account": world.address(PROVIDER)})
        with pytest.raises(FileRefused, match="have the new group make it"):
            await RotateGroup(group, heirs, wrong).plan(renter)
        gives = await renter.carry_out(RotateGroup(group, heirs, accepted.acceptance))
        await renter.carry_out(ExecuteProposal(gives.proposal, await signed(world, gives.proposal)))
        after = await standing_of(renter, heirs)
        assert (after.ledger, (await renter.lease(world.lease)).tenant) == (3 * UNIT, after.account)
        await renter.index(again=True)
        with pytest.raises(NotEnoughFunds, match="nothing in its ledger"):
            await RotateGroup(group, heirs).plan(renter)


async def test_a_session_and_stray_tokens(world: World, group: Group) -> None:
    async with world.acting(RENTER) as renter:
        asked = (await renter.carry_out(AskForSession(group, seconds=3_600))).proposal
        signatures = await signed(world, asked)
        assert isinstance(await renter.carry_out(ExecuteProposal(asked, signatures)), SessionKept)
        async with world.acting(PROVIDER) as elsewhere:
            with pytest.raises(FileRefused, match="where the session was proposed"):
                await elsewhere.carry_out(ExecuteProposal(asked, signatures))
        with pytest.raises(NotEnoughFunds, match="lie at the group's address"):
            await renter.plan(RescueTokens(group))
        account = group.address(renter.deployment.accounts)
        await renter.carry_out(Deposit("2"))
        await renter.carry_out(Withdraw("2", account))
        rescue = (await renter.carry_out(RescueTokens(group, to=renter.account))).proposal
        await renter.carry_out(ExecuteProposal(rescue, await signed(world, rescue)))
        assert (await standing_of(renter, group)).strayed == 0


async def test_what_makes_no_group(world: World, group: Group) -> None:
    ada, stranger = world.address(ADA), world.address(PROVIDER)
    for signers, threshold in (([ada, ada], 1), ([ada], 2), (["ada"], 1), ([], 1)):
        with pytest.raises(InvalidInput):
            make_group(threshold, signers)
    for change in (
        {"replaced": {stranger: ada}},
        {"replaced": {ada: world.address(GRACE)}},
        {"threshold": 2},
    ):
        with pytest.raises(InvalidInput):
            successor(group, **change)  # type: ignore[arg-type]  # as they come
    assert successor(group, salt=b"s" * 32) == replace(group, salt=b"s" * 32)
