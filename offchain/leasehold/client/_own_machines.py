"""What a provider does to a machine that is in the pool: terms, cells out of sale, its end, its agent's key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from eth_utils.address import to_checksum_address

from leasehold.chain import Consent, Machine, Receipt, Terms
from leasehold.client._errors import DescribesAnother, NothingToDo, PlanStale, StakeStillLocked
from leasehold.client._joining import AskedTerms, neighbours
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.market import (
    Json,
    MachineFile,
    MachineUnavailable,
    Money,
    canonical,
    check_terms,
    format_amount,
    format_cells,
    parse_cells,
    terms_json,
    unstakable_at,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class MachinePlan(Plan["MachineChanged"]):
    """Something that would be done to a machine of one's own. machine: as it is."""

    client: PoolClient
    machine: Machine
    send: Callable[[], Awaitable[Receipt]] = field(repr=False)

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine.id}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.send()
        yield MachineChanged(receipt, await self.client.pool.machine_of(self.machine.id))


@dataclass(frozen=True)
class MachineChanged(Sent):
    """It is done. machine: as it is now."""

    machine: Machine

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "machine": self.machine.id,
            "state": self.machine.status.name.lower(),
            "delisted": self.machine.delisted,
            "stalled": self.machine.stalled,
            "withheld": format_cells(self.machine.withheld),
            "revision": self.machine.revision,
        }


# ------------------------------------------------------------------------------------------------------------ terms


@dataclass(frozen=True)
class SetTerms(Request["MachineChanged"]):
    """Change what a machine asks for. Open leases keep the terms they have; the pool's rules in force are accepted."""

    machine: int
    asked: AskedTerms

    async def plan(self, client: PoolClient) -> SetTermsPlan:
        """Raises InvalidInput, UnknownMachine, SomebodyElses, RulesChange."""
        machine = await client.provider().own(self.machine)
        terms = self.asked.over(machine.terms, client.money)
        check_terms(terms, await client.now())
        await client.provider().check_rules()
        version = await client.pool.params_version()
        return SetTermsPlan(client, machine, lambda: client.pool.set_terms(machine.id, terms), terms, version)


@dataclass(frozen=True)
class SetTermsPlan(MachinePlan):
    """Other terms. version: of the pool's rules, which are accepted."""

    terms: Terms
    version: int

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine.id, "terms": terms_json(self.terms, self.client.money)}

    async def check(self) -> None:
        """Raises PlanStale: others have been set since, or other rules are in force. RulesChange: they soon are."""
        now = await self.client.pool.machine_of(self.machine.id)
        if (now.terms, await self.client.pool.params_version()) != (self.machine.terms, self.version):
            raise PlanStale()
        await self.client.provider().check_rules()


# ---------------------------------------------------------------------------------------------------- in and out


@dataclass(frozen=True)
class Withhold(Request["MachineChanged"]):
    """Take exactly these cells out of sale, and put the others back. What is leased stays leased.

    cells: GPUs (``0,1``), cells of one (``1:0-3``), ``all`` or ``none``.
    """

    machine: int
    cells: str

    async def plan(self, client: PoolClient) -> WithholdPlan:
        """Raises InvalidInput, UnknownMachine, SomebodyElses."""
        machine = await client.provider().own(self.machine)
        cells = parse_cells(self.cells, machine.gpus)
        return WithholdPlan(client, machine, lambda: client.pool.withhold(machine.id, cells), cells)


@dataclass(frozen=True)
class WithholdPlan(MachinePlan):
    """Cells that would be out of sale. cells: bit `8 × gpu + cell`."""

    cells: int


@dataclass(frozen=True)
class Delist(Request["MachineChanged"]):
    """Take a machine out of sale. Its leases run on and cannot be extended; `Relist` undoes it."""

    machine: int

    async def plan(self, client: PoolClient) -> MachinePlan:
        """Raises UnknownMachine, SomebodyElses."""
        machine = await client.provider().own(self.machine)
        return MachinePlan(client, machine, lambda: client.pool.delist(machine.id))


@dataclass(frozen=True)
class Relist(Request["MachineChanged"]):
    """Put a machine back on sale."""

    machine: int

    async def plan(self, client: PoolClient) -> MachinePlan:
        """Raises UnknownMachine, SomebodyElses."""
        machine = await client.provider().own(self.machine)
        return MachinePlan(client, machine, lambda: client.pool.relist(machine.id))


@dataclass(frozen=True)
class Retire(Request["MachineChanged"]):
    """Take a machine out of the market for good, which starts the delay after which its stake leaves."""

    machine: int

    async def plan(self, client: PoolClient) -> RetirePlan:
        """Raises UnknownMachine, SomebodyElses."""
        machine = await client.provider().own(self.machine)
        delay = (await client.params(machine.params)).unstake_delay
        return RetirePlan(client, machine, lambda: client.pool.retire(machine.id), delay)


@dataclass(frozen=True)
class RetirePlan(MachinePlan):
    """A machine that would leave. delay: seconds after which its stake can."""

    delay: int


@dataclass(frozen=True)
class Unstake(Request["MachineChanged"]):
    """Move a retired machine's stake into the ledger, once its delay has passed."""

    machine: int

    async def plan(self, client: PoolClient) -> MachinePlan:
        """Raises UnknownMachine, SomebodyElses, StakeStillLocked."""
        machine = await client.provider().own(self.machine)
        leaves = unstakable_at(machine, await client.params(machine.params))
        if leaves is not None and await client.now() < leaves:
            raise StakeStillLocked(machine.id, leaves)
        return MachinePlan(client, machine, lambda: client.pool.unstake(machine.id))


# --------------------------------------------------------------------------------------------- another host, or key


@dataclass(frozen=True)
class ChangeOperator(Request["OperatorChanged"]):
    """Give a machine the operator's key of another host, or of its own made anew, at once. The old one can do nothing
    any more. Works on a retired machine too.

    described: the machine.json of the new one, or where it lies. gas: wei for it; `None` is enough for 200 leases.
    """

    machine: int
    described: MachineFile | Path | str
    gas: int | None = None

    async def plan(self, client: PoolClient) -> ChangeOperatorPlan:
        """Raises DocumentInvalid, UnknownMachine, SomebodyElses, AlreadyJoined."""
        described = MachineFile.of(self.described)
        key, provider = to_checksum_address(described.operator), client.provider()
        machine = await provider.own(self.machine)
        consent = described.consent_for(client.account, client.deployment.controller, await client.now())
        others = [served for served in await neighbours(client, key) if served.machine.id != machine.id]
        record = await (await client.index()).machine(machine.id)
        own = await client.machines().hardware(record) if record is not None and others else None
        provider.check_neighbours(own or described.facts, machine.gpus, others)
        gas = await provider.operator_gas(key) if self.gas is None else self.gas
        return ChangeOperatorPlan(client, machine, key, consent, gas)


@dataclass(frozen=True)
class ChangeOperatorPlan(Plan["OperatorChanged"]):
    """Another key for a machine's agent. operator: its account. gas: wei that it is sent."""

    client: PoolClient
    machine: Machine
    operator: str
    consent: Consent
    gas: int

    def to_json(self) -> dict[str, Json]:
        return {
            "machine": self.machine.id,
            "operator": self.operator,
            "before": self.machine.operator,
            "operator_gas": format_amount(self.gas, 18),
        }

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.set_operator(self.machine.id, self.operator, self.consent)
        changed = OperatorChanged(receipt, replace(self.machine, operator=self.operator), None)
        yield changed
        if self.gas and self.client.sender is not None:
            yield replace(changed, funding=await self.client.sender.send(self.operator, b"", self.gas))


@dataclass(frozen=True)
class OperatorChanged(MachineChanged):
    """The machine has another key. Its contact has to be published anew: that is signed by the operator. funding: what
    sent the key gas money, if it needed any.
    """

    funding: Receipt | None


@dataclass(frozen=True)
class PublishDocuments(Request["MachineChanged"]):
    """Publish a machine's documents again, where they have changed: hardware, contact.

    Other hardware has to be measured anew, and raises the revision of the terms. described: machine.json, or where it
    lies.
    """

    machine: int
    described: MachineFile | Path | str

    async def plan(self, client: PoolClient) -> PublishPlan:
        """Raises DocumentInvalid, UnknownMachine, SomebodyElses, DescribesAnother: it has another operator."""
        described, machine = MachineFile.of(self.described), await client.provider().own(self.machine)
        record = await (await client.index(again=True)).machine(machine.id)
        if record is None:
            raise MachineUnavailable(
                f"The index does not know machine {machine.id}", "try again in a moment."
            )
        if described.operator.lower() != machine.operator.lower():
            raise DescribesAnother(machine.id, described.operator, machine.operator)
        hardware, contact = canonical(described.hardware), canonical(described.contact)
        return PublishPlan(
            client,
            machine,
            hardware if sha256(hardware).digest() != record.hardware else None,
            contact if sha256(contact).digest() != record.contact else None,
        )


@dataclass(frozen=True)
class PublishPlan(Plan["MachineChanged"]):
    """Documents that would be published; `None` for one that is as it was."""

    client: PoolClient
    machine: Machine
    hardware: bytes | None
    contact: bytes | None

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of those that changed."""
        return tuple(name for name in ("hardware", "contact") if getattr(self, name) is not None)

    @property
    def cautions(self) -> tuple[str, ...]:  # type: ignore[override]  # by what changed
        """That a machine with other hardware has to be measured anew."""
        return () if self.hardware is None else ("It will be unverified until a committee has measured it.",)

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine.id, "changed": list(self.changed)}

    async def check(self) -> None:
        if not self.changed:
            raise NothingToDo()

    async def steps(self) -> AsyncIterator[Step]:
        calls = []
        for document, function in ((self.hardware, "setHardware"), (self.contact, "setContact")):
            if document is not None:
                await self.client.ipfs.put_block(document)
                calls.append(self.client.pool.encode(function, self.machine.id, sha256(document).digest()))
        receipt = await self.client.pool.multicall(calls)
        yield MachineChanged(receipt, await self.client.pool.machine_of(self.machine.id))
