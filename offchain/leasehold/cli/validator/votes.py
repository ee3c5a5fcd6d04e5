"""`leasehold validator commit`, `reveal`, `false-hardware`: what a committee's seats found."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import Read, option
from leasehold.cli.validator.rounds import RoundId
from leasehold.client import CommitVotes, FileFalseHardware, RevealVotes, measured_digest
from leasehold.market import format_time


@shared(SENDS)
async def commit(
    call: Invocation,
    round_: RoundId,
    passed: Annotated[bool, option("--pass/--fail", "Whether it is what it says.")],
    score: Annotated[int | None, option("--score N", "0 to 1000; with --pass.", min=0, max=1_000)] = None,
    spec: Annotated[
        bytes | None,
        option(
            "--spec DIGEST|FILE",
            "What you measured: a digest, or a machine.json. With --pass by "
            "default what was declared; with --fail by default that it could not be measured.",
        ),
        Read(measured_digest),
    ] = None,
) -> None:
    """Commit to what you found, for all your seats on the committee, without showing it yet.

    The vote and its salt are written to a file under the home folder before anything is sent: `reveal` needs it.
    """
    async with planned(call, CommitVotes(round_, passed, score, spec)) as plan:
        call.out.say(plan.said())
        said = f"Committed. Keep {plan.folder} until it is revealed: nobody else knows the salt."
        await carry_out(call, plan, "Commit to that?", said)


@shared(SENDS)
async def reveal(call: Invocation, round_: RoundId) -> None:
    """Show what your seats committed to. Whoever does not, loses a tenth of a stake if the others agree."""
    async with planned(call, RevealVotes(round_)) as plan:
        votes = f"{len(plan.votes)} vote{'s' if len(plan.votes) > 1 else ''}"
        then = f"`leasehold validator finalize {round_}` after {format_time(plan.round.reveal_until)}"
        await carry_out(call, plan, f"Reveal {votes}?", f"Revealed. {then}.")


@shared(SENDS)
async def false_hardware(call: Invocation, round_: RoundId) -> None:
    """File a fault for a machine on which a committee found other hardware than was declared. Anyone may, once."""
    async with planned(call, FileFalseHardware(round_)) as plan:
        question = f"File false hardware of machine {plan.round.machine}?"
        await carry_out(call, plan, question, lambda filed: f"Filed: see `leasehold fault {filed.fault}`.")
