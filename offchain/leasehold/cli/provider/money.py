"""`leasehold provider`: stake, notice, collecting."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold import format_lease, parse_lease
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AmountOrAll, Approve, LeaseId, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.wallet import To, withdraw_from_ledger
from leasehold.client import AddStake, Claim, GiveNotice
from leasehold.market import Due, Money, format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (stake, terminate, claim, withdraw):
        app.command()(command)


@shared(SENDS | PROPOSES)
async def stake(
    call: Invocation,
    machine: MachineId,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="Whole tokens to add.")],
    approve: Approve = False,
) -> None:
    """Add to a machine's stake, for instance after the minimum was raised."""
    async with open_session(call, signs=True) as client:
        plan, money = await AddStake(machine, amount).plan(client), client.money
        added = money.show(plan.payment.amount)
        if call.dry_run:
            call.out.say(f"Would add {added} to the stake of machine {machine}.")
        await carry_out(
            call,
            client,
            plan,
            question=f"Add {added} to the stake of machine {machine}?",
            document={"machine": machine, "adds": format_amount(plan.payment.amount, money.decimals)},
            answer=lambda done: {
                "machine": machine,
                "stake": format_amount(done.machine.stake, money.decimals),
            },
            said=lambda done: f"Machine {machine} has {money.show(done.machine.stake)} at stake.",
            approve=approve,
        )


@shared(SENDS | PROPOSES)
async def terminate(call: Invocation, lease: LeaseId) -> None:
    """Give a tenant notice: the lease ends early, and you pay the penalty from your ledger.

    Ending a spot lease costs nothing, and its machine's operator may do it too.
    """
    request = GiveNotice(parse_lease(lease))
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        notice, spot = plan.notice, plan.lease.spot
        penalty = "no penalty, since it is a spot lease,"
        if not spot:
            penalty = f"a penalty of {money.show(notice.penalty)} from your ledger"
        call.out.say(
            f"Lease {shown} would end {utc(notice.end)}; its tenant gets {penalty} and everything it has not used."
        )
        amount = format_amount(notice.penalty, money.decimals)
        await carry_out(
            call,
            client,
            plan,
            question="Give notice?",
            document={"end": notice.end, "penalty": amount, "spot": spot},
            answer=lambda done: {"lease": shown, "penalty": amount},
        )


@shared(SENDS | PROPOSES)
async def claim(
    call: Invocation,
    leases: Annotated[
        list[str] | None, typer.Argument(metavar="[LEASE]...", help="By default all that pay.")
    ] = None,
    forgo: Annotated[
        bool, typer.Option("--forgo", help="Close those that wait for an outage too, and give its time back.")
    ] = False,
) -> None:
    """Collect what your machines have earned, and close the leases whose end has passed, in one transaction.

    A lease that an outage touched stays open for its tenant while that may still be taken off the bill. With --forgo
    you give that time back at once, and have the cells.
    """
    request = Claim(frozenset(map(parse_lease, leases or ())), forgo)
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        if plan.held:
            held = " ".join(map(format_lease, plan.held))
            call.out.say(f"Over, and held for their tenants by an outage: {held}. --forgo closes them now.")
        say_due(call, plan.due, money)
        if plan.due.empty or call.dry_run:
            call.out.answer({"claimed": [], "closed": [], "dry_run": call.dry_run})
            return
        document: dict[str, Json] = {
            "claimed": [format_lease(lease) for lease in plan.due.claimable],
            "closed": [format_lease(lease) for lease in plan.due.overdue],
        }
        await carry_out(
            call,
            client,
            plan,
            question="Collect?",
            document=document,
            answer=lambda done: {
                **document,
                "gained": format_amount(done.gained, money.decimals),
                "token": money.symbol,
            },
            said=lambda done: f"{money.show(done.gained)} came into your ledger.",
        )


@shared(SENDS | PROPOSES)
async def withdraw(
    call: Invocation,
    amount: AmountOrAll,
    to: To = None,
) -> None:
    """Pay earnings out of the pool's ledger, as `leasehold wallet withdraw` does."""
    await withdraw_from_ledger(call, amount, to)


def say_due(call: Invocation, due: Due, money: Money) -> None:
    """What can be collected, for people."""
    for lease, units in due.claimable.items():
        call.out.say(f"Lease {format_lease(lease)}: {money.show(units, places=6)} to claim, before the fee.")
    for lease in due.overdue:
        call.out.say(f"Lease {format_lease(lease)} is past its end: closing it pays what is left.")
    if due.empty:
        call.out.say("There is nothing to collect now.")
