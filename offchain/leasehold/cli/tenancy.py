"""`leasehold extend`, `resize`, `reject`, `close`, `set-workload`, `rate`: what a tenant can do with a lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold import LeaseState, format_lease, parse_lease
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, LeaseId
from leasehold.cli._outages import say_outages
from leasehold.cli._output import Json
from leasehold.cli._shared import FOR_ACCOUNT, PROPOSES, SENDS, SIGNS, shared
from leasehold.cli._shown import utc
from leasehold.cli._workload import (
    Batch,
    CommandLine,
    Env,
    Image,
    Outputs,
    Ports,
    SshKey,
    WorkloadFile,
    WorkloadFlags,
    build_workload,
)
from leasehold.client import (
    Close,
    ClosePlan,
    Ended,
    Extend,
    Rate,
    Reject,
    Resize,
    SetWorkload,
    Unfetched,
)
from leasehold.market import (
    Bill,
    Money,
    format_amount,
    format_duration,
    format_share,
    parse_duration,
    parse_share,
)

if TYPE_CHECKING:
    from leasehold.chain import Lease


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (extend, resize, reject, close):
        app.command()(command)
    app.command("set-workload")(set_workload)
    app.command()(rate)


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def extend(
    call: Invocation,
    lease: LeaseId,
    duration: Annotated[str, typer.Argument(metavar="DURATION", help="How much longer: 30m, 2h.")],
    approve: Approve = False,
) -> None:
    """Pay for more time on a lease."""
    request = Extend(parse_lease(lease), parse_duration(duration))
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        cost = money.show(plan.payment.amount)
        call.out.say(
            f"{format_duration(request.seconds)} more on lease {shown} cost {cost}: it would end {utc(plan.end)}."
        )
        await carry_out(
            call,
            client,
            plan,
            question=f"Pay {cost} more into escrow?",
            document={"cost": format_amount(plan.payment.amount, money.decimals), "end": plan.end},
            answer=lambda done: {
                "lease": shown,
                "cost": format_amount(done.cost, money.decimals),
                "end": done.lease.end,
            },
            said=lambda done: f"Lease {shown} is paid until {utc(done.lease.end)}.",
            approve=approve,
        )


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def resize(
    call: Invocation,
    lease: LeaseId,
    share: Annotated[
        str, typer.Argument(metavar="SHARE", help="1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones.")
    ],
    approve: Approve = False,
) -> None:
    """Take another share of the same machine from now on, at the same price and until the same end.

    The provider is paid for the time until now at once. A larger share takes more into escrow, a smaller one
    gives some back.
    """
    request = Resize(parse_lease(lease), parse_share(share))
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        change = plan.change
        say_outages(call, plan.outages)
        call.out.pairs(
            f"Lease {shown}: {format_share(plan.lease.cells)} becomes {format_share(request.share)}",
            (
                ("paid to the provider now", money.show(change.pays, places=6)),
                ("into escrow", money.show(change.charged, places=6)),
                ("back to your ledger", money.show(change.refunded, places=6)),
                ("costs from now on", f"{money.show(change.hourly, places=6)} per hour"),
                ("cost until now", f"{money.show(change.hourly_before, places=6)} per hour"),
                ("ends", utc(plan.lease.end)),
            ),
        )
        document: dict[str, Json] = {
            "lease": shown,
            "pays": format_amount(change.pays, money.decimals),
            "charged": format_amount(change.charged, money.decimals),
            "refunded": format_amount(change.refunded, money.decimals),
            "hourly": format_amount(change.hourly, money.decimals),
            "hourly_before": format_amount(change.hourly_before, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question="Change the share?",
            document=document,
            answer=lambda done: {
                **document,
                "cells": done.lease.cells,
                "deposit": format_amount(done.lease.deposit, money.decimals),
            },
            said=lambda done: (
                f"Lease {shown} has {format_share(done.lease.cells)} now: its container follows, which is made anew "
                "where its GPUs are others."
            ),
            approve=approve,
        )


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def reject(call: Invocation, lease: LeaseId) -> None:
    """Give a lease back inside its trial: everything comes back but the hold fee."""
    request = Reject(parse_lease(lease))
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        call.out.say(f"Rejecting costs {money.show(plan.fee, places=6)} so far; the rest comes back.")
        await carry_out(
            call,
            client,
            plan,
            question=f"Reject lease {shown}?",
            document={
                "lease": shown,
                "cost": format_amount(plan.fee, money.decimals),
                "back": format_amount(plan.lease.deposit - plan.fee, money.decimals),
            },
            answer=lambda done: ended_json(done, money),
            said=lambda done: ended_said(done, money),
        )


@shared(SENDS | PROPOSES | FOR_ACCOUNT)
async def close(call: Invocation, lease: LeaseId) -> None:
    """End a lease now: pay for the seconds used, get the rest back."""
    request = Close(parse_lease(lease))
    async with open_session(call, signs=True) as client:
        plan, money, shown = await request.plan(client), client.money, format_lease(request.lease)
        say_outages(call, plan.outages)
        call.out.say(closing(plan.lease, plan.bill, money))
        _warn_of_trial(call, plan)
        warn_of_results(call, plan.lease, plan.unfetched)
        await carry_out(
            call,
            client,
            plan,
            question=f"Close lease {shown}?",
            document={
                "lease": shown,
                "used": format_amount(plan.bill.used, money.decimals),
                "unused": format_amount(plan.bill.unused, money.decimals),
                "becomes": plan.bill.outcome.word,
                "token": money.symbol,
            },
            answer=lambda done: ended_json(done, money),
            said=lambda done: ended_said(done, money),
        )


@shared(SIGNS | PROPOSES | FOR_ACCOUNT)
async def set_workload(
    call: Invocation,
    lease: LeaseId,
    command: CommandLine = None,
    file: WorkloadFile = None,
    image: Image = None,
    env: Env = None,
    ports: Ports = None,
    outputs: Outputs = None,
    ssh_keys: SshKey = None,
    batch: Batch = False,
) -> None:
    """Run something else on a lease that you have. Its time and price stay."""
    flags = WorkloadFlags(file, image, env, ports=ports, outputs=outputs, ssh_keys=ssh_keys, batch=batch)
    request = SetWorkload(parse_lease(lease), build_workload(call, flags, command))
    async with open_session(call, signs=True) as client:
        plan, shown = await request.plan(client), format_lease(request.lease)
        await carry_out(
            call,
            client,
            plan,
            question=f"Stop what runs on lease {shown} and run this instead?",
            document={"lease": shown},
            answer=lambda done: {"lease": shown, "delivered_by": done.delivery.by},
            said=lambda done: f"Lease {shown} has a new workload.",
            waiting="Handing over the workload",
        )


@shared(SENDS | PROPOSES)
async def rate(
    call: Invocation,
    lease: LeaseId,
    stars: Annotated[int, typer.Argument(metavar="STARS", min=1, max=5, help="1 to 5.")],
    comment: Annotated[
        str,
        typer.Option("--comment", metavar="TEXT", help="Pinned on your IPFS node; the chain has its digest."),
    ] = "",
) -> None:
    """Rate a lease of yours that has ended and was paid, once. It weighs as much as the fee that it paid."""
    request = Rate(parse_lease(lease), stars, comment)
    async with open_session(call, signs=True) as client:
        plan, shown = await request.plan(client), format_lease(request.lease)
        call.out.say(f"{stars} of 5 stars for {plan.provider}, for everybody to see and for good.")
        await carry_out(
            call,
            client,
            plan,
            question="Publish this rating?",
            document={
                "lease": shown,
                "stars": stars,
                "provider": plan.provider,
                "comment": request.cid,
            },
            said=lambda done: f"Lease {shown} is rated.",
        )


def closing(lease: Lease, account: Bill, money: Money) -> str:
    """What closing the lease takes and gives back, for people."""
    shown, back = format_lease(lease.id), money.show(account.unused, places=6)
    taken = money.show(account.used, places=6)
    if account.outcome is LeaseState.CANCELLED:
        return f"Lease {shown} was not started in time: all of its {back} come back."
    if account.outcome is LeaseState.REJECTED:
        return (
            f"Lease {shown} has not started: closing it keeps a hold fee, {taken} so far; {back} come back."
        )
    return f"Lease {shown} has used {taken} so far; {back} come back."


def _warn_of_trial(call: Invocation, plan: ClosePlan) -> None:
    """Says so where giving the lease back inside its trial costs less than closing it."""
    if plan.trial is not None:
        call.out.warn(
            f"It is in its trial until {utc(plan.trial.until)}: `leasehold reject {format_lease(plan.lease.id)}` ends "
            f"it for {plan.client.money.show(plan.trial.fee, places=6)} instead."
        )


def warn_of_results(call: Invocation, lease: Lease, unfetched: Unfetched | None) -> None:
    """Says so if results of a lease that is about to end are not fetched yet."""
    shown = format_lease(lease.id)
    if unfetched is not None and unfetched.cid is not None:
        call.out.warn(f"Its results were not fetched here yet: `leasehold results {shown} DIR` does that.")
    elif unfetched is not None:
        call.out.warn(
            "Nobody has its results yet: they are packed once it is closed, and the machine keeps its files for as "
            "long as the lease was billed, longer where it has the room. Fetch them with "
            f"`leasehold results {shown} DIR`."
        )


def ended_json(done: Ended, money: Money) -> dict[str, Json]:
    """How a lease ended, in JSON: what it paid and what came back."""
    answer: dict[str, Json] = {"lease": format_lease(done.lease.id)}
    if (record := done.record) is not None:
        for name, units in (("paid", record.paid), ("fee", record.fee), ("refunded", record.refunded)):
            answer[name] = format_amount(units, money.decimals)
        answer["taken"] = format_amount(record.paid + record.fee, money.decimals)
        answer["state"] = record.lease.state.word
        answer["token"] = money.symbol
    return answer


def ended_said(done: Ended, money: Money) -> str | None:
    """The same for people."""
    if (record := done.record) is None:
        return None
    return (
        f"Lease {format_lease(done.lease.id)} is {record.lease.state.word}: {money.show(record.paid + record.fee)} "
        f"were paid and {money.show(record.refunded)} came back to your ledger."
    )
