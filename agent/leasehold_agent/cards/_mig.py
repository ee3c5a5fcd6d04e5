"""Slices of cards, made for a lease and destroyed after it (NVIDIA's MIG), by `nvidia-smi mig`.

Nobody is given a slice that somebody else had: one that is in the way is destroyed, which ends with its memory wiped,
and made anew. The driver refuses where a process still has it open. Cards are named by their UUIDs, never by number.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import structlog

from leasehold.errors import AgentError
from leasehold_agent.cards._mig_geometry import (
    Instance,
    Profile,
    Slot,
    created,
    instances_of,
    profiles_of,
    slot_of,
    smallest_share_of,
)
from leasehold_agent.cards._tools import Program, Tool, ToolFailed
from leasehold_agent.host import hash_of, mig_devices, mig_enabled

_log = structlog.get_logger("leasehold_agent")
_NONE_THERE = "No GPU instances found"
_NO_COMPUTE = "No compute instances found"


class CardBusy(AgentError):
    """What a lease is to be given is still in somebody's hands: it is tried again."""


@dataclass
class Mig:
    """`smi` runs nvidia-smi. `devices` gives, of a card by its UUID, the UUID of each slice by the slice's number;
    `enabled` whether it is one that is cut.
    """

    smi: Tool = field(default_factory=lambda: Program("nvidia-smi"))
    devices: Callable[[str], Mapping[int, str]] = mig_devices
    enabled: Callable[[str], bool] = mig_enabled
    _profiles: dict[str, tuple[Profile, ...]] = field(default_factory=dict)
    _whose: dict[str, int] = field(default_factory=dict)
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def smallest_share(self, card: str) -> int:
        """The fewest cells of the card that a lease can have. Raises ToolFailed."""
        return smallest_share_of(await self._profiles_of(card))

    async def give(
        self, lease: int, card: str, cells: int, *, mine: Collection[str], held: Collection[str]
    ) -> str:
        """A slice for these cells of the card; its UUID. One of `mine` is given again, where it is there.

        A driver names slices alike that it makes one after the other, so that a name alone says not whose one is. held:
        what containers of others have. Raises CardBusy: one of them has it, or a process does. ToolFailed.
        """
        slot = slot_of(await self._profiles_of(card), cells)
        if slot is None:
            raise ToolFailed(("nvidia-smi", "mig", "-lgipp"), f"it has no slice for the cells {cells:#04x}")
        async with self._alone:
            named = await asyncio.to_thread(self.devices, card)
            for instance in await self._instances(card):
                if not instance.overlaps(slot.start, slot.profile.size):
                    continue
                uuid = named.get(instance.id)
                if (
                    uuid is not None
                    and _is(instance, slot)
                    and uuid in mine
                    and self._whose.get(uuid, lease) == lease
                ):
                    return uuid
                if uuid is not None and uuid in held:
                    raise CardBusy("A part of the card is still another lease's.")
                await self._destroy(card, instance)
            uuid = await self._make(card, slot)
            self._whose[uuid] = lease
            return uuid

    async def take_back(self, lease: int, card: str, uuids: Collection[str]) -> None:
        """Destroy these slices of the card, where they are there and have not become another lease's since. Raises
        CardBusy, ToolFailed, OSError.
        """
        async with self._alone:
            named = await asyncio.to_thread(self.devices, card)
            for instance in await self._instances(card):
                uuid = named.get(instance.id)
                if uuid is not None and uuid in uuids and self._whose.get(uuid, lease) == lease:
                    await self._destroy(card, instance)
                    self._whose.pop(uuid, None)

    async def leave_whole(self, card: str, *, held: Collection[str]) -> None:
        """The card is one whole from now on, whatever it was cut into. held: what containers of others have of it.
        Raises CardBusy, ToolFailed, OSError.
        """
        async with self._alone:
            if not await asyncio.to_thread(self.enabled, card):
                return
            named = await asyncio.to_thread(self.devices, card)
            if not set(named.values()).isdisjoint(held):
                raise CardBusy("A part of the card is still another lease's.")
            for instance in await self._instances(card):
                await self._destroy(card, instance)
            await self._switch(card, on=False)

    async def cut(self, card: str) -> None:
        """Slices can be made of the card, on which nobody is. Raises CardBusy, ToolFailed, OSError."""
        async with self._alone:
            if not await asyncio.to_thread(self.enabled, card):
                await self._switch(card, on=True)

    async def _switch(self, card: str, *, on: bool) -> None:
        """At once, or not at all: what waits for a reset would come about under whoever has the card then."""
        await self.smi("-i", card, "-mig", str(int(on)))
        if await asyncio.to_thread(self.enabled, card) is not on:
            await self.smi("-i", card, "-mig", str(int(not on)))
            raise CardBusy("Something on this host holds the card, so that it cannot be cut, nor left whole.")
        _log.info("mig", card=hash_of(card), enabled=on)

    async def _profiles_of(self, card: str) -> tuple[Profile, ...]:
        if card not in self._profiles:
            listed = await self.smi("mig", "-i", card, "-lgip")
            self._profiles[card] = profiles_of(listed, await self.smi("mig", "-i", card, "-lgipp"))
        return self._profiles[card]

    async def _instances(self, card: str) -> tuple[Instance, ...]:
        try:
            return instances_of(await self.smi("mig", "-i", card, "-lgi"))
        except ToolFailed as error:
            if _NONE_THERE in error.said:
                return ()
            raise

    async def _make(self, card: str, slot: Slot) -> str:
        """A slice with its one compute instance. What is half made is destroyed by whoever comes next."""
        number = created(await self.smi("mig", "-i", card, "-cgi", slot.argument, "-C"))
        uuid = (await asyncio.to_thread(self.devices, card)).get(number) if number is not None else None
        if uuid is None:
            raise ToolFailed(
                ("nvidia-smi", "mig", "-cgi", slot.argument), "the slice that it made has no name"
            )
        _log.info("mig", made=slot.profile.name, start=slot.start)
        return uuid

    async def _destroy(self, card: str, instance: Instance) -> None:
        number = str(instance.id)
        try:
            with contextlib.suppress(_Nothing):
                await self._end(card, "-dci", number)
            await self._end(card, "-dgi", number)
        except ToolFailed as error:
            if "In use" in error.said:
                raise CardBusy("A process still uses a part of the card.") from error
            raise
        _log.info("mig", destroyed=instance.profile, start=instance.start)

    async def _end(self, card: str, what: str, number: str) -> None:
        try:
            await self.smi("mig", "-i", card, what, "-gi", number)
        except ToolFailed as error:
            if _NO_COMPUTE in error.said:
                raise _Nothing from error
            raise


class _Nothing(Exception):
    """There was nothing to destroy."""


def _is(instance: Instance, slot: Slot) -> bool:
    return (instance.profile, instance.start, instance.size) == (
        slot.profile.id,
        slot.start,
        slot.profile.size,
    )
