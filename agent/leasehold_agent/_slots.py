"""How many streams a lease may hold open at once, over the API and SSH together.

Each stream costs the agent a socket to the engine and a few hundred KiB of buffers, so one tenant must not
be able to open them without end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from leasehold.market.wire import TooManyRequests


class Slots:
    """Counts what is in use by key and refuses the one too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used: Counter[int | str] = Counter()

    def used(self, key: int | str) -> int:
        return self._used[key]

    @contextmanager
    def take(self, key: int | str) -> Iterator[None]:
        """Hold one slot of `key`. Raises `TooManyRequests`."""
        if self._used[key] >= self._most:
            raise TooManyRequests(
                f"There are {self._most} streams open already; close one of them and try again.",
                retry_after=1,
            )
        self._used[key] += 1
        try:
            yield
        finally:
            self._used[key] -= 1
            if not self._used[key]:
                del self._used[key]
