"""`leasehold challenge`, `prove`, `faults`, `fault`, `compensate`: when a machine fails its tenants."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import FaultState, format_lease, parse_lease
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._faults import (
    costs,
    fault_json,
    from_ledger_said,
    lasted,
    settlement_json,
    settlement_said,
    sink_said,
    what_next,
)
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, FaultId, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, SIGNS, WALLET, shared
from leasehold.cli._shown import transaction, utc
from leasehold.client import (
    ChallengeMachine,
    FaultsSettled,
    ProveSilence,
    SettledByOthers,
    SettleFaults,
    SettlementDue,
    SettlementMade,
    Step,
    faults_of,
    view_fault,
)
from leasehold.market import AllowanceMissing, format_amount, format_duration


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
    request = ChallengeMachine(machine, parse_lease(lease) if lease else 0)
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        bond, shown = plan.payment, format_lease(plan.lease)
        if bond.approve and not (approve or call.dry_run):
            raise AllowanceMissing(
                f"The ledger lacks {money.show(bond.pulled)}: run `leasehold wallet deposit --approve "
                f"{format_amount(bond.pulled, money.decimals)}` first, or pass --approve."
            )
        call.out.pairs(
            f"Challenge of machine {machine}, as the tenant of lease {shown}",
            (
                ("bond", from_ledger_said(bond, money)),
                ("the operator has", f"{format_duration(plan.window)} to answer"),
                ("it answers", "the bond is gone; another challenge within a day takes twice as much"),
                (
                    "it does not",
                    f"`leasehold prove {machine}` within an hour: the bond comes back, and the machine is down",
                ),
            ),
        )
        document: dict[str, Json] = {
            "machine": machine,
            "lease": shown,
            "bond": format_amount(bond.amount, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Put {money.show(bond.amount)} at stake and challenge machine {machine}?",
            document=document,
            answer=lambda done: {**document, "challenge": done.challenge, "until": done.until},
            said=lambda done: (
                f"Challenge {done.challenge} stands until about {utc(done.until)}; then run `leasehold prove "
                f"{machine}` within an hour."
            ),
            approve=approve,
        )


@shared(SIGNS)
async def prove(call: Invocation, machine: MachineId) -> None:
    """Say that nobody answered a challenge in time: the machine is down from then on. Anyone may send it.

    An hour after the last moment for an answer the question is over: then only the bond comes back.
    """
    async with open_session(call, signs=True) as client:
        plan = await ProveSilence(machine).plan(client)
        question = f"Prove that machine {machine} did not answer?"
        if plan.over:
            question = (
                f"Nobody proved within an hour that machine {machine} did not answer. Send the bond back?"
            )
        document: dict[str, Json] = {"machine": machine, "over": plan.over}
        await carry_out(
            call,
            client,
            plan,
            question=question,
            document=document,
            answer=lambda done: {**document, "fault": done.fault},
            said=lambda done: (
                (
                    f"Machine {machine} is down (fault {done.fault})."
                    if done.fault
                    else "It moves nothing: an hour has passed since, or the machine had retired by then."
                )
                + " The bond is back in the challenger's ledger."
            ),
        )


@shared(ANSWERS | WALLET)
async def list_faults(
    call: Invocation,
    machine: Annotated[
        int | None, typer.Argument(metavar="[MACHINE]", min=1, help="Of this machine only.")
    ] = None,
) -> None:
    """List the outages and other faults of the pool's machines, and what they cost."""
    async with open_session(call, account=False) as session:
        found, money = await faults_of(session, machine), session.money
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
        view, now, money = await view_fault(session, fault), await session.now(), session.money
        found, record, losses, arbiter = view.fault, view.record, view.losses, view.arbiter
        parts = (record.pot, record.reported, record.rest) if record else (0, 0, 0)
        sink = record.sink if record else None
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
    async with open_session(call, signs=True) as client:
        plan, money = await SettleFaults(fault, everyone).plan(client), client.money

        def shown(settled: FaultsSettled) -> dict[str, Json]:
            return {
                "steps": [
                    {**settlement_json(made.settlement, money), **transaction(made.receipt)}
                    for made in settled.made
                ],
                "gained": format_amount(settled.gained, money.decimals),
                "token": money.symbol,
            }

        def follow(step: Step) -> None:
            if isinstance(step, SettlementDue):
                what = settlement_said(step.settlement, money)
                call.out.confirm(f"{what[0].upper()}{what[1:]}?")
            elif isinstance(step, SettledByOthers):
                call.out.say("Somebody else has done that meanwhile.")
            elif isinstance(step, SettlementMade):
                call.out.say(f"Done: {settlement_said(step.settlement, money)}.")

        document = shown(FaultsSettled((), 0))
        if not plan.first:
            call.out.say("There is nothing to settle now: see `leasehold faults`.")
        if call.dry_run:
            for first in plan.first:
                call.out.say(f"Would {settlement_said(first, money)}.")
            document["steps"] = [settlement_json(first, money) for first in plan.first]
        await carry_out(
            call,
            client,
            plan,
            question=None,
            document=document,
            answer=shown,
            said=lambda settled: (
                f"{money.show(settled.gained)} came into your ledger." if settled.gained else None
            ),
            waiting=None,
            on_step=follow,
        )
