"""Where tenants came from lately: the last few networks of each lease, for an hour."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Final

KNOWN_SECONDS: Final = 3600.0
OF_LEASE: Final = 4
"""Networks of one lease, or who has one could make the whole world known."""
MOST_LEASES: Final = 4096


class Known:
    """One for all doors."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._of: OrderedDict[int, OrderedDict[str, None]] = OrderedDict()
        self._seen: defaultdict[str, dict[int, float]] = defaultdict(dict)

    def add(self, lease: int, address: str) -> None:
        """`lease`'s tenant is at `address` (as `network` writes it)."""
        addresses = self._of.setdefault(lease, OrderedDict())
        self._of.move_to_end(lease)
        addresses[address] = None
        addresses.move_to_end(address)
        self._seen[address][lease] = self._now()
        if len(addresses) > OF_LEASE:
            self._forget(lease, addresses.popitem(last=False)[0])
        if len(self._of) > MOST_LEASES:
            old, forgotten = self._of.popitem(last=False)
            for address in forgotten:
                self._forget(old, address)

    def _forget(self, lease: int, address: str) -> None:
        del self._seen[address][lease]
        if not self._seen[address]:
            del self._seen[address]

    def __contains__(self, address: object) -> bool:
        if not isinstance(address, str) or address not in self._seen:
            return False
        return self._now() - max(self._seen[address].values()) < KNOWN_SECONDS
