"""`leasehold pool trust` and `show`: who can do what to a pool, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli.pool.params import say_proposal
from leasehold.client import powers_of
from leasehold.market import params_rows, pool_json, table_of_powers

if TYPE_CHECKING:
    from leasehold.chain import PoolView


@shared(ANSWERS)
async def trust(call: Invocation) -> None:
    """Show the table of powers, read from the chain: who can take at most what, how fast, and how to leave first."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        powers = table_of_powers(view, money)
        document = {
            **pool_json(client.pool.address, view, money),
            "powers": [power.to_json() for power in powers],
        }
        call.out.sheet(document, f"Pool {client.pool.address}", _rows(view, money.symbol))
        if call.out.as_json:
            return
        call.out.table(
            ("who", "can take at most", "how fast", "how to leave first"),
            [(power.who, power.takes, power.when, power.leave) for power in powers],
            empty="",
        )
        say_proposal(call, view, money)
        call.out.say(
            "None of these can touch a ledger balance or an escrow, and no contract here can be changed."
        )


def _rows(view: PoolView, symbol: str) -> list[tuple[str, str]]:
    own, params = view.companions, view.params
    return [
        ("owner", view.owner),
        ("treasury", view.treasury),
        ("arbiter", params.arbiter if int(params.arbiter, 16) else "nobody: there are no appeals"),
        ("rest of a slash", params.sink if int(params.sink, 16) else "burnt"),
        ("token", f"{view.token} ({symbol})"),
        ("committee", own.committee),
        ("faults", own.faults),
        ("reputation", own.reputation),
        ("directory", own.directory),
        ("accounts", view.accounts),
        ("opening and registering", "paused" if view.paused else "open"),
        ("registering takes a licence", "yes" if view.gated else "no"),
        ("parameters", f"version {view.params_version}: see `leasehold pool params`"),
    ]


@shared(ANSWERS)
async def show(call: Invocation) -> None:
    """Show a pool: its token, its size, its rules."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        rows = [
            ("token", f"{money.symbol}, {money.decimals} decimals"),
            ("owner", view.owner),
            ("machines", str(view.machine_count)),
            ("validators' seats", f"{view.matured_seats} matured"),
            ("opening and registering", "paused" if view.paused else "open"),
            ("registering takes a licence", "yes" if view.gated else "no"),
            *params_rows(view.params, money),
        ]
        call.out.sheet(pool_json(client.pool.address, view, money), f"Pool {client.pool.address}", rows)
