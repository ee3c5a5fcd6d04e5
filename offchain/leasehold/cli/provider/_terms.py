"""A machine's terms as options, and as rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.client import AskedTerms
from leasehold.market import InvalidInput, Money, format_duration, parse_duration

if TYPE_CHECKING:
    from leasehold.chain import Terms

EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class TermsOptions:
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

    def read(self) -> AskedTerms:
        """What was asked. Raises InvalidInput: a duration or a day that cannot be read."""
        return AskedTerms(
            price=self.price,
            spot_price=self.spot_price,
            shortest=_seconds(self.shortest),
            longest=_seconds(self.longest),
            trial=_seconds(self.trial),
            until=None if self.until is None else day(self.until),
        )


def _seconds(duration: str | None) -> int | None:
    return None if duration is None else parse_duration(duration)


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


def day(text: str) -> date:
    """A day as it is typed. Raises InvalidInput."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"'{text}' is not a day: write YYYY-MM-DD.") from None
