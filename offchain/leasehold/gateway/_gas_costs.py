"""What gas costs in the pool's token, and how much of it may be lost.

Whoever sends for others pays gas for what reverts, too: between being tried and being mined the calls of a stranger
meet another state, by chance or because he made it so. That cannot be excluded, so it is bounded: by account and
network, and for all together by a day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from leasehold.errors import error_type
from leasehold.gateway._errors import GatewayRefusal
from leasehold.gateway._refusals import Busy, NotServed
from leasehold.rates import RateLimit, TokenBuckets

COIN: Final = 10**18
"""Wei in one coin of the chain."""
DAY: Final = 86_400.0
MOST_FAILED: Final = 3
"""Of one account, and of one network, a day."""
_GAS_ROOM, _PRICE_ROOM = 120, 125  # per cent of what it takes now, for what may come until it is sent


@error_type(
    "fee-too-low",
    problem="Gas has become dearer than the fee of {fee:money}, and {needed:money} are needed by now",
    advice="ask what it costs now, and sign again.",
)
class FeeTooLow(GatewayRefusal):
    """What was signed does not pay for the gas. Token units."""

    status = 409
    fee: int
    needed: int


@dataclass(frozen=True)
class GasPricing:
    """coin_price: token units for one coin of the chain. most_price: wei for a unit of gas that is paid at most."""

    coin_price: int
    most_price: int

    def quoted(self, gas: int, price: int) -> int:
        """The fee that is asked for, in token units: with room for gas that becomes dearer while somebody signs."""
        return self.worth(gas * _GAS_ROOM // 100 * (price * _PRICE_ROOM // 100))

    def worth(self, wei: int) -> int:
        """Token units that pay for so much, rounded up."""
        return -(-wei * self.coin_price // COIN)

    def in_wei(self, fee: int) -> int:
        """What a fee is worth, rounded down."""
        return fee * COIN // self.coin_price

    def check_price(self, price: int) -> None:
        """Raises NotServed while gas is dearer than the operator lets it be."""
        if price > self.most_price:
            raise NotServed(
                "Gas is dearer now than this gateway pays;", "try again later, or send it yourself."
            )

    def check_fee(self, fee: int, gas: int, price: int) -> None:
        """Raises FeeTooLow where the fee does not pay for the gas at its present price."""
        if fee < (needed := self.worth(gas * price)):
            raise FeeTooLow(fee, needed)


class GasLosses:
    """What reverted, as long as it counts. daily: wei that may be lost in a day. now: seconds from anywhere."""

    def __init__(self, daily: int, now: Callable[[], float]) -> None:
        self._all = TokenBuckets(RateLimit(daily, DAY), now)
        self._each = TokenBuckets(RateLimit(MOST_FAILED, DAY), now)

    @contextmanager
    def risked(self, wei: int, account: str, network: str) -> Iterator[Callable[[int], None]]:
        """Counts as lost what is sent inside, until the yielded function is told how many wei really were: none where
        it was paid for, or refused without being sent. Raises Busy where too much was lost already.
        """
        taken: list[tuple[TokenBuckets, str, float]] = []

        def back(lost: int) -> None:
            while taken:
                bucket, key, tokens = taken.pop()
                bucket.spend(key, -tokens)
                if bucket is self._all:
                    bucket.spend(key, float(lost))

        for bucket, key, tokens in (
            (self._each, account, 1.0),
            (self._each, network, 1.0),
            (self._all, "", float(wei)),
        ):
            if wait := bucket.wait(key, tokens):
                back(0)
                raise Busy("Too much that was sent for others failed;", "send it yourself, or later.", wait)
            taken.append((bucket, key, tokens))
        yield back
