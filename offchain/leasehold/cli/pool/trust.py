"""`leasehold pool trust` and `show`: who can do what to a pool, and what it is."""

from __future__ import annotations

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._shared import ANSWERS, shared
from leasehold.cli.pool._powers import diff_rows, params_rows, proposal_said, view_json
from leasehold.client import powers_of, table_of_powers


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(trust)
    app.command()(show)


@shared(ANSWERS)
async def trust(call: Invocation) -> None:
    """Show the table of powers, read from the chain: who can take at most what, how fast, and how to leave first."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        rows = table_of_powers(view, money)
        call.out.answer(
            {
                **view_json(view, client),
                "powers": [
                    {
                        "who": power.who,
                        "address": power.address,
                        "takes_at_most": power.takes,
                        "when": power.when,
                        "leave_first": power.leave,
                    }
                    for power in rows
                ],
            }
        )
        if call.out.as_json:
            return
        own = view.companions
        call.out.pairs(
            f"Pool {client.pool.address}",
            (
                ("owner", view.owner),
                ("treasury", view.treasury),
                (
                    "arbiter",
                    view.params.arbiter if int(view.params.arbiter, 16) else "nobody: there are no appeals",
                ),
                ("rest of a slash", view.params.sink if int(view.params.sink, 16) else "burnt"),
                ("token", f"{view.token} ({money.symbol})"),
                ("committee", own.committee),
                ("faults", own.faults),
                ("reputation", own.reputation),
                ("directory", own.directory),
                ("accounts", view.accounts),
                ("opening and registering", "paused" if view.paused else "open"),
                ("registering takes a licence", "yes" if view.gated else "no"),
                ("parameters", f"version {view.params_version}: see `leasehold pool params`"),
            ),
        )
        call.out.table(
            ("who", "can take at most", "how fast", "how to leave first"),
            [(power.who, power.takes, power.when, power.leave) for power in rows],
            empty="",
        )
        call.out.say(proposal_said(view))
        if view.proposed is not None:
            rows_ = diff_rows(view.params, view.proposed, money)
            call.out.table(("parameter", "in force", "proposed"), rows_, empty="It changes nothing.")
        call.out.say(
            "None of these can touch a ledger balance or an escrow, and no contract here can be changed."
        )


@shared(ANSWERS)
async def show(call: Invocation) -> None:
    """Show a pool: its token, its size, its rules."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        call.out.answer(view_json(view, client))
        if call.out.as_json:
            return
        call.out.pairs(
            f"Pool {client.pool.address}",
            (
                ("token", f"{money.symbol}, {money.decimals} decimals"),
                ("owner", view.owner),
                ("machines", str(view.machine_count)),
                ("validators' seats", f"{view.matured_seats} matured"),
                ("opening and registering", "paused" if view.paused else "open"),
                ("registering takes a licence", "yes" if view.gated else "no"),
                *params_rows(view.params, money),
            ),
        )
