"""What outages have done to leases, settled as far as it can be settled now: one transaction after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from leasehold.chain import Fault, FaultState, Receipt, format_lease
from leasehold.client._faults import ROLL_AFTER, executable
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.errors import NotDown, NothingToApply, WrongFaultState
from leasehold.market import Json, Money, applicable

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class Settlement:
    """One transaction that settles a part of a fault. Anyone may send it.

    kind: file an outage that goes on (`roll`), take it off the bills of `leases` and register their losses (`apply`),
    carry the slash out (`execute`), credit the tenants of `leases` with their parts (`compensate`).
    """

    fault: Fault
    kind: Literal["roll", "apply", "execute", "compensate"]
    leases: tuple[int, ...] = ()

    async def send(self, client: PoolClient) -> Receipt:
        """Raises ContractError: also where somebody else has done it."""
        faults = await client.pool.faults()
        if self.kind == "roll":
            return await faults.roll(self.fault.machine)
        if self.kind == "apply":
            return await faults.apply_outage(self.fault.id, self.leases)
        if self.kind == "execute":
            return await faults.execute(self.fault.id)
        return await faults.compensate(self.fault.id, self.leases)

    def said(self, money: Money) -> str:
        """What is done to the fault, for people."""
        fault, shown = self.fault, ", ".join(map(format_lease, self.leases))
        leases = f"lease {shown}" if len(self.leases) == 1 else f"leases {shown}"
        if self.kind == "roll":
            return f"file the outage of machine {fault.machine}"
        if self.kind == "apply":
            return f"take outage {fault.id} off the bill of {leases}, and register what was lost"
        if self.kind == "execute":
            return (
                f"carry out fault {fault.id}: {money.show(fault.amount)} of machine {fault.machine}'s stake"
            )
        return f"credit the part of {leases} in fault {fault.id}"

    def to_json(self, money: Money) -> dict[str, Json]:
        """The same for a program."""
        return {"fault": self.fault.id, "step": self.kind, "said": self.said(money)}


@dataclass(frozen=True)
class SettleFaults(Request["FaultsSettled"]):
    """Settle what can be settled now. fault: by default all that touched one's leases. everyone: for all tenants."""

    fault: int | None = None
    everyone: bool = False

    async def plan(self, client: PoolClient) -> SettleFaultsPlan:
        faults = (self.fault,) if self.fault else await _touching(client)
        first = [await _next(client, number, self.everyone) for number in faults]
        return SettleFaultsPlan(client, tuple(faults), self.everyone, tuple(filter(None, first)))


@dataclass(frozen=True)
class SettleFaultsPlan(Plan["FaultsSettled"]):
    """What would be sent first, for each fault that has something. What follows from it is sent, too."""

    client: PoolClient
    faults: tuple[int, ...]
    everyone: bool
    first: tuple[Settlement, ...]

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "steps": [settlement.to_json(money) for settlement in self.first],
            "gained": "0",
            "token": money.symbol,
        }

    async def steps(self) -> AsyncIterator[Step]:
        before, made = await self._ledger(), list[SettlementMade]()
        for number in self.faults:
            taken = set[str]()
            while settlement := await _next(self.client, number, self.everyone, taken):
                taken.add(settlement.kind)
                yield SettlementDue(settlement)
                try:
                    with self.client.observer.working("Waiting for the transaction"):
                        receipt = await settlement.send(self.client)
                except (NothingToApply, WrongFaultState, NotDown):
                    yield SettledByOthers(settlement)
                else:
                    made.append(SettlementMade(receipt, settlement))
                    yield made[-1]
                await self.client.index(again=True)
        yield FaultsSettled(tuple(made), max(0, await self._ledger() - before))

    async def _ledger(self) -> int:
        return await self.client.pool.balance_of(self.client.account)


@dataclass(frozen=True)
class SettlementDue(Step):
    """It is sent next. Whoever does not want that asks for no more steps."""

    settlement: Settlement


@dataclass(frozen=True)
class SettledByOthers(Step):
    """Somebody else has done it meanwhile."""

    settlement: Settlement


@dataclass(frozen=True)
class SettlementMade(Sent):
    """It was sent."""

    settlement: Settlement


@dataclass(frozen=True)
class FaultsSettled(Step):
    """Nothing more can be settled now. gained: what came into the ledger meanwhile, token units."""

    made: tuple[SettlementMade, ...]
    gained: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "steps": [{**made.settlement.to_json(money), **made.transaction()} for made in self.made],
            "gained": money.exact(self.gained),
            "token": money.symbol,
        }


async def _touching(client: PoolClient) -> tuple[int, ...]:
    """Faults of the machines on which the account has or had leases."""
    index = await client.index()
    machines = {record.lease.machine for record in await index.leases(tenant=client.account)}
    return tuple(record.fault for record in await index.faults() if record.machine in machines)


async def _next(
    client: PoolClient, number: int, everyone: bool, taken: Collection[str] = ()
) -> Settlement | None:
    """What can be settled of a fault now, and was not yet."""
    fault, index, now = await client.fault(number), await client.index(), await client.now()
    if fault.state is FaultState.RUNNING:
        rolls = now > fault.from_ + ROLL_AFTER and "roll" not in taken
        return Settlement(fault, "roll") if rolls else None
    tenant = None if everyone else client.account
    losses = await index.losses(fault=fault.id)
    records = await index.leases(machine=fault.machine, tenant=tenant)
    leases = applicable(fault, [record.lease for record in records], [loss.lease for loss in losses])
    if leases and "apply" not in taken:
        return Settlement(fault, "apply", tuple(leases))
    if executable(fault, now) and "execute" not in taken:
        return Settlement(fault, "execute")
    owed = [loss.lease for loss in losses if loss.part and not loss.amount and tenant in (None, loss.tenant)]
    if fault.state is FaultState.EXECUTED and fault.pot and owed and "compensate" not in taken:
        return Settlement(fault, "compensate", tuple(owed))
    return None
