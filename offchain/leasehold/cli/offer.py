"""`leasehold offer` and `request-quote`: terms between one provider and one renter, as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold import ZERO_ADDRESS
from leasehold.agreements import OfferFile, QuoteRequestFile, read_file, write_file
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, AS_GROUP, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import utc
from leasehold.client import CancelOffers, OfferSigned, SignOffer, quote_request, signed_offers
from leasehold.market import (
    InvalidInput,
    Money,
    format_amount,
    format_duration,
    format_share,
    parse_duration,
    parse_share,
)

if TYPE_CHECKING:
    from leasehold.chain.typed import Offer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Sign terms for a renter, see what became of them, take them back.",
)
NewFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="By default a new file here.")
]


def register(root: typer.Typer) -> None:
    """Add the command that stands outside of the group."""
    root.command("request-quote")(request_quote)


@shared(ANSWERS | WALLET | AS_GROUP)
async def request_quote(
    call: Invocation,
    machine: MachineId,
    duration: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long: 90m, 2h, 30d.")],
    share: Annotated[
        str, typer.Option("--share", metavar="SHARE", help="1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones.")
    ] = "1",
    price: Annotated[
        str | None, typer.Option("--price", metavar="AMOUNT", help="What you would pay per GPU-hour.")
    ] = None,
    spot: Annotated[bool, typer.Option("--spot", help="A lease that may be ended with notice.")] = False,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A word to the provider.")] = "",
    output: NewFile = None,
) -> None:
    """Write a request for terms, to be sent to the machine's provider, who answers with `offer sign`."""
    async with open_session(call) as client:
        request = await quote_request(
            client,
            machine,
            parse_duration(duration),
            share=parse_share(share),
            price=price,
            spot=spot,
            note=note,
        )
        asked = await client.pool.machine_of(machine)
        listed = client.money.show(asked.terms.spot_price if spot else asked.terms.price)
        path = output or Path(f"quote-request-{machine}.json")
        write_file(path, request)
        call.out.answer({"request": str(path), "provider": asked.provider, "machine": machine})
        call.out.say(
            f"The request is in {path}: send it to {asked.provider}, who runs `leasehold offer sign --request`."
            f" Listed is {listed} per GPU-hour."
        )


@app.command("sign")
@shared(SENDS | PROPOSES)
async def sign_offer(
    call: Invocation,
    price: Annotated[
        str | None,
        typer.Option(
            "--price", metavar="AMOUNT", help="Whole tokens per GPU-hour; by default the request's."
        ),
    ] = None,
    request: Annotated[
        Path | None, typer.Option("--request", metavar="FILE", help="What `leasehold request-quote` wrote.")
    ] = None,
    machine: Annotated[int | None, typer.Option("--machine", "-m", metavar="MACHINE", min=1)] = None,
    share: Annotated[
        str | None, typer.Option("--share", metavar="SHARE", help="The largest share; by default 1.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="The longest lease.")
    ] = None,
    spot: Annotated[bool, typer.Option("--spot", help="You may end the lease with notice.")] = False,
    tenant: Annotated[
        str | None,
        typer.Option("--tenant", metavar="ADDRESS", help="Who may use it; by default anybody, once."),
    ] = None,
    expires: Annotated[str, typer.Option("--expires", metavar="DURATION", help="How long it stands.")] = "1d",
    output: NewFile = None,
) -> None:
    """Sign terms for one lease of a machine of yours: a file for the renter, who runs `leasehold rent --offer`.

    They stand in place of the listed price and durations until they expire, are used, or are cancelled. Changing the
    machine's terms or hardware voids them.
    """
    if not (request or (machine and duration)):
        raise InvalidInput(
            "An offer names a machine and a longest lease: say --machine and --for, or --request."
        )
    wish = SignOffer(
        machine,
        price,
        parse_duration(duration) if duration else None,
        parse_share(share) if share else None,
        spot,
        tenant,
        parse_duration(expires),
        read_file(request, QuoteRequestFile) if request else None,
    )
    async with open_session(call) as client:
        plan, money = await wish.plan(client), client.money
        offer, document = plan.offer, _json(plan.offer, money)
        call.out.pairs(f"Offer for machine {offer.machine}", _rows(offer, plan.listed, money))
        if plan.note:
            call.out.say(f"The renter wrote: {plan.note}")
        path = output or Path(f"offer-{offer.machine}-{offer.nonce & 0xFFFF:04x}.json")

        def written(signed: OfferSigned) -> dict[str, Json]:
            write_file(path, signed.offer)
            return {**document, "offer": str(path)}

        await carry_out(
            call,
            client,
            plan,
            question="Sign these terms?",
            document=document,
            answer=written,
            said=lambda done: f"The offer is in {path}. Its renter runs: leasehold rent --offer {path} ...",
            waiting=None,
        )


@app.command("list")
@shared(ANSWERS | WALLET)
async def list_offers(call: Invocation) -> None:
    """List the offers that were signed on this computer, and what became of them."""
    async with open_session(call) as client:
        offers, money = await signed_offers(client), client.money
        call.out.answer([{**_json(offer, money), "state": state} for offer, state in offers])
        call.out.table(
            ("nonce", ">machine", ">price", ">share", "for", "until", "state"),
            [
                (
                    str(offer.nonce),
                    str(offer.machine),
                    format_amount(offer.price, money.decimals),
                    format_share(offer.cells),
                    "anybody" if offer.tenant == ZERO_ADDRESS else offer.tenant,
                    utc(offer.expires_at),
                    state,
                )
                for offer, state in offers
            ],
            empty="No offer was signed here: sign one with `leasehold offer sign`.",
        )


@app.command()
@shared(SENDS | PROPOSES)
async def cancel(
    call: Invocation,
    offers: Annotated[
        list[str],
        typer.Argument(metavar="OFFER...", help="Files, or nonces as `leasehold offer list` shows them."),
    ],
) -> None:
    """Take offers of yours back, all in one transaction. A lease that was opened with one stays."""
    async with open_session(call, signs=True) as client:
        plan = await CancelOffers(tuple(map(_nonce_in, offers))).plan(client)
        await carry_out(
            call,
            client,
            plan,
            question=f"Take {len(plan.nonces)} offers back?",
            document={"cancelled": [str(nonce) for nonce in plan.nonces]},
            said=lambda done: f"{len(plan.nonces)} offers can be used no more.",
        )


def _nonce_in(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    return read_file(Path(text), OfferFile).offer.nonce


def _rows(offer: Offer, listed: int, money: Money) -> tuple[tuple[str, str], ...]:
    return (
        ("price", f"{money.show(offer.price)} per GPU-hour; listed is {money.show(listed)}"),
        ("at most", f"{format_share(offer.cells)} GPU for {format_duration(offer.duration)}"),
        ("to", "anybody, once" if offer.tenant == ZERO_ADDRESS else offer.tenant),
        ("spot", "yes: you may end it with notice" if offer.spot else "no"),
        ("stands until", utc(offer.expires_at)),
        ("nonce", str(offer.nonce)),
    )


def _json(offer: Offer, money: Money) -> dict[str, Json]:
    return {
        "machine": offer.machine,
        "revision": offer.revision,
        "price": format_amount(offer.price, money.decimals),
        "cells": offer.cells,
        "duration": offer.duration,
        "spot": offer.spot,
        "tenant": None if offer.tenant == ZERO_ADDRESS else offer.tenant,
        "nonce": str(offer.nonce),
        "expires_at": offer.expires_at,
        "token": money.symbol,
    }
