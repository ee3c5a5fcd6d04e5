"""`leasehold delegate`: who may rent from an account's ledger, up to a cap."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.chain import DelegateRecord
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, AS_GROUP, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import utc
from leasehold.client import PoolClient, parse_address
from leasehold.market import InvalidInput, Money, format_amount, format_duration, parse_amount, parse_duration

MAX_PERIOD = (1 << 32) - 1

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Let others open, extend, close and resize leases for an account, up to a cap.",
)
Who = Annotated[str, typer.Argument(metavar="ADDRESS", help="The delegate's account.")]


@app.command("set")
@shared(SENDS | PROPOSES)
async def set_delegate(
    call: Invocation,
    who: Who,
    cap: Annotated[
        str, typer.Option("--cap", metavar="AMOUNT", help="Most whole tokens that may leave the ledger.")
    ],
    period: Annotated[
        str | None,
        typer.Option("--period", metavar="DURATION", help="In each of these: 30d; by default once for all."),
    ] = None,
    expires: Annotated[
        str, typer.Option("--expires", metavar="DURATION", help="How long it may act at all.")
    ] = "30d",
) -> None:
    """Let an account rent from this account's ledger, in this pool. Setting it again begins anew, nothing spent.

    A delegate may open, extend, close, reject and resize leases and set workloads; never withdraw or transfer. It can
    waste up to the cap (around the border of two periods, two caps): give it as you would give money.
    """
    delegate, lasting = parse_address(who), parse_duration(expires)
    seconds = parse_duration(period) if period else 0
    if seconds > MAX_PERIOD:
        raise InvalidInput(
            f"A period lasts at most {format_duration(MAX_PERIOD)}: choose a shorter --period."
        )
    async with open_session(call, signs=True) as session:
        money = session.money
        units = parse_amount(cap, money.decimals)
        if units == 0:
            raise InvalidInput(
                "A cap of zero lets nothing be rented: name one, or `leasehold delegate revoke`."
            )
        if delegate == session.account:
            raise InvalidInput("That is the account itself, which needs no leave: name another.")
        expiry = await session.now() + lasting
        span = f"in each {format_duration(seconds)}" if seconds else "altogether"
        call.out.say(
            f"{delegate} may spend {money.show(units)} {span} of the ledger of {session.account}, until "
            f"{utc(expiry)}."
        )

        async def send() -> Done:
            receipt = await session.accounts.set_delegate(
                session.pool.address, delegate, units, seconds, expiry
            )
            return Done(receipt, f"{delegate} is a delegate: it acts with --for-account {session.account}.")

        document: dict[str, Json] = {
            "account": session.account,
            "delegate": delegate,
            "cap": format_amount(units, money.decimals),
            "period": seconds,
            "expiry": expiry,
            "token": money.symbol,
        }
        await carry_out(call, "Let it?", document, send)


@app.command("list")
@shared(ANSWERS | WALLET | AS_GROUP)
async def list_delegates(call: Invocation) -> None:
    """List who may rent from this account's ledger, and from whose ledgers this account may."""
    async with open_session(call) as session:
        index, now, money = await session.index(), await session.now(), session.money
        mine = [
            each
            for each in await index.delegates()
            if session.account in (each.account, each.delegate) and (each.cap or each.expiry)
        ]
        call.out.answer([_json(each, now, money) for each in mine])
        call.out.table(
            ("for", "delegate", ">cap", "in each", ">left", "until"),
            [
                (
                    "you" if each.account == session.account else each.account,
                    "you" if each.delegate == session.account else each.delegate,
                    money.show(each.cap),
                    format_duration(each.period) if each.period else "-",
                    money.show(each.cap - each.spent_at(now)),
                    utc(each.expiry) + (" (over)" if each.expiry < now else ""),
                )
                for each in mine
            ],
            empty="There is no delegate: let somebody with `leasehold delegate set ADDRESS --cap AMOUNT`.",
        )


@app.command()
@shared(SENDS | PROPOSES)
async def revoke(call: Invocation, who: Who) -> None:
    """End a delegate's leave, from the next block on. Leases that it has opened run on."""
    delegate = parse_address(who)
    async with open_session(call, signs=True) as session:
        await _known(session, delegate)

        async def send() -> Done:
            receipt = await session.accounts.set_delegate(session.pool.address, delegate, 0, 0, 0)
            return Done(receipt, f"{delegate} is no delegate of {session.account} any more.")

        document: dict[str, Json] = {"account": session.account, "delegate": delegate}
        await carry_out(call, f"End the leave of {delegate}?", document, send)


async def _known(session: PoolClient, delegate: str) -> None:
    standing = await session.accounts.delegation_of(session.account, session.pool.address, delegate)
    if standing.since == 0:
        raise InvalidInput(
            f"{delegate} is no delegate of {session.account} in this pool: see `leasehold delegate list`."
        )


def _json(record: DelegateRecord, now: int, money: Money) -> dict[str, Json]:
    return {
        "account": record.account,
        "delegate": record.delegate,
        "cap": format_amount(record.cap, money.decimals),
        "period": record.period,
        "expiry": record.expiry,
        "spent": format_amount(record.spent_at(now), money.decimals),
        "left": format_amount(record.cap - record.spent_at(now), money.decimals),
        "over": record.expiry < now,
        "token": money.symbol,
    }
