"""`leasehold challenge`, `prove`, `faults`, `fault`, `compensate`: when a machine fails its tenants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from leasehold.chain import Fault, FaultState, LeaseState, Receipt, format_lease, parse_lease
from leasehold.cli._doing import Done, carry_out, pay_in
from leasehold.cli._faults import costs, fault_json, lasted, leases_said, sink_said, what_next
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, FaultId, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, SIGNS, WALLET, shared
from leasehold.cli._shown import transaction, utc
from leasehold.client import (
    PROVE_TIME,
    ROLL_AFTER,
    PoolClient,
    answer_until,
    applicable,
    arbiter_of,
    current,
    executable,
)
from leasehold.errors import NoChallenge, NotDown, NothingToApply, WrongFaultState
from leasehold.market import InvalidInput, format_amount, format_duration


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(challenge)
    app.command()(prove)
    app.command("faults")(list_faults)
    app.command("fault")(show_fault)
    app.command()(compensate)


@shared(SENDS | PROPOSES)
async def challenge(
    call: Invocation,
    machine: MachineId,
    lease: Annotated[
        str | None, typer.Option("--lease", metavar="LEASE", help="Which of yours there; by default any.")
    ] = None,
    approve: Approve = False,
) -> None:
    """Ask the operator of a machine that you rent for a sign of life, with a bond.

    If it answers in time, the bond is gone. If not, you have the bond back, an outage runs since now, and you
    share in what it costs the provider.
    """
    named = parse_lease(lease) if lease else 0
    async with open_session(call, signs=True) as session:
        money, faults = session.money, await session.pool.faults()
        number = await _own_lease(call, session, machine, named)
        bond = await faults.bond_of(machine, session.account)
        rules = await session.pool.params((await session.pool.machine_of(machine)).params)
        paid = await pay_in(session, bond, approve=approve or call.dry_run)
        call.out.pairs(
            f"Challenge of machine {machine}, as the tenant of lease {format_lease(number)}",
            (
                ("bond", paid.said(session)),
                ("the operator has", f"{format_duration(rules.challenge_window)} to answer"),
                ("it answers", "the bond is gone; another challenge within a day takes twice as much"),
                (
                    "it does not",
                    f"`leasehold prove {machine}` within an hour: the bond comes back, and the machine is down",
                ),
            ),
        )

        async def send() -> Done:
            await paid.send(session)
            number_, receipt = await faults.challenge(machine, number)
            until = await session.now() + rules.challenge_window
            then = f"then run `leasehold prove {machine}` within an hour"
            said = f"Challenge {number_} stands until about {utc(until)}; {then}."
            return Done(receipt, said, {"challenge": number_, "until": until})

        document: dict[str, Json] = {
            "machine": machine,
            "lease": format_lease(number),
            "bond": format_amount(bond, money.decimals),
            "token": money.symbol,
        }
        question = f"Put {money.show(bond)} at stake and challenge machine {machine}?"
        await carry_out(call, question, document, send)


async def _own_lease(call: Invocation, session: PoolClient, machine: int, named: int) -> int:
    """A running lease of the account's there, the one that is named if one is."""
    index = await session.index()
    now = await session.now()
    for record in await index.leases(machine=machine, tenant=session.account, live=True):
        runs = record.lease.state is LeaseState.ACTIVE and now < record.lease.end
        if runs and named in (0, record.lease.id):
            return record.lease.id
    which = (
        f"Lease {format_lease(named)} is no running lease of yours" if named else "You have no running lease"
    )
    raise InvalidInput(
        f"{which} on machine {machine}, and only its tenants challenge it: see `leasehold leases`."
    )


@shared(SIGNS)
async def prove(call: Invocation, machine: MachineId) -> None:
    """Say that nobody answered a challenge in time: the machine is down from then on. Anyone may send it.

    An hour after the last moment for an answer the question is over: then only the bond comes back.
    """
    async with open_session(call, signs=True) as session:
        faults = await session.pool.faults()
        standing = await faults.challenge_of(machine)
        if not standing.at:
            raise NoChallenge(machine=machine)
        over = await session.now() > await answer_until(session, machine, standing) + PROVE_TIME

        async def send() -> Done:
            fault, receipt = await faults.prove(machine)
            said = (
                f"Machine {machine} is down (fault {fault})."
                if fault
                else "It moves nothing: an hour has passed since, or the machine had retired by then."
            )
            return Done(
                receipt, f"{said} The bond is back in the challenger's ledger.", {"fault": fault or None}
            )

        question = f"Prove that machine {machine} did not answer?"
        if over:
            question = (
                f"Nobody proved within an hour that machine {machine} did not answer. Send the bond back?"
            )
        await carry_out(call, question, {"machine": machine, "over": over}, send)


@shared(ANSWERS | WALLET)
async def list_faults(
    call: Invocation,
    machine: Annotated[
        int | None, typer.Argument(metavar="[MACHINE]", min=1, help="Of this machine only.")
    ] = None,
) -> None:
    """List the outages and other faults of the pool's machines, and what they cost."""
    async with open_session(call, account=False) as session:
        index = await session.index()
        money = session.money
        found = [await current(session, each) for each in await index.faults(machine=machine)]
        call.out.answer([fault_json(each, money) for each in found])
        call.out.table(
            (">fault", ">machine", "kind", "state", "when", ">costs"),
            [
                (
                    str(each.id),
                    str(each.machine),
                    f"{fault_json(each, money)['kind']}",
                    each.state.name.lower(),
                    lasted(each),
                    costs(each, money),
                )
                for each in found
            ],
            empty="No machine has failed." if machine is None else f"Machine {machine} has not failed.",
        )


@shared(ANSWERS | WALLET)
async def show_fault(call: Invocation, fault: FaultId) -> None:
    """Show a fault: what happened, what it costs and whom it goes to, and what can be done next."""
    async with open_session(call, account=False) as session:
        found = await session.fault(fault)
        index = await session.index()
        record, losses = await index.fault(fault), await index.losses(fault=fault)
        now, money = await session.now(), session.money
        parts = (record.pot, record.reported, record.rest) if record else (0, 0, 0)
        arbiter, sink = await arbiter_of(session, found), record.sink if record else None
        shares = [format_amount(each, money.decimals) for each in parts]
        call.out.answer(
            {
                **fault_json(found, money),
                "to_tenants": shares[0],
                "to_reporters": shares[1],
                "rest": shares[2],
                "rest_to": sink,
                "arbiter": arbiter,
                "next": what_next(found, now, arbiter),
                "losses": [
                    {
                        "lease": format_lease(each.lease),
                        "tenant": each.tenant,
                        "part": format_amount(each.part, money.decimals),
                        "credited": format_amount(each.amount, money.decimals),
                    }
                    for each in losses
                ],
            }
        )
        if call.out.as_json:
            return
        executed = found.state is FaultState.EXECUTED
        went = f"tenants {shares[0]}, reporters {shares[1]}, {sink_said(sink)} {shares[2]} {money.symbol}"
        call.out.pairs(
            f"Fault {fault}",
            (
                ("machine", str(found.machine)),
                ("kind", f"{fault_json(found, money)['kind']}"),
                ("when", lasted(found)),
                ("state", found.state.name.lower()),
                ("costs", costs(found, money)),
                *((("went to", went),) if executed else ()),
                ("judged by", f"version {found.rules} of the pool's parameters"),
                ("arbiter", arbiter or "nobody"),
                ("next", what_next(found, now, arbiter)),
            ),
        )
        call.out.table(
            ("lease", "tenant", ">part of the slash", ">credited"),
            [
                (
                    format_lease(each.lease),
                    each.tenant,
                    money.show(each.part, places=6),
                    money.show(each.amount, places=6),
                )
                for each in losses
            ],
            empty="No lease has registered a loss.",
        )


@dataclass(frozen=True)
class Step:
    """One transaction that settles a part of a fault."""

    name: str
    said: str
    send: Callable[[], Awaitable[Receipt]]


@shared(SENDS)
async def compensate(
    call: Invocation,
    fault: Annotated[
        int | None, typer.Argument(metavar="[FAULT]", min=1, help="By default all that touched your leases.")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="For all tenants of the machine, not only for you.")
    ] = False,
) -> None:
    """Settle what outages have done to your leases, as far as it can be settled now.

    Takes them off the bills, registers what you lost, carries out slashes whose time has come and credits your
    ledger with your part. Each step is a transaction of its own, and anyone may send it for you.
    """
    async with open_session(call, signs=True) as session:
        numbers = [fault] if fault else await _touching(call, session)
        before = await session.pool.balance_of(session.account)
        sent: list[dict[str, Json]] = []
        for number in numbers:
            await _settle(call, session, number, everyone, sent)
        money = session.money
        gained = await session.pool.balance_of(session.account) - before
        call.out.answer(
            {
                "steps": sent,
                "gained": format_amount(max(0, gained), money.decimals),
                "token": money.symbol,
            }
        )
        if not sent:
            call.out.say("There is nothing to settle now: see `leasehold faults`.")
        elif gained > 0:
            call.out.say(f"{money.show(gained)} came into your ledger.")


async def _touching(call: Invocation, session: PoolClient) -> list[int]:
    """Faults of the machines on which the account has or had leases."""
    index = await session.index()
    machines = {record.lease.machine for record in await index.leases(tenant=session.account)}
    return [each.fault for each in await index.faults() if each.machine in machines]


async def _settle(
    call: Invocation,
    session: PoolClient,
    number: int,
    everyone: bool,
    sent: list[dict[str, Json]],
) -> None:
    """Take one step after the other for as long as there is one."""
    taken: set[str] = set()
    while True:
        step = await _next_step(call, session, await session.fault(number), everyone, taken)
        if step is None:
            return
        taken.add(step.name)
        entry: dict[str, Json] = {"fault": number, "step": step.name, "said": step.said}
        if call.dry_run:
            call.out.say(f"Would {step.said}.")
            sent.append(entry)
            return
        call.out.confirm(f"{step.said[0].upper()}{step.said[1:]}?")
        try:
            with call.out.working("Waiting for the transaction"):
                receipt = await step.send()
        except (NothingToApply, WrongFaultState, NotDown):
            call.out.say("Somebody else has done that meanwhile.")
            await session.index(again=True)
            continue
        await session.index(again=True)
        sent.append({**entry, **transaction(receipt)})
        call.out.say(f"Done: {step.said}.")


async def _next_step(
    call: Invocation, session: PoolClient, fault: Fault, everyone: bool, taken: set[str]
) -> Step | None:
    index, faults, now = await session.index(), await session.pool.faults(), await session.now()
    if fault.state is FaultState.RUNNING:
        if now <= fault.from_ + ROLL_AFTER or "roll" in taken:
            return None
        return Step("roll", f"file the outage of machine {fault.machine}", lambda: faults.roll(fault.machine))
    tenant = None if everyone else session.account
    losses = await index.losses(fault=fault.id)
    records = await index.leases(machine=fault.machine, tenant=tenant)
    leases = applicable(fault, [record.lease for record in records], [each.lease for each in losses])
    if leases and "apply" not in taken:
        said = f"take outage {fault.id} off the bill of {leases_said(leases)}, and register what was lost"
        return Step("apply", said, lambda: faults.apply_outage(fault.id, leases))
    if executable(fault, now) and "execute" not in taken:
        amount = session.money.show(fault.amount, places=6)
        said = f"carry out fault {fault.id}: {amount} of machine {fault.machine}'s stake"
        return Step("execute", said, lambda: faults.execute(fault.id))
    owed = [
        each.lease
        for each in losses
        if each.part and not each.amount and (tenant is None or each.tenant == session.account)
    ]
    if fault.state is FaultState.EXECUTED and fault.pot and owed and "compensate" not in taken:
        said = f"credit the part that {leases_said(owed)} have in fault {fault.id}"
        return Step("compensate", said, lambda: faults.compensate(fault.id, owed))
    return None
