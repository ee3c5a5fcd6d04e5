"""A machine's terms as options."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from leasehold.cli._options import DAY, SECONDS
from leasehold.cli._spelling import option
from leasehold.client import AskedTerms


@dataclass(frozen=True)
class TermsOptions:
    """A machine's terms as options; `None` leaves them as they are."""

    price: Annotated[
        str | None, option("--price AMOUNT", "Whole tokens for a GPU (or CPU unit) an hour.")
    ] = None
    spot_price: Annotated[
        str | None,
        option("--spot-price AMOUNT", "For leases that you may end with notice; 0 sells none."),
    ] = None
    shortest: Annotated[int | None, option("--min DURATION", "Shortest lease."), SECONDS] = None
    longest: Annotated[int | None, option("--max DURATION", "Longest lease."), SECONDS] = None
    trial: Annotated[
        int | None, option("--trial DURATION", "How long a started lease may be rejected, to 15m."), SECONDS
    ] = None
    until: Annotated[
        date | None, option("--until YYYY-MM-DD", "Last day (UTC) by whose end every lease ends."), DAY
    ] = None

    def asked(self) -> AskedTerms:
        return AskedTerms(**vars(self))
