"""Whose turn it is: networks that knocked least lately go first.

Counted are an address, its /24 and its /16 (in IPv6 a /64, /48 and /32), and compared from the large to the small, in
powers of two: where large networks came about as often, the smaller ones decide. So ten thousand addresses of one
network are one caller beside a tenant of another, a tenant is ahead of the flood from his neighbour's address, and who
comes for the first time is ahead of all who came before.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Final

from leasehold_agent._rates import network

Networks = tuple[str, str, str]
Rank = tuple[int, ...]

FADE_SECONDS: Final = 10.0
MOST_COUNTED: Final = 65_536


class Turns:
    """How often networks came. All counts are halved every `FADE_SECONDS`, and when there are too many of them."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._faded = now()
        self._came: dict[str, int] = {}

    def rank(self, networks: Networks) -> Rank:
        """How often they came before, which is now once more. The lowest goes first."""
        if self._now() - self._faded > FADE_SECONDS or len(self._came) > MOST_COUNTED:
            self._fade()
        came = self._came.get
        large, middle, small = networks
        first, second, third = came(large, 0), came(middle, 0), came(small, 0)
        self._came[large] = first + 1
        self._came[middle] = second + 1
        self._came[small] = third + 1
        return first.bit_length(), second.bit_length(), third.bit_length()

    def _fade(self) -> None:
        self._faded = self._now()
        self._came = {key: count >> 1 for key, count in self._came.items() if count > 1}


def networks(address: str) -> Networks:
    """The networks of an address, large to small; the last is what `network` counts it as."""
    small = address if ":" not in address else network(address)
    if ":" in small:
        parsed = ipaddress.ip_network(small)
        assert isinstance(parsed, ipaddress.IPv6Network)
        return str(parsed.supernet(new_prefix=32)), str(parsed.supernet(new_prefix=48)), small
    middle = small.rpartition(".")[0]
    return middle.rpartition(".")[0], middle, small
