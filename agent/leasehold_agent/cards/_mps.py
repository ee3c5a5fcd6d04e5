"""Parts of cards by MPS: given to leases, and taken back once nobody is in them.

The chain says how many cells of a card all leases together have; what a lease that is over has not let go of yet counts
as well. A server or a namespace is made as a lease comes and goes with it; a card goes back to what any card is with
the last of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from leasehold_agent.cards._allocation import CELLS_PER_GPU
from leasehold_agent.cards._mig import CardBusy
from leasehold_agent.cards._mps_book import CardPart, PartsBook
from leasehold_agent.cards._place import Place
from leasehold_agent.cards._tools import ToolFailed

_log = structlog.get_logger("leasehold_agent")


class MpsService(Protocol):
    """What lets leases onto cards: `MpsServers` (version 3) or `MpsDaemons` (version 2)."""

    def place(self, lease: int, card: str) -> Place: ...

    async def claim(self, card: str) -> None: ...

    async def stand(self, lease: int, part: CardPart, parts: Mapping[int, CardPart]) -> None: ...

    async def fall(self, lease: int, part: CardPart) -> None: ...

    async def leave(self, card: str) -> None: ...

    async def mend(self, parts: Mapping[int, CardPart]) -> None: ...

    async def show(self, lease: int, part: CardPart, container: str) -> None: ...


@dataclass
class Mps:
    service: MpsService
    book: PartsBook
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def give(self, lease: int, part: CardPart) -> None:
        """The lease's processes can compute on the card, with the limits of its part; given again, or another size, to
        one that has it already.

        Raises CardBusy: others have too much of it, or compute on it. ToolFailed, OSError.
        """
        async with self._alone:
            before = self.book.load().get(lease)
            if before is not None and (before.over or before.card != part.card):
                await self._end(lease)
                before = None
            others = await self._others(lease, part.card)
            if sum(other.portion.cells for other in others.values()) + part.portion.cells > CELLS_PER_GPU:
                raise CardBusy("A part of the card is still another lease's.")
            if before is None and not others:
                await self.service.claim(part.card)
            self.book.put(lease, part)
            await self.service.stand(lease, part, self._live())
            _log.info("mps", given=part.portion.cells, of=CELLS_PER_GPU)

    async def take_back(self, lease: int) -> None:
        """Nothing is left of the lease's part, where it has one; what somebody is still in goes later. Raises
        CardBusy, ToolFailed, OSError.
        """
        async with self._alone:
            if self.book.close(lease) is not None:
                await self._end(lease)

    async def clear(self, card: str) -> None:
        """The card is to be one lease's alone. Raises CardBusy, ToolFailed, OSError."""
        if not self.book.exists:
            return
        async with self._alone:
            if await self._others(None, card):
                raise CardBusy("The card is still another lease's.")
            await self.service.leave(card)

    async def mend(self) -> None:
        """What there is to be, is; what is over goes, where it can. Raises ToolFailed, OSError."""
        if not self.book.exists:
            return
        async with self._alone:
            for card in {part.card for part in self.book.load().values()}:
                await self._others(None, card)
            await self.service.mend(self._live())

    async def show(self, lease: int, container: str) -> None:
        """Its programs are told what they have of the card's memory; nobody depends on it."""
        part = self.book.load().get(lease)
        try:
            if part is not None:
                await self.service.show(lease, part, container)
        except (ToolFailed, OSError) as error:
            _log.warning("mps", problem=str(error))

    async def _others(self, lease: int | None, card: str) -> dict[int, CardPart]:
        """Who else has parts of the card, once those have gone that are over and that nobody is in."""
        for other, part in self.book.on(card).items():
            if part.over and other != lease:
                try:
                    await self._end(other)
                except (CardBusy, ToolFailed, OSError) as error:
                    _log.info("mps", waits=str(error))
        return {other: part for other, part in self.book.on(card).items() if other != lease}

    async def _end(self, lease: int) -> None:
        part = self.book.close(lease)
        assert part is not None, "only what is noted ends"
        await self.service.fall(lease, part)
        self.book.drop(lease)
        _log.info("mps", taken=part.portion.cells, of=CELLS_PER_GPU)
        if not self.book.on(part.card):
            await self.service.leave(part.card)

    def _live(self) -> dict[int, CardPart]:
        return {lease: part for lease, part in self.book.load().items() if not part.over}
