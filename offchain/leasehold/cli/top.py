"""`leasehold top`: what your leases do and cost, by the second."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated

from rich.live import Live
from rich.text import Text

from leasehold import format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._hints import said
from leasehold.cli._options import option
from leasehold.cli._output import plain
from leasehold.client import PoolClient, TopRow, top_of, totals, watch_leases
from leasehold.market import Json, Money
from leasehold.tables import Table, top_table


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def top(
    call: Invocation,
    once: Annotated[
        bool, option("--once", "Print it once and leave; so it is without a terminal, too.")
    ] = False,
) -> None:
    """Watch what your leases use of their machines and what they cost, by the second. Ctrl-C ends it.

    Money and time are worked out here each second; each machine's agent is asked every fifteen.
    """
    async with open_session(call) as client:
        if once or call.out.as_json or not sys.stdout.isatty():
            with call.out.working("Asking the machines' agents"):
                rows = await top_of(client)
            call.out.answer(_told(rows, client.money))
            call.out.table(*top_table(rows, client.money), empty=_EMPTY)
            _say_silent(call, rows)
            return
        call.out.if_interrupted = "Your leases go on."
        await _watch(call, client)


_EMPTY = "You have no running lease: rent with `leasehold rent`."


async def _watch(call: Invocation, client: PoolClient) -> None:
    """Draw the table each second, as many rows as there is room for."""
    with Live(console=call.out.out, auto_refresh=False, screen=True) as live:
        async with aclosing(watch_leases(client)) as looks:  # type: ignore[type-var]
            async for rows in looks:
                live.update(_drawn(rows, client.money, max(1, live.console.height - 3)), refresh=True)


def _drawn(rows: Sequence[TopRow], money: Money, room: int) -> Text:
    """The table as lines: rich's own takes forty times as long, each second."""
    columns, cells = top_table(rows[:room], money)
    lines = Table(columns, [tuple(map(plain, row)) for row in cells]).lines()
    return Text("\n".join([*lines, "", _sum(rows, money, room)]), no_wrap=True, overflow="crop")


def _sum(rows: Sequence[TopRow], money: Money, room: int) -> str:
    if not rows:
        return _EMPTY
    spent = totals(rows)
    more = f" {len(rows) - room} more do not fit." if len(rows) > room else ""
    return (
        f"{len(rows)} leases: {money.show(spent['spent'])} spent, {money.show(spent['hourly'])} per hour.{more} "
        "Ctrl-C leaves."
    )


def _told(rows: Sequence[TopRow], money: Money) -> dict[str, Json]:
    return {
        "leases": [row.to_json(money) for row in rows],
        **{name: money.exact(units) for name, units in totals(rows).items()},
        "token": money.symbol,
    }


def _say_silent(call: Invocation, rows: Sequence[TopRow]) -> None:
    for row in rows:
        if row.problem is not None:
            call.out.warn(f"Lease {format_lease(row.record.lease.id)}: {said(row.problem)}")
