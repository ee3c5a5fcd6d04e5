"""`leasehold auto-extend`: keeps a lease going, up to a bound."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold import format_lease, parse_lease
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._hints import said
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._output import Json
from leasehold.cli._shared import FOR_ACCOUNT, SENDS, shared
from leasehold.cli._shown import transaction, utc
from leasehold.client import Extended, KeepGoing, LeaseKept, LeaseLook, Looked, LookFailed, Step
from leasehold.market import format_amount, format_duration, parse_duration


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command("auto-extend")(auto_extend)


@shared(SENDS | FOR_ACCOUNT)
async def auto_extend(
    call: Invocation,
    lease: LeaseId,
    by: Annotated[str, typer.Option("--by", metavar="DURATION", help="How much more at a time.")],
    longest: Annotated[
        str,
        typer.Option(
            "--at-most", metavar="DURATION", help="Of its life since the start, all extensions included."
        ),
    ],
    before: Annotated[
        str, typer.Option("--before", metavar="DURATION", help="How long before its end.")
    ] = "15m",
    once: Annotated[bool, typer.Option("--once", help="One look and no more, as from cron.")] = False,
) -> None:
    """Extend a lease again and again before it ends, until it has lived as long as `--at-most`.

    Paid from the ledger (with an allowance, from the wallet, too). With `--for-account` as a delegate, whose cap the
    contract keeps. It asks once, before the first extension. Let one wallet do this for a lease: two may both extend.
    """
    request = KeepGoing(
        parse_lease(lease), parse_duration(by), parse_duration(longest), parse_duration(before), once
    )
    async with open_session(call, signs=True) as client:
        plan, shown, money, agreed = (
            await request.plan(client),
            format_lease(request.lease),
            client.money,
            False,
        )

        def tell(look: LeaseLook) -> str:
            call.out.say(look.next.why)
            if look.waits:
                call.out.say(
                    "A transaction of this wallet is still under way, which may be the last extension: waiting."
                )
            return f"{format_duration(look.next.seconds)} for {money.show(look.cost)}"

        def follow(step: Step) -> None:
            nonlocal agreed
            if isinstance(step, Looked):
                end = utc(step.look.lease.end)
                call.out.if_interrupted = (
                    f"Interrupted: nothing extends lease {shown} any more, and it ends {end}."
                )
                what = tell(step.look)
                if step.look.next.seconds and not agreed:
                    call.out.confirm(f"Extend by {what} now, and so on until {utc(plan.keeping.until)}?")
                    agreed = True
            elif isinstance(step, LookFailed):
                call.out.warn(said(step.error))
            elif isinstance(step, Extended):
                call.out.say(f"Lease {shown} is paid until {utc(step.lease.end)}.")

        def document(look: LeaseLook) -> dict[str, Json]:
            cost = {"cost": format_amount(look.cost, money.decimals)} if look.next.seconds else {}
            return {"lease": shown, "end": look.lease.end, "extended": 0, **cost}

        def answer(kept: LeaseKept) -> dict[str, Json]:
            made = document(kept.look)
            if kept.extended is not None:
                made |= {"end": kept.extended.lease.end, "extended": kept.look.next.seconds}
                made |= transaction(kept.extended.receipt)
            return made

        would = document(plan.look)
        if call.dry_run:
            what = tell(plan.look)
            if plan.look.next.seconds:
                would["would_extend"] = plan.look.next.seconds
                call.out.say(f"Would extend it by {what}.")
        await carry_out(
            call,
            client,
            plan,
            question=None,
            document=would,
            answer=answer,
            waiting=None,
            on_step=follow,
        )
