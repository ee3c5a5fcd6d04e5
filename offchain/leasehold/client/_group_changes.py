"""What a group is asked to sign that is not done through its pool alone: other signers, a key, tokens gone astray."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.agreements import LIFETIME, AcceptanceFile, FileRefused, Proposal, propose_calls
from leasehold.chain import Call, LeaseRecord
from leasehold.chain.typed import AcceptTransfer, Group, Safe, Session
from leasehold.client._address import parse_address
from leasehold.client._client import ProposalMade
from leasehold.client._errors import CannotAct
from leasehold.client._groups import standing_of
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._proposals import ProposalPlan
from leasehold.client._tenant_errors import NothingStrayed
from leasehold.market import NotEnoughFunds, format_time, parse_amount
from leasehold.market.wire import OPS

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

MOST = 64  # leases that one proposal moves
WEEK = 7 * 86_400


@dataclass(frozen=True)
class RotateGroup(Request[ProposalMade]):
    """Give all that a group has to another group: how a signer is replaced, or the threshold changed.

    Leases have to be accepted first: without an acceptance the proposal is what `new` has to sign, with it what `old`
    has to. What reaches the old group's ledger later stays there.
    """

    old: Group
    new: Group
    acceptance: AcceptanceFile | None = None

    async def plan(self, client: PoolClient) -> RotatePlan:
        standing, to = await standing_of(client, self.old), self.new.address(client.deployment.accounts)
        leases, ledger = standing.leases[:MOST], standing.ledger
        if rest := len(standing.leases) - len(leases):
            ledger = 0
        if not leases and not ledger:
            raise NotEnoughFunds(
                "The group has no lease and nothing in its ledger", "use the other one instead."
            )
        accepts = bool(leases) and self.acceptance is None
        proposal = (
            await self._accepting(client, to, leases)
            if accepts
            else await self._giving(client, to, leases, ledger)
        )
        return RotatePlan(client, proposal, standing.account, to, leases, ledger, rest, accepts)

    async def _accepting(self, client: PoolClient, to: str, leases: Sequence[LeaseRecord]) -> Proposal:
        place, deadline = client.deployment, await client.now() + LIFETIME
        messages = tuple(
            AcceptTransfer(account=to, controller=place.controller, lease=record.lease.id, deadline=deadline)
            for record in leases
        )
        return Proposal("acceptance", place, self.new, messages)

    async def _giving(
        self, client: PoolClient, to: str, leases: Sequence[LeaseRecord], ledger: int
    ) -> Proposal:
        calls: list[Call] = []
        if leases and (accepted := self.acceptance) is not None:
            if accepted.account != to:
                raise FileRefused(
                    f"The acceptance is {accepted.account}'s, not {to}'s", "have the new group make it."
                )
            if accepted.deadline < await client.now():
                until = format_time(accepted.deadline)
                raise FileRefused(f"The acceptance worked until {until}", "have the new group make another.")
            for lease in (record.lease.id for record in leases):
                proof = accepted.proof_of(lease, client.deployment)
                calls.append(client.pool.call("transferLease", lease, to, accepted.deadline, proof))
        if ledger:
            calls.append(client.pool.call("transfer", to, ledger))
        return await _proposed(client, self.old, calls)


@dataclass(frozen=True)
class RotatePlan(ProposalPlan):
    """What goes from `account` to the account `to`, and the proposal that comes first.

    ledger: token units. rest: leases that one proposal cannot hold besides. accepts: the proposal is the new group's.
    """

    account: str
    to: str
    leases: tuple[LeaseRecord, ...]
    ledger: int
    rest: int
    accepts: bool


@dataclass(frozen=True)
class AskForSession(Request[ProposalMade]):
    """Propose a throw-away key of this home, which may talk to the agents of a group's leases. It can move no money.

    leases: only on these; by default on all. seconds: how long it works.
    """

    group: Group
    leases: tuple[int, ...] = ()
    seconds: int = WEEK

    async def plan(self, client: PoolClient) -> AskForSessionPlan:
        return AskForSessionPlan(client, self, await client.now() + self.seconds)


@dataclass(frozen=True)
class AskForSessionPlan(Plan[ProposalMade]):
    """A key that is made when this is carried out. expires_at: unix seconds."""

    client: PoolClient
    request: AskForSession
    expires_at: int

    async def steps(self) -> AsyncIterator[Step]:
        place, group = self.client.deployment, self.request.group
        message = Session(
            account=group.address(place.accounts),
            chain=place.chain_id,
            controller=place.controller,
            leases=self.request.leases,
            ops=tuple(OPS),
            key=self.client.home.pending_sessions.make(),
            expires_at=self.expires_at,
        )
        yield ProposalMade(Proposal("session", place, group, (message,)))


@dataclass(frozen=True)
class RescueTokens(Request[ProposalMade]):
    """Propose to send on what somebody sent to a group's address itself instead of to its ledger.

    amount: whole tokens; by default all. to: by default the group's first signer.
    """

    group: Group
    amount: Decimal | str | None = None
    to: str | None = None

    async def plan(self, client: PoolClient) -> ProposalPlan:
        group, accounts, money = self.group, client.accounts, client.money
        if isinstance(group, Safe):
            raise CannotAct("What lies at a Safe's own address is not astray", "move it by the Safe itself.")
        to = parse_address(self.to) if self.to else group.signers[0]
        strayed = await client.token.balance(group.address(client.deployment.accounts))
        units = strayed if self.amount is None else parse_amount(str(self.amount), money.decimals)
        if not 0 < units <= strayed:
            raise NothingStrayed(strayed).in_money(money)
        calls = (
            accounts.call("deployGroup", group.threshold, list(group.signers), group.salt),
            accounts.rescue(client.deployment.token, to, units),
        )
        return ProposalPlan(client, await _proposed(client, group, calls))


async def _proposed(client: PoolClient, group: Group, calls: Sequence[Call]) -> Proposal:
    deadline = await client.now() + LIFETIME
    return await propose_calls(client.accounts, client.deployment, group, calls, deadline=deadline)
