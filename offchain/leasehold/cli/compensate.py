"""`leasehold compensate`: what outages have done to leases, settled."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._faults import (
    settlement_json,
    settlement_said,
)
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.cli._shown import transaction
from leasehold.client import (
    FaultsSettled,
    SettledByOthers,
    SettleFaults,
    SettlementDue,
    SettlementMade,
    Step,
)
from leasehold.market import format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(compensate)


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
