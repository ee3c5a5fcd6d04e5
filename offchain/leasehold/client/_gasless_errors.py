"""Why a gateway does not send what a wallet signed.

MarketError
├── GaslessRefused
├── GaslessFeeTooHigh
└── GaslessUnknown
"""

from __future__ import annotations

from leasehold.errors import error_type
from leasehold.market import MarketError


@error_type(
    "gasless-refused",
    problem="The gateway does not send it: {reason}",
    advice="choose another gateway, or send it yourself with some of the chain's coin for gas.",
)
class GaslessRefused(MarketError):
    """It says so itself, in its own words. until: unix seconds up to which somebody who has kept what was signed may
    send it all the same; 0 where nothing was signed. What is signed anew before then takes its place.
    """

    reason: str
    until: int = 0


@error_type(
    "gasless-fee-too-high",
    problem="The gateway wants {fee:money} for the gas, and {most:money} were the most",
    advice="name more, or send it yourself.",
)
class GaslessFeeTooHigh(MarketError):
    """More than somebody is willing to pay for one transaction. Token units; nothing was signed."""

    fee: int
    most: int


@error_type(
    "gasless-unknown",
    problem="The gateway has what was signed, and it is not on the chain yet",
    advice="look again: it may be sent until {until:utc}; signed again before, it is done once all the same.",
)
class GaslessUnknown(MarketError):
    """No word of it, by the gateway or the chain. until: unix seconds after which it can be sent no more."""

    until: int
