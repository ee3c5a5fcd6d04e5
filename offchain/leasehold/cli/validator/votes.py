"""`leasehold validator commit`, `reveal`, `false-hardware`: what a committee's seats found."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.validator.rounds import RoundId
from leasehold.client import CommitVotes, FileFalseHardware, RevealVotes
from leasehold.market import MachineFile, canonical

_DIGEST = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(commit)
    app.command()(reveal)
    app.command("false-hardware")(false_hardware)


@shared(SENDS)
async def commit(
    call: Invocation,
    round_: RoundId,
    passed: Annotated[bool, typer.Option("--pass/--fail", help="Whether it is what it says.")],
    score: Annotated[
        int | None, typer.Option("--score", metavar="N", min=0, max=1_000, help="0 to 1000; with --pass.")
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(
            "--spec",
            metavar="DIGEST|FILE",
            help="What you measured: a digest, or a machine.json. With --pass by "
            "default what was declared; with --fail by default that it could not be measured.",
        ),
    ] = None,
) -> None:
    """Commit to what you found, for all your seats on the committee, without showing it yet.

    The vote and its salt are written to a file under the home folder before anything is sent: `reveal` needs it.
    """  # fmt: skip
    request = CommitVotes(round_, passed, score, _measured(spec))
    async with open_session(call, signs=True) as client:
        plan = await request.plan(client)
        found, vote, folder = plan.round, plan.votes[0], client.home.votes(client.deployment).folder
        seats = [kept.seat for kept in plan.votes]
        call.out.say(
            f"Machine {found.machine} {'passes' if passed else 'fails'} with a score of {vote.score}, from seats "
            f"{', '.join(map(str, seats))}; to be revealed from {utc(found.commit_until)} to "
            f"{utc(found.reveal_until)}."
        )
        document: dict[str, Json] = {
            "round": round_,
            "machine": found.machine,
            "seats": [*seats],
            "passed": passed,
            "score": vote.score,
            "spec": vote.spec.hex() if any(vote.spec) else None,
            "reveal_from": found.commit_until,
            "reveal_until": found.reveal_until,
            "folder": str(folder),
        }
        await carry_out(
            call,
            client,
            plan,
            question="Commit to that?",
            document=document,
            said=lambda done: f"Committed. Keep {folder} until it is revealed: nobody else knows the salt.",
        )


def _measured(spec: str | None) -> bytes | None:
    """A digest as it is typed, or of what a machine.json describes. Raises DocumentInvalid."""
    if spec is None:
        return None
    if digest := _DIGEST.fullmatch(spec):
        return bytes.fromhex(digest[1])
    return sha256(canonical(MachineFile.load(Path(spec)).hardware)).digest()


@shared(SENDS)
async def reveal(call: Invocation, round_: RoundId) -> None:
    """Show what your seats committed to. Whoever does not, loses a tenth of a stake if the others agree."""
    async with open_session(call, signs=True) as client:
        plan = await RevealVotes(round_).plan(client)
        votes: list[Json] = [
            {"seat": vote.seat, "passed": vote.passed, "score": vote.score} for vote in plan.votes
        ]
        then = f"`leasehold validator finalize {round_}` after {utc(plan.round.reveal_until)}."
        await carry_out(
            call,
            client,
            plan,
            question=f"Reveal {len(votes)} vote{'s' if len(votes) > 1 else ''}?",
            document={"round": round_, "machine": plan.round.machine, "votes": votes},
            said=lambda done: f"Revealed. {then}",
        )


@shared(SENDS)
async def false_hardware(call: Invocation, round_: RoundId) -> None:
    """File a fault for a machine on which a committee found other hardware than was declared. Anyone may, once."""
    async with open_session(call, signs=True) as client:
        plan = await FileFalseHardware(round_).plan(client)
        machine = plan.round.machine
        document: dict[str, Json] = {"round": round_, "machine": machine, "spec": plan.round.spec.hex()}
        await carry_out(
            call,
            client,
            plan,
            question=f"File false hardware of machine {machine}?",
            document=document,
            answer=lambda filed: {**document, "fault": filed.fault},
            said=lambda filed: f"Filed: see `leasehold fault {filed.fault}`.",
        )
