"""`leasehold validator request`, `rounds`, `draw`, `finalize`: verifications, from the outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._completion import known_rounds
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli._shown import payment_said
from leasehold.cli.validator._shown import ROUNDS, duty_said, outcome_json
from leasehold.client import DrawCommittee, Drawn, FinalizeRound, RequestVerification, duty_of
from leasehold.market import format_amount

if TYPE_CHECKING:
    from leasehold.chain import VoteRecord

RoundId = Annotated[
    int,
    typer.Argument(
        metavar="ROUND", min=1, help="As `leasehold validator status` shows it.", autocompletion=known_rounds
    ),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (request, rounds, draw, finalize):
        app.command()(command)


@shared(SENDS | PROPOSES)
async def request(call: Invocation, machine: MachineId, approve: Approve = False) -> None:
    """Ask for a machine to be measured, as it describes itself now, by a committee of validators. Anyone may."""
    async with open_session(call, signs=True) as client:
        plan, money = await RequestVerification(machine).plan(client), client.money
        revision, fee = plan.machine.revision, plan.payment.amount
        call.out.pairs(
            f"Verification of machine {machine}, revision {revision}",
            (
                ("fee", payment_said(plan.payment, money)),
                (
                    "committee",
                    f"{plan.rules.committee_size} seats, drawn by lot; not the provider's nor yours",
                ),
                ("takes", "4 hours to measure and 2 hours to reveal, after the draw"),
                ("without an outcome", "what is left of the fee comes back"),
            ),
        )
        document: dict[str, Json] = {
            "machine": machine,
            "revision": revision,
            "fee": format_amount(fee, money.decimals),
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Pay {money.show(fee)} and ask for it?",
            document=document,
            answer=lambda asked: {**document, "round": asked.round},
            said=lambda asked: (
                f"Verification {asked.round}: `leasehold validator draw {asked.round}`, as soon as its block is there."
            ),
            approve=approve,
        )


@shared(ANSWERS)
async def rounds(
    call: Invocation,
    machine: Annotated[
        int | None, typer.Option("--machine", "-m", metavar="MACHINE", min=1, help="Of this machine only.")
    ] = None,
) -> None:
    """List verifications, what their committees found, and what is next."""
    async with open_session(call, account=False) as client:
        index, now = await client.index(), await client.now()
        found, block = await index.rounds(machine=machine), await client.rpc.block_number()
        votes = {record.round: await index.votes(record.round) for record in found}
        duties = {record.round: duty_of(record, now, block) for record in found}
        call.out.answer(
            [
                {
                    "round": record.round,
                    "machine": record.machine,
                    "revision": record.revision,
                    "requester": record.requester,
                    "state": ROUNDS[record.state],
                    "seats": list(record.seats),
                    "commit_until": record.commit_until or None,
                    "reveal_until": record.reveal_until or None,
                    "score": record.score,
                    "spec": record.spec.hex() if any(record.spec) else None,
                    "agreed": record.agreed,
                    "next": duties[record.round].what,
                    "votes": [_vote_json(vote) for vote in votes[record.round]],
                }
                for record in found
            ]
        )
        call.out.table(
            (">round", ">machine", "state", "committee", ">revealed", ">score", "next"),
            [
                (
                    str(record.round),
                    str(record.machine),
                    ROUNDS[record.state],
                    ", ".join(map(str, record.seats)) or "-",
                    f"{sum(vote.revealed for vote in votes[record.round])}/{len(record.seats)}",
                    str(record.score) if record.state.over else "-",
                    duty_said(record, duties[record.round]),
                )
                for record in found
            ],
            empty="No verification has been asked for: do it with `leasehold validator request MACHINE`.",
        )


def _vote_json(vote: VoteRecord) -> dict[str, Json]:
    return {
        "seat": vote.seat,
        "revealed": vote.revealed,
        "passed": vote.passed if vote.revealed else None,
        "score": vote.score if vote.revealed else None,
        "spec": vote.spec.hex() if vote.revealed and any(vote.spec) else None,
    }


@shared(SENDS)
async def draw(call: Invocation, round_: RoundId) -> None:
    """Draw a verification's committee, for a twentieth of its fee, more after each miss. Anyone may."""
    async with open_session(call, signs=True) as client:
        plan, money = await DrawCommittee(round_).plan(client), client.money
        reward = money.show(plan.reward, places=6)
        call.out.say(f"Drawing it earns {reward}, if its block is not too old by then.")
        document: dict[str, Json] = {
            "round": round_,
            "reward": format_amount(plan.reward, money.decimals),
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Draw the committee of verification {round_}?",
            document=document,
            answer=lambda done: {**document, **_committee_json(done)},
            said=_committee_said,
        )


def _committee_json(done: Drawn) -> dict[str, Json]:
    seats: dict[str, Json] = {"seats": list(done.seats)}
    return {**seats, "commit_until": done.round.commit_until} if done.seats else seats


def _committee_said(done: Drawn) -> str:
    if done.seats:
        return f"The committee: seats {', '.join(map(str, done.seats))}."
    state = ROUNDS[done.round.state]
    return f"That block led to no committee; verification {done.round.id} is {state} now."


@shared(SENDS)
async def finalize(call: Invocation, round_: RoundId) -> None:
    """Count a verification's votes, once reveals are over. Anyone may.

    If the committee agreed on other hardware than was declared, `leasehold validator false-hardware` follows.
    """
    async with open_session(call, signs=True) as client:
        await carry_out(
            call,
            client,
            await FinalizeRound(round_).plan(client),
            question=f"Finalize verification {round_}?",
            document={"round": round_},
            answer=lambda done: outcome_json(done.round),
            said=lambda done: (
                f"Machine {done.round.machine}: verification {round_} is {ROUNDS[done.round.state]}."
            ),
        )
