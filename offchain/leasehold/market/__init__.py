"""The renter's and the provider's use cases: searching, quoting, renting, offering.

Decisions (what matches, what it costs, what to do next) are pure functions; the chain, IPFS, agents and the clock are
handed in by whoever composes them.
"""

from leasehold.market._errors import (
    DocumentInvalid,
    DocumentUnavailable,
    InvalidAmount,
    InvalidDuration,
    InvalidInput,
    InvalidSize,
    MachineUnavailable,
    MarketError,
    NoMachineMatches,
    NotEnoughFunds,
    PriceAboveMaximum,
    QueryError,
    StartFailed,
    TermsChanged,
)
from leasehold.market._units import (
    format_amount,
    format_duration,
    format_size,
    parse_amount,
    parse_duration,
    parse_size,
    to_tokens,
)

__all__ = [
    "DocumentInvalid",
    "DocumentUnavailable",
    "InvalidAmount",
    "InvalidDuration",
    "InvalidInput",
    "InvalidSize",
    "MachineUnavailable",
    "MarketError",
    "NoMachineMatches",
    "NotEnoughFunds",
    "PriceAboveMaximum",
    "QueryError",
    "StartFailed",
    "TermsChanged",
    "format_amount",
    "format_duration",
    "format_size",
    "parse_amount",
    "parse_duration",
    "parse_size",
    "to_tokens",
]
