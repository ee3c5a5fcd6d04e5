"""Token buckets whose refusal a caller of the agent is told. Callers over libp2p all come from this host and share its
address.
"""

from __future__ import annotations

from leasehold.market.wire import TooManyRequests
from leasehold.rates import TokenBuckets


class Buckets(TokenBuckets):
    """Those of the agent's doors, routes and streams."""

    def take(self, key: str, tokens: float = 1.0) -> None:
        """Raises `TooManyRequests`, with the seconds until there are enough."""
        if wait := self.wait(key, tokens):
            raise TooManyRequests(f"Too much has been sent; try again in {wait} s.", retry_after=wait)
