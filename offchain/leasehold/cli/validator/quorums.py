"""`leasehold validator collect`, `fine`: what a quorum's word has earned, and what it costs if it was taken back."""

from __future__ import annotations

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import FaultId
from leasehold.cli._shared import SENDS, shared
from leasehold.client import CollectReward, FineQuorum
from leasehold.market import format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (collect, fine):
        app.command()(command)


@shared(SENDS)
async def collect(call: Invocation, fault: FaultId) -> None:
    """Credit those who attested a fault with the tenth of it that is theirs, by what their seats cost.

    Once it was executed, and for all of them at once. Anyone may send it.
    """
    async with open_session(call, signs=True) as client:
        plan, money = await CollectReward(fault).plan(client), client.money
        seats, due = [signer.seat for signer in plan.signers], money.show(plan.due, places=6)
        shown = f"seats {', '.join(map(str, seats))}"
        await carry_out(
            call,
            client,
            plan,
            question=f"Credit {shown} with {due} together?",
            document={
                "fault": fault,
                "seats": [*seats],
                "amount": format_amount(plan.due, money.decimals),
                "token": money.symbol,
            },
            said=lambda done: f"{due} went into the ledgers of {shown}.",
        )


@shared(SENDS)
async def fine(call: Invocation, fault: FaultId) -> None:
    """Fine those who attested a fault that its arbiter took back: a tenth of each seat's price, which is burnt.

    A seat is fined once in seven days at most. Anyone may send it, once.
    """
    async with open_session(call, signs=True) as client:
        plan = await FineQuorum(fault).plan(client)
        seats = [signer.seat for signer in plan.signers]
        shown = f"seats {', '.join(map(str, seats))}"
        await carry_out(
            call,
            client,
            plan,
            question=f"Fine {shown}?",
            document={"fault": fault, "seats": [*seats]},
            said=lambda done: (
                f"Of {shown}, those are fined that were not within seven days and joined under that arbiter: "
                "`leasehold validator list` shows what each has left."
            ),
        )
