"""What a container is given of cards: each as a whole, a slice of it, or time on it beside others who take that too.
Never what is still in somebody else's hands.
"""

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


@dataclass(frozen=True)
class HeldDevices:
    """What containers of other leases have, by the UUIDs of cards and slices: `alone`, or `shared` with whoever takes
    time on the card as well.
    """

    alone: Collection[str] = frozenset()
    shared: Collection[str] = frozenset()


@dataclass
class Devices:
    """`processes` gives those that compute on a card, by its UUID; it raises OSError."""

    mig: Mig = field(default_factory=Mig)
    processes: Callable[[str], Collection[int]] = processes_on

    async def give(
        self, lease: int, share: LeaseShare, *, mine: Collection[str], held: HeldDevices, timed: bool = False
    ) -> dict[str, str]:
        """By the UUID of each device that the lease's container gets, that of its card. `mine` are slices that it has
        had already. timed: of a card that is not cut it gets time, beside others that do.

        Raises CardBusy: what it is to get is not free yet. ToolFailed, OSError.
        """
        given = {}
        for card in share.gpu_uuids:
            if share.cut:
                given[await self.mig.give(lease, card, share.cells, mine=mine, held=held.alone)] = card
            else:
                await self._card(card, held, timed=timed, watched=share.watched)
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

    async def _card(self, card: str, held: HeldDevices, *, timed: bool, watched: bool) -> None:
        """Whoever had the card has left it: its driver wipes what a process had, once that is gone. With time on it
        others may compute there, but nobody whose card it is alone.
        """
        if card in held.alone or (card in held.shared and not timed):
            raise CardBusy("The card is still another lease's.")
        if card in held.shared:
            return
        computing = await asyncio.to_thread(self.processes, card) if watched else ()
        if computing:
            raise CardBusy("A process still computes on the card.")
