"""`leasehold validator request`, `rounds`, `draw`, `finalize`: verifications, from the outside."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._completion import known_rounds
from leasehold.cli._options import Approve, MachineId, argument, option
from leasehold.client import DrawCommittee, Drawn, FinalizeRound, RequestVerification, rounds_of
from leasehold.tables import rounds_table

RoundId = Annotated[
    int, argument("ROUND", "As `leasehold validator status` shows it.", min=1, autocompletion=known_rounds)
]


@shared(SENDS | PROPOSES)
async def request(call: Invocation, machine: MachineId, approve: Approve = False) -> None:
    """Ask for a machine to be measured, as it describes itself now, by a committee of validators. Anyone may."""
    async with planned(call, RequestVerification(machine)) as plan:
        fee = plan.client.money.show(plan.payment.amount)
        call.out.pairs(f"Verification of machine {machine}, revision {plan.machine.revision}", plan.rows())
        await carry_out(
            call,
            plan,
            f"Pay {fee} and ask for it?",
            lambda asked: (
                f"Verification {asked.round}: `leasehold validator draw {asked.round}`, as soon as its block is there."
            ),
            approve=approve,
        )


@shared(ANSWERS)
async def rounds(
    call: Invocation,
    machine: Annotated[int | None, option("--machine -m MACHINE", "Of this machine only.", min=1)] = None,
) -> None:
    """List verifications, what their committees found, and what is next."""
    async with open_session(call, account=False) as client:
        seen = await rounds_of(client, machine)
    empty = "No verification has been asked for: do it with `leasehold validator request MACHINE`."
    call.out.listing([round_.to_json() for round_ in seen], *rounds_table(seen, command), empty=empty)


@shared(SENDS)
async def draw(call: Invocation, round_: RoundId) -> None:
    """Draw a verification's committee, for a twentieth of its fee, more after each miss. Anyone may."""
    async with planned(call, DrawCommittee(round_)) as plan:
        reward = plan.client.money.show(plan.reward)
        call.out.say(f"Drawing it earns {reward}, if its block is not too old by then.")
        await carry_out(call, plan, f"Draw the committee of verification {round_}?", _committee_said)


def _committee_said(drawn: Drawn) -> str:
    if drawn.seats:
        return f"The committee: seats {', '.join(map(str, drawn.seats))}."
    verification = f"verification {drawn.round.id} is {drawn.round.state.word} now"
    return f"That block led to no committee; {verification}."


@shared(SENDS)
async def finalize(call: Invocation, round_: RoundId) -> None:
    """Count a verification's votes, once reveals are over. Anyone may.

    If the committee agreed on other hardware than was declared, `leasehold validator false-hardware` follows.
    """
    async with planned(call, FinalizeRound(round_)) as plan:
        await carry_out(
            call,
            plan,
            f"Finalize verification {round_}?",
            lambda done: f"Machine {done.round.machine}: verification {round_} is {done.round.state.word}.",
        )


def command(what: str, round_: int) -> str:
    """What is typed for what is to be done about a verification."""
    return f"`leasehold validator {what} {round_}`"
