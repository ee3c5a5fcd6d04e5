"""`leasehold offer` and `request-quote`: terms between one provider and one renter, as files."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import Field

from leasehold.agreements import (
    Document,
    FileRefused,
    OfferFile,
    Proposal,
    QuoteRequestFile,
    check_place,
    pool_domain,
    read_file,
    write_file,
)
from leasehold.chain import ZERO_ADDRESS, OfferRecord, format_lease
from leasehold.chain.typed import Offer, sign
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._proposing import write_proposal
from leasehold.cli._shared import ANSWERS, AS_GROUP, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import utc
from leasehold.client import PoolClient, parse_address
from leasehold.errors import UnknownMachine
from leasehold.market import (
    InvalidInput,
    Money,
    format_amount,
    format_duration,
    format_share,
    parse_amount,
    parse_duration,
    parse_share,
)

DAY = 86_400
BITS = 256  # of a word of nonces

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


class OffersFile(Document):
    """Which offers were signed here."""

    leasehold: Literal["offers"] = "offers"
    version: Literal[1] = 1
    offers: tuple[OfferFile, ...] = Field(default_factory=tuple)


@dataclass(frozen=True)
class Asked:
    """What an offer should say, from options and a request."""

    machine: int
    cells: int
    duration: int
    spot: bool
    tenant: str


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
    cells, seconds = parse_share(share), parse_duration(duration)
    async with open_session(call) as session:
        found, money = await session.pool.machine_of(machine), session.money
        if not found.gpus:
            raise UnknownMachine(machine)
        request = QuoteRequestFile(
            chain=session.deployment.chain_id,
            pool=session.deployment.controller,
            machine=machine,
            cells=cells,
            duration=seconds,
            spot=spot,
            tenant=session.account,
            price=str(parse_amount(price, money.decimals)) if price else None,
            note=note,
        )
        path = output or Path(f"quote-request-{machine}.json")
        write_file(path, request)
        call.out.answer({"request": str(path), "provider": found.provider, "machine": machine})
        call.out.say(
            f"The request is in {path}: send it to {found.provider}, who runs `leasehold offer sign --request`."
            f" Listed is {money.show(found.terms.spot_price if spot else found.terms.price)} per GPU-hour."
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
    lasting = parse_duration(expires)
    async with open_session(call) as session:
        asked, wished, note = _asked(session, request, machine, share, duration, spot, tenant)
        money = session.money
        if price is None and wished is None:
            raise InvalidInput("At what price? Say --price in whole tokens per GPU-hour.")
        units = parse_amount(price, money.decimals) if price is not None else int(wished or 0)
        found = await session.provider().own(asked.machine)
        kept = _kept(session)
        offer = Offer(
            account=session.account,
            machine=asked.machine,
            revision=found.revision,
            price=units,
            cells=asked.cells,
            duration=asked.duration,
            spot=asked.spot,
            tenant=asked.tenant,
            nonce=await _nonce(session, kept),
            expires_at=await session.now() + lasting,
        )
        call.out.pairs(f"Offer for machine {offer.machine}", _rows(offer, found.terms.price, money))
        if note:
            call.out.say(f"The renter wrote: {note}")
        if call.dry_run:
            call.out.answer({**_json(offer, money), "dry_run": True})
            return
        if call.acting.group is not None:
            group = call.groups.get(call.acting.group)
            await write_proposal(call, session, Proposal("offer", session.deployment, group, (offer,)))
            return
        call.out.confirm("Sign these terms?")
        assert session.signer is not None
        proof = await sign(offer, pool_domain(session.deployment), session.signer)
        file = OfferFile.of(session.deployment, session.account, offer, proof)
        path = output or Path(f"offer-{offer.machine}-{offer.nonce & 0xFFFF:04x}.json")
        write_file(path, file)
        write_file(_book(session), OffersFile(offers=(*kept.offers, file)), private=True)
        call.out.answer({**_json(offer, money), "offer": str(path)})
        call.out.say(f"The offer is in {path}. Its renter runs: leasehold rent --offer {path} ...")


@app.command("list")
@shared(ANSWERS | WALLET)
async def list_offers(call: Invocation) -> None:
    """List the offers that were signed on this computer, and what became of them."""
    async with open_session(call) as session:
        index, now, money = await session.index(), await session.now(), session.money
        records = await index.offers(session.account)
        mine = [each.offer for each in _kept(session).offers if each.provider == session.account]
        states = [_state(each, records, now) for each in mine]
        call.out.answer(
            [{**_json(each, money), "state": state} for each, state in zip(mine, states, strict=True)]
        )
        call.out.table(
            ("nonce", ">machine", ">price", ">share", "for", "until", "state"),
            [
                (
                    str(each.nonce),
                    str(each.machine),
                    format_amount(each.price, money.decimals),
                    format_share(each.cells),
                    "anybody" if each.tenant == ZERO_ADDRESS else each.tenant,
                    utc(each.expires_at),
                    state,
                )
                for each, state in zip(mine, states, strict=True)
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
    nonces = sorted({_nonce_in(each) for each in offers})
    masks: dict[int, int] = {}
    for nonce in nonces:
        masks[nonce // BITS] = masks.get(nonce // BITS, 0) | 1 << nonce % BITS
    async with open_session(call, signs=True) as session:
        pool = session.pool
        for word, mask in masks.items():
            if spoiled := await pool.offers_of(session.account, word) & mask:
                nonce = word * BITS + (spoiled & -spoiled).bit_length() - 1
                raise FileRefused(f"Offer {nonce} was used or cancelled already: leave it out.")

        async def send() -> Done:
            if len(masks) == 1:
                ((word, mask),) = masks.items()
                receipt = await pool.cancel_offers(word, mask)
            else:
                receipt = await pool.multicall(
                    [pool.encode("cancelOffers", word, mask) for word, mask in masks.items()]
                )
            return Done(receipt, f"{len(nonces)} offers can be used no more.")

        document: dict[str, Json] = {"cancelled": [str(each) for each in nonces]}
        await carry_out(call, f"Take {len(nonces)} offers back?", document, send)


# ---------------------------------------------------------------------------------------------------------- details


def _asked(
    session: PoolClient,
    request: Path | None,
    machine: int | None,
    share: str | None,
    duration: str | None,
    spot: bool,
    tenant: str | None,
) -> tuple[Asked, str | None, str]:
    """What options say, and the request where they are silent; the price that it wishes for, and its note."""
    given = read_file(request, QuoteRequestFile) if request else None
    if given is not None:
        check_place(given.chain, given.pool, session.deployment, "request")
    cells = parse_share(share) if share else given.cells if given else 8
    seconds = parse_duration(duration) if duration else given.duration if given else 0
    number = machine or (given.machine if given else 0)
    if not number or not seconds:
        raise InvalidInput(
            "An offer names a machine and a longest lease: say --machine and --for, or --request."
        )
    account = parse_address(tenant) if tenant else given.tenant if given else ZERO_ADDRESS
    asked = Asked(number, cells, seconds, spot or bool(given and given.spot), account)
    return asked, given.price if given else None, given.note if given else ""


async def _nonce(session: PoolClient, kept: OffersFile) -> int:
    """One that is free on chain and was not given away here: one word a day, so that offers share its storage slot."""
    word = await session.now() // DAY
    taken = await session.pool.offers_of(session.account, word)
    for each in kept.offers:
        if each.offer.nonce // BITS == word:
            taken |= 1 << each.offer.nonce % BITS
    free = [bit for bit in range(BITS) if not taken >> bit & 1]
    return word * BITS + secrets.choice(free) if free else secrets.randbits(128) << 32


def _nonce_in(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    return read_file(Path(text), OfferFile).offer.nonce


def _book(session: PoolClient) -> Path:
    # The genesis too: a development chain repeats ids and addresses.
    deployment = session.deployment
    pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
    return session.home.path / "offers" / f"{pool}.json"


def _kept(session: PoolClient) -> OffersFile:
    path = _book(session)
    return read_file(path, OffersFile) if path.exists() else OffersFile()


def _state(offer: Offer, records: list[OfferRecord], now: int) -> str:
    for record in records:
        if record.spoiled(offer.nonce):
            if record.lease and record.nonce == offer.nonce:
                return f"used by lease {format_lease(record.lease)}"
            return "used or cancelled"
    return "expired" if offer.expires_at < now else "open"


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
