"""`leasehold challenge` and `prove`: when a machine is silent."""

from __future__ import annotations

from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, SIGNS, Invocation, shared
from leasehold.cli._options import Approve, MachineId, OneLease, option
from leasehold.client import ChallengeMachine, ProveSilence, SilenceProven
from leasehold.market import AllowanceMissing, format_duration, format_time


@shared(SENDS | PROPOSES)
async def challenge(
    call: Invocation,
    machine: MachineId,
    lease: Annotated[OneLease, option("--lease LEASE", "Which of yours there; by default any.")] = None,
    approve: Approve = False,
) -> None:
    """Ask the operator of a machine that you rent for a sign of life, with a bond.

    If it answers in time, the bond is gone. If not, you have the bond back, an outage runs since now, and you
    share in what it costs the provider.
    """
    async with planned(call, ChallengeMachine(machine, lease or 0)) as plan:
        money, bond, prove = plan.client.money, plan.payment, f"`leasehold prove {machine}` within an hour"
        if bond.approve and not (approve or call.dry_run):
            raise AllowanceMissing(
                f"The ledger lacks {money.show(bond.pulled)}: run `leasehold wallet deposit --approve "
                f"{money.exact(bond.pulled)}` first, or pass --approve."
            )
        call.out.pairs(
            f"Challenge of machine {machine}, as the tenant of lease {format_lease(plan.lease)}",
            (
                ("bond", bond.said(money)),
                ("the operator has", f"{format_duration(plan.window)} to answer"),
                ("it answers", "the bond is gone; another challenge within a day takes twice as much"),
                ("it does not", f"{prove}: the bond comes back, and the machine is down"),
            ),
        )
        await carry_out(
            call,
            plan,
            f"Put {money.show(bond.amount)} at stake and challenge machine {machine}?",
            lambda made: (
                f"Challenge {made.challenge} stands until about {format_time(made.until)}; then run {prove}."
            ),
            approve=approve,
        )


@shared(SIGNS)
async def prove(call: Invocation, machine: MachineId) -> None:
    """Say that nobody answered a challenge in time: the machine is down from then on. Anyone may send it.

    An hour after the last moment for an answer the question is over: then only the bond comes back.
    """
    async with planned(call, ProveSilence(machine)) as plan:
        question = f"Prove that machine {machine} did not answer?"
        if plan.over:
            question = (
                f"Nobody proved within an hour that machine {machine} did not answer. Send the bond back?"
            )

        def said(proven: SilenceProven) -> str:
            came = "It moves nothing: an hour has passed since, or the machine had retired by then."
            if proven.fault:
                came = f"Machine {machine} is down (fault {proven.fault})."
            return f"{came} The bond is back in the challenger's ledger."

        await carry_out(call, plan, question, said)
