"""A whole fleet joins: each host describes itself over ssh, one look at what it takes, one stake after the other.

What a host says of itself is a stranger's word until it is registered, and the owner's money is what it costs. So the
plan names each host and its stake; two hosts with one key are one host; and what was agreed to bounds what is taken,
whatever changes meanwhile. Cut off, a second run goes on: who has joined is passed over, and given gas if it has none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth_utils.address import to_checksum_address

from leasehold.chain import Machine, MachineStatus, Receipt
from leasehold.client._errors import CannotAct, PlanStale
from leasehold.client._fleet import Fleet, FleetHost
from leasehold.client._joining import Join, Joined, JoinPlan, Registered
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._shells import HostAnswer, Shells, ask_hosts
from leasehold.errors import LeaseholdError
from leasehold.market import (
    Hardware,
    Json,
    MachineFile,
    Money,
    Payment,
    canonical,
    format_amount,
    parse_document,
    stake_shortfall,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_MODEL = 32  # letters of it that are shown


@dataclass(frozen=True)
class HostLeft(Step):
    """A host that is left as it is. why: in a sentence. problem: whether something is wrong with it."""

    host: str
    why: str
    problem: bool = True

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"host": self.host, "why": self.why, "problem": self.problem}


@dataclass(frozen=True)
class HostJoined(Step):
    """A host of the fleet is in the pool as that machine. funding: what sent its agent gas, if anything did."""

    host: str
    machine: int
    funding: Receipt | None = None

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"host": self.host, "machine": self.machine}


@dataclass(frozen=True)
class FleetJoined(Step):
    """All hosts have had their turn."""

    joined: tuple[HostJoined, ...]
    left: tuple[HostLeft, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "joined": [host.to_json(money) for host in self.joined],
            "left": [host.to_json(money) for host in self.left],
        }


async def described(fleet: Fleet, shells: Shells, account: str) -> dict[str, MachineFile | HostLeft]:
    """What each host says of itself for that provider, or why it says nothing that counts; in the fleet's order.

    A key that two hosts have is neither's: one of them may have copied the other's word.
    """
    answers: dict[str, MachineFile | HostLeft] = {}
    async for answer in ask_hosts(fleet, shells, ("leasehold-agent", "describe", "--owner", account)):
        answers[answer.host.name] = machine_file(answer)
    keys: dict[str, list[str]] = {}
    for name, said in answers.items():
        if isinstance(said, MachineFile):
            keys.setdefault(to_checksum_address(said.operator), []).append(name)
    for key, names in keys.items():
        for name in names if len(names) > 1 else ():
            others = ", ".join(other for other in sorted(names) if other != name)
            answers[name] = HostLeft(name, f"it shows the operator's key {key}, and so does {others}")
    return {host.name: answers[host.name] for host in fleet.hosts}


def machine_file(answer: HostAnswer) -> MachineFile | HostLeft:
    """The machine.json that a host printed."""
    name = answer.host.name
    if not answer.well:
        return HostLeft(name, answer.why)
    try:
        return MachineFile.read(answer.said, f"what {name} describes")
    except LeaseholdError as error:
        return HostLeft(name, error.problem)


async def own_in_service(client: PoolClient) -> list[Machine]:
    """The account's machines that are not retired."""
    records = await (await client.index(again=True)).machines(provider=client.account)
    machines = [record.machine for record in records]
    return [machine for machine in machines if machine.status is not MachineStatus.RETIRED]


def machines_of(client: PoolClient, host: FleetHost, mine: Iterable[Machine]) -> list[Machine]:
    """Those of the account's machines that the host serves, by what the file says, or by the key that it showed when
    it joined from here; none where neither is known.
    """
    known = client.home.fleet(client.deployment).operators().get(host.target)
    if host.machine is not None:
        known = next((machine.operator for machine in mine if machine.id == host.machine), None)
    return [machine for machine in mine if machine.operator == known]


@dataclass(frozen=True)
class JoiningHost:
    """A host that would join: what it asks and what that takes, as of one machine."""

    host: FleetHost
    plan: JoinPlan

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def model(self) -> str:
        """What it says that it has: the model of its first card, or of its CPU."""
        hardware = parse_document(Hardware, canonical(self.plan.described.hardware), self.name)
        return (hardware.gpus[0].model if hardware.gpus else hardware.cpu.model)[:_MODEL]


@dataclass(frozen=True)
class UnfundedHost:
    """A host that has joined, and whose key was never sent gas: a run before was cut off there. gas: wei."""

    name: str
    machine: Machine
    gas: int


@dataclass(frozen=True)
class FleetJoin(Request["FleetJoined"]):
    """Stake and register every host of a fleet that is not in the pool yet. Each consents to the client's account."""

    fleet: Fleet
    shells: Shells

    async def plan(self, client: PoolClient) -> FleetJoinPlan:
        """Raises NotEnoughFunds: the account cannot stake for all. CannotAct: it acts for another account."""
        if client.other is not None:
            raise CannotAct("A fleet joins for the wallet's own account", "use the provider's wallet.")
        mine = await own_in_service(client)
        known = {host.name: machines_of(client, host, mine) for host in self.fleet.hosts}
        asked = replace(self.fleet, hosts=tuple(host for host in self.fleet.hosts if not known[host.name]))
        with client.observer.working("Asking the hosts what they are"):
            descriptions = await described(asked, self.shells, client.account)
        parts = [
            await (
                _joined(client, host, known[host.name][0])
                if known[host.name]
                else _part(client, host, descriptions[host.name], mine)
            )
            for host in self.fleet.hosts
        ]
        joining = tuple(part for part in parts if isinstance(part, JoiningHost))
        return FleetJoinPlan(
            client,
            joining,
            tuple(part for part in parts if isinstance(part, UnfundedHost)),
            tuple(part for part in parts if isinstance(part, HostLeft)),
            await _payment(client, joining),
        )


async def _part(
    client: PoolClient, host: FleetHost, said: MachineFile | HostLeft, mine: Iterable[Machine]
) -> JoiningHost | UnfundedHost | HostLeft:
    if isinstance(said, HostLeft):
        return said
    operator = to_checksum_address(said.operator)
    noted = client.home.fleet(client.deployment).operators()
    if others := [target for target, key in noted.items() if key == operator and target != host.target]:
        return HostLeft(
            host.name, f"it shows the operator's key {operator}, and {others[0]} joined with that"
        )
    for machine in mine:
        if machine.operator == operator:
            return await _joined(client, host, machine)
    try:
        plan = await Join(said, host.asked, host.gpus, host.smallest_share).plan(client)
    except LeaseholdError as error:
        return HostLeft(host.name, str(error))
    return JoiningHost(host, plan)


async def _joined(client: PoolClient, host: FleetHost, machine: Machine) -> UnfundedHost | HostLeft:
    if await client.rpc.balance(machine.operator):
        return HostLeft(host.name, f"it is machine {machine.id} already", problem=False)
    return UnfundedHost(host.name, machine, await client.provider().operator_gas(machine.operator))


async def _payment(client: PoolClient, joining: Iterable[JoiningHost]) -> Payment | None:
    stake, funds = sum(host.plan.quote.stake for host in joining), await client.provider().funds()
    pulled = max(0, stake - funds.ledger)
    if problem := stake_shortfall(pulled, funds, client.money):
        raise problem
    return Payment(stake, pulled, max(0, pulled - funds.allowance)) if stake else None


@dataclass(frozen=True)
class FleetJoinPlan(Plan["FleetJoined"]):
    """Hosts that would join, those that only need gas, and those that are left. payment: all stakes together."""

    client: PoolClient
    joining: tuple[JoiningHost, ...]
    unfunded: tuple[UnfundedHost, ...]
    left: tuple[HostLeft, ...]
    payment: Payment | None

    @property
    def gas(self) -> int:
        """Wei that the agents are sent."""
        return sum(host.plan.gas for host in self.joining) + sum(host.gas for host in self.unfunded)

    @property
    def cautions(self) -> tuple[str, ...]:  # type: ignore[override]  # by what the hosts said
        """What is wrong with hosts that are left out."""
        return tuple(f"{host.host}: {host.why}" for host in self.left if host.problem)

    def to_json(self) -> dict[str, Json]:
        money, payment = self.client.money, self.payment or Payment(0, 0, 0)
        return {
            "stake": money.exact(payment.amount),
            "from_wallet": money.exact(payment.pulled),
            "operator_gas": format_amount(self.gas, 18),
            "token": money.symbol,
            "joining": [
                {
                    "host": host.name,
                    "model": host.model,
                    "operator": host.plan.described.operator,
                    **host.plan.to_json(),
                }
                for host in self.joining
            ],
            "unfunded": [{"host": host.name, "machine": host.machine.id} for host in self.unfunded],
            "left": [host.to_json(money) for host in self.left],
        }

    async def check(self) -> None:
        """Raises PlanStale: the ledger pays less by now, so that more would come from the wallet."""
        now = await _payment(self.client, self.joining)
        if now is not None and self.payment is not None and now.pulled > self.payment.pulled:
            raise PlanStale()

    async def steps(self) -> AsyncIterator[Step]:
        """One host after the other. What one is refused the others are not."""
        joined: list[HostJoined] = []
        left = list(self.left)
        may_pull = self.payment.pulled if self.payment is not None else 0
        for host in self.joining:
            try:
                now = await _as_agreed(host.plan, may_pull)
                may_pull -= now.payment.pulled  # also where no answer comes: it may be mined all the same
                joined.append(await _join(host))
                yield joined[-1]
            except LeaseholdError as error:
                left.append(HostLeft(host.name, str(error)))
                yield left[-1]
        for unfunded in self.unfunded:
            try:
                joined.append(await _fund(self.client, unfunded))
                yield joined[-1]
            except LeaseholdError as error:
                left.append(HostLeft(unfunded.name, str(error)))
                yield left[-1]
        yield FleetJoined(tuple(joined), tuple(left))


async def _as_agreed(plan: JoinPlan, may_pull: int) -> JoinPlan:
    """The host's plan as it would be now. Raises PlanStale where somebody has agreed to another one."""
    now = await plan.request.plan(plan.client)
    if (now.version, now.quote.stake) != (plan.version, plan.quote.stake) or now.payment.pulled > may_pull:
        raise PlanStale()
    return now


async def _join(host: JoiningHost) -> HostJoined:
    """Raises LeaseholdError: it has not joined. If its agent alone could not be sent gas, a second run sends it."""
    async for _ in host.plan.prepare():
        pass
    client, operator = host.plan.client, to_checksum_address(host.plan.described.operator)
    client.home.fleet(client.deployment).note(
        host.host.target, operator
    )  # before the act, which may not be heard of
    done = None
    try:
        async for step in host.plan.steps():
            if isinstance(step, Registered):
                done = HostJoined(host.name, step.machine, step.funding if isinstance(step, Joined) else None)
    except LeaseholdError:
        if done is None:
            raise
    assert done is not None
    return done


async def _fund(client: PoolClient, host: UnfundedHost) -> HostJoined:
    done = HostJoined(host.name, host.machine.id)
    if client.sender is None or await client.rpc.balance(host.machine.operator):
        return done
    return replace(done, funding=await client.sender.send(host.machine.operator, b"", host.gas))
