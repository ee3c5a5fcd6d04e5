"""How much may be uploaded, and how often: token buckets by account, by address and altogether.

Accounts cost nothing to make, so the bound that holds is the one by address (a /64 of IPv6) and the one
altogether. Callers over libp2p share one address; where that is too little, a workload can be pinned to
IPFS instead of uploaded.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from leasehold.market.wire import TooManyRequests


@dataclass(frozen=True)
class Rate:
    """`burst` at once, and then `burst` again over each `seconds`."""

    burst: float
    seconds: float


class Buckets:
    """A token bucket for each of the `most` keys used last."""

    def __init__(self, rate: Rate, now: Callable[[], float], most: int = 4096) -> None:
        self._rate = rate
        self._now = now
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, tokens: float = 1.0) -> None:
        """Raises `TooManyRequests`, with the seconds until there are enough."""
        now, speed = self._now(), self._rate.burst / self._rate.seconds
        level, since = self._levels.pop(key, (self._rate.burst, now))
        level = min(self._rate.burst, level + max(0.0, now - since) * speed)
        enough = level >= tokens
        self._levels[key] = (level - tokens if enough else level, now)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        if not enough:
            wait = max(1, ceil((tokens - level) / speed))
            raise TooManyRequests(f"Too much has been sent; try again in {wait} s.", retry_after=wait)


@dataclass(frozen=True)
class UploadRates:
    account: Rate = Rate(30, 60)
    address: Rate = Rate(60, 60)
    address_bytes: Rate = Rate(16 * 2**20, 60)
    all_bytes: Rate = Rate(256 * 2**20, 3600)


class UploadLimits:
    """Every limit of uploads. `now` counts seconds and may start anywhere."""

    def __init__(self, rates: UploadRates, now: Callable[[], float]) -> None:
        self._account = Buckets(rates.account, now)
        self._address = Buckets(rates.address, now)
        self._address_bytes = Buckets(rates.address_bytes, now)
        self._all_bytes = Buckets(rates.all_bytes, now)

    def call(self, address: str) -> None:
        """One more call from `address`, before anything else is looked at."""
        self._address.take(_network(address))

    def account(self, account: str) -> None:
        """One more upload by `account`, whose signature was checked."""
        self._account.take(account)

    def bytes(self, address: str, count: int) -> None:
        """`count` bytes have come from `address`."""
        self._address_bytes.take(_network(address), count)
        self._all_bytes.take("", count)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address
