"""How often an address may call: token buckets in a table of bounded size, and who counts as one address.

An address is cheap to make in IPv6 and dear in IPv4, so that a /64 of the one counts as much as a single address of the
other. Who makes more addresses than the table holds pushes out the oldest, whose buckets are then full again: for that
he needs that many networks of his own.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

from leasehold.gateway._errors import TooManyCalls

_MOST: Final = 8_192


class CallRates:
    """A token bucket for each of the keys used last: `burst` at once, and as many again over each `seconds`.

    clock: seconds from anywhere.
    """

    def __init__(self, burst: float, seconds: float, clock: Callable[[], float], most: int = _MOST) -> None:
        self._burst = burst
        self._speed = burst / seconds
        self._clock = clock
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, tokens: float = 1.0) -> None:
        """Raises TooManyCalls, with the seconds until there are enough."""
        now = self._clock()
        level, since = self._levels.pop(key, (self._burst, now))
        level = min(self._burst, level + max(0.0, now - since) * self._speed)
        enough = level >= tokens
        self._levels[key] = (level - tokens if enough else level, now)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        if not enough:
            raise TooManyCalls(max(1, ceil((tokens - level) / self._speed)))


class Places:
    """So many at a time of each key, and altogether."""

    def __init__(self, each: int, altogether: int) -> None:
        self._each = each
        self._altogether = altogether
        self._taken: dict[str, int] = {}
        self.count = 0

    def enter(self, key: str) -> bool:
        """Whether there was room; who entered leaves."""
        if self.count >= self._altogether or self._taken.get(key, 0) >= self._each:
            return False
        self._taken[key] = self._taken.get(key, 0) + 1
        self.count += 1
        return True

    def leave(self, key: str) -> None:
        """Give a place back."""
        self.count -= 1
        left = self._taken[key] - 1
        if left:
            self._taken[key] = left
        else:
            del self._taken[key]


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
