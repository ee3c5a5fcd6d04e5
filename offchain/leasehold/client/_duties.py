"""What a machine's provider and operator owe when it fails: say so, answer, say that it is back, appeal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import ZERO_ADDRESS, Challenge, Fault, FaultState, Machine, MachineStatus, Signer
from leasehold.chain.typed import Answer, sign
from leasehold.client._errors import NotItsKeeper, OperatorOnly
from leasehold.client._faults import PROVE_TIME, arbiter_of
from leasehold.client._ledger import check_ledger, from_ledger, pay_in
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.errors import (
    AlreadyDown,
    AppealOver,
    ChallengeLapsed,
    ChallengeStands,
    MachineNotStalled,
    NobodyRules,
    NoChallenge,
    UnknownMachine,
    WrongFaultState,
)
from leasehold.market import Json, Money, Payment, fault_cost, fault_json, fault_when, format_duration

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

OUTAGE_SCALE = ((420, 200, 400), (2 * 86_400, 400, 800), (5 * 86_400, 3_000, 6_000), (None, 5_000, 10_000))
"""What an outage costs: up to so many seconds, said by oneself, proven by others; basis points of the stake."""


async def tended(client: PoolClient, number: int, *, operator_only: bool = False) -> Machine:
    """The machine, if the account is its operator, or its provider where that is enough.

    Raises:
        UnknownMachine. NotItsKeeper: it is somebody else's. OperatorOnly: its agent does this, and its provider not.
    """
    machine = await client.pool.machine_of(number)
    if machine.status is MachineStatus.NONE:
        raise UnknownMachine(number)
    account = client.account.lower()
    if account == machine.operator.lower() or (account == machine.provider.lower() and not operator_only):
        return machine
    if operator_only:
        raise OperatorOnly(number, machine.operator, client.account)
    raise NotItsKeeper(number, machine.provider, machine.operator, client.account)


# ----------------------------------------------------------------------------------------------------------- report


@dataclass(frozen=True)
class ReportOutage(Request["OutageReported"]):
    """As the operator, say that a machine is down from now on: half as dear as when others prove it.

    Its leases are not billed from now on. `RecoverMachine` ends it.
    """

    machine: int

    async def plan(self, client: PoolClient) -> ReportOutagePlan:
        """Raises UnknownMachine, OperatorOnly, AlreadyDown, ChallengeStands: an answer is waited for."""
        machine, faults = await tended(client, self.machine, operator_only=True), await client.pool.faults()
        if running := await faults.running_fault(machine.id):
            raise AlreadyDown(machine=machine.id, fault=running)
        challenge = await faults.challenge_of(machine.id)
        until = await client.pool.answer_until(machine.id, challenge.at) if challenge.at else 0
        if challenge.at and await client.now() <= until + PROVE_TIME:  # later it is over, and gives way
            raise ChallengeStands(machine=machine.id, until=until)
        most = (await client.params(machine.params)).max_slash_bps
        return ReportOutagePlan(client, machine, most, (await faults.window_of(machine.id)).charged_bps)


@dataclass(frozen=True)
class ReportOutagePlan(Plan["OutageReported"]):
    """An outage that would begin. most: of the stake in seven days; charged: what these seven days cost already; basis
    points.
    """

    client: PoolClient
    machine: Machine
    most: int
    charged: int

    @property
    def scale(self) -> tuple[tuple[int | None, int, int], ...]:
        """`OUTAGE_SCALE` as far as the rules let it go."""
        return tuple(
            (until, min(own, self.most), min(proven, self.most)) for until, own, proven in OUTAGE_SCALE
        )

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine.id, "charged_bps": self.charged}

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it costs by how long it lasts: rows for people."""
        rows = []
        for until, own, proven in self.scale:
            amount = self.client.money.show(self.machine.stake * own // 10_000)
            name = "longer" if until is None else f"down for up to {format_duration(until)}"
            rows.append(
                (name, f"{amount} ({own / 100:g} % of the stake; {proven / 100:g} % if proven by others)")
            )
        return (*rows, ("less", f"what the last seven days cost already: {self.charged / 100:g} %"))

    async def steps(self) -> AsyncIterator[Step]:
        fault, receipt = await (await self.client.pool.faults()).report_outage(self.machine.id)
        yield OutageReported(receipt, fault)


@dataclass(frozen=True)
class OutageReported(Sent):
    """The machine is down, by its operator's own word."""

    fault: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"fault": self.fault}


# ----------------------------------------------------------------------------------------------------------- answer


@dataclass(frozen=True)
class AnswerChallenge(Request["ChallengeAnswered"]):
    """Answer a tenant's challenge with the operator's key, as the machine's agent does by itself.

    operator: what signs for the machine, where another account sends.
    """

    machine: int
    operator: Signer | None = None

    async def plan(self, client: PoolClient) -> AnswerPlan:
        """Raises NoChallenge, UnknownMachine, OperatorOnly, ChallengeLapsed."""
        challenge = await (await client.pool.faults()).challenge_of(self.machine)
        if challenge.challenger == ZERO_ADDRESS:
            raise NoChallenge(machine=self.machine)
        if self.operator is None:
            await tended(client, self.machine, operator_only=True)
        until = await client.pool.answer_until(self.machine, challenge.at)
        if await client.now() > until:
            raise ChallengeLapsed(machine=self.machine, deadline=until)
        return AnswerPlan(client, self, challenge, until)


@dataclass(frozen=True)
class AnswerPlan(Plan["ChallengeAnswered"]):
    """A challenge that stands `until` (unix seconds)."""

    client: PoolClient
    request: AnswerChallenge
    challenge: Challenge
    until: int

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.request.machine, "challenge": self.challenge.id, "until": self.until}

    async def steps(self) -> AsyncIterator[Step]:
        faults, machine, operator = (
            await self.client.pool.faults(),
            self.request.machine,
            self.request.operator,
        )
        if operator is None:
            yield ChallengeAnswered(await faults.answer(machine))
            return
        header = await self.client.rpc.header()  # its time: a proof from the future is refused
        at = header.timestamp if header else await self.client.now()
        word = Answer(operator.address, machine, self.challenge.id, at)
        proof = await sign(word, self.client.domain, operator)
        yield ChallengeAnswered(await faults.answer(machine, at, proof))


@dataclass(frozen=True)
class ChallengeAnswered(Sent):
    """The challenge is over: a tenth of its bond is the provider's."""


# ---------------------------------------------------------------------------------------------------------- recover


@dataclass(frozen=True)
class RecoverMachine(Request["Recovered"]):
    """Say that a machine works again: ends its outage, which fixes what that costs, or the stall after a lease that
    was not started. The provider or the operator sends this.
    """

    machine: int

    async def plan(self, client: PoolClient) -> RecoverPlan:
        """Raises UnknownMachine, NotItsKeeper, MachineNotStalled: it works."""
        machine = await tended(client, self.machine)
        if not (machine.down or machine.stalled):
            raise MachineNotStalled(machine=machine.id)
        fault = await (await client.pool.faults()).running_fault(machine.id) if machine.down else 0
        return RecoverPlan(client, machine, fault)


@dataclass(frozen=True)
class RecoverPlan(Plan["Recovered"]):
    """A machine that would take leases again. fault: which runs, or 0 for a stall."""

    client: PoolClient
    machine: Machine
    fault: int

    def to_json(self) -> dict[str, Json]:
        return {"machine": self.machine.id}

    async def steps(self) -> AsyncIterator[Step]:
        if not self.fault:
            yield Recovered(await self.client.pool.recover(self.machine.id), None)
            return
        receipt = await (await self.client.pool.faults()).recover(self.machine.id)
        yield Recovered(receipt, await self.client.fault(self.fault))


@dataclass(frozen=True)
class Recovered(Sent):
    """The machine takes leases again. fault: the outage, with what it costs; `None` after a stall."""

    fault: Fault | None

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"fault": None} if self.fault is None else fault_json(self.fault, money)


# ----------------------------------------------------------------------------------------------------------- appeal


@dataclass(frozen=True)
class Appeal(Request["AppealFiled"]):
    """Appeal against a fault of a machine of one's own, with a bond out of the ledger; what that lacks comes from the
    wallet first. Its arbiter rules; silence lets it stand and gives the bond back.
    """

    fault: int

    async def plan(self, client: PoolClient) -> AppealPlan:
        """Raises UnknownFault, SomebodyElses, WrongFaultState, AppealOver, NobodyRules, NotEnoughFunds."""
        fault = await client.fault(self.fault)
        await client.provider().own(fault.machine)
        if fault.state is not FaultState.FILED:
            raise WrongFaultState(fault=fault.id, state=fault.state)
        if await client.now() > fault.deadline:
            raise AppealOver(fault=fault.id, deadline=fault.deadline)
        if (arbiter := await arbiter_of(client, fault)) is None:
            raise NobodyRules(fault=fault.id)
        bond = await from_ledger(client, (await client.params(fault.rules)).bond)
        return AppealPlan(client, fault, arbiter, bond)


@dataclass(frozen=True)
class AppealPlan(Plan["AppealFiled"]):
    """An appeal, on which `arbiter` would rule. payment: the bond."""

    client: PoolClient
    fault: Fault
    arbiter: str
    payment: Payment

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {"fault": self.fault.id, "bond": money.exact(self.payment.amount), "token": money.symbol}

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What is appealed against, and what may come of it: rows for people."""
        money = self.client.money
        return (
            ("when", fault_when(self.fault)),
            ("costs", fault_cost(self.fault, money)),
            ("bond", self.payment.said(money)),
            ("arbiter", self.arbiter),
            ("it is dropped", "nothing is slashed, and the bond comes back"),
            ("it stands", "the bond is lost"),
            ("nobody rules", "it stands, and the bond comes back"),
        )

    async def check(self) -> None:
        await check_ledger(self.client, self.payment)

    async def steps(self) -> AsyncIterator[Step]:
        async for step in pay_in(self.client, self.payment):
            yield step
        receipt = await (await self.client.pool.faults()).appeal(self.fault.id)
        yield AppealFiled(receipt, await self.client.fault(self.fault.id))


@dataclass(frozen=True)
class AppealFiled(Sent):
    """The arbiter may rule, until the fault's deadline."""

    fault: Fault

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"deadline": self.fault.deadline}
