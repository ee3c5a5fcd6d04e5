"""What the elected replica looks after: a look every few seconds, and one task for each thing at most."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from typing import Any, Generic, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from leasehold.errors import ChainError
from leasehold.gateway._errors import for_owner

_log = structlog.get_logger("leasehold.gateway")
K = TypeVar("K", bound=Hashable)


class ElectedKeeper(Generic[K]):
    """event: what the log calls a look that fails. seconds: between two looks, and that one waits for its tasks at
    most. elected: whether this replica is the one that does it.
    """

    def __init__(self, event: str, seconds: float, elected: Callable[[], bool]) -> None:
        self._event = event
        self._seconds = seconds
        self._elected = elected
        self._under_way: dict[K, asyncio.Task[None]] = {}

    async def keep(
        self, look: Callable[[], Awaitable[None]], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        """Looks for ever."""
        while True:
            if self._elected():
                try:
                    await look()
                except (ChainError, SQLAlchemyError) as error:
                    _log.warning(self._event, error=for_owner(error))
            await sleep(self._seconds)

    async def begin(self, things: Iterable[K], turn: Callable[[K], Coroutine[Any, Any, None]]) -> None:
        """A turn for each that has none, and a while of waiting for all; what takes longer goes on beside the next
        look. Raises what a turn has failed with.
        """
        for thing in things:
            if thing not in self._under_way:
                self._under_way[thing] = asyncio.create_task(turn(thing))
        if self._under_way:
            await asyncio.wait(self._under_way.values(), timeout=self._seconds)
        done = {thing: task for thing, task in self._under_way.items() if task.done()}
        for thing in done:  # all of them first: one that failed leaves no other behind
            del self._under_way[thing]
        for task in done.values():
            task.result()

    async def close(self) -> None:
        """Ends what is under way here."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
