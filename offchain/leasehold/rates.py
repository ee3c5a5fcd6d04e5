"""How often, and how much: token buckets in a table of bounded size, and who counts as one caller. For whoever serves.

An address is cheap to make in IPv6 and dear in IPv4, so that a /64 of the one counts as much as a single address of the
other. An IPv4 caller on a socket of both protocols is that IPv4 address, not one of `::ffff:0:0/96`. Who makes more
addresses than a table holds pushes out the oldest, whose buckets are then full again: for that he needs that many
networks of his own.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class RateLimit:
    """`burst` at once, and then `burst` again over each `seconds`."""

    burst: float
    seconds: float

    @property
    def speed(self) -> float:
        """Tokens that come in a second."""
        return self.burst / self.seconds


class TokenBuckets:
    """A token bucket for each of the `most` keys used last. now: seconds from anywhere."""

    def __init__(self, rate: RateLimit, now: Callable[[], float], most: int = 4096) -> None:
        self._rate = rate
        self._now = now
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, tokens: float = 1.0) -> int:
        """Take `tokens`, for which 0 is answered; where there are too few, take none: the seconds until there are."""
        level = self._level(key)
        enough = level >= tokens
        self._set(key, level - tokens if enough else level)
        return 0 if enough else max(1, ceil((tokens - level) / self._rate.speed))

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
