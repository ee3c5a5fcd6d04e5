"""What one rents and what failed, as it stands now: read from the chain, the index and the machines' agents."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.chain import (
    Fault,
    FaultRecord,
    Lease,
    LeaseRecord,
    LeaseState,
    LossRecord,
    Machine,
    MachineRecord,
    format_lease,
)
from leasehold.client._choosing import known_leases, tag_of
from leasehold.client._faults import arbiter_of, current
from leasehold.client._tenancy import agents_word
from leasehold.errors import LeaseholdError
from leasehold.home import Kind
from leasehold.market import (
    Bill,
    DocumentInvalid,
    Hardware,
    Json,
    Money,
    fault_json,
    kept_document,
    lease_json,
    parse_document,
)
from leasehold.market.wire import LeaseStatus

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_MOST_ASKED = 64  # agents, for one glance


@dataclass(frozen=True)
class LeaseBill:
    """A lease, and what closing it now would take. down_since: unix seconds, where its machine is down; else 0.
    name: what it is called here. labels: those that it has. model: of its machine's cards, as far as that is at hand.
    image: what its workload runs, if it was handed over from here. record: what stands in events only.
    """

    lease: Lease
    bill: Bill
    down_since: int
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    image: str | None = None
    record: LeaseRecord | None = None

    def to_json(self, money: Money) -> dict[str, Json]:
        """For a program, as `Plan.to_json`."""
        return {
            **lease_json(self.lease, self.bill, money),
            "name": self.name,
            "labels": dict(self.labels),
            "model": self.model,
            "image": self.image,
            "started_at": self.lease.start if self.lease.state is not LeaseState.OPENED else None,
        }

    def past_json(self, money: Money) -> dict[str, Json]:
        """The same of a lease that is over, with how it ended and what it cost."""
        record = self.record
        return self.to_json(money) | {
            "reason": record.reason or None if record else None,
            "paid": money.exact(record.paid + record.fee) if record else None,
            "refunded": money.exact(record.refunded) if record else None,
            "result": record.result_cid if record else None,
        }


async def leases_of(client: PoolClient, *, everything: bool = False) -> list[LeaseBill]:
    """The account's leases, as the index has them. everything: those that are over, too."""
    index, now = await client.index(), await client.now()
    machines = {record.machine.id: record for record in await index.machines()}
    bills, images, models = [], client.home.lease_images.all(), dict[int, str | None]()
    for known in await known_leases(client, live=None if everything else True):
        lease, here = known.record.lease, machines.get(known.record.lease.machine)
        since = here.machine.down_since if here is not None else 0
        if here is not None and lease.machine not in models:
            models[lease.machine] = await asyncio.to_thread(_model_at_hand, client, here)
        bills.append(
            LeaseBill(
                lease,
                await client.bill(lease, now, down_since=since),
                since,
                known.tag.name,
                known.tag.labels,
                models.get(lease.machine),
                images.get(known.record.workload),
                known.record,
            )
        )
    return bills


def _model_at_hand(client: PoolClient, record: MachineRecord) -> str | None:
    """What a machine's cards are, if its document was fetched before: nobody is asked for a glance."""
    if (hardware := _hardware_at_hand(client, record)) is None:
        return None
    return hardware.gpus[0].model if hardware.gpus else hardware.cpu.model


def _hardware_at_hand(client: PoolClient, record: MachineRecord) -> Hardware | None:
    raw = kept_document(client.home.documents, record.hardware)
    with contextlib.suppress(DocumentInvalid):
        return None if raw is None else parse_document(Hardware, raw, "The hardware document")
    return None


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
    name: what its workload is called, as its agent says, or as it was handed over from here. sells_gpus: whether its
    machine sells GPUs, or units of its CPU, if that was looked up before.
    """

    lease: Lease
    machine: Machine
    bill: Bill
    record: LeaseRecord | None
    status: LeaseStatus | None
    silence: LeaseholdError | None
    name: str | None = None
    sells_gpus: bool | None = None

    @property
    def past_its_end(self) -> bool:
        """Whether its time is over and nobody has closed it: it is active until somebody does, and costs nothing."""
        return self.lease.state.live and not self.bill.left

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
    index = await client.index()
    record, there = await index.lease(number), await index.machine(lease.machine)
    hardware = None if there is None else _hardware_at_hand(client, there)
    status, silence = await agents_word(client, lease)
    machine = await client.pool.machine_of(lease.machine)
    bill = await client.bill(lease, await client.now(), down_since=machine.down_since)
    name = status.name if status is not None else None
    if record is not None:
        own = client.home.names(client.deployment).all(Kind.LEASE)
        name = tag_of(record, own, client.home.lease_names.all()).name or name
    sells_gpus = None if hardware is None else bool(hardware.gpus)
    return LeaseView(lease, machine, bill, record, status, silence, name, sells_gpus)


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
