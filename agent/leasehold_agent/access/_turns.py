"""Whose turn it is: networks that were let in least lately go first.

Counted are an address, its /24 and its /16 (in IPv6 a /64, /48 and /32), and compared from the large to the small, in
powers of two: where large networks were let in about as often, the smaller ones decide. So ten thousand addresses of
one network are one caller beside a tenant of another, a tenant is ahead of the flood from his neighbour's address, and
whoever was turned away loses nothing by coming again.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Final

from leasehold.rates import network

Networks = tuple[str, str, str]
LIBP2P: Final[Networks] = ("libp2p", "libp2p", "")
"""Of whom an IPFS node has not introduced yet. A peer is the last of the three: what stands behind it is not known."""
Rank = tuple[int, ...]

FADE_SECONDS: Final = 120.0
MOST_COUNTED: Final = 65_536


class Turns:
    """How often networks were let in. All counts are halved every `FADE_SECONDS`, and when there are too many."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._faded = now()
        self._had: dict[str, int] = {}

    def rank(self, networks: Networks) -> Rank:
        """The lowest goes first."""
        had = self._had.get
        large, middle, small = networks
        return had(large, 0).bit_length(), had(middle, 0).bit_length(), had(small, 0).bit_length()

    def took(self, networks: Networks) -> None:
        """One of them was let in."""
        if self._now() - self._faded > FADE_SECONDS or len(self._had) > MOST_COUNTED:
            self._fade()
        for counted in networks:
            self._had[counted] = self._had.get(counted, 0) + 1

    def _fade(self) -> None:
        self._faded = self._now()
        self._had = {key: count >> 1 for key, count in self._had.items() if count > 1}


def networks(address: str) -> Networks:
    """The networks of an address, large to small; the last is what `network` counts it as."""
    small = address if ":" not in address else network(address)
    if ":" in small:
        parsed = ipaddress.ip_network(small)
        assert isinstance(parsed, ipaddress.IPv6Network)
        return str(parsed.supernet(new_prefix=32)), str(parsed.supernet(new_prefix=48)), small
    middle = small.rpartition(".")[0]
    return middle.rpartition(".")[0], middle, small
