"""`leasehold pool collect`: what the pool's fees have come to, moved to its treasury's ledger."""

from __future__ import annotations

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.client import CollectFees
from leasehold.market import format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(collect)


@shared(SENDS)
async def collect(call: Invocation) -> None:
    """Move the fees that providers' claims have left to the treasury's ledger. Anyone may."""
    async with open_session(call, signs=True, account=False) as client:
        plan, money = await CollectFees().plan(client), client.money
        total = sum(plan.due.values())
        document: dict[str, Json] = {
            "treasury": plan.treasury,
            "providers": len(plan.due),
            "amount": format_amount(total, money.decimals),
        }
        if not plan.due:
            call.out.answer(document)
            call.out.say("No fee is due: providers leave them when they claim (`leasehold provider claim`).")
            return
        whose = "a provider's account" if len(plan.due) == 1 else f"{len(plan.due)} providers' accounts"
        call.out.say(f"{money.show(total)} of fees lie in {whose}; they are due to {plan.treasury}.")
        await carry_out(
            call,
            client,
            plan,
            question="Move them to its ledger?",
            document=document,
            said=lambda done: f"The ledger of {plan.treasury} has {money.show(total)} more.",
        )
