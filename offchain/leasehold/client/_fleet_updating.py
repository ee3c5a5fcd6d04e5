"""A fleet is brought up to its file and to what its hosts are: documents that changed, terms that are others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.chain import Machine
from leasehold.client._errors import CannotAct, NothingToDo
from leasehold.client._fleet import Fleet, FleetHost
from leasehold.client._fleet_joining import HostLeft, machine_file, machines_of, own_in_service
from leasehold.client._own_machines import PublishDocuments, PublishPlan, SetTerms, SetTermsPlan
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._shells import HostAnswer, Shells, ask_each
from leasehold.errors import LeaseholdError
from leasehold.market import Contact, Json, MachineFile, Money, canonical, parse_document

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class HostUpdated(Step):
    """What was changed of a host's machine, in words."""

    host: str
    machine: int
    changed: tuple[str, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"host": self.host, "machine": self.machine, "changed": list(self.changed)}


@dataclass(frozen=True)
class FleetUpdated(Step):
    """All hosts have had their turn."""

    updated: tuple[HostUpdated, ...]
    left: tuple[HostLeft, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "updated": [host.to_json(money) for host in self.updated],
            "left": [host.to_json(money) for host in self.left],
        }


@dataclass(frozen=True)
class ChangingHost:
    """A host whose machine would change. documents, terms: `None` where they are as they should be."""

    name: str
    machine: Machine
    documents: PublishPlan | None
    terms: SetTermsPlan | None

    @property
    def changes(self) -> tuple[str, ...]:
        """What would change, in words."""
        documents = () if self.documents is None else self.documents.changed
        return (*documents, *(("terms",) if self.terms is not None else ()))


@dataclass(frozen=True)
class FleetUpdate(Request["FleetUpdated"]):
    """Publish what has changed of a fleet's hosts, and give their machines the terms that the file names."""

    fleet: Fleet
    shells: Shells

    async def plan(self, client: PoolClient) -> FleetUpdatePlan:
        """Raises CannotAct: it acts for another account."""
        if client.other is not None:
            raise CannotAct("A fleet is the wallet's own", "use the provider's wallet.")
        mine = await own_in_service(client)
        known = {host.name: machines_of(client, host, mine) for host in self.fleet.hosts}
        errands = [(host, machine) for host in self.fleet.hosts for machine in known[host.name]]
        with client.observer.working("Asking the hosts what they are"):
            answers = await _described_again(errands, self.shells, self.fleet.at_once, client.account)
        parts = [_unknown(host) for host in self.fleet.hosts if not known[host.name]]
        for (host, machine), answer in zip(errands, answers, strict=True):
            parts.append(await _part(client, host, machine, machine_file(answer)))
        return FleetUpdatePlan(
            client,
            tuple(part for part in parts if isinstance(part, ChangingHost)),
            tuple(part for part in parts if isinstance(part, HostLeft)),
        )


async def _described_again(
    errands: Sequence[tuple[FleetHost, Machine]], shells: Shells, at_once: int, account: str
) -> list[HostAnswer]:
    """Each host is asked about its own machines: what it says of others is never asked for."""
    describe = ("leasehold-agent", "describe", "--owner", account, "--machine")
    commands = [(host, (*describe, str(machine.id))) for host, machine in errands]
    answers = {place: answer async for place, answer in ask_each(commands, shells, at_once)}
    return [answers[place] for place in range(len(errands))]


def _unknown(host: FleetHost) -> ChangingHost | HostLeft:
    why = "which machine it is is not known here: it has not joined from here, and the file does not say"
    return HostLeft(host.name, why)


async def _part(
    client: PoolClient, host: FleetHost, machine: Machine, said: MachineFile | HostLeft
) -> ChangingHost | HostLeft:
    if isinstance(said, HostLeft):
        return said
    try:
        documents = await _newer(client, said, await PublishDocuments(machine.id, said).plan(client))
        terms = None
        if host.asked.over(machine.terms, client.money) != machine.terms:
            terms = await SetTerms(machine.id, host.asked).plan(client)
    except LeaseholdError as error:
        return HostLeft(host.name, str(error))
    part = ChangingHost(host.name, machine, documents if documents.changed else None, terms)
    return part if part.changes else HostLeft(host.name, "nothing has changed", problem=False)


async def _newer(client: PoolClient, said: MachineFile, plan: PublishPlan) -> PublishPlan:
    """The plan without a contact document that is as the one before, but for when it was written and what was
    measured then: each time that a host describes itself both are others.
    """
    record = await (await client.index()).machine(plan.machine.id)
    if plan.contact is None or record is None:
        return plan
    try:
        before = await client.machines().contact(record)
        now = parse_document(Contact, canonical(said.contact), "the contact document")
    except LeaseholdError:  # what was published cannot be had: it is published anew
        return plan
    passing = {"issued_at": before.issued_at, "measured": before.measured}
    if now.model_copy(update=passing) != before:
        return plan
    return replace(plan, contact=None)


@dataclass(frozen=True)
class FleetUpdatePlan(Plan["FleetUpdated"]):
    """Hosts that would change, and those that are left."""

    client: PoolClient
    changing: tuple[ChangingHost, ...]
    left: tuple[HostLeft, ...]

    @property
    def cautions(self) -> tuple[str, ...]:  # type: ignore[override]  # by what the hosts said
        """What is wrong with hosts that are left out, and which would have to be measured anew."""
        anew = [
            f"{host.name}: machine {host.machine.id} will be unverified until a committee has measured it."
            for host in self.changing
            if host.documents is not None and host.documents.hardware is not None
        ]
        return (*(f"{host.host}: {host.why}" for host in self.left if host.problem), *anew)

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "changing": [
                {"host": host.name, "machine": host.machine.id, "changes": list(host.changes)}
                for host in self.changing
            ],
            "left": [host.to_json(money) for host in self.left],
        }

    async def check(self) -> None:
        """Raises NothingToDo."""
        if not self.changing:
            raise NothingToDo()

    async def steps(self) -> AsyncIterator[Step]:
        """One host after the other. What one is refused the others are not."""
        updated: list[HostUpdated] = []
        left = list(self.left)
        for host in self.changing:
            try:
                for plan in (host.documents, host.terms):
                    if plan is not None:
                        await plan.check()
                        async for _ in plan.steps():
                            pass
            except LeaseholdError as error:
                left.append(HostLeft(host.name, str(error)))
                yield left[-1]
                continue
            updated.append(HostUpdated(host.name, host.machine.id, host.changes))
            yield updated[-1]
        yield FleetUpdated(tuple(updated), tuple(left))
