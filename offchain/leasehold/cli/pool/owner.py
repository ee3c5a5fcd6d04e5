"""`leasehold pool`: what an owner does: pausing, gating, naming the treasury, a successor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.client import AcceptPool, HandPoolOver, Ordered, Request, SetGated, SetPaused, SetTreasury

Account = Annotated[str, typer.Argument(metavar="ADDRESS", help="An account.")]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (pause, resume, gate, treasury):
        app.command()(command)
    app.command("hand-over")(hand_over)
    app.command()(accept)


async def order(
    call: Invocation, request: Request[Ordered], question: str, said: str, document: Mapping[str, Json]
) -> None:
    """One call of the owner's."""
    async with open_session(call, signs=True) as client:
        plan = await request.plan(client)
        if call.dry_run:
            call.out.say(f"Would ask: {question}")
        await carry_out(call, client, plan, question=question, document=document, said=lambda done: said)


@shared(SENDS | PROPOSES)
async def pause(call: Invocation) -> None:
    """Stop opening leases and registering machines. Every way out stays open."""
    said = "The pool is paused: `leasehold pool resume` ends that."
    await order(call, SetPaused(True), "Pause the pool?", said, {"paused": True})


@shared(SENDS | PROPOSES)
async def resume(call: Invocation) -> None:
    """Allow opening leases and registering machines again."""
    await order(call, SetPaused(False), "Resume?", "The pool is open again.", {"paused": False})


@shared(SENDS | PROPOSES)
async def gate(
    call: Invocation,
    gated: Annotated[
        bool, typer.Option("--on/--off", help="Whether registering takes a licence from now on.")
    ] = True,
) -> None:
    """Say whether registering a machine takes a licence. Machines that are in stay in."""
    said = "Registering takes a licence now." if gated else "Anybody may register machines now."
    question = (
        "Ask for a licence from whoever registers a machine?" if gated else "Let anybody register machines?"
    )
    await order(call, SetGated(gated), question, said, {"gated": gated})


@shared(SENDS | PROPOSES)
async def treasury(call: Invocation, address: Account) -> None:
    """As the owner, say whose ledger fees go to from now on."""
    said = f"Fees go to {address} from now on."
    await order(
        call, SetTreasury(address), f"Send the pool's fees to {address}?", said, {"treasury": address}
    )


@shared(SENDS | PROPOSES)
async def hand_over(call: Invocation, address: Account) -> None:
    """As the owner, offer the pool to another account, which becomes its owner with `pool accept`."""
    said = f"{address} becomes the owner with `leasehold pool accept`."
    await order(
        call, HandPoolOver(address), f"Offer the pool to {address}?", said, {"pending_owner": address}
    )


@shared(SENDS | PROPOSES)
async def accept(call: Invocation) -> None:
    """Become the owner of a pool that its owner has offered to you."""
    await order(call, AcceptPool(), "Become the owner?", "The pool is yours.", {})
