"""A WebSocket to the address that was meant, and to no other."""

from __future__ import annotations

from websockets.asyncio.client import connect


class StraightConnect(connect):
    """`connect`, which follows redirects by itself: an agent would have its caller call whatever it names, and bring
    the credential there.
    """

    def process_redirect(self, exc: Exception) -> Exception | str:
        """The refusal that a redirect is, too."""
        return exc
