"""Asking a machine's operator for a sign of life, and saying that none came."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import LeaseState, format_lease
from leasehold.client._errors import PlanStale
from leasehold.client._faults import PROVE_TIME
from leasehold.client._ledger import check_ledger, from_ledger, pay_in
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._tenant_errors import LeaseNotThere, NoRunningLease
from leasehold.errors import NoChallenge
from leasehold.market import Json, Money, Payment

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class ChallengeMachine(Request["MachineChallenged"]):
    """Ask the operator of a machine that one rents for a sign of life, with a bond that the ledger pays.

    If it answers in time, the bond is gone. If not, one has the bond back, an outage runs since now, and one shares in
    what it costs the provider. lease: one's own there; 0 for any.
    """

    machine: int
    lease: int = 0

    async def plan(self, client: PoolClient) -> ChallengePlan:
        lease, faults = await self._own_lease(client), await client.pool.faults()
        bond = await faults.bond_of(self.machine, client.account)
        rules = await client.params((await client.pool.machine_of(self.machine)).params)
        payment = await from_ledger(client, bond)
        return ChallengePlan(client, self.machine, lease, rules.challenge_window, payment)

    async def _own_lease(self, client: PoolClient) -> int:
        index, now = await client.index(), await client.now()
        for record in await index.leases(machine=self.machine, tenant=client.account, live=True):
            runs = record.lease.state is LeaseState.ACTIVE and now < record.lease.end
            if runs and self.lease in (0, record.lease.id):
                return record.lease.id
        if self.lease:
            raise LeaseNotThere(self.machine, self.lease)
        raise NoRunningLease(self.machine)


@dataclass(frozen=True)
class ChallengePlan(Plan["MachineChallenged"]):
    """A bond at stake (`payment`). window: seconds in which the operator may answer."""

    client: PoolClient
    machine: int
    lease: int
    window: int
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "machine": self.machine,
            "lease": format_lease(self.lease),
            "bond": money.exact(self.payment.amount),
            "token": money.symbol,
        }

    async def check(self) -> None:
        """Raises PlanStale: another challenge has come between, and this one would take twice as much."""
        faults = await self.client.pool.faults()
        if await faults.bond_of(self.machine, self.client.account) > self.payment.amount:
            raise PlanStale()
        await check_ledger(self.client, self.payment)

    async def steps(self) -> AsyncIterator[Step]:
        async for step in pay_in(self.client, self.payment):
            yield step
        challenge, receipt = await (await self.client.pool.faults()).challenge(self.machine, self.lease)
        yield MachineChallenged(receipt, challenge, await self.client.now() + self.window)


@dataclass(frozen=True)
class MachineChallenged(Sent):
    """The challenge stands. until: about when the time for an answer is over, unix seconds."""

    challenge: int
    until: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"challenge": self.challenge, "until": self.until}


@dataclass(frozen=True)
class ProveSilence(Request["SilenceProven"]):
    """Say that nobody answered a challenge in time: the machine is down from then on. Anyone may.

    An hour after the last moment for an answer the question is over: then only the bond comes back.
    """

    machine: int

    async def plan(self, client: PoolClient) -> ProvePlan:
        standing = await (await client.pool.faults()).challenge_of(self.machine)
        if not standing.at:
            raise NoChallenge(machine=self.machine)
        until = await client.pool.answer_until(self.machine, standing.at) + PROVE_TIME
        return ProvePlan(client, self.machine, await client.now() > until)


@dataclass(frozen=True)
class ProvePlan(Plan["SilenceProven"]):
    """A challenge that nobody answered. over: nobody proved it in time, and only the bond comes back."""

    client: PoolClient
    machine: int
    over: bool

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine, "over": self.over}

    async def steps(self) -> AsyncIterator[Step]:
        fault, receipt = await (await self.client.pool.faults()).prove(self.machine)
        yield SilenceProven(receipt, fault or None)


@dataclass(frozen=True)
class SilenceProven(Sent):
    """The bond is back. fault: the outage that runs; `None` where it was too late, or the machine had retired."""

    fault: int | None

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"fault": self.fault}
