"""What one rents and what failed, as it stands now: read from the chain, the index and the machines' agents."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import (
    Fault,
    FaultRecord,
    Lease,
    LeaseRecord,
    LeaseState,
    LossRecord,
    Machine,
    format_lease,
)
from leasehold.client._faults import arbiter_of, current
from leasehold.client._tenancy import agents_word
from leasehold.errors import LeaseholdError
from leasehold.market import Bill, Json, Money, fault_json, lease_json
from leasehold.market.wire import LeaseStatus

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_MOST_ASKED = 64  # agents, for one glance


@dataclass(frozen=True)
class LeaseBill:
    """A lease, and what closing it now would take. down_since: unix seconds, where its machine is down; else 0.
    name: what its workload was called, if it was handed over from here.
    """

    lease: Lease
    bill: Bill
    down_since: int
    name: str | None = None


async def leases_of(client: PoolClient, *, everything: bool = False) -> list[LeaseBill]:
    """The account's leases, as the index has them. everything: those that are over, too."""
    index, now = await client.index(), await client.now()
    down = {record.machine.id: record.machine.down_since for record in await index.machines()}
    bills, names = [], client.home.lease_names.all()
    for record in await index.leases(tenant=client.account, live=None if everything else True):
        since = down.get(record.lease.machine, 0)
        bill = await client.bill(record.lease, now, down_since=since)
        bills.append(LeaseBill(record.lease, bill, since, names.get(record.workload)))
    return bills


async def exit_codes(
    client: PoolClient, rented: Sequence[LeaseBill], *, seconds: float = 3.0
) -> dict[int, int]:
    """The exit codes of commands that have ended by themselves, by lease, while those leases are billed. Agents are
    asked all at once, for so long, and only where the account has a session: nothing is signed for a glance.
    """
    codes: dict[int, int] = {}
    if await client.home.sessions.kept(client.account, client.domain, now=int(time.time())) is None:
        return codes

    async def ask(lease: int) -> None:
        with contextlib.suppress(LeaseholdError):
            async with client.agent_of(lease) as agent:
                code = (await agent.status(lease)).exit_code
            if code is not None:
                codes[lease] = code

    billed = [known.lease.id for known in rented if known.lease.state is LeaseState.ACTIVE]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*map(ask, billed[:_MOST_ASKED]))
    return codes


@dataclass(frozen=True)
class LeaseView:
    """A lease at the head of the chain, its machine and its bill now.

    record: what the index knows of it. status: what its agent says to its tenant, or `silence`: why it says nothing.
    name: what its workload is called, as its agent says, or as it was handed over from here.
    """

    lease: Lease
    machine: Machine
    bill: Bill
    record: LeaseRecord | None
    status: LeaseStatus | None
    silence: LeaseholdError | None
    name: str | None = None

    def to_json(self, money: Money) -> dict[str, Json]:
        """All of it for a program, as `Plan.to_json`."""
        record = self.record
        return {
            **lease_json(self.lease, self.bill, money),
            "name": self.name,
            "reason": record.reason or None if record else None,
            "paid": money.exact(record.paid) if record else None,
            "fee": money.exact(record.fee) if record else None,
            "refunded": money.exact(record.refunded) if record else None,
            "result": record.result_cid if record else None,
            "down_since": self.machine.down_since or None,
            "agent": self.status.model_dump(mode="json") if self.status else None,
        }


async def view_lease(client: PoolClient, number: int) -> LeaseView:
    """All that can be known of a lease, anybody's. Raises UnknownLease."""
    lease = await client.known_lease(number)
    record = await (await client.index()).lease(number)
    status, silence = await agents_word(client, lease)
    machine = await client.pool.machine_of(lease.machine)
    bill = await client.bill(lease, await client.now(), down_since=machine.down_since)
    name = status.name if status is not None else None
    if name is None and record is not None:
        name = client.home.lease_names.all().get(record.workload)
    return LeaseView(lease, machine, bill, record, status, silence, name)


async def faults_of(client: PoolClient, machine: int | None = None) -> list[Fault]:
    """Outages and other faults, of one machine or of all."""
    return [await current(client, record) for record in await (await client.index()).faults(machine=machine)]


@dataclass(frozen=True)
class FaultView:
    """A fault at the head of the chain. record: whom its slash went to. arbiter: who rules on an appeal, if anybody."""

    fault: Fault
    record: FaultRecord | None
    losses: tuple[LossRecord, ...]
    arbiter: str | None

    def shares(self, money: Money) -> tuple[str, str, str]:
        """What tenants, reporters and whoever has the rest got of it, whole tokens."""
        record = self.record
        to_tenants, to_reporters, rest = (record.pot, record.reported, record.rest) if record else (0, 0, 0)
        return money.exact(to_tenants), money.exact(to_reporters), money.exact(rest)

    def to_json(self, money: Money) -> dict[str, Json]:
        """All of it for a program, as `Plan.to_json`."""
        to_tenants, to_reporters, rest = self.shares(money)
        return {
            **fault_json(self.fault, money),
            "to_tenants": to_tenants,
            "to_reporters": to_reporters,
            "rest": rest,
            "rest_to": self.record.sink if self.record else None,
            "arbiter": self.arbiter,
            "losses": [
                {
                    "lease": format_lease(loss.lease),
                    "tenant": loss.tenant,
                    "part": money.exact(loss.part),
                    "credited": money.exact(loss.amount),
                }
                for loss in self.losses
            ],
        }


async def view_fault(client: PoolClient, number: int) -> FaultView:
    """All that can be known of a fault. Raises UnknownFault."""
    fault, index = await client.fault(number), await client.index()
    losses = tuple(await index.losses(fault=number))
    return FaultView(fault, await index.fault(number), losses, await arbiter_of(client, fault))
