"""`leasehold pool`: what an owner does: pausing, gating, naming the treasury, a successor."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.client import AcceptPool, HandPoolOver, OrderPlan, Plannable, SetGated, SetPaused, SetTreasury

Account = Annotated[str, argument("ADDRESS", "An account.")]


async def order(call: Invocation, request: Plannable[OrderPlan], question: str, said: str) -> None:
    """One call of the owner's."""
    async with planned(call, request) as plan:
        if call.dry_run:
            call.out.say(f"Would ask: {question}")
        await carry_out(call, plan, question, said)


@shared(SENDS | PROPOSES)
async def pause(call: Invocation) -> None:
    """Stop opening leases and registering machines. Every way out stays open."""
    said = "The pool is paused: `leasehold pool resume` ends that."
    await order(call, SetPaused(True), "Pause the pool?", said)


@shared(SENDS | PROPOSES)
async def resume(call: Invocation) -> None:
    """Allow opening leases and registering machines again."""
    await order(call, SetPaused(False), "Resume?", "The pool is open again.")


@shared(SENDS | PROPOSES)
async def gate(
    call: Invocation,
    gated: Annotated[bool, option("--on/--off", "Whether registering takes a licence from now on.")] = True,
) -> None:
    """Say whether registering a machine takes a licence. Machines that are in stay in."""
    question, said = "Let anybody register machines?", "Anybody may register machines now."
    if gated:
        question = "Ask for a licence from whoever registers a machine?"
        said = "Registering takes a licence now."
    await order(call, SetGated(gated), question, said)


@shared(SENDS | PROPOSES)
async def treasury(call: Invocation, address: Account) -> None:
    """As the owner, say whose ledger fees go to from now on."""
    question = f"Send the pool's fees to {address}?"
    await order(call, SetTreasury(address), question, f"Fees go to {address} from now on.")


@shared(SENDS | PROPOSES)
async def hand_over(call: Invocation, address: Account) -> None:
    """As the owner, offer the pool to another account, which becomes its owner with `pool accept`."""
    said = f"{address} becomes the owner with `leasehold pool accept`."
    await order(call, HandPoolOver(address), f"Offer the pool to {address}?", said)


@shared(SENDS | PROPOSES)
async def accept(call: Invocation) -> None:
    """Become the owner of a pool that its owner has offered to you."""
    await order(call, AcceptPool(), "Become the owner?", "The pool is yours.")
