"""A few places for what lasts, such that nobody keeps one by being slow.

Whoever waits first in line has somebody leave, once a window: of whoever has a place for that long, first those of
tenants who have several, then the one that got least since anybody was asked last. What leaves goes to the end of the
line, with all that it has; so a source that gives a byte now and then holds up nobody, and a good one keeps its place.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


class PlaceLost(Exception):
    """Somebody else has waited for the place: go to the end of the line, and go on from where you are."""


@dataclass(eq=False)
class PlaceHeld:
    """A place of `whose`, had `since`. `got` counts bytes since anybody was asked to leave last."""

    whose: str
    since: float
    got: int = 0
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self) -> None:
        """From any thread. Raises PlaceLost."""
        if self.lost.is_set():
            raise PlaceLost

    async def unless_lost(self, work: asyncio.Future[T]) -> T:
        """What `work` gives; it goes on where the place is lost meanwhile. Raises PlaceLost, and what it raises."""
        losing = asyncio.ensure_future(self.lost.wait())
        try:
            either: set[asyncio.Future[Any]] = {work, losing}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            losing.cancel()
        if not work.done():
            raise PlaceLost
        return await work


def slowest(held: Sequence[PlaceHeld], now: float, window: float) -> PlaceHeld | None:
    """Whose turn it is to leave, if anybody has had a place for a whole window."""
    places = Counter(place.whose for place in held)
    settled = [place for place in held if not place.lost.is_set() and now - place.since >= window]
    return min(settled, key=lambda place: (-places[place.whose], place.got), default=None)


@dataclass
class FairPlaces:
    """`most` places. window: seconds."""

    most: int
    window: float
    now: Callable[[], float] = time.monotonic
    _held: list[PlaceHeld] = field(default_factory=list)
    _line: list[asyncio.Future[PlaceHeld]] = field(default_factory=list)
    _whose: dict[asyncio.Future[PlaceHeld], str] = field(default_factory=dict)
    _asked: float = float("-inf")

    @asynccontextmanager
    async def place(self, whose: str) -> AsyncIterator[PlaceHeld]:
        """A place, once there is one."""
        turn: asyncio.Future[PlaceHeld] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        self._whose[turn] = whose
        try:
            self._give()
            while not turn.done():
                await asyncio.wait({turn}, timeout=self.window)
                self._make_way(turn)
            yield turn.result()
        finally:
            self._leave(turn)

    async def in_turns(self, whose: str, work: Callable[[PlaceHeld], Awaitable[T]]) -> T:
        """`work` with a place, as often as it takes: it is called again where it raised PlaceLost."""
        while True:
            try:
                async with self.place(whose) as place:
                    return await work(place)
            except PlaceLost:
                continue

    def _give(self) -> None:
        """Free places to those who are first in line; of tenants who have none before others."""
        while self._line and len(self._held) < self.most:
            places = Counter(place.whose for place in self._held)
            turn = min(self._line, key=lambda turn: places[self._whose[turn]])
            self._line.remove(turn)
            place = PlaceHeld(self._whose[turn], self.now())
            self._held.append(place)
            turn.set_result(place)

    def _make_way(self, turn: asyncio.Future[PlaceHeld]) -> None:
        now = self.now()
        if turn not in self._line[:1] or now - self._asked < self.window:
            return
        if (place := slowest(self._held, now, self.window)) is not None:
            place.lost.set()
        self._asked = now
        for held in self._held:
            held.got = 0

    def _leave(self, turn: asyncio.Future[PlaceHeld]) -> None:
        del self._whose[turn]
        if turn in self._line:
            self._line.remove(turn)
        elif turn.done() and not turn.cancelled():
            self._held.remove(turn.result())
        self._give()
