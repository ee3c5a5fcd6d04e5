"""`leasehold pool collect`: what the pool's fees have come to, moved to its treasury's ledger."""

from __future__ import annotations

import asyncio

import typer

from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.market import format_amount

MOST = 200  # providers that one transaction pulls from, about 2 million gas


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(collect)


@shared(SENDS)
async def collect(call: Invocation) -> None:
    """Move the fees that providers' claims have left to the treasury's ledger. Anyone may."""
    async with open_session(call, signs=True, account=False) as session:
        pool, money = session.pool, session.money
        index = await session.index()
        providers = sorted({each.machine.provider for each in await index.machines()})
        accounts = await asyncio.gather(*map(pool.account_of, providers))
        due = {who: each.fees_due for who, each in zip(providers, accounts, strict=True) if each.fees_due}
        pulled = dict(sorted(due.items(), key=lambda each: -each[1])[:MOST])
        treasury, total = await pool.treasury(), sum(pulled.values())
        document: dict[str, Json] = {
            "treasury": treasury,
            "providers": len(pulled),
            "amount": format_amount(total, money.decimals),
        }
        if not pulled:
            call.out.answer(document)
            call.out.say("No fee is due: providers leave them when they claim (`leasehold provider claim`).")
            return
        if len(due) > MOST:
            call.out.warn(f"The first {MOST} of {len(due)} providers: run this again for the rest.")

        async def send() -> Done:
            return Done(
                await pool.pull_fees(list(pulled)),
                f"The ledger of {treasury} has {money.show(total)} more.",
            )

        whose = "a provider's account" if len(pulled) == 1 else f"{len(pulled)} providers' accounts"
        call.out.say(f"{money.show(total)} of fees lie in {whose}; they are due to {treasury}.")
        await carry_out(call, "Move them to its ledger?", document, send)
