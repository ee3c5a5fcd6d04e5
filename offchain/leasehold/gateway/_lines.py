"""Lines to agents that are open, by machine: made when one is wanted, from the contact document as it stands.

A document is looked up again after a while; one that has changed means another line. Of many, those that were used
longest ago are closed, unless something runs over them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from leasehold.errors import AgentError
from leasehold.gateway._refusals import AgentSilent, Busy
from leasehold.market import AgentLine, Contact

MOST_LINES: Final = 256
LOOK_SECONDS: Final = 60.0
"""For which a contact document is not looked up again."""

ContactOf = Callable[[int], Awaitable[Contact]]
"""A machine's contact document, which its operator signed. Raises NotHere, AgentSilent."""
MakeLine = Callable[[int, Contact], AgentLine]


@dataclass
class _Open:
    line: AgentLine
    contact: Contact
    looked: float
    users: int = 0


class Lines:
    """contact_of: how a machine is reached. make: a line by that. clock: seconds."""

    def __init__(
        self,
        contact_of: ContactOf,
        make: MakeLine,
        *,
        most: int = MOST_LINES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contact_of = contact_of
        self._make = make
        self._most = most
        self._clock = clock
        self._open: OrderedDict[int, _Open] = OrderedDict()
        self._replaced: list[_Open] = []
        self._locks: dict[int, asyncio.Lock] = {}

    @asynccontextmanager
    async def to(self, machine: int) -> AsyncIterator[AgentLine]:
        """The machine's line, which stays open until the block is left. Raises as `ContactOf`, AgentSilent, Busy."""
        entry = await self._entry(machine)
        entry.users += 1
        try:
            yield entry.line
        finally:
            entry.users -= 1
            await self._sweep()

    async def close(self) -> None:
        """Ends all of them."""
        entries = [*self._open.values(), *self._replaced]
        self._open.clear()
        self._replaced.clear()
        for entry in entries:
            await entry.line.close()

    async def _entry(self, machine: int) -> _Open:
        """One caller at a time looks a machine up; who comes meanwhile gets the same line."""
        lock = self._locks.setdefault(machine, asyncio.Lock())
        try:
            async with lock:
                return await self._looked_up(machine)
        finally:
            if not lock.locked():
                self._locks.pop(machine, None)

    async def _looked_up(self, machine: int) -> _Open:
        entry = self._open.get(machine)
        if entry is None or self._clock() >= entry.looked + LOOK_SECONDS:
            contact = await self._contact_of(machine)
            if entry is not None and entry.contact == contact:
                entry.looked = self._clock()
            else:
                entry = self._put(machine, contact)
        self._open.move_to_end(machine)
        return entry

    def _put(self, machine: int, contact: Contact) -> _Open:
        if len(self._open) >= self._most and all(entry.users for entry in self._open.values()):
            raise Busy("As many agents are talked to as may be at once;")
        try:
            made = _Open(self._make(machine, contact), contact, self._clock())
        except AgentError as error:  # a certificate that is none
            raise AgentSilent(error.problem, error.advice) from error
        if (former := self._open.pop(machine, None)) is not None:
            self._replaced.append(former)
        self._open[machine] = made
        return made

    async def _sweep(self) -> None:
        """Closes what was replaced, or is one too many, and nobody uses."""
        idle = [entry for entry in self._replaced if not entry.users]
        self._replaced = [entry for entry in self._replaced if entry.users]
        for machine in [number for number, entry in self._open.items() if not entry.users]:
            if len(self._open) <= self._most:
                break
            idle.append(self._open.pop(machine))
        for entry in idle:
            await entry.line.close()
