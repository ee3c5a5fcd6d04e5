"""`leasehold compensate`: what outages have done to leases, settled."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.client import SettledByOthers, SettleFaults, SettlementDue, SettlementMade, Step


@shared(SENDS)
async def compensate(
    call: Invocation,
    fault: Annotated[
        int | None, argument("[FAULT]", "By default all that touched your leases.", min=1)
    ] = None,
    everyone: Annotated[
        bool, option("--everyone", "For all tenants of the machine, not only for you.")
    ] = False,
) -> None:
    """Settle what outages have done to your leases, as far as it can be settled now.

    Takes them off the bills, registers what you lost, carries out slashes whose time has come and credits your
    ledger with your part. Each step is a transaction of its own, and anyone may send it for you.
    """
    async with planned(call, SettleFaults(fault, everyone)) as plan:
        money = plan.client.money

        def follow(step: Step) -> None:
            if isinstance(step, SettlementDue):
                what = step.settlement.said(money)
                call.out.confirm(f"{what[0].upper()}{what[1:]}?")
            elif isinstance(step, SettledByOthers):
                call.out.say("Somebody else has done that meanwhile.")
            elif isinstance(step, SettlementMade):
                call.out.say(f"Done: {step.settlement.said(money)}.")

        if not plan.first:
            call.out.say("There is nothing to settle now: see `leasehold faults`.")
        if call.dry_run:
            for settlement in plan.first:
                call.out.say(f"Would {settlement.said(money)}.")
        await carry_out(
            call,
            plan,
            None,
            lambda done: f"{money.show(done.gained)} came into your ledger." if done.gained else None,
            waiting=None,
            on_step=follow,
        )
