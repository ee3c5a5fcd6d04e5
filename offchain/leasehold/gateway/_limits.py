"""How often an address may call."""

from __future__ import annotations

from leasehold.gateway._errors import TooManyCalls
from leasehold.rates import TokenBuckets


class CallRates(TokenBuckets):
    """Token buckets whose refusal a caller is told."""

    def take(self, key: str, tokens: float = 1.0) -> None:
        """Raises TooManyCalls, with the seconds until there are enough."""
        if wait := self.wait(key, tokens):
            raise TooManyCalls(wait)
