"""`leasehold pool trust` and `show`: who can do what to a pool, and what it is."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli.pool.params import say_proposal
from leasehold.client import powers_of
from leasehold.market import Json, pool_json, table_of_powers
from leasehold.tables import pool_rows, powers_table, trust_rows


@shared(ANSWERS)
async def trust(call: Invocation) -> None:
    """Show the table of powers, read from the chain: who can take at most what, how fast, and how to leave first."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        powers: list[Json] = [power.to_json() for power in table_of_powers(view, money)]
        document = {**pool_json(client.pool.address, view, money), "powers": powers}
        rows = dict(trust_rows(view, money))
        rows["parameters"] += ": see `leasehold pool params`"
        call.out.sheet(document, f"Pool {client.pool.address}", tuple(rows.items()))
    if call.out.as_json:
        return
    call.out.table(*powers_table(view, money), empty="")
    say_proposal(call, view, money)
    call.out.say(
        "None of these can touch a ledger balance or an escrow, and no contract here can be changed."
    )


@shared(ANSWERS)
async def show(call: Invocation) -> None:
    """Show a pool: its token, its size, its rules."""
    async with open_session(call, account=False) as client:
        view, pool = await powers_of(client), client.pool.address
        told = pool_json(pool, view, client.money)
        call.out.sheet(told, f"Pool {pool}", pool_rows(view, client.money))
