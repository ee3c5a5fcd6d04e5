"""A machine's terms as options, and as rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Annotated

import typer

from leasehold.chain import Terms
from leasehold.market import InvalidInput, Money, format_duration, parse_amount, parse_duration

DAY = 86_400
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class AskedTerms:
    """A machine's terms as options; `None` leaves them as they are."""

    price: Annotated[
        str | None,
        typer.Option("--price", metavar="AMOUNT", help="Whole tokens for a GPU (or CPU unit) an hour."),
    ] = None
    spot_price: Annotated[
        str | None,
        typer.Option(
            "--spot-price", metavar="AMOUNT", help="For leases that you may end with notice; 0 sells none."
        ),
    ] = None
    shortest: Annotated[str | None, typer.Option("--min", metavar="DURATION", help="Shortest lease.")] = None
    longest: Annotated[str | None, typer.Option("--max", metavar="DURATION", help="Longest lease.")] = None
    trial: Annotated[
        str | None,
        typer.Option("--trial", metavar="DURATION", help="How long a started lease may be rejected, to 15m."),
    ] = None
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="YYYY-MM-DD", help="Last day (UTC) by whose end every lease ends."),
    ] = None


def default_terms(now: int) -> Terms:
    """What `join` offers unless told otherwise, but for the price."""
    return Terms(
        price=0,
        spot_price=0,
        min_duration=600,
        max_duration=7 * DAY,
        trial=600,
        available_until_day=now // DAY + 365,
    )


def changed_terms(terms: Terms, money: Money, asked: AskedTerms) -> Terms:
    """`terms` with what was asked.

    Raises:
        InvalidInput: an amount, duration or day that cannot be read.
    """
    if asked.price is not None:
        terms = replace(terms, price=parse_amount(asked.price, money.decimals))
    if asked.spot_price is not None:
        terms = replace(terms, spot_price=parse_amount(asked.spot_price, money.decimals))
    if asked.shortest is not None:
        terms = replace(terms, min_duration=parse_duration(asked.shortest))
    if asked.longest is not None:
        terms = replace(terms, max_duration=parse_duration(asked.longest))
    if asked.trial is not None:
        terms = replace(terms, trial=parse_duration(asked.trial))
    if asked.until is not None:
        terms = replace(terms, available_until_day=_day(asked.until))
    return terms


def terms_rows(terms: Terms, money: Money) -> tuple[tuple[str, str], ...]:
    """The terms for people."""
    until = EPOCH + timedelta(days=terms.available_until_day)
    spot = f", spot {money.show(terms.spot_price)}" if terms.spot_price else ""
    return (
        ("price", f"{money.show(terms.price)} per GPU-hour{spot}"),
        ("leases", f"{format_duration(terms.min_duration)} to {format_duration(terms.max_duration)}"),
        ("trial", format_duration(terms.trial)),
        ("available until", f"{until.isoformat()}, end of day UTC"),
    )


def _day(text: str) -> int:
    try:
        return (date.fromisoformat(text) - EPOCH).days
    except ValueError:
        raise InvalidInput(f"'{text}' is not a day: write YYYY-MM-DD.") from None
