"""`leasehold offer`: terms between one provider and one renter, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold.agreements import OfferFile, QuoteRequestFile, read_file, write_file
from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import Cells, NewFile, Read, Seconds, argument, option
from leasehold.client import CancelOffers, OfferSigned, SignOffer, signed_offers
from leasehold.market import InvalidInput, Json, offer_json, parse_duration
from leasehold.tables import offers_table


@shared(SENDS | PROPOSES, "sign")
async def sign_offer(
    call: Invocation,
    price: Annotated[
        str | None, option("--price AMOUNT", "Whole tokens per GPU-hour; by default the request's.")
    ] = None,
    request: Annotated[Path | None, option("--request FILE", "What `leasehold request-quote` wrote.")] = None,
    machine: Annotated[int | None, option("--machine -m MACHINE", min=1)] = None,
    share: Annotated[Cells, option("--share SHARE", "The largest share; by default 1.")] = None,
    seconds: Annotated[Seconds, option("--for DURATION", "The longest lease.")] = None,
    spot: Annotated[bool, option("--spot", "You may end the lease with notice.")] = False,
    tenant: Annotated[
        str | None, option("--tenant ADDRESS", "Who may use it; by default anybody, once.")
    ] = None,
    expires: Annotated[str, option("--expires DURATION", "How long it stands.")] = "1d",
    output: NewFile = None,
) -> None:
    """Sign terms for one lease of a machine of yours: a file for the renter, who runs `leasehold rent --offer`.

    They stand in place of the listed price and durations until they expire, are used, or are cancelled. Changing the
    machine's terms or hardware voids them.
    """
    if not (request or (machine and seconds)):
        raise InvalidInput(
            "An offer names a machine and a longest lease: say --machine and --for, or --request."
        )
    asked, lasting = read_file(request, QuoteRequestFile) if request else None, parse_duration(expires)
    wish = SignOffer(machine, price, seconds, share, spot, tenant, lasting, asked)
    async with planned(call, wish, signs=False) as plan:
        offer = plan.offer
        call.out.pairs(f"Offer for machine {offer.machine}", plan.rows())
        if plan.note:
            call.out.say(f"The renter wrote: {plan.note}")
        path = output or Path(f"offer-{offer.machine}-{offer.nonce & 0xFFFF:04x}.json")

        def written(signed: OfferSigned) -> dict[str, Json]:
            write_file(path, signed.offer)
            return {"offer": str(path)}

        said = f"The offer is in {path}. Its renter runs: leasehold rent --offer {path} ..."
        await carry_out(call, plan, "Sign these terms?", said, also=written, waiting=None)


@shared(ANSWERS | WALLET, "list")
async def list_offers(call: Invocation) -> None:
    """List the offers that were signed on this computer, and what became of them."""
    async with open_session(call) as client:
        offers, money = await signed_offers(client), client.money
    told = [{**offer_json(offer, money), "state": state} for offer, state in offers]
    empty = "No offer was signed here: sign one with `leasehold offer sign`."
    call.out.listing(told, *offers_table(offers, money), empty=empty)


def _nonce_in(text: str) -> tuple[int, bool]:
    """And whether the offer itself was seen."""
    if text.isascii() and text.isdigit():
        return int(text), False
    return read_file(Path(text), OfferFile).offer.nonce, True


@shared(SENDS | PROPOSES)
async def cancel(
    call: Invocation,
    nonces: Annotated[
        tuple[tuple[int, bool], ...],
        argument("OFFER...", "Files, or nonces as `leasehold offer list` shows them."),
        Read(_nonce_in),
    ],
) -> None:
    """Take offers of yours back, all in one transaction. A lease that was opened with one stays."""
    seen = frozenset(nonce for nonce, read in nonces if read)
    async with planned(call, CancelOffers(tuple(nonce for nonce, _ in nonces), seen)) as plan:
        many = f"{len(plan.nonces)} offers"
        await carry_out(call, plan, f"Take {many} back?", f"{many} can be used no more.")
