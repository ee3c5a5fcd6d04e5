"""What a container is given of cards: each as a whole, a slice of it, a part by MPS, or time on it beside others.
Never what is still in somebody else's hands.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import structlog

from leasehold_agent.cards._mig import CardBusy, Mig
from leasehold_agent.cards._mps import Mps
from leasehold_agent.cards._mps_book import CardPart
from leasehold_agent.cards._place import Place
from leasehold_agent.cards._shares import LeaseShare
from leasehold_agent.cards._tools import ToolFailed
from leasehold_agent.host import processes_on

_log = structlog.get_logger("leasehold_agent")


@dataclass(frozen=True)
class HeldDevices:
    """What containers of other leases have, by the UUIDs of cards and slices: `alone`, `shared` with whoever takes
    time on the card as well, or in `parts` (MPS).
    """

    alone: Collection[str] = frozenset()
    shared: Collection[str] = frozenset()
    parts: Collection[str] = frozenset()


@dataclass
class Devices:
    """`processes` gives those that compute on a card, by its UUID; it raises OSError. `mps` where parts of cards are
    sold by it.
    """

    mig: Mig = field(default_factory=Mig)
    mps: Mps | None = None
    processes: Callable[[str], Collection[int]] = processes_on

    async def give(
        self, lease: int, share: LeaseShare, *, mine: Collection[str], held: HeldDevices, timed: bool = False
    ) -> dict[str, str]:
        """By the UUID of each device that the lease's container gets, that of its card. `mine` are slices that it has
        had already. timed: of a card that is not cut it gets time, beside others that do, or its part (MPS).

        Raises CardBusy: what it is to get is not free yet. ToolFailed, OSError.
        """
        given = {}
        for card in share.gpu_uuids:
            if share.mps and timed:
                await self._part(lease, card, share, held)
                given[card] = card
            elif share.cut:
                await self._cut(card, held, watched=share.watched)
                given[await self.mig.give(lease, card, share.cells, mine=mine, held=held.alone)] = card
            else:
                await self._leave_part(lease, card)
                await self._card(card, held, timed=timed, watched=share.watched)
                if share.watched:
                    await self.mig.leave_whole(card, held=held.alone)
                given[card] = card
        return given

    async def take_back(self, lease: int, given: Mapping[str, str]) -> None:
        """Destroy the slices among these devices of the lease. One that is in use still goes when it is in the way."""
        for card in sorted(set(given.values())):
            slices = {device for device, of in given.items() if of == card != device}
            with contextlib.suppress(CardBusy):
                try:
                    if slices:
                        await self.mig.take_back(lease, card, slices)
                except (ToolFailed, OSError) as error:
                    _log.warning("mig", problem=str(error))

    async def free(self, card: str, *, watched: bool) -> None:
        """The card is to be as any other, and nobody's. Raises CardBusy, ToolFailed, OSError."""
        if self.mps is not None:
            await self.mps.clear(card)
        await self._card(card, HeldDevices(), timed=False, watched=watched)

    async def end_part(self, lease: int) -> None:
        """Nothing is left of the lease's part of a card. What somebody is still in goes once nobody is."""
        if self.mps is None:
            return
        try:
            await self.mps.take_back(lease)
        except (CardBusy, ToolFailed, OSError) as error:
            _log.warning("mps", problem=str(error))

    def place(self, lease: int, share: LeaseShare) -> Place:
        """What the container of a lease is made with for its part of a card."""
        if self.mps is None or not share.mps:
            return Place()
        return self.mps.service.place(lease, share.gpu_uuids[0])

    async def show(self, lease: int, container: str) -> None:
        """The programs of a container that has started, by its full id, are told what they have of the card."""
        if self.mps is not None:
            await self.mps.show(lease, container)

    async def fit(self, lease: int, share: LeaseShare) -> None:
        """The lease's part of its card is another size, while it runs. Raises CardBusy, ToolFailed, OSError."""
        if self.mps is not None and share.mps:
            await self.mps.give(lease, CardPart(share.gpu_uuids[0], share.cells, share.card_bytes))

    async def _part(self, lease: int, card: str, share: LeaseShare, held: HeldDevices) -> None:
        if card in held.alone or card in held.shared:
            raise CardBusy("The card is still another lease's.")
        if self.mps is None:
            raise ToolFailed(("nvidia-cuda-mps-control",), "the agent was not started to sell parts by it")
        await self.mps.give(lease, CardPart(card, share.cells, share.card_bytes))

    async def _cut(self, card: str, held: HeldDevices, *, watched: bool) -> None:
        """A card that several leases had in slices may have been one lease's as a whole since. Raises CardBusy."""
        if not await asyncio.to_thread(self.mig.enabled, card):
            await self._card(card, held, timed=False, watched=watched)
            await self.mig.cut(card)

    async def _leave_part(self, lease: int, card: str) -> None:
        """Its lease had a part of the card before, or others had: the card is to be as any other. Raises CardBusy."""
        if self.mps is not None:
            await self.mps.take_back(lease)
            await self.mps.clear(card)

    async def _card(self, card: str, held: HeldDevices, *, timed: bool, watched: bool) -> None:
        """Whoever had the card has left it: its driver wipes what a process had, once that is gone. With time on it
        others may compute there, but nobody whose card it is alone.
        """
        if card in held.alone or card in held.parts or (card in held.shared and not timed):
            raise CardBusy("The card is still another lease's.")
        if card in held.shared:
            return
        computing = await asyncio.to_thread(self.processes, card) if watched else ()
        if computing:
            raise CardBusy("A process still computes on the card.")
