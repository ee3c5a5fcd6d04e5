"""What tenants and strangers together may take of the agent: one object for the API and SSH.

Places (descriptors, `_slots.py`), the loop's time (`_ration.py`), the engine's attention and the line are each
counted by lease; addresses are counted at the doors (`_door.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from leasehold.rates import RateLimit
from leasehold_agent.access._door import LET_IN, DoorLimits, StreetDoor
from leasehold_agent.access._known import Known
from leasehold_agent.access._rates import Buckets
from leasehold_agent.access._ration import Ration
from leasehold_agent.access._slots import (
    CONNECTIONS_PER_LEASE,
    STREAMS_PER_LEASE,
    DescriptorBudget,
    Descriptors,
    Slots,
)

CHANNELS_PER_LEASE: Final = 256
"""SSH channels, most of which hold a stream too."""
LISTINGS_PER_LEASE: Final = 4
"""Folders that are being listed by SFTP: each holds up to 16 MiB."""
OPENING_AT_ONCE: Final = 8
OPENINGS: Final = RateLimit(256, 16)


class StreamOpening:
    """Lets a lease ask for few streams at once and not too many a second; the others wait for their turn."""

    def __init__(self, at_once: int = OPENING_AT_ONCE, rate: RateLimit = OPENINGS) -> None:
        self._turns: defaultdict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(at_once))
        self._waiting: defaultdict[int, int] = defaultdict(int)
        self._rate = Buckets(rate, time.monotonic)

    @asynccontextmanager
    async def turn(self, lease: int) -> AsyncIterator[None]:
        self._waiting[lease] += 1
        try:
            async with self._turns[lease]:
                if (wait := self._rate.spend(str(lease), 1)) > 0:
                    await asyncio.sleep(wait)
                yield
        finally:
            self._waiting[lease] -= 1
            if not self._waiting[lease]:
                del self._waiting[lease], self._turns[lease]


class Line:
    """The network by lease: `bytes_per_second` each, or as fast as it goes."""

    def __init__(self, bytes_per_second: int | None = None) -> None:
        self._rate = (
            Buckets(RateLimit(bytes_per_second, 1), time.monotonic) if bytes_per_second is not None else None
        )

    async def carry(self, lease: int, count: int) -> None:
        """`count` bytes of `lease`, either way; comes back when the next may follow."""
        if self._rate is not None and (wait := self._rate.spend(str(lease), count)) > 0:
            await asyncio.sleep(wait)


def _default_room() -> Descriptors:
    return Descriptors(DescriptorBudget.of_process().leases)


@dataclass
class Admission:
    """The shared bounds. A test may set any of them."""

    room: Descriptors = field(default_factory=_default_room)
    strangers: int = field(default_factory=lambda: DescriptorBudget.of_process().strangers)
    peers: int = field(default_factory=lambda: DescriptorBudget.of_process().peers)
    line: Line = field(default_factory=Line)
    ration: Ration = field(default_factory=Ration)
    opening: StreamOpening = field(default_factory=StreamOpening)

    def __post_init__(self) -> None:
        self.known = Known(time.monotonic)
        self.streams = Slots(STREAMS_PER_LEASE, self.room)
        self.connections = Slots(CONNECTIONS_PER_LEASE, self.room)
        self.channels = Slots(CHANNELS_PER_LEASE)
        self.listings = Slots(LISTINGS_PER_LEASE)

    def street_door(self, pace: RateLimit = LET_IN) -> StreetDoor:
        """A door for whoever comes. pace: how fast strangers are let in."""
        return self._door(DoorLimits(strangers=self.strangers, rate=pace))

    def back_door(self, pace: RateLimit = LET_IN) -> StreetDoor:
        """A door for whom the IPFS node introduces, at a fifth of `pace`."""
        limits = DoorLimits(strangers=self.peers, rate=RateLimit(pace.burst / 5, pace.seconds))
        return self._door(limits, introduced=True)

    def _door(self, limits: DoorLimits, *, introduced: bool = False) -> StreetDoor:
        return StreetDoor(
            limits=limits, connections=self.connections, known=self.known, introduced=introduced
        )
