"""`leasehold challenge` and `prove`: when a machine is silent."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold import format_lease, parse_lease
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._faults import (
    from_ledger_said,
)
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, SIGNS, shared
from leasehold.cli._shown import utc
from leasehold.client import (
    ChallengeMachine,
    ProveSilence,
)
from leasehold.market import AllowanceMissing, format_amount, format_duration


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(challenge)
    app.command()(prove)


@shared(SENDS | PROPOSES)
async def challenge(
    call: Invocation,
    machine: MachineId,
    lease: Annotated[
        str | None, typer.Option("--lease", metavar="LEASE", help="Which of yours there; by default any.")
    ] = None,
    approve: Approve = False,
) -> None:
    """Ask the operator of a machine that you rent for a sign of life, with a bond.

    If it answers in time, the bond is gone. If not, you have the bond back, an outage runs since now, and you
    share in what it costs the provider.
    """
    request = ChallengeMachine(machine, parse_lease(lease) if lease else 0)
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        bond, shown = plan.payment, format_lease(plan.lease)
        if bond.approve and not (approve or call.dry_run):
            raise AllowanceMissing(
                f"The ledger lacks {money.show(bond.pulled)}: run `leasehold wallet deposit --approve "
                f"{format_amount(bond.pulled, money.decimals)}` first, or pass --approve."
            )
        call.out.pairs(
            f"Challenge of machine {machine}, as the tenant of lease {shown}",
            (
                ("bond", from_ledger_said(bond, money)),
                ("the operator has", f"{format_duration(plan.window)} to answer"),
                ("it answers", "the bond is gone; another challenge within a day takes twice as much"),
                (
                    "it does not",
                    f"`leasehold prove {machine}` within an hour: the bond comes back, and the machine is down",
                ),
            ),
        )
        document: dict[str, Json] = {
            "machine": machine,
            "lease": shown,
            "bond": format_amount(bond.amount, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Put {money.show(bond.amount)} at stake and challenge machine {machine}?",
            document=document,
            answer=lambda done: {**document, "challenge": done.challenge, "until": done.until},
            said=lambda done: (
                f"Challenge {done.challenge} stands until about {utc(done.until)}; then run `leasehold prove "
                f"{machine}` within an hour."
            ),
            approve=approve,
        )


@shared(SIGNS)
async def prove(call: Invocation, machine: MachineId) -> None:
    """Say that nobody answered a challenge in time: the machine is down from then on. Anyone may send it.

    An hour after the last moment for an answer the question is over: then only the bond comes back.
    """
    async with open_session(call, signs=True) as client:
        plan = await ProveSilence(machine).plan(client)
        question = f"Prove that machine {machine} did not answer?"
        if plan.over:
            question = (
                f"Nobody proved within an hour that machine {machine} did not answer. Send the bond back?"
            )
        document: dict[str, Json] = {"machine": machine, "over": plan.over}
        await carry_out(
            call,
            client,
            plan,
            question=question,
            document=document,
            answer=lambda done: {**document, "fault": done.fault},
            said=lambda done: (
                (
                    f"Machine {machine} is down (fault {done.fault})."
                    if done.fault
                    else "It moves nothing: an hour has passed since, or the machine had retired by then."
                )
                + " The bond is back in the challenger's ledger."
            ),
        )
