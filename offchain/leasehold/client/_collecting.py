"""What a provider's machines have earned, giving notice, and where everything of his stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import Fault, FaultState, Lease, LeaseState, Machine, MachineRecord, format_lease
from leasehold.client._duties import tended
from leasehold.client._errors import NothingToDo, PlanStale
from leasehold.client._faults import PROVE_TIME
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.errors import UnderNotice
from leasehold.market import (
    Due,
    InvalidInput,
    Json,
    Money,
    NoticeTerms,
    format_amount,
    format_cells,
    format_time,
    machine_state,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def own_machines(client: PoolClient) -> list[MachineRecord]:
    """The account's machines, retired ones included, as the index has them."""
    account = client.account.lower()
    return [
        record
        for record in await (await client.index(again=True)).machines()
        if record.machine.provider.lower() == account
    ]


async def own_leases(client: PoolClient) -> list[Lease]:
    """The leases on the account's machines, at the head of the chain."""
    machines, index = await own_machines(client), await client.index()
    return [record.lease for owned in machines for record in await index.leases(machine=owned.machine.id)]


# ---------------------------------------------------------------------------------------------------------- collect


@dataclass(frozen=True)
class Claim(Request["Claimed"]):
    """Collect what one's machines have earned, and close the leases whose end has passed, in one transaction.

    leases: which; by default all that pay. forgo: close those too that an outage holds open for their tenants, and
    give that time back.
    """

    leases: Collection[int] = ()
    forgo: bool = False

    async def plan(self, client: PoolClient) -> ClaimPlan:
        mine = [lease for lease in await own_leases(client) if not self.leases or lease.id in self.leases]
        due = await client.provider().due(mine)
        return ClaimPlan(client, due.forgoing() if self.forgo else due, () if self.forgo else due.disputed)


@dataclass(frozen=True)
class ClaimPlan(Plan["Claimed"]):
    """What would be collected. held: leases that are over, and kept open for their tenants by an outage."""

    client: PoolClient
    due: Due
    held: tuple[int, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "claimed": [format_lease(lease) for lease in self.due.claimable],
            "closed": [format_lease(lease) for lease in self.due.overdue],
        }

    async def check(self) -> None:
        if self.due.empty:
            raise NothingToDo()

    async def steps(self) -> AsyncIterator[Step]:
        before = await self.client.pool.balance_of(self.client.account)
        receipt = await self.client.provider().collect(self.due)
        yield Claimed(receipt, await self.client.pool.balance_of(self.client.account) - before)


@dataclass(frozen=True)
class Claimed(Sent):
    """It is collected. gained: by how much the ledger grew, token units."""

    gained: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"gained": money.exact(self.gained), "token": money.symbol}


# ----------------------------------------------------------------------------------------------------------- notice


@dataclass(frozen=True)
class GiveNotice(Request["NoticeGiven"]):
    """End a tenant's lease early, and pay the penalty from the ledger. Ending a spot lease costs nothing, and its
    machine's operator may do it too.
    """

    lease: int

    async def plan(self, client: PoolClient) -> GiveNoticePlan:
        """Raises UnknownLease, InvalidInput, UnderNotice, MachineUnavailable: not one's own. PenaltyNotCovered."""
        lease = await client.lease(self.lease)
        if lease.state is not LeaseState.ACTIVE:
            raise InvalidInput(
                f"Lease {format_lease(lease.id)} is {lease.state.word}",
                "only an active lease is given notice.",
            )
        if lease.noticed:
            raise UnderNotice(lease=lease.id)
        if lease.spot:
            await tended(client, lease.machine)
        else:
            await client.provider().own(lease.machine)
        return GiveNoticePlan(client, lease, await client.provider().notice(lease))


@dataclass(frozen=True)
class GiveNoticePlan(Plan["NoticeGiven"]):
    """A lease that would end sooner. notice: when, and what it costs."""

    client: PoolClient
    lease: Lease
    notice: NoticeTerms

    def to_json(self) -> dict[str, Json]:
        return {
            "lease": format_lease(self.lease.id),
            "end": self.notice.end,
            "penalty": self.client.money.exact(self.notice.penalty),
            "spot": self.lease.spot,
        }

    def said(self) -> str:
        """When it would end and what that costs, in a sentence for people."""
        penalty = "no penalty, since it is a spot lease,"
        if not self.lease.spot:
            penalty = f"a penalty of {self.client.money.show(self.notice.penalty)} from your ledger"
        ends = f"Lease {format_lease(self.lease.id)} would end {format_time(self.notice.end)}"
        return f"{ends}; its tenant gets {penalty} and everything it has not used."

    async def check(self) -> None:
        """Raises PlanStale: its tenant took more or longer of it since, and the penalty would be larger."""
        now = await self.client.lease(self.lease.id)
        if (await self.client.provider().notice(now)).penalty > self.notice.penalty:
            raise PlanStale()

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.terminate(self.lease.id)
        yield NoticeGiven(receipt, await self.client.lease(self.lease.id))


@dataclass(frozen=True)
class NoticeGiven(Sent):
    """The lease has its new end."""

    lease: Lease


# ----------------------------------------------------------------------------------------------------------- status


@dataclass(frozen=True)
class ProviderStatus:
    """A provider's machines, their live leases, what he can collect and should do. ledger: token units. gas: wei of
    each machine's operator. now: unix seconds.
    """

    machines: tuple[Machine, ...]
    leases: tuple[Lease, ...]
    due: Due
    ledger: int
    gas: Mapping[int, int]
    duties: tuple[ProviderDuty, ...]
    now: int

    def to_json(self, money: Money) -> dict[str, Json]:
        """All of it for a program, as `Plan.to_json`."""
        return {
            "token": money.symbol,
            "ledger": money.exact(self.ledger),
            "claimable": money.exact(sum(self.due.claimable.values())),
            "overdue": [format_lease(lease) for lease in self.due.overdue],
            "machines": [
                {
                    "id": machine.id,
                    "state": machine_state(machine),
                    "stake": money.exact(machine.stake),
                    "operator": machine.operator,
                    "operator_gas": format_amount(self.gas[machine.id], 18),
                    "leased_cells": machine.leased.bit_count(),
                    "withheld": format_cells(machine.withheld),
                }
                for machine in self.machines
            ],
            "leases": [
                {"id": format_lease(lease.id), "machine": lease.machine, "end": lease.end}
                for lease in self.leases
            ],
            "duties": [
                {"machine": duty.machine.id, "what": duty.what, "until": duty.until} for duty in self.duties
            ],
        }


@dataclass(frozen=True)
class ProviderDuty:
    """What a machine's provider should do. what: ``answer``, ``wait``, ``recover`` or ``appeal``. until: unix seconds,
    or `None`. fault: which would be appealed against.
    """

    machine: Machine
    what: str
    until: int | None = None
    fault: Fault | None = None


async def provider_status(client: PoolClient) -> ProviderStatus:
    """Where everything of the account's stands as a provider."""
    machines = tuple(record.machine for record in await own_machines(client))
    leases, now = await own_leases(client), await client.now()
    return ProviderStatus(
        machines,
        tuple(lease for lease in leases if lease.state.live),
        await client.provider().due(leases),
        await client.pool.balance_of(client.account),
        {machine.id: await client.rpc.balance(machine.operator) for machine in machines},
        tuple([duty for machine in machines for duty in await _duties(client, machine, now)]),
        now,
    )


async def _duties(client: PoolClient, machine: Machine, now: int) -> list[ProviderDuty]:
    """Challenges, outages and faults that wait for the provider."""
    duties: list[ProviderDuty] = []
    challenge = await (await client.pool.faults()).challenge_of(machine.id)
    until = await client.pool.answer_until(machine.id, challenge.at) if challenge.at else 0
    if challenge.at and now <= until + PROVE_TIME:
        answers = now <= until
        duties.append(
            ProviderDuty(machine, "answer" if answers else "wait", until + (0 if answers else PROVE_TIME))
        )
    duties.extend([ProviderDuty(machine, "recover")] * (machine.down + machine.stalled))
    for record in await (await client.index()).faults(machine=machine.id):
        fault = await client.fault(record.fault) if record.state is FaultState.FILED else None
        if fault is not None and fault.state is FaultState.FILED and now <= fault.deadline:
            duties.append(ProviderDuty(machine, "appeal", fault.deadline, fault))
    return duties
