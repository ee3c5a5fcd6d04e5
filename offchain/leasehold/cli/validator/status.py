"""`leasehold validator status`: one's seats, and what waits for them."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli.validator.rounds import duty_said
from leasehold.cli.validator.seats import SEAT_COLUMNS, seat_row
from leasehold.client import validator_status


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your seats, and what they have to do now: draw, commit, reveal, finalize."""
    async with open_session(call) as client:
        known, money = await validator_status(client), client.money
        call.out.listing(
            {"account": client.account, **known.to_json(money)},
            SEAT_COLUMNS,
            [seat_row(seat, known.now, money) for seat in known.seats],
            empty="You have no seat: stake one with `leasehold validator stake`.",
        )
        call.out.table(
            (">round", ">machine", "state", "your seats", "next"),
            [
                (
                    str(round_.round),
                    str(round_.machine),
                    round_.state.word,
                    ", ".join(map(str, sorted(known.numbers.intersection(round_.seats)))) or "-",
                    duty_said(round_, duty),
                )
                for round_, duty in known.rounds
            ],
            empty="No verification waits for you.",
        )
        if not call.out.as_json:
            call.out.say(f"In the ledger: {money.show(known.ledger)}.")
