"""`leasehold pool`: what an owner does: licences, pausing, gating, naming the treasury, a successor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from leasehold.chain import Receipt
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.client import PoolClient, parse_address
from leasehold.market import InvalidInput

Account = Annotated[str, typer.Argument(metavar="ADDRESS", help="An account.")]
FOREVER = 2**40 - 1


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (pause, resume, gate, licence, licences, treasury):
        app.command()(command)
    app.command("hand-over")(hand_over)
    app.command()(accept)


async def _order(
    call: Invocation,
    question: str,
    said: str,
    document: dict[str, Json],
    send: Callable[[PoolClient], Awaitable[Receipt]],
) -> None:
    """One call of the owner's."""
    async with open_session(call, signs=True) as session:

        async def sending() -> Done:
            return Done(await send(session), said)

        if call.dry_run:
            call.out.say(f"Would ask: {question}")
        await carry_out(call, question, document, sending)


@shared(SENDS | PROPOSES)
async def pause(call: Invocation) -> None:
    """Stop opening leases and registering machines. Every way out stays open."""
    said = "The pool is paused: `leasehold pool resume` ends that."
    await _order(call, "Pause the pool?", said, {"paused": True}, lambda s: s.pool.set_paused(True))


@shared(SENDS | PROPOSES)
async def resume(call: Invocation) -> None:
    """Allow opening leases and registering machines again."""
    document: dict[str, Json] = {"paused": False}
    await _order(call, "Resume?", "The pool is open again.", document, lambda s: s.pool.set_paused(False))


@shared(SENDS | PROPOSES)
async def gate(
    call: Invocation,
    gated: Annotated[
        bool, typer.Option("--on/--off", help="Whether registering takes a licence from now on.")
    ] = True,
) -> None:
    """Say whether registering a machine takes a licence. Machines that are in stay in."""
    said = "Registering takes a licence now." if gated else "Anybody may register machines now."
    question = (
        "Ask for a licence from whoever registers a machine?" if gated else "Let anybody register machines?"
    )
    await _order(call, question, said, {"gated": gated}, lambda s: s.pool.set_gated(gated))


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
    account, expires_at = parse_address(address), FOREVER
    if not kind.isascii() or not 0 < len(kind) <= 32:
        raise InvalidInput(f"'{kind}' is no kind of licence: write up to 32 plain characters.")
    if until is not None:
        expires_at = _end_of(until)
    question = f"Grant {account} a licence `{kind}`, {_said(expires_at)}?"
    said = f"{account} has a licence `{kind}`, {_said(expires_at)}."
    if revoke:
        seats, expires_at = 0, 0
        question = f"Take the licence `{kind}` of {account} back?"
        said = f"{account} has no licence `{kind}` any more."

    async def send(session: PoolClient) -> Receipt:
        return await (await session.pool.directory()).issue_licence(account, kind, seats, expires_at)

    document: dict[str, Json] = {"account": account, "kind": kind, "seats": seats, "expires_at": expires_at}
    await _order(call, question, said, document, send)


@shared(ANSWERS)
async def licences(
    call: Invocation,
    address: Annotated[str | None, typer.Argument(metavar="[ADDRESS]", help="Of this account only.")] = None,
) -> None:
    """List the licences that the pool's owner has issued."""
    account = parse_address(address) if address else None
    async with open_session(call, account=False) as session:
        index, now = await session.index(), await session.now()
        found = await index.licences(account=account)
        call.out.answer(
            [
                {
                    "account": each.account,
                    "kind": each.kind,
                    "seats": each.seats,
                    "expires_at": each.expires_at,
                    "valid": now <= each.expires_at,
                }
                for each in found
            ]
        )
        call.out.table(
            ("account", "kind", ">seats", "valid"),
            [
                (each.account, each.kind, str(each.seats),
                 _said(each.expires_at) if now <= each.expires_at else "no longer")
                for each in found
            ],
            empty="No licence has been issued.",
        )  # fmt: skip


@shared(SENDS | PROPOSES)
async def treasury(call: Invocation, address: Account) -> None:
    """As the owner, say whose ledger fees go to from now on."""
    account = parse_address(address)
    said = f"Fees go to {address} from now on."
    await _order(
        call,
        f"Send the pool's fees to {address}?",
        said,
        {"treasury": address},
        lambda s: s.pool.set_treasury(account),
    )


@shared(SENDS | PROPOSES)
async def hand_over(call: Invocation, address: Account) -> None:
    """As the owner, offer the pool to another account, which becomes its owner with `pool accept`."""
    account = parse_address(address)
    said = f"{address} becomes the owner with `leasehold pool accept`."
    await _order(
        call,
        f"Offer the pool to {address}?",
        said,
        {"pending_owner": address},
        lambda s: s.pool.transfer_ownership(account),
    )


@shared(SENDS | PROPOSES)
async def accept(call: Invocation) -> None:
    """Become the owner of a pool that its owner has offered to you."""
    await _order(call, "Become the owner?", "The pool is yours.", {}, lambda s: s.pool.accept_ownership())


def _end_of(day: str) -> int:
    try:
        parsed = date.fromisoformat(day)
    except ValueError:
        raise InvalidInput(f"'{day}' is not a day: write YYYY-MM-DD.") from None
    return int(datetime(parsed.year, parsed.month, parsed.day, 23, 59, 59, tzinfo=UTC).timestamp())


def _said(expires_at: int) -> str:
    return "for ever" if expires_at >= FOREVER else f"until {utc(expires_at)}"
