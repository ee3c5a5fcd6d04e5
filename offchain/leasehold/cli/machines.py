"""`leasehold machines`: search the pool."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._shared import ANSWERS, shared
from leasehold.cli._shown import MACHINE_COLUMNS, machine_json, machine_row
from leasehold.market import MACHINES, parse_search, sort

Search = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SEARCH]...", help="Such as: gpu:H100 'mem>=80' 'price<2.5' -country:US"),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    # A term may begin with `-`, which negates it and is no option.
    app.command(context_settings={"ignore_unknown_options": True})(machines)


@shared(ANSWERS)
async def machines(
    call: Invocation,
    search: Search = None,
    by: Annotated[
        str, typer.Option("--sort", metavar="FIELD", help="A field; `-` before it: largest first.")
    ] = "price",
    everything: Annotated[bool, typer.Option("--all", help="Retired machines too.")] = False,
) -> None:
    """Search the pool's machines. All terms must hold; docs/reference/query.md describes the language.

    Fields: FIELDS.
    """
    parse_search(" ".join(search or ()))
    sort((), by)
    async with open_session(call, account=False) as session:
        found = await session.search(" ".join(search or ()), by=by, retired=everything)
        call.out.answer([machine_json(each) for each in found])
        call.out.table(
            MACHINE_COLUMNS,
            [machine_row(each) for each in found],
            empty="No machine matches: widen the search."
            if await session.search(retired=everything)
            else "The pool has no machine yet: look again later.",
        )
        for each in found:
            if each.missing and not call.out.as_json:
                call.out.warn(f"Machine {each.id}: {each.missing}")
        if found and not call.out.as_json:
            call.out.say(f"Prices are in {session.money.symbol} an hour for a whole GPU (or CPU unit).")


machines.__doc__ = (machines.__doc__ or "").replace("FIELDS", ", ".join(sorted(MACHINES.fields)))
