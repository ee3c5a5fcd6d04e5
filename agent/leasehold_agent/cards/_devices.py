"""What a container is given of cards: each as a whole, or a slice of it. Never what is still in somebody's hands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import structlog

from leasehold_agent.cards._mig import CardBusy, Mig
from leasehold_agent.cards._shares import LeaseShare
from leasehold_agent.cards._tools import ToolFailed
from leasehold_agent.host import processes_on

_log = structlog.get_logger("leasehold_agent")


@dataclass
class Devices:
    """`processes` gives those that compute on a card, by its UUID; it raises OSError."""

    mig: Mig = field(default_factory=Mig)
    processes: Callable[[str], Collection[int]] = processes_on

    async def give(
        self, lease: int, share: LeaseShare, *, mine: Collection[str], held: Collection[str]
    ) -> dict[str, str]:
        """By the UUID of each device that the lease's container gets, that of its card. `mine` are slices that it has
        had already, `held` what other containers have.

        Raises CardBusy: what it is to get is not free yet. ToolFailed, OSError.
        """
        given = {}
        for card in share.gpu_uuids:
            if share.cut:
                given[await self.mig.give(lease, card, share.cells, mine=mine, held=held)] = card
            else:
                await self._whole(card, held, watched=share.watched)
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

    async def _whole(self, card: str, held: Collection[str], *, watched: bool) -> None:
        """Whoever had the card has left it: its driver wipes what a process had, once that is gone."""
        if card in held:
            raise CardBusy("The card is still another lease's.")
        computing = await asyncio.to_thread(self.processes, card) if watched else ()
        if computing:
            raise CardBusy("A process still computes on the card.")
