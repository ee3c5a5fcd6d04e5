"""A lease that its tenant lets others see: who signs, who may use it, what the home remembers, and how it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leasehold import PoolClient, ProposalMade
from leasehold.agreements import AccessFile, FileRefused, read_file, write_file
from leasehold.chain.typed import Group
from leasehold.client import CannotAct
from leasehold.client._sessions import asker, shared_session_of
from leasehold.errors import AgentError
from leasehold.groups import ExecuteProposal, SignProposal, make_group
from leasehold.market import InvalidInput
from leasehold.market.wire import FORMER_OPS, LOG_OPS, OPS, LeaseAudit
from leasehold.sharing import (
    AcceptAccess,
    LeaseShared,
    RevokeAccess,
    ShareLease,
    audit_of,
    make_access_key,
)

from .conftest import OTHER, RENTER, World

COLLEAGUE = OTHER


@dataclass
class Agent:
    """Stands for the lease's agent: what it was asked."""

    knows: tuple[str, ...] = OPS
    revoked: list[tuple[int, str]] = field(default_factory=list)

    async def operations(self) -> tuple[str, ...]:
        return self.knows

    async def revoke_session(self, lease: int, session: str) -> None:
        self.revoked.append((lease, session))

    async def audit(self, lease: int) -> LeaseAudit:
        return LeaseAudit(lease=str(lease), acts=[], refused=[])


def answering(client: PoolClient, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def agent_of(lease: int) -> AsyncIterator[Agent]:
        yield agent

    monkeypatch.setattr(client, "agent_of", agent_of)


async def shared(world: World, key: str, *, seconds: int = 3_600) -> AccessFile:
    async with world.acting(RENTER) as renter:
        return (await renter.carry_out(ShareLease(world.lease, key, LOG_OPS, seconds))).access


async def test_a_colleague_asks_by_the_tenant_s_leave(world: World, tmp_path: Path) -> None:
    async with world.acting(COLLEAGUE) as theirs:
        key = make_access_key(theirs)
        assert await shared_session_of(theirs, world.lease) is None
        path = tmp_path / "for-them.json"
        write_file(path, await shared(world, key))
        kept = (await theirs.carry_out(AcceptAccess(read_file(path, AccessFile)))).access
        assert (kept.key, kept.operations) == (key, LOG_OPS)
        session = await shared_session_of(theirs, world.lease)
        assert session is not None
        assert (session.session.account, session.session.leases) == (world.address(RENTER), (world.lease,))
        assert asker(theirs, await theirs.lease(world.lease)) == world.address(RENTER)
        assert "private_key" not in path.read_text()
        with pytest.raises(FileRefused, match="not on this computer"):
            await theirs.plan(AcceptAccess(kept))  # the key has gone into the session


async def test_the_tenant_needs_no_leave_of_his_own(world: World) -> None:
    async with world.acting(RENTER) as renter:
        await renter.carry_out(AcceptAccess(await shared(world, make_access_key(renter))))
        assert await shared_session_of(renter, world.lease) is None


async def test_it_ends_by_itself(world: World) -> None:
    async with world.acting(COLLEAGUE) as theirs:
        access = await shared(world, make_access_key(theirs), seconds=60)
        await theirs.carry_out(AcceptAccess(access))
        book = theirs.home.shared_access(theirs.deployment)
        assert book.received(access.expires_at - 1) == (access,)
        assert book.received(access.expires_at) == ()
        assert book.key(world.lease, access.expires_at) is None
        world.advance(61)
        with pytest.raises(FileRefused, match="worked until"):
            await theirs.plan(AcceptAccess(access))


async def test_nobody_shares_what_is_not_his(world: World) -> None:
    async with world.acting(COLLEAGUE) as theirs:
        with pytest.raises(InvalidInput, match=world.address(RENTER)):
            await theirs.plan(ShareLease(world.lease, make_access_key(theirs), LOG_OPS, 60))
    async with world.acting(COLLEAGUE, account=world.address(RENTER)) as delegate:
        plan = await delegate.plan(ShareLease(world.lease, world.address(COLLEAGUE), LOG_OPS, 60))
        with pytest.raises(CannotAct, match="signs nothing"):
            await delegate.carry_out(plan)


@pytest.mark.parametrize("seconds", [0, 91 * 86_400])
async def test_for_how_long(world: World, seconds: int) -> None:
    async with world.acting(RENTER) as renter:
        with pytest.raises(InvalidInput, match="90d at most"):
            await renter.plan(ShareLease(world.lease, world.address(COLLEAGUE), LOG_OPS, seconds))


@pytest.mark.parametrize(
    "change",
    [{"operations": OPS}, {"expires_at": 1 << 40}, {"leases": ("1",)}],
    ids=["operations", "end", "lease"],
)
async def test_what_was_not_signed_is_not_kept(world: World, change: dict[str, object]) -> None:
    async with world.acting(COLLEAGUE) as theirs:
        access = await shared(world, make_access_key(theirs))
        with pytest.raises(FileRefused, match="has not signed that"):
            await theirs.plan(AcceptAccess(access.model_copy(update=change)))
        with pytest.raises(FileRefused, match="for pool"):
            await theirs.plan(AcceptAccess(access.model_copy(update={"chain": 1})))


async def test_it_is_taken_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key, other = world.address(5), world.address(6)
    await shared(world, key)
    async with world.acting(RENTER) as renter:
        agent, book = Agent(), renter.home.shared_access(renter.deployment)
        answering(renter, agent, monkeypatch)
        assert [access.key for access in book.given(await renter.now())] == [key]
        await renter.carry_out(RevokeAccess(world.lease))
        await renter.carry_out(RevokeAccess(world.lease, other))  # the key of a lost laptop
        assert agent.revoked == [(world.lease, key), (world.lease, other)]
        assert book.given(await renter.now()) == ()
        with pytest.raises(InvalidInput, match="shared with nobody"):
            await renter.plan(RevokeAccess(world.lease))


async def test_an_agent_of_before_takes_nothing_back_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shared(world, world.address(5))
    async with world.acting(RENTER) as renter:
        agent = Agent(knows=FORMER_OPS)
        answering(renter, agent, monkeypatch)
        with pytest.raises(AgentError, match="earlier version and listens until"):
            await renter.carry_out(RevokeAccess(world.lease))
        with pytest.raises(AgentError, match="keeps no audit log"):
            await audit_of(renter, world.lease)
        assert agent.revoked == []
        assert renter.home.shared_access(renter.deployment).given(0)


async def test_the_audit_is_the_tenant_s(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.acting(RENTER) as renter:
        answering(renter, Agent(), monkeypatch)
        assert (await audit_of(renter, world.lease)).acts == []
    async with world.acting(COLLEAGUE) as theirs:
        with pytest.raises(InvalidInput, match=world.address(RENTER)):
            await audit_of(theirs, world.lease)


async def test_a_group_shares_by_its_signatures(world: World) -> None:
    group = make_group(2, [world.address(who) for who in (OTHER, 5, 6)])
    async with world.acting(COLLEAGUE) as theirs:
        key = make_access_key(theirs)
    made = await proposed(world, group, key)
    signatures = {}
    for who in (OTHER, 5):
        async with world.acting(who) as signer:
            signed = await signer.carry_out(SignProposal(made.proposal))
            signatures[signed.signer] = signed.proofs
    async with world.acting(RENTER) as anybody:
        done = await anybody.carry_out(ExecuteProposal(made.proposal, signatures))
        assert isinstance(done, LeaseShared)
        assert (done.access.account, done.access.key) == (group.address(anybody.deployment.accounts), key)


async def proposed(world: World, group: Group, key: str) -> ProposalMade:
    """What a group proposes where its lease is to be shared."""
    from leasehold import AcceptLeases, Transfer
    from leasehold.client import LeasesAccepted

    async with world.acting(OTHER, group=group) as signer:
        (step,) = [step async for step in signer.steps(await signer.plan(AcceptLeases((world.lease,))))]
        assert isinstance(step, ProposalMade)
        signatures = {}
        for who in (OTHER, 5):
            async with world.acting(who) as one:
                signed = await one.carry_out(SignProposal(step.proposal))
                signatures[signed.signer] = signed.proofs
        account = group.address(signer.deployment.accounts)
        async with world.acting(RENTER) as renter:
            accepted = await renter.carry_out(ExecuteProposal(step.proposal, signatures))
            assert isinstance(accepted, LeasesAccepted)
            await renter.carry_out(Transfer(world.lease, account, accepted.acceptance))
        plan = await signer.plan(ShareLease(world.lease, key, LOG_OPS, 3_600))
        (made,) = [step async for step in signer.steps(plan)]
        assert isinstance(made, ProposalMade)
        return made
