"""How often an address may call, and how much of it may run at a time."""

from __future__ import annotations

from leasehold.gateway._errors import TooManyCalls
from leasehold.rates import TokenBuckets


class CallRates(TokenBuckets):
    """Token buckets whose refusal a caller is told."""

    def take(self, key: str, tokens: float = 1.0) -> None:
        """Raises TooManyCalls, with the seconds until there are enough."""
        if wait := self.wait(key, tokens):
            raise TooManyCalls(wait)


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
