"""The pool's facts, kept for a block: nodes are not asked as often as strangers ask us."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from leasehold.chain import Block
from leasehold.gateway._facts import Facts, PoolFacts

KEPT_SECONDS: Final = 10.0
"""However long no block comes: an index that stands still holds nothing back."""


class _Asked(NamedTuple):
    """block: where the market stood. since: by the clock."""

    block: Block
    since: float
    answer: asyncio.Task[PoolFacts]

    @property
    def failed(self) -> bool:
        return self.answer.done() and (self.answer.cancelled() or self.answer.exception() is not None)


class KeptPool:
    """What the chain says of the pool, asked once for each block at which the market stands.

    Whoever asks meanwhile waits for the same answer, and who leaves takes it from nobody. A failure is told to those
    who wait for it, and not kept.

    at: the block at which the market stands, or raises. clock: seconds
    """

    def __init__(
        self, facts: Facts, at: Callable[[], Block], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._facts = facts
        self._at = at
        self._clock = clock
        self._asked: _Asked | None = None

    async def facts(self) -> PoolFacts:
        """Raises ChainError, and what `at` raises."""
        block, now, asked = self._at(), self._clock(), self._asked
        if asked is None or asked.block != block or asked.failed or now - asked.since >= KEPT_SECONDS:
            asked = self._asked = _Asked(block, now, asyncio.create_task(self._ask()))
        return await asyncio.shield(asked.answer)

    async def _ask(self) -> PoolFacts:
        return await self._facts.pool()
