"""`leasehold pool collect`: what the pool's fees have come to, moved to its treasury's ledger."""

from __future__ import annotations

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.client import CollectFees


@shared(SENDS)
async def collect(call: Invocation) -> None:
    """Move the fees that providers' claims have left to the treasury's ledger. Anyone may."""
    async with planned(call, CollectFees()) as plan:
        if not plan.due:
            call.out.answer(plan.to_json())
            call.out.say("No fee is due: providers leave them when they claim (`leasehold provider claim`).")
            return
        whose = "a provider's account" if len(plan.due) == 1 else f"{len(plan.due)} providers' accounts"
        total = plan.client.money.show(plan.total)
        call.out.say(f"{total} of fees lie in {whose}; they are due to {plan.treasury}.")
        said = f"The ledger of {plan.treasury} has {total} more."
        await carry_out(call, plan, "Move them to its ledger?", said)
