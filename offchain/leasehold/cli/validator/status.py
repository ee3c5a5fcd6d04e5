"""`leasehold validator status`: one's seats, and what waits for them."""

from __future__ import annotations

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._shared import ANSWERS, WALLET, shared
from leasehold.cli.validator._shown import ROUNDS, duty_said
from leasehold.cli.validator.seats import seat_json, seat_row
from leasehold.client import validator_status
from leasehold.market import format_amount


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(status)


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your seats, and what they have to do now: draw, commit, reveal, finalize."""
    async with open_session(call) as client:
        found, money = await validator_status(client), client.money
        numbers = {seat.seat for seat in found.seats}
        call.out.answer(
            {
                "account": client.account,
                "ledger": format_amount(found.ledger, money.decimals),
                "token": money.symbol,
                "seats": [seat_json(seat, found.now, money) for seat in found.seats],
                "rounds": [
                    {
                        "round": round_.round,
                        "machine": round_.machine,
                        "state": ROUNDS[round_.state],
                        "seats": sorted(numbers.intersection(round_.seats)),
                        "next": duty.what,
                        "until": duty.until,
                    }
                    for round_, duty in found.rounds
                ],
            }
        )
        call.out.table(
            (">seat", "validator", ">stake", "state"),
            [seat_row(seat, found.now, money) for seat in found.seats],
            empty="You have no seat: stake one with `leasehold validator stake`.",
        )
        call.out.table(
            (">round", ">machine", "state", "your seats", "next"),
            [
                (
                    str(round_.round),
                    str(round_.machine),
                    ROUNDS[round_.state],
                    ", ".join(map(str, sorted(numbers.intersection(round_.seats)))) or "-",
                    duty_said(round_, duty),
                )
                for round_, duty in found.rounds
            ],
            empty="No verification waits for you.",
        )
        if not call.out.as_json:
            call.out.say(f"In the ledger: {money.show(found.ledger)}.")
