"""`leasehold validator status`: one's seats, and what waits for them."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, WALLET, Invocation, shared
from leasehold.cli.validator.rounds import command
from leasehold.client import validator_status
from leasehold.tables import duties_table, seats_table


@shared(ANSWERS | WALLET)
async def status(call: Invocation) -> None:
    """Show your seats, and what they have to do now: draw, commit, reveal, finalize."""
    async with open_session(call) as client:
        known, money = await validator_status(client), client.money
        told, table = known.to_json(money), seats_table(known.seats, known.now, money)
        empty = "You have no seat: stake one with `leasehold validator stake`."
        call.out.listing({"account": client.account, **told}, *table, empty=empty)
        call.out.table(*duties_table(known, command), empty="No verification waits for you.")
        if not call.out.as_json:
            call.out.say(f"In the ledger: {money.show(known.ledger)}.")
