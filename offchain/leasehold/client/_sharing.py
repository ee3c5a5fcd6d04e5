"""Somebody else sees a lease of one's own: a session of few operations, for a key of his, which ends by itself.

share = await pool.carry_out(ShareLease(lease, key, LOG_OPS, seconds=7200))     key: what `make_access_key` gave him
write_file(Path("for-ada.json"), share.access)                                  opens nothing without his key
kept = await theirs.carry_out(AcceptAccess(read_file(path, AccessFile)))        from here on `agent_of` uses it
await pool.carry_out(RevokeAccess(lease))                                       before its end
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.agreements import AccessFile, FileRefused, check_place, unhex
from leasehold.chain import Lease, format_lease
from leasehold.chain.typed import Session, verify_proof
from leasehold.client._address import parse_address
from leasehold.client._agreeing import sign_or_propose
from leasehold.client._client import ProposalMade
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenant_errors import (
    AccessOver,
    KeepsNoAudit,
    NotShared,
    NotTheTenant,
    TakesNothingBack,
)
from leasehold.errors import ProofError
from leasehold.market import InvalidInput, Json, format_duration
from leasehold.market.wire import MAX_SESSION_LIFETIME, LeaseAudit

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


def make_access_key(client: PoolClient) -> str:
    """The address of a new throw-away key of this home, for somebody to share a lease with."""
    return client.home.pending_sessions.make()


async def _own(client: PoolClient, number: int) -> Lease:
    """A lease of the account's, over or not. Raises UnknownLease, NotTheTenant."""
    lease = await client.known_lease(number)
    if lease.tenant != client.account:
        raise NotTheTenant(lease.id, lease.tenant)
    return lease


# ------------------------------------------------------------------------------------------------------------- share


@dataclass(frozen=True)
class ShareLease(Request["LeaseShared"]):
    """Let the holder of `key` do `operations` on a lease, and nothing else, for so many seconds. Nothing is sent."""

    lease: int
    key: str
    operations: tuple[str, ...]
    seconds: int

    async def plan(self, client: PoolClient) -> ShareLeasePlan:
        key, lease = parse_address(self.key), await _own(client, self.lease)
        if not 0 < self.seconds <= MAX_SESSION_LIFETIME:
            longest = format_duration(MAX_SESSION_LIFETIME)
            raise InvalidInput(f"A lease is shared for {longest} at most", "choose a shorter time.")
        return ShareLeasePlan(client, lease, key, self.operations, await client.now() + self.seconds)


@dataclass(frozen=True)
class ShareLeasePlan(Plan["LeaseShared"]):
    """What would be signed. expires_at: unix seconds."""

    client: PoolClient
    lease: Lease
    key: str
    operations: tuple[str, ...]
    expires_at: int

    def to_json(self) -> dict[str, Json]:
        return {
            "lease": format_lease(self.lease.id),
            "key": self.key,
            "operations": list(self.operations),
            "expires_at": self.expires_at,
        }

    async def steps(self) -> AsyncIterator[Step]:
        client, domain = self.client, self.client.domain
        session = Session(
            account=client.account,
            chain=domain.chain_id,
            controller=domain.verifying_contract,
            leases=(self.lease.id,),
            ops=self.operations,
            key=self.key,
            expires_at=self.expires_at,
        )
        proofs, proposal = await sign_or_propose(client, (session,))
        if proposal is not None:
            yield ProposalMade(proposal)
        else:
            yield await shared_with(client, session, proofs[0])


@dataclass(frozen=True)
class LeaseShared(Step):
    """What its holder is handed (`leasehold.agreements.write_file` writes it)."""

    access: AccessFile


async def shared_with(client: PoolClient, session: Session, proof: bytes) -> LeaseShared:
    """A session that its account has signed for somebody else's key; the home remembers it."""
    access = AccessFile.of(session, proof)
    client.home.shared_access(client.deployment).note_given(access, await client.now())
    return LeaseShared(access)


# ------------------------------------------------------------------------------------------------------------ accept


@dataclass(frozen=True)
class AcceptAccess(Request["AccessKept"]):
    """Use what somebody has shared with a key of this home, from now on."""

    access: AccessFile

    async def plan(self, client: PoolClient) -> AcceptAccessPlan:
        access, session = self.access, self.access.session
        check_place(access.chain, access.pool, client.deployment, "access")
        if access.expires_at <= await client.now():
            raise AccessOver(access.expires_at)
        private_key = client.home.pending_sessions.key(access.key)
        digest, proof = session.digest(client.domain), unhex(access.proof)
        try:
            await verify_proof(access.account, digest, proof, client.accounts.is_authorized)
        except ProofError as error:
            raise FileRefused(f"Its account has not signed that ({error})", "ask for it again.") from error
        for lease in session.leases:
            if (tenant := (await client.known_lease(lease)).tenant) != access.account:
                raise NotTheTenant(lease, tenant)
        return AcceptAccessPlan(client, access, private_key)


@dataclass(frozen=True)
class AcceptAccessPlan(Plan["AccessKept"]):
    """A session of somebody else's, and the key that it is for."""

    client: PoolClient
    access: AccessFile
    private_key: bytes = field(repr=False)

    def to_json(self) -> dict[str, Json]:
        return access_json(self.access)

    async def steps(self) -> AsyncIterator[Step]:
        home = self.client.home
        home.shared_access(self.client.deployment).keep(self.access, self.private_key)
        home.pending_sessions.forget(self.access.key)
        yield AccessKept(self.access)


@dataclass(frozen=True)
class AccessKept(Step):
    """Whatever asks the lease's agent from this home asks by that leave."""

    access: AccessFile


# ------------------------------------------------------------------------------------------------------------ revoke


@dataclass(frozen=True)
class RevokeAccess(Request["AccessRevoked"]):
    """Have a lease's agent listen no more to a key, or to all that were given from this home. Nothing is sent.

    key: the address of any session's key of the account's, whoever has it.
    """

    lease: int
    key: str | None = None

    async def plan(self, client: PoolClient) -> RevokeAccessPlan:
        lease, now = await _own(client, self.lease), await client.now()
        book = client.home.shared_access(client.deployment)
        given = {access.key: access.expires_at for access in book.given(now) if access.covers(lease.id)}
        if self.key is not None:
            key = parse_address(self.key)
            given = {key: given.get(key, now + MAX_SESSION_LIFETIME)}
        if not given:
            raise NotShared(lease.id)
        return RevokeAccessPlan(client, lease, given)


@dataclass(frozen=True)
class RevokeAccessPlan(Plan["AccessRevoked"]):
    """Whose leave would end. keys: and when it would end by itself, at the latest."""

    client: PoolClient
    lease: Lease
    keys: Mapping[str, int]

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease.id), "keys": list(self.keys)}

    async def steps(self) -> AsyncIterator[Step]:
        client, number = self.client, self.lease.id
        book = client.home.shared_access(client.deployment)
        async with client.agent_of(number) as agent:
            if "lease.revoke" not in await agent.operations():
                raise TakesNothingBack(number, max(self.keys.values()))
            for key in self.keys:
                await agent.revoke_session(number, key)
                book.note_withdrawn(number, key, await client.now())
        yield AccessRevoked(number, tuple(self.keys))


@dataclass(frozen=True)
class AccessRevoked(Step):
    """The agent has answered that it listens to these keys no more, and ends what they have open."""

    lease: int
    keys: tuple[str, ...]


# ------------------------------------------------------------------------------------------------------------- audit


async def audit_of(client: PoolClient, lease: int) -> LeaseAudit:
    """Who did what on a lease, as its machine's agent has it. Only its tenant is told.

    Raises:
        UnknownLease, NotTheTenant, KeepsNoAudit, AgentError.
    """
    await _own(client, lease)
    async with client.agent_of(lease) as agent:
        if "lease.audit" not in await agent.operations():
            raise KeepsNoAudit(lease)
        return await agent.audit(lease)


def access_json(access: AccessFile) -> dict[str, Json]:
    """A shared access for a program."""
    return {
        "leases": [format_lease(int(lease)) for lease in access.leases],
        "account": access.account,
        "key": access.key,
        "operations": list(access.operations),
        "expires_at": access.expires_at,
    }
