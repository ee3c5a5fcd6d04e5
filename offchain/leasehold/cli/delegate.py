"""`leasehold delegate`: who may rent from an account's ledger, up to a cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, AS_GROUP, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import utc
from leasehold.client import AllowDelegate, RevokeDelegate, delegates_of
from leasehold.market import Money, format_amount, format_duration, parse_duration

if TYPE_CHECKING:
    from leasehold.chain import DelegateRecord

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
    request = AllowDelegate(who, cap, parse_duration(period) if period else 0, parse_duration(expires))
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        span = f"in each {format_duration(plan.period)}" if plan.period else "altogether"
        call.out.say(
            f"{plan.delegate} may spend {money.show(plan.cap)} {span} of the ledger of {client.account}, until "
            f"{utc(plan.expiry)}."
        )
        await carry_out(
            call,
            client,
            plan,
            question="Let it?",
            document={
                "account": client.account,
                "delegate": plan.delegate,
                "cap": format_amount(plan.cap, money.decimals),
                "period": plan.period,
                "expiry": plan.expiry,
                "token": money.symbol,
            },
            said=lambda done: f"{plan.delegate} is a delegate: it acts with --for-account {client.account}.",
        )


@app.command("list")
@shared(ANSWERS | WALLET | AS_GROUP)
async def list_delegates(call: Invocation) -> None:
    """List who may rent from this account's ledger, and from whose ledgers this account may."""
    async with open_session(call) as client:
        mine, now, money = await delegates_of(client), await client.now(), client.money
        call.out.answer([_json(each, now, money) for each in mine])
        call.out.table(
            ("for", "delegate", ">cap", "in each", ">left", "until"),
            [
                (
                    "you" if each.account == client.account else each.account,
                    "you" if each.delegate == client.account else each.delegate,
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
    async with open_session(call, signs=True) as client:
        plan = await RevokeDelegate(who).plan(client)
        await carry_out(
            call,
            client,
            plan,
            question=f"End the leave of {plan.delegate}?",
            document={"account": client.account, "delegate": plan.delegate},
            said=lambda done: f"{plan.delegate} is no delegate of {client.account} any more.",
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
