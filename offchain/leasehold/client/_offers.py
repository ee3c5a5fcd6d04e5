"""Terms between one provider and one renter: asked for, signed, looked after, taken back."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.agreements import FileRefused, OfferFile, QuoteRequestFile, check_place
from leasehold.chain import ZERO_ADDRESS, OfferRecord, format_lease
from leasehold.chain.typed import Offer
from leasehold.client._address import parse_address
from leasehold.client._agreeing import sign_or_propose
from leasehold.client._client import ProposalMade
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._tenant_errors import PriceNotNamed
from leasehold.errors import UnknownMachine
from leasehold.market import (
    InvalidInput,
    Json,
    format_duration,
    format_share,
    format_time,
    offer_json,
    parse_amount,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

DAY = 86_400
WORD = 256  # nonces that share a storage slot
WHOLE = 8  # cells of a GPU


async def quote_request(
    client: PoolClient,
    machine: int,
    seconds: int,
    *,
    share: int = WHOLE,
    price: Decimal | str | None = None,
    spot: bool = False,
    note: str = "",
) -> QuoteRequestFile:
    """What to send to a machine's provider, who answers with an offer. Nothing is signed or sent.

    share: cells. price: what one would pay, whole tokens per GPU-hour.

    Raises:
        UnknownMachine. InvalidInput: the price is no amount.
    """
    if not (await client.pool.machine_of(machine)).gpus:
        raise UnknownMachine(machine)
    return QuoteRequestFile(
        chain=client.deployment.chain_id,
        pool=client.deployment.controller,
        machine=machine,
        cells=share,
        duration=seconds,
        spot=spot,
        tenant=client.account,
        price=None if price is None else str(parse_amount(str(price), client.money.decimals)),
        note=note,
    )


@dataclass(frozen=True)
class SignOffer(Request["OfferSigned"]):
    """Sign terms for one lease of a machine of one's own, in place of the listed price and durations.

    They stand until they expire, are used, or are taken back; changing the machine's terms or hardware voids them.
    What is not named is as `answering` has it, else: a whole GPU, for anybody, once.

    price: whole tokens per GPU-hour. share: most cells; seconds: the longest lease. lasting: seconds that it stands.
    """

    machine: int | None = None
    price: Decimal | str | None = None
    seconds: int | None = None
    share: int | None = None
    spot: bool = False
    tenant: str | None = None
    lasting: int = DAY
    answering: QuoteRequestFile | None = None

    async def plan(self, client: PoolClient) -> SignOfferPlan:
        asked = self.answering
        if asked is not None:
            check_place(asked.chain, asked.pool, client.deployment, "request")
        machine = self.machine or (asked.machine if asked else 0)
        seconds = self.seconds or (asked.duration if asked else 0)
        if not machine or not seconds:
            raise InvalidInput("An offer names a machine and a longest lease", "name both.")
        if self.price is not None:
            price = parse_amount(str(self.price), client.money.decimals)
        elif asked is not None and asked.price is not None:
            price = int(asked.price)
        else:
            raise PriceNotNamed()
        own = await client.provider().own(machine)
        offer = Offer(
            account=client.account,
            machine=machine,
            revision=own.revision,
            price=price,
            cells=self.share or (asked.cells if asked else WHOLE),
            duration=seconds,
            spot=self.spot or bool(asked and asked.spot),
            tenant=parse_address(self.tenant) if self.tenant else asked.tenant if asked else ZERO_ADDRESS,
            nonce=await _free_nonce(client),
            expires_at=await client.now() + self.lasting,
        )
        return SignOfferPlan(client, offer, own.terms.price, asked.note if asked else "")


@dataclass(frozen=True)
class SignOfferPlan(Plan["OfferSigned"]):
    """Terms to be signed. listed: the machine's price, token units per GPU-hour. note: what the renter wrote."""

    client: PoolClient
    offer: Offer
    listed: int
    note: str

    def to_json(self) -> dict[str, Json]:
        return offer_json(self.offer, self.client.money)

    def rows(self) -> tuple[tuple[str, str], ...]:
        """The terms, beside what is listed: rows for people."""
        offer, money = self.offer, self.client.money
        return (
            ("price", f"{money.show(offer.price)} per GPU-hour; listed is {money.show(self.listed)}"),
            ("at most", f"{format_share(offer.cells)} GPU for {format_duration(offer.duration)}"),
            ("to", "anybody, once" if offer.tenant == ZERO_ADDRESS else offer.tenant),
            ("spot", "yes: you may end it with notice" if offer.spot else "no"),
            ("stands until", format_time(offer.expires_at)),
            ("nonce", str(offer.nonce)),
        )

    async def steps(self) -> AsyncIterator[Step]:
        book = self.client.home.offers(self.client.deployment)
        if any(kept.offer.nonce == self.offer.nonce for kept in book.all()):
            raise FileRefused("Another offer was signed meanwhile that shuts this one out", "sign it anew.")
        proofs, proposal = await sign_or_propose(self.client, [self.offer])
        if proposal is not None:
            yield ProposalMade(proposal)
            return
        file = OfferFile.of(self.client.deployment, self.client.account, self.offer, proofs[0])
        book.add(file)
        yield OfferSigned(file)


@dataclass(frozen=True)
class OfferSigned(Step):
    """What its renter needs (`leasehold.agreements.write_file` writes it)."""

    offer: OfferFile


async def signed_offers(client: PoolClient) -> list[tuple[Offer, str]]:
    """The account's offers that were signed here, each with what became of it, in words."""
    records, now = await (await client.index()).offers(client.account), await client.now()
    book = client.home.offers(client.deployment)
    offers = [kept.offer for kept in book.all() if kept.provider == client.account]
    return [(offer, _became(offer, records, now)) for offer in offers]


@dataclass(frozen=True)
class CancelOffers(Request["OffersTakenBack"]):
    """Take offers back by their nonces, all in one transaction. A lease that was opened with one stays.

    seen: those of them that stand in a file at hand. A pool knows no offer before it is used: of any other nonce only
    this home can say that there is an offer.
    """

    nonces: tuple[int, ...]
    seen: frozenset[int] = frozenset()

    async def plan(self, client: PoolClient) -> CancelOffersPlan:
        if not self.nonces:
            raise InvalidInput("No offer is named", "name those that are to be taken back.")
        known = {kept.offer.nonce for kept in client.home.offers(client.deployment).all()} | self.seen
        if unknown := [nonce for nonce in self.nonces if nonce not in known]:
            raise InvalidInput(
                f"No offer with the nonce {unknown[0]} was signed here",
                "name the file of one that was signed elsewhere.",
            )
        masks: dict[int, int] = {}
        for nonce in self.nonces:
            masks[nonce // WORD] = masks.get(nonce // WORD, 0) | 1 << nonce % WORD
        for word, mask in masks.items():
            if spoiled := await client.pool.offers_of(client.account, word) & mask:
                nonce = word * WORD + (spoiled & -spoiled).bit_length() - 1
                raise FileRefused(f"Offer {nonce} was used or cancelled already", "leave it out.")
        return CancelOffersPlan(client, tuple(sorted(set(self.nonces))), masks)


@dataclass(frozen=True)
class CancelOffersPlan(Plan["OffersTakenBack"]):
    """Offers that could be used no more. masks: a bit for each nonce, by word."""

    client: PoolClient
    nonces: tuple[int, ...]
    masks: dict[int, int]

    def to_json(self) -> dict[str, Json]:
        return {"cancelled": [str(nonce) for nonce in self.nonces]}

    async def steps(self) -> AsyncIterator[Step]:
        pool, words = self.client.pool, list(self.masks.items())
        if len(words) == 1:
            yield OffersTakenBack(await pool.cancel_offers(*words[0]))
        else:
            calls = [pool.encode("cancelOffers", word, mask) for word, mask in words]
            yield OffersTakenBack(await pool.multicall(calls))


@dataclass(frozen=True)
class OffersTakenBack(Sent):
    """They can be used no more."""


async def _free_nonce(client: PoolClient) -> int:
    """One that is free on chain and was not given away here: one word a day, so that offers share its storage slot."""
    word = await client.now() // DAY
    taken = await client.pool.offers_of(client.account, word)
    for kept in client.home.offers(client.deployment).all():
        if kept.offer.nonce // WORD == word:
            taken |= 1 << kept.offer.nonce % WORD
    free = [bit for bit in range(WORD) if not taken >> bit & 1]
    return word * WORD + secrets.choice(free) if free else secrets.randbits(128) << 32


def _became(offer: Offer, records: Iterable[OfferRecord], now: int) -> str:
    for record in records:
        if record.spoiled(offer.nonce):
            if record.lease and record.nonce == offer.nonce:
                return f"used by lease {format_lease(record.lease)}"
            return "used or cancelled"
    return "expired" if offer.expires_at < now else "open"
