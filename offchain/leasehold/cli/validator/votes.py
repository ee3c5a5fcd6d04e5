"""`leasehold validator commit`, `reveal`, `false-hardware`: what a committee's seats found."""

from __future__ import annotations

import re
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import ZERO_DIGEST, Receipt, Round, RoundState
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.validator.rounds import RoundId, round_at
from leasehold.client import PoolClient
from leasehold.errors import CommitOver, RevealNotOpen, RevealOver, WrongRoundState
from leasehold.home import Vote, revealable
from leasehold.market import InvalidInput, MachineFile, MachineUnavailable, canonical

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
    if passed and score is None:
        raise InvalidInput("A machine that passes has a score: pass --score with 0 to 1000.")
    async with open_session(call, signs=True) as session:
        found = await round_at(session, round_)
        if found.state is not RoundState.DRAWN:
            raise WrongRoundState(round=round_, state=found.state)
        if await session.now() >= found.commit_until:
            raise CommitOver(round=round_, until=found.commit_until)
        declared = await _declared(call, session, found) if passed else ZERO_DIGEST
        measured = _measured(spec, declared)
        if passed and measured != declared:
            raise InvalidInput("That is other hardware than was declared, which does not pass: use --fail.")
        seats = await _own_seats(session, found)
        votes, kept = call.home.votes(session.deployment), []
        for seat in seats:
            fresh = Vote(round_, seat, passed, measured, score or 0, secrets.token_bytes(32))
            kept.append(votes.known(fresh))
        verdict = "passes" if passed else "fails"
        call.out.say(
            f"Machine {found.machine} {verdict} with a score of {score or 0}, from seats "
            f"{', '.join(map(str, seats))}; to be revealed from {utc(found.commit_until)} to "
            f"{utc(found.reveal_until)}."
        )
        if not passed and any(measured):
            call.out.warn(
                "A majority that says the same makes this false hardware: all that may be slashed is."
            )

        async def send() -> Done:
            committee = await session.pool.committee()
            receipt: Receipt | None = None
            for vote in kept:
                if vote not in votes.load(round_, vote.seat):
                    votes.keep(vote)
                receipt = await committee.commit(round_, vote.seat, vote.commitment(session.deployment))
            assert receipt is not None
            said = f"Committed. Keep {votes.folder} until it is revealed: nobody else knows the salt."
            return Done(receipt, said)

        document: dict[str, Json] = {
            "round": round_,
            "machine": found.machine,
            "seats": list(seats),
            "passed": passed,
            "score": score or 0,
            "spec": measured.hex() if any(measured) else None,
            "reveal_from": found.commit_until,
            "reveal_until": found.reveal_until,
            "folder": str(votes.folder),
        }
        await carry_out(call, "Commit to that?", document, send)


async def _declared(call: Invocation, session: PoolClient, found: Round) -> bytes:
    """What the revision said that the round was asked for: whatever its provider has set since, a round judges that."""
    declared = await (await session.index()).hardware_of(found.machine, found.revision)
    if declared is None:
        raise MachineUnavailable(
            f"The index does not know revision {found.revision} of machine {found.machine}: say what you measured with "
            "--spec and --fail, or nothing."
        )
    return declared


def _measured(spec: str | None, default: bytes) -> bytes:
    if spec is None:
        return default
    if digest := _DIGEST.fullmatch(spec):
        return bytes.fromhex(digest[1])
    return sha256(canonical(MachineFile.load(Path(spec)).hardware)).digest()


async def _own_seats(session: PoolClient, found: Round) -> tuple[int, ...]:
    """The account's seats on the committee. Raises InvalidInput where it has none."""
    committee = await session.pool.committee()
    drawn = await committee.drawn_for(found.id)
    mine = [seat for seat in drawn if (await committee.seat_of(seat)).validator == session.account]
    if not mine:
        raise InvalidInput(
            f"You have no seat on the committee of verification {found.id} (seats {', '.join(map(str, drawn))}): see "
            "`leasehold validator status`."
        )
    return tuple(sorted(mine))


@shared(SENDS)
async def reveal(call: Invocation, round_: RoundId) -> None:
    """Show what your seats committed to. Whoever does not, loses a tenth of a stake if the others agree."""
    async with open_session(call, signs=True) as session:
        found, now = await round_at(session, round_), await session.now()
        if found.state is not RoundState.DRAWN:
            raise WrongRoundState(round=round_, state=found.state)
        if now < found.commit_until:
            raise RevealNotOpen(round=round_, from_=found.commit_until)
        if now >= found.reveal_until:
            raise RevealOver(round=round_, until=found.reveal_until)
        votes = await _to_reveal(call, session, found)

        async def send() -> Done:
            committee = await session.pool.committee()
            receipt: Receipt | None = None
            for vote in votes:
                receipt = await committee.reveal(
                    round_, vote.seat, vote.passed, vote.spec, vote.score, vote.salt
                )
            assert receipt is not None
            return Done(
                receipt,
                f"Revealed. `leasehold validator finalize {round_}` after {utc(found.reveal_until)}.",
            )

        shown: list[Json] = [
            {"seat": vote.seat, "passed": vote.passed, "score": vote.score} for vote in votes
        ]
        document: dict[str, Json] = {"round": round_, "machine": found.machine, "votes": shown}
        await carry_out(call, f"Reveal {len(votes)} votes?", document, send)


async def _to_reveal(call: Invocation, session: PoolClient, found: Round) -> list[Vote]:
    """The votes of the account's seats that are committed and not revealed.

    Raises:
        InvalidInput: there is none, or the file of one is not here.
    """
    index, kept = await session.index(), call.home.votes(session.deployment)
    committed = {each.seat: each for each in await index.votes(found.id)}
    votes: list[Vote] = []
    for seat in await _own_seats(session, found):
        record = committed.get(seat)
        if record is None:
            call.out.warn(f"Seat {seat} has committed to nothing, and it is too late for that.")
            continue
        if record.revealed:
            call.out.say(f"Seat {seat} has revealed already.")
            continue
        vote = revealable(kept.load(found.id, seat), record.commitment, session.deployment)
        if vote is None:
            raise InvalidInput(
                f"What seat {seat} committed to is not in {kept.path(found.id, seat)}: run this where you committed, "
                "with the same --home."
            )
        votes.append(vote)
    if not votes:
        raise InvalidInput(f"There is nothing of yours to reveal in verification {found.id}.")
    return votes


@shared(SENDS)
async def false_hardware(call: Invocation, round_: RoundId) -> None:
    """File a fault for a machine on which a committee found other hardware than was declared. Anyone may, once."""
    async with open_session(call, signs=True) as session:
        found = await round_at(session, round_)
        if found.state is not RoundState.FAILED or not any(found.spec):
            raise InvalidInput(
                f"Verification {round_} did not end with other hardware: there is nothing to file."
            )

        async def send() -> Done:
            fault, receipt = await (await session.pool.faults()).report_false_hardware(round_)
            return Done(receipt, f"Filed: see `leasehold fault {fault}`.", {"fault": fault})

        document: dict[str, Json] = {"round": round_, "machine": found.machine, "spec": found.spec.hex()}
        question = f"File false hardware of machine {found.machine}?"
        await carry_out(call, question, document, send)
