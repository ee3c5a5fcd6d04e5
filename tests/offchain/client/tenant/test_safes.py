"""Two of three owners of a Safe rent, are heard by agents, and change who they are. The Safe is a real one, 1.4.1: the
bytecode that its authors published (npm `@safe-global/safe-contracts`, which the contracts' tests use as well).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from devnet.safe import make_safe
from leasehold import Close, Deposit, Extend, LeaseholdError, ProposalMade, Transfer, Withdraw
from leasehold.agreements import (
    FileRefused,
    Proposal,
    ProposalFile,
    gather_signatures,
    load_proposal,
    write_file,
)
from leasehold.chain import LeaseState
from leasehold.chain.typed import NotASafe, Safe, verify_proof
from leasehold.client import AcceptLeases, CannotAct, LeasesAccepted
from leasehold.errors import ContractError
from leasehold.groups import (
    AskForSession,
    ExecuteProposal,
    ProposalExecuted,
    RescueTokens,
    SafeAt,
    SessionKept,
    SignProposal,
    safe_at,
    standing_of,
)

from .conftest import PROVIDER, RENTER, UNIT, World

ADA, GRACE, EDSGER, ANYBODY = 5, 6, 7, 8


@pytest.fixture
async def safe(world: World) -> str:
    """A Safe of three, two of whom must sign."""
    owners = [world.address(who) for who in (ADA, GRACE, EDSGER)]
    return await make_safe(world.chain.rpc, world.chain.signer(ANYBODY), owners, 2)


async def signed(
    world: World, proposal: Proposal, who: Sequence[int] = (ADA, GRACE)
) -> dict[str, tuple[bytes, ...]]:
    signatures = {}
    for signer in who:
        async with world.acting(signer) as client:
            done = await client.carry_out(SignProposal(proposal))
            signatures[done.signer] = done.proofs
    return signatures


async def proposed(world: World, safe: str, request: object) -> Proposal:
    async with world.acting(ADA, group=SafeAt(safe)) as client:
        plan = await client.plan(request)  # type: ignore[arg-type]  # any of them
        (made,) = [step async for step in client.steps(plan)]
        assert isinstance(made, ProposalMade)
        return made.proposal


async def done(world: World, proposal: Proposal, who: Sequence[int] = (ADA, GRACE)) -> object:
    async with world.acting(ANYBODY) as anybody:
        return await anybody.carry_out(ExecuteProposal(proposal, await signed(world, proposal, who)))


async def filled(world: World, safe: str, whole: str = "10") -> None:
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Deposit(whole, safe), approve=True)


async def test_two_owners_pay_and_one_does_not(world: World, safe: str, tmp_path: Path) -> None:
    await filled(world, safe)
    proposal = await proposed(world, safe, Withdraw("4", world.address(PROVIDER)))
    with pytest.raises(FileRefused, match="1 of the 2"):
        await done(world, proposal, [EDSGER])
    path = tmp_path / "proposal.json"
    write_file(path, proposal.file(await signed(world, proposal, [EDSGER])))
    again, signatures = load_proposal(path, proposal.deployment)
    assert (again.account, again.digests, again.group) == (safe, proposal.digests, proposal.group)
    write_file(tmp_path / "ada.json", proposal.file(await signed(world, proposal, [ADA])))
    signatures |= gather_signatures(again, [tmp_path / "ada.json"])
    async with world.acting(ANYBODY) as anybody:
        assert isinstance(await anybody.carry_out(ExecuteProposal(again, signatures)), ProposalExecuted)
        assert (await standing_of(anybody, proposal.group)).ledger == 6 * UNIT
        with pytest.raises(FileRefused, match="has been executed"):
            await anybody.plan(ExecuteProposal(again, signatures))


async def test_a_lease_is_the_safe_s_and_its_session_is_heard(world: World, safe: str) -> None:
    """It takes a lease over, has a key that agents listen to, extends it and closes it."""
    await filled(world, safe)
    accepted = await done(world, await proposed(world, safe, AcceptLeases((world.lease,))))
    assert isinstance(accepted, LeasesAccepted)
    async with world.acting(RENTER) as renter:
        await renter.carry_out(Transfer(world.lease, safe, accepted.acceptance))
    async with world.acting(ADA, group=SafeAt(safe)) as ada:
        group = ada.group
        assert isinstance(group, Safe)
        made = await ada.plan(AskForSession(group))
        (step,) = [step async for step in ada.steps(made)]
        assert isinstance(step, ProposalMade)
        kept = await ada.plan(ExecuteProposal(step.proposal, await signed(world, step.proposal)))
        assert isinstance([step async for step in ada.steps(kept)][-1], SessionKept)
        key = await ada.home.sessions.kept(safe, ada.domain, now=0)
        assert key is not None
        digest = key.session.digest(ada.domain)
        await verify_proof(safe, digest, key.session_proof, ada.accounts.is_authorized)  # as agents do
        other = replace(key.session, ops=("lease.exec",)).digest(ada.domain)
        with pytest.raises(LeaseholdError, match="does not accept it"):
            await verify_proof(safe, other, key.session_proof, ada.accounts.is_authorized)
    await done(world, await proposed(world, safe, Extend(world.lease, 3_600)), (GRACE, EDSGER))
    await done(world, await proposed(world, safe, Close(world.lease)))
    async with world.acting(ANYBODY) as anybody:
        lease = await anybody.lease(world.lease)
        assert (lease.tenant, lease.state) == (safe, LeaseState.ENDED)


async def test_a_signature_serves_one_safe(world: World, safe: str) -> None:
    """Another Safe of the same owners does not take it, nor does a group of theirs."""
    await filled(world, safe)
    proposal = await proposed(world, safe, Withdraw("4", world.address(PROVIDER)))
    signatures = await signed(world, proposal)
    twin = replace(proposal.group, at=world.address(9))  # type: ignore[call-arg]  # a Safe
    elsewhere = replace(
        proposal, group=twin, messages=(replace(proposal.execution, account=world.address(9)),)
    )
    with pytest.raises(FileRefused, match="does not hold"):
        elsewhere.checked(world.address(ADA), signatures[world.address(ADA)])


async def test_owners_that_changed_are_said_before_anybody_signs(world: World, safe: str) -> None:
    await filled(world, safe)
    proposal = await proposed(world, safe, Withdraw("4", world.address(PROVIDER)))
    liar = replace(proposal, group=replace(proposal.group, threshold=1))
    async with world.acting(ADA) as ada:
        with pytest.raises(FileRefused, match="other owners, or another threshold"):
            await ada.plan(SignProposal(liar))
    async with world.acting(ANYBODY) as anybody:
        with pytest.raises(FileRefused, match="other owners, or another threshold"):
            await anybody.plan(ExecuteProposal(liar, {}))


async def test_what_a_stranger_writes_of_a_safe_the_safe_itself_judges(world: World, safe: str) -> None:
    """A file that says one signature is enough: the chain refuses what is made of it."""
    await filled(world, safe)
    proposal = await proposed(world, safe, Withdraw("4", world.address(PROVIDER)))
    alone = await signed(world, proposal, [ADA])
    liar = replace(proposal.group, threshold=1)
    proof = liar.prove(proposal.digests[0], {world.address(ADA): alone[world.address(ADA)][0]})
    async with world.acting(ANYBODY) as anybody:
        execution = proposal.execution
        with pytest.raises(ContractError):
            await anybody.accounts.execute(
                execution.account, execution.calls, execution.nonce, execution.deadline, proof
            )
        assert (await standing_of(anybody, proposal.group)).ledger == 10 * UNIT


async def test_what_is_no_safe(world: World, safe: str) -> None:
    async with world.acting(ANYBODY) as anybody:
        for address in (world.address(ADA), world.chain.deployment.token, world.chain.deployment.accounts):
            with pytest.raises(NotASafe, match="does not answer as one"):
                await safe_at(anybody, address)
        group = await safe_at(anybody, safe)
        assert (group.threshold, set(group.signers)) == (
            2,
            {world.address(who) for who in (ADA, GRACE, EDSGER)},
        )
        with pytest.raises(CannotAct, match="not astray"):
            await anybody.plan(RescueTokens(group))
    with pytest.raises(NotASafe):
        async with world.acting(ADA, group=SafeAt(world.address(ADA))):
            pass


async def test_a_home_remembers_it_by_a_name(world: World, safe: str) -> None:
    async with world.acting(ADA) as ada:
        group, book = await safe_at(ada, safe), ada.home.groups
        book.add("lab", group)
        assert book.get("lab") == group
        book.add("lab", replace(group, threshold=3))  # its owners have changed since
        assert book.get("lab").threshold == 3
        with pytest.raises(LeaseholdError, match="another group already"):
            book.add("lab", replace(group, at=world.address(9)))


async def test_a_file_of_another_chain_is_refused(world: World, safe: str) -> None:
    await filled(world, safe)
    proposal = await proposed(world, safe, Withdraw("4", world.address(PROVIDER)))
    document = proposal.file().model_dump(mode="json")
    document["group"]["chain"] = 1
    with pytest.raises(FileRefused, match="chain 1"):
        Proposal.of(ProposalFile.model_validate(document), proposal.deployment)
