"""Cards that are ill: seen every few seconds, out of sale at once, and told to whoever leases them.

From the moment at which a card falls ill it takes at most two looks, each as long as the wait for an answer, and the
pauses before them, until the word is sent: `SECONDS_TO_SAY`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Final

import structlog

from leasehold_agent.host import CardLook, CardReading, CardWard, CardWatch, hash_of
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._lost_cells import LostCells

_log = structlog.get_logger("leasehold_agent")
LOOK_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 2.0
SECONDS_TO_SAY: Final = 2 * (LOOK_SECONDS + ANSWER_SECONDS)


@dataclass
class CardHealth:
    """`thread` is one that nobody else has: a driver that hangs must not keep this from being seen, nor others waiting.
    `wake` is called where something has changed. Cards that were once seen are looked at from then on.
    """

    host: Host
    lost: LostCells
    thread: Executor
    wake: Callable[[], None]
    watch: CardWatch = field(default_factory=lambda: CardWatch(ANSWER_SECONDS))
    health: CardWard = field(default_factory=CardWard)
    last: CardLook = field(default_factory=lambda: CardLook({}))
    _known: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:  # noqa: BLE001 - nothing that a driver says may end the agent, and its sentinel with it
                _log.exception("cards")
            await self.host.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """See how the cards are, and note what follows. Raises OSError where it cannot be noted."""
        host = self.host
        self._known |= {card.uuid for card in host.facts.inventory.gpus if card.vendor == "nvidia"}
        loop = asyncio.get_running_loop()
        self.last = await loop.run_in_executor(self.thread, self.watch.look, sorted(self._known))
        ailments = self.health.see(self.last, host.clock())
        ill, before = {hash_of(card): ailment for card, ailment in ailments.items()}, host.facts.ill
        host.facts.ill = ill
        host.facts.xids.update(
            (hash_of(card), number) for card, numbers in self.last.xids.items() for number in numbers
        )
        said = self.last.cards.items()
        host.facts.readings = {hash_of(card): now for card, now in said if isinstance(now, CardReading)}
        if ill != before:
            _log.warning("cards", ill={card[:12]: ailment.cause for card, ailment in ill.items()})
        changed = ill != before
        if host.estranged is None and host.snapshot.current:
            changed |= self.lost.note(host.snapshot, host.facts.allocation(host.snapshot).withheld)
        if changed:
            self.wake()
