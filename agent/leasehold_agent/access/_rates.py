"""How often, how much and for how long somebody may: token buckets, and who counts as one somebody.

An address is cheap to make in IPv6 and dear in IPv4, so that a /64 of the one counts as much as a single address
of the other. An IPv4 caller on a socket of both protocols is that IPv4 address, not one of `::ffff:0:0/96`.
Callers over libp2p all come from this host and share its address.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from leasehold.market.wire import TooManyRequests


@dataclass(frozen=True)
class RateLimit:
    """`burst` at once, and then `burst` again over each `seconds`."""

    burst: float
    seconds: float

    @property
    def speed(self) -> float:
        return self.burst / self.seconds


class Buckets:
    """A token bucket for each of the `most` keys used last."""

    def __init__(self, rate: RateLimit, now: Callable[[], float], most: int = 4096) -> None:
        self._rate = rate
        self._now = now
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, tokens: float = 1.0) -> None:
        """Raises `TooManyRequests`, with the seconds until there are enough."""
        level = self._level(key)
        enough = level >= tokens
        self._set(key, level - tokens if enough else level)
        if not enough:
            wait = max(1, ceil((tokens - level) / self._rate.speed))
            raise TooManyRequests(f"Too much has been sent; try again in {wait} s.", retry_after=wait)

    def spend(self, key: str, tokens: float) -> float:
        """Take `tokens` whether they are there or not; the seconds until the bucket is out of debt."""
        level = self._level(key) - tokens
        self._set(key, level)
        return max(0.0, -level / self._rate.speed)

    def _level(self, key: str) -> float:
        now = self._now()
        level, since = self._levels.pop(key, (self._rate.burst, now))
        return min(self._rate.burst, level + max(0.0, now - since) * self._rate.speed)

    def _set(self, key: str, level: float) -> None:
        self._levels[key] = (level, self._now())
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)


def network(address: str) -> str:
    """What an address is counted as."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
