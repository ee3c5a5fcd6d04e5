"""The loop's time, rationed: whoever makes it work hard waits while others are kept waiting.

Taking a message apart costs some ten microseconds however small it is, so that a client that sends nothing but
tiny ones can keep the loop busy. What each caller's bytes cost is counted; as long as the loop turns quickly
nobody is held back, and a single upload may use all of it; once a turn takes long, those who have used more than
their part are not read from until they are out of debt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from leasehold.rates import RateLimit
from leasehold_agent.access._rates import Buckets

READ_BYTES: Final = 16 * 1024
"""What is read from one connection in one turn of the loop: it bounds how long the turn can be."""
PART: Final = RateLimit(0.5, 2.5)
"""Seconds of the loop for one lease, or for one stranger's address: a fifth of it."""
SLOW_TURN: Final = 0.1


class Ration:
    """One for the whole agent. `now` is seconds, `worked` those in which this thread had a processor: what a busy host
    takes from the loop nobody is charged for.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.perf_counter,
        rate: RateLimit = PART,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
        self._now, self._worked = now, worked
        self._spent = Buckets(rate, now)
        self._turn = 0.0
        self._probing = False

    def spend(self, key: str, seconds: float) -> float:
        """`key` has taken `seconds`; how long it is not to be read from."""
        self._probe()
        debt = self._spent.spend(key, seconds)
        return min(debt, 10.0) if self._turn > SLOW_TURN else 0.0

    @contextmanager
    def measured(self, key: str) -> Iterator[Callable[[], float]]:
        """Counts what is done inside; the function tells afterwards how long to wait."""
        began, waits = self._worked(), [0.0]
        try:
            yield lambda: waits[0]
        finally:
            waits[0] = self.spend(key, self._worked() - began)

    def _probe(self) -> None:
        """How long does a turn of the loop take? Asked again whenever somebody makes it work."""
        if not self._probing:
            self._probing = True
            asyncio.get_running_loop().call_soon(self._turned, self._now())

    def _turned(self, since: float) -> None:
        self._probing = False
        self._turn = max(self._now() - since, self._turn * 0.8)
