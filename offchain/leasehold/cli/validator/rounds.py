"""`leasehold validator request`, `rounds`, `draw`, `finalize`: verifications, from the outside."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import CommitteeDrawn, Round, RoundState, VoteRecord
from leasehold.cli._completion import known_rounds
from leasehold.cli._doing import Done, carry_out, pay_in
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve, MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli.validator._shown import ROUNDS, duty_of, outcome_json
from leasehold.client import PoolClient
from leasehold.errors import BlockNotMined, RoundOpen, UnknownMachine, UnknownRound, WrongRoundState
from leasehold.market import format_amount

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
    async with open_session(call, signs=True) as session:
        money, pool = session.money, session.pool
        found = await pool.machine_of(machine)
        if not found.gpus:
            raise UnknownMachine(machine)
        rules = await pool.params(found.params)  # which this revision accepts
        paid = await pay_in(session, rules.verification_fee, approve=approve or call.dry_run)
        call.out.pairs(
            f"Verification of machine {machine}, revision {found.revision}",
            (
                ("fee", paid.said(session)),
                (
                    "committee",
                    f"{rules.committee_size} seats, drawn by lot; not the provider's nor yours",
                ),
                ("takes", "4 hours to measure and 2 hours to reveal, after the draw"),
                ("without an outcome", "what is left of the fee comes back"),
            ),
        )

        async def send() -> Done:
            await paid.send(session)
            round_, receipt = await (await pool.committee()).request_verification(machine, found.revision)
            said = (
                f"Verification {round_}: `leasehold validator draw {round_}`, as soon as its block is there."
            )
            return Done(receipt, said, {"round": round_})

        document: dict[str, Json] = {
            "machine": machine,
            "revision": found.revision,
            "fee": format_amount(rules.verification_fee, money.decimals),
            "token": money.symbol,
        }
        question = f"Pay {money.show(rules.verification_fee)} and ask for it?"
        await carry_out(call, question, document, send)


@shared(ANSWERS)
async def rounds(
    call: Invocation,
    machine: Annotated[
        int | None, typer.Option("--machine", "-m", metavar="MACHINE", min=1, help="Of this machine only.")
    ] = None,
) -> None:
    """List verifications, what their committees found, and what is next."""
    async with open_session(call, account=False) as session:
        index, now = await session.index(), await session.now()
        found, block = await index.rounds(machine=machine), await session.rpc.block_number()
        votes = {each.round: await index.votes(each.round) for each in found}
        call.out.answer(
            [
                {
                    "round": each.round,
                    "machine": each.machine,
                    "revision": each.revision,
                    "requester": each.requester,
                    "state": ROUNDS[each.state],
                    "seats": list(each.seats),
                    "commit_until": each.commit_until or None,
                    "reveal_until": each.reveal_until or None,
                    "score": each.score,
                    "spec": each.spec.hex() if any(each.spec) else None,
                    "agreed": each.agreed,
                    "next": duty_of(each, now, block).verb,
                    "votes": [_vote_json(vote) for vote in votes[each.round]],
                }
                for each in found
            ]
        )
        call.out.table(
            (">round", ">machine", "state", "committee", ">revealed", ">score", "next"),
            [
                (
                    str(each.round),
                    str(each.machine),
                    ROUNDS[each.state],
                    ", ".join(map(str, each.seats)) or "-",
                    f"{sum(vote.revealed for vote in votes[each.round])}/{len(each.seats)}",
                    str(each.score) if each.state.over else "-",
                    duty_of(each, now, block).said,
                )
                for each in found
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
    async with open_session(call, signs=True) as session:
        found, money = await round_at(session, round_), session.money
        if found.state is not RoundState.REQUESTED:
            raise WrongRoundState(round=round_, state=found.state)
        if await session.rpc.block_number() < found.block_:
            raise BlockNotMined(block_=found.block_)
        reward = found.fee * (found.misses + 1) // 20
        call.out.say(f"Drawing it earns {money.show(reward, places=6)}, if its block is not too old by then.")

        async def send() -> Done:
            committee = await session.pool.committee()
            receipt = await committee.draw(round_)
            for event in committee.events(receipt):
                if isinstance(event, CommitteeDrawn):
                    seats: list[Json] = [*event.seats]
                    said = f"The committee: seats {', '.join(map(str, event.seats))}."
                    return Done(receipt, said, {"seats": seats, "commit_until": event.commit_until})
            after = await round_at(session, round_)
            said = f"That block led to no committee; verification {round_} is {ROUNDS[after.state]} now."
            return Done(receipt, said, {"seats": []})

        document: dict[str, Json] = {"round": round_, "reward": format_amount(reward, money.decimals)}
        await carry_out(call, f"Draw the committee of verification {round_}?", document, send)


@shared(SENDS)
async def finalize(call: Invocation, round_: RoundId) -> None:
    """Count a verification's votes, once reveals are over. Anyone may.

    If the committee agreed on other hardware than was declared, `leasehold validator false-hardware` follows.
    """
    async with open_session(call, signs=True) as session:
        found = await round_at(session, round_)
        if found.state is not RoundState.DRAWN:
            raise WrongRoundState(round=round_, state=found.state)
        if await session.now() < found.reveal_until:
            raise RoundOpen(round=round_, until=found.reveal_until)

        async def send() -> Done:
            receipt = await (await session.pool.committee()).finalize(round_)
            after = await round_at(session, round_)
            said = f"Machine {after.machine}: verification {round_} is {ROUNDS[after.state]}."
            return Done(receipt, said, outcome_json(after))

        await carry_out(call, f"Finalize verification {round_}?", {"round": round_}, send)


async def round_at(session: PoolClient, round_: int) -> Round:
    """A verification at the head of the chain. Raises UnknownRound."""
    found = await (await session.pool.committee()).round_of(round_)
    if found.state is RoundState.NONE:
        raise UnknownRound(round_)
    return found
