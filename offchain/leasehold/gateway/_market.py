"""The pool as the gateway has it in memory, kept at the head of its index: reads what has changed, and tells of it.

It follows the index and not the chain, so that it is the same whether this process writes the index or another one
does. What it remembers of the blocks that it has seen says, after a reorganisation, what has to be read again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from leasehold.chain import (
    Block,
    FaultRecord,
    IndexChanges,
    Indexer,
    LeaseRecord,
    MachineRecord,
    RatingRecord,
    format_lease,
)
from leasehold.gateway._board import Board, Prepared
from leasehold.gateway._documents import Documents
from leasehold.gateway._errors import NotReady
from leasehold.gateway._facts import Facts
from leasehold.gateway._hub import Hub
from leasehold.gateway._words import block_json, lease_json
from leasehold.market import Track, track_of

_SEEN: Final = 64  # blocks with events that are remembered
_SLICE: Final = 100  # machines that are read at a time
_PREPARED: Final = 4  # of them between two turns of others
_MOST_SAID: Final = 200  # machines of one frame


@dataclass(frozen=True, slots=True)
class _Seen:
    """A block with events up to which was read, and what the blocks after it have changed."""

    block: Block
    machines: set[int]
    leases: set[int]


class Market:
    """The pool's machines and who is told of them. `refresh` is called by one task at a time."""

    def __init__(self, index: Indexer, documents: Documents, facts: Facts, hub: Hub) -> None:
        self._index = index
        self._documents = documents
        self._facts = facts
        self._hub = hub
        self._seen: deque[_Seen] = deque(maxlen=_SEEN)
        self._tracks: dict[int, Track] = {}
        self._scores: dict[str, int] = {}
        self._puts = 0
        self.board = Board()
        self.head: Block | None = None

    def at(self) -> Block:
        """The block at which the market stands. Raises NotReady."""
        if self.head is None:
            raise NotReady()
        return self.head

    async def refresh(self) -> None:
        """Come to the index's head, and tell who listens."""
        changes = await self._index.changes_since([seen.block for seen in self._seen])
        if changes.head is None or changes.head == self.head:
            return
        machines, leases = self._touched(changes)
        if (
            changes.since is None
        ):  # nobody is shown half of it, nor what was read of it before something failed
            self.head, self.board, self._tracks = None, Board(), {}
        await self._read(None if changes.since is None else machines, changes.head.timestamp)
        self._remember(changes, machines, leases)
        self.head = changes.head
        self.board.stand_at(changes.head)
        await self._tell(changes.head, machines, leases)

    async def came(self, digests: frozenset[bytes]) -> None:
        """Documents have come: put them on their machines."""
        for placed in list(self.board):
            if placed.listing.missing and {placed.record.hardware, placed.record.contact} & digests:
                self._put(placed.record)
                await self._hub.say("machines", self._machines_frame([placed.record.machine.id]))

    async def score(self) -> None:
        """Ask the chain for the providers' scores, and put them on their machines."""
        providers = {placed.record.machine.provider for placed in self.board}
        scores = await self._facts.scores(providers)
        for placed in list(self.board):
            score = scores.get(placed.record.machine.provider)
            if score is not None and score != self._scores.get(placed.record.machine.provider):
                self._tracks[placed.listing.id] = replace(self._tracks[placed.listing.id], score=score)
                self._put(placed.record)
        self._scores |= scores

    def _touched(self, changes: IndexChanges) -> tuple[set[int], set[int]]:
        """Machines and leases that have to be read: what came, and what came and went again."""
        machines, leases = set(changes.machines), set(changes.leases)
        for seen in self._seen:
            if changes.since is None or seen.block.number >= changes.since.number:
                machines |= seen.machines
                leases |= seen.leases
        return machines, leases

    def _remember(self, changes: IndexChanges, machines: set[int], leases: set[int]) -> None:
        while self._seen and (changes.since is None or self._seen[-1].block.number > changes.since.number):
            self._seen.pop()
        if self._seen:
            self._seen[-1].machines.update(machines)
            self._seen[-1].leases.update(leases)
        if changes.last is not None and changes.last != changes.since:
            self._seen.append(_Seen(changes.last, set(), set()))

    async def _read(self, machines: Collection[int] | None, now: int) -> None:
        """Reads machines, or all of them, with what the chain remembers of them: of some at a time, since the leases
        of all that ever were would fill the memory.
        """
        records = await self._index.machines(ids=None if machines is None else sorted(machines))
        for at in range(0, len(records), _SLICE):
            some = records[at : at + _SLICE]
            tracks = await self._tracked(some, now)
            prepared, others = [], self._puts
            for number, record in enumerate(some):
                if number % _PREPARED == 0:
                    await asyncio.sleep(0)
                score = self._scores.get(record.machine.provider)  # which may have come meanwhile
                self._tracks[record.machine.id] = replace(tracks[record.machine.id], score=score)
                prepared.append(self._prepared(record))
            if self._puts != others:  # a document or a score has come meanwhile, of which these know nothing
                prepared = [self._prepared(record) for record in some]
            for machine in prepared:  # together: nobody sees one of a block's changes without the others
                self.board.place(machine)
        if machines is not None and len(records) < len(set(machines)):
            await self._start_over()

    async def _start_over(self) -> None:
        """A machine is gone: the block in which it joined was left. Those that stay are put on a new board."""
        kept = {record.machine.id for record in await self._index.machines()}
        former, self.board = self.board, Board()
        for placed in former:
            if placed.listing.id in kept:
                self.board.put(placed.record, placed.listing)

    def _put(self, record: MachineRecord) -> None:
        self._puts += 1
        self.board.place(self._prepared(record))

    def _prepared(self, record: MachineRecord) -> Prepared:
        """A machine for the board. Its documents are looked at only where they are others, or did not come."""
        known = self.board.get(record.machine.id)
        if known is not None and known.listing.missing is None and _same_documents(known.record, record):
            listing = replace(known.listing, machine=record.machine)
        else:
            listing = self._documents.listing(record)
        return self.board.prepare(record, replace(listing, track=self._tracks.get(record.machine.id)))

    async def _tracked(self, records: Collection[MachineRecord], now: int) -> dict[int, Track]:
        """What the index has of some machines' past."""
        numbers = [record.machine.id for record in records]
        leases: dict[int, list[LeaseRecord]] = defaultdict(list)
        faults: dict[int, list[FaultRecord]] = defaultdict(list)
        ratings: dict[int, list[RatingRecord]] = defaultdict(list)
        on: dict[int, int] = {}
        for known in await self._index.leases(machines=numbers):
            leases[known.lease.machine].append(known)
            on[known.lease.id] = known.lease.machine
        for fault in await self._index.faults(machines=numbers):
            faults[fault.machine].append(fault)
        for rating in await self._index.ratings(leases=list(on)):
            ratings[on[rating.lease]].append(rating)
        return {number: track_of(leases[number], faults[number], ratings[number], now) for number in numbers}

    async def _tell(self, head: Block, machines: Collection[int], leases: Collection[int]) -> None:
        happened: dict[str, dict[str, object]] = {"block": {"block": block_json(head)}}
        if machines:
            happened["machines"] = self._machines_frame(machines)
        await self._hub.tell(happened)
        for lease in leases:
            topic = f"lease:{format_lease(lease)}"
            if self._hub.heard(topic):
                record = await self._index.lease(lease)
                said = None if record is None else lease_json(record)
                await self._hub.say(topic, {"block": block_json(head), "lease": said})

    def _machines_frame(self, machines: Collection[int]) -> dict[str, object]:
        """Which machines changed, or that it is better to ask anew."""
        block = None if self.head is None else block_json(self.head)
        if len(machines) > _MOST_SAID:
            return {"block": block, "many": True, "machines": []}
        said = []
        for machine in sorted(machines):
            placed = self.board.get(machine)
            if placed is not None:
                said.append(self.board.brief(placed))
        return {"block": block, "many": False, "machines": said}


def _same_documents(former: MachineRecord, record: MachineRecord) -> bool:
    return (former.hardware, former.contact) == (record.hardware, record.contact)
