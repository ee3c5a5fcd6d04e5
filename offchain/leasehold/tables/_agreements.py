"""What people agree upon: offers, delegates, and what things are called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from leasehold.chain import ZERO_ADDRESS
from leasehold.market import Money, format_duration, format_share, format_time
from leasehold.tables._table import Table

if TYPE_CHECKING:
    from leasehold.chain import DelegateRecord
    from leasehold.chain.typed import Offer
    from leasehold.client import NamedThing

OFFER_COLUMNS: Final = ("nonce", ">machine", ">price", ">share", "for", "until", "state")
DELEGATE_COLUMNS: Final = ("for", "delegate", ">cap", "in each", ">left", "until")
NAME_COLUMNS: Final = ("kind", "thing", "name", "labels")


def offers_table(offers: Iterable[tuple[Offer, str]], money: Money) -> Table:
    """Offers, each with what became of it."""
    rows = [
        (
            str(offer.nonce),
            str(offer.machine),
            money.exact(offer.price),
            format_share(offer.cells),
            "anybody" if offer.tenant == ZERO_ADDRESS else offer.tenant,
            format_time(offer.expires_at),
            state,
        )
        for offer, state in offers
    ]
    return Table(OFFER_COLUMNS, rows)


def delegates_table(records: Iterable[DelegateRecord], now: int, money: Money, account: str) -> Table:
    """Who may act for whom, and how far. now: unix seconds of the chain. account: whose own place says `you`."""

    def shown(who: str) -> str:
        return "you" if who == account else who

    rows = [
        (
            shown(record.account),
            shown(record.delegate),
            money.show(record.cap),
            format_duration(record.period) if record.period else "-",
            money.show(record.cap - record.spent_at(now)),
            format_time(record.expiry) + (" (over)" if record.expiry < now else ""),
        )
        for record in records
    ]
    return Table(DELEGATE_COLUMNS, rows)


def names_table(things: Iterable[NamedThing]) -> Table:
    """What things are called, and their labels."""
    rows = [(thing.kind.value, thing.thing, thing.tag.name or "", _labels(thing)) for thing in things]
    return Table(NAME_COLUMNS, rows)


def _labels(thing: NamedThing) -> str:
    return " ".join(f"{word}={value}" for word, value in thing.tag.labels.items())
