"""`leasehold pool licence` and `licences`: who may register machines in a gated pool, or run a software."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.pool.owner import Account, order
from leasehold.client import FOREVER, IssueLicence, parse_address
from leasehold.market import InvalidInput


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(licence)
    app.command()(licences)


@shared(SENDS | PROPOSES)
async def licence(
    call: Invocation,
    address: Account,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", metavar="NAME", help="`provider`, which a gated pool asks for, or a software's."
        ),
    ] = "provider",
    seats: Annotated[
        int, typer.Option("--seats", metavar="N", min=0, max=2**32 - 1, help="At a time, for software.")
    ] = 1,
    until: Annotated[
        str | None, typer.Option("--until", metavar="YYYY-MM-DD", help="Last day (UTC); by default for ever.")
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take it back.")] = False,
) -> None:
    """As the owner, grant an account a licence, change it, or take it back."""
    account = parse_address(address)
    request = IssueLicence(account, kind, 0 if revoke else seats, None if until is None else _day(until))
    question = f"Grant {account} a licence `{kind}`, {_said(request.expires_at)}?"
    said = f"{account} has a licence `{kind}`, {_said(request.expires_at)}."
    if revoke:
        question = f"Take the licence `{kind}` of {account} back?"
        said = f"{account} has no licence `{kind}` any more."
    document: dict[str, Json] = {
        "account": account, "kind": kind, "seats": request.seats, "expires_at": request.expires_at,
    }  # fmt: skip
    await order(call, request, question, said, document)


@shared(ANSWERS)
async def licences(
    call: Invocation,
    address: Annotated[str | None, typer.Argument(metavar="[ADDRESS]", help="Of this account only.")] = None,
) -> None:
    """List the licences that the pool's owner has issued."""
    account = parse_address(address) if address else None
    async with open_session(call, account=False) as client:
        index, now = await client.index(), await client.now()
        issued = await index.licences(account=account)
        call.out.answer(
            [
                {
                    "account": known.account,
                    "kind": known.kind,
                    "seats": known.seats,
                    "expires_at": known.expires_at,
                    "valid": now <= known.expires_at,
                }
                for known in issued
            ]
        )
        call.out.table(
            ("account", "kind", ">seats", "valid"),
            [
                (known.account, known.kind, str(known.seats),
                 _said(known.expires_at) if now <= known.expires_at else "no longer")
                for known in issued
            ],
            empty="No licence has been issued.",
        )  # fmt: skip


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"'{text}' is not a day: write YYYY-MM-DD.") from None


def _said(expires_at: int) -> str:
    return "for ever" if expires_at >= FOREVER else f"until {utc(expires_at)}"
