"""`leasehold cost`: what your leases have cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._carrying_out import open_session
from leasehold.cli._choosing import read_labels
from leasehold.cli._command import ANSWERS, OF_GROUP, WALLET, Invocation, shared
from leasehold.cli._completion import known_labels
from leasehold.cli._options import Day, option
from leasehold.client import CostBy, costs_of
from leasehold.files import write_whole
from leasehold.market import InvalidInput
from leasehold.tables import costs_chart, costs_table, spent_table


@shared(ANSWERS | WALLET | OF_GROUP)
async def cost(
    call: Invocation,
    by: Annotated[str, option("--by WHAT", "day, lease or label.")] = "day",
    label: Annotated[
        list[str] | None,
        option("--label WORD=VALUE", "Only leases with this label.", autocompletion=known_labels),
    ] = None,
    since: Annotated[Day, option("--since DAY", "The first day, as 2026-11-24 (UTC).")] = None,
    until: Annotated[Day, option("--until DAY", "The last day.")] = None,
    as_csv: Annotated[bool, option("--csv", "Comma-separated values on stdout.")] = False,
    picture: Annotated[Path | None, option("--svg FILE", "Write a bar chart to a file, too.")] = None,
) -> None:
    """Add up what your leases have cost, those that run included: a table with bars, CSV, or a picture.

    A lease's cost is spread evenly over the time that it paid for. A lease with several labels counts under each, and
    once in the sum.
    """
    if by not in list(CostBy):
        raise InvalidInput(f"Costs are not added up by `{by}`", "choose day, lease or label.")
    if as_csv and call.out.as_json:
        raise InvalidInput("CSV and JSON are two answers", "choose one of --csv and --json.")
    async with open_session(call) as client:
        wanted = read_labels(label or ())
        costs = await costs_of(client, CostBy(by), labels=wanted, since=since, until=until)
        money = client.money
    if picture is not None:
        _draw(picture, costs_chart(costs, money))
    if as_csv:
        typer.echo(spent_table(costs, money).csv(), nl=False)
        return
    table = costs_table(costs, money, block())
    call.out.listing(costs.to_json(money), *table, empty="Nothing was spent on leases in that time.")
    if costs.rows:
        call.out.say(f"{money.show(costs.units)} in all.")


def _draw(path: Path, picture: str) -> None:
    try:
        write_whole(path, picture)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}", "name another with --svg.") from error


def block() -> str:
    """What a bar is made of: not every terminal knows blocks."""
    return "█" if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else "#"
