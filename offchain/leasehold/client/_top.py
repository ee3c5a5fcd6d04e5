"""What an account's leases do and cost at this moment, again and again: money by the second, the rest as agents tell.

Spent and left are worked out here, from the lease as the chain has it, so that they can be shown each second for
nothing. Agents are asked in turn, each every `ASK_EVERY` seconds and a few at a time: a glance at fifty leases is to
cost next to nothing, here and there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from leasehold.chain import LeaseRecord, format_lease
from leasehold.client._choosing import tag_of
from leasehold.errors import LeaseholdError
from leasehold.home import Kind, Tag
from leasehold.market import AgentClient, Bill, Json, Money
from leasehold.market.wire import AgentUnreachable, LeaseMetrics, LeaseReading

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

ASK_EVERY: Final = 15.0
"""Seconds between questions to a lease's agent."""
LOOK_EVERY: Final = 5.0
"""Seconds between looks at the chain."""
_AT_ONCE: Final = 8  # agents that are asked
_ANSWER_SECONDS: Final = 10.0


@dataclass(frozen=True)
class LeaseUse:
    """What a lease uses. cores: of processors, 1.0 is one. memory, card_memory: bytes. card_busy: 0 to 100. received,
    sent: bytes a second. at: unix seconds of the reading. `None` is what the host does not know, or cannot yet.
    """

    at: int
    cores: float | None = None
    memory: int | None = None
    card_busy: float | None = None
    card_memory: int | None = None
    received: float | None = None
    sent: float | None = None


@dataclass(frozen=True)
class TopRow:
    """One lease now. use: `None` until its agent has told something. problem: why it says nothing."""

    record: LeaseRecord
    tag: Tag
    bill: Bill
    model: str | None
    use: LeaseUse | None
    problem: LeaseholdError | None

    def to_json(self, money: Money) -> dict[str, Json]:
        """For a program, as `Plan.to_json`; what is not known is null."""
        lease, use = self.record.lease, self.use or LeaseUse(0)
        return {
            "lease": format_lease(lease.id),
            "name": self.tag.name,
            "labels": dict(self.tag.labels),
            "machine": lease.machine,
            "model": self.model,
            "state": lease.state.word,
            "cells": lease.cells,
            "millicores": _whole(use.cores, 1_000),
            "memory": use.memory,
            "card_busy": _whole(use.card_busy),
            "card_memory": use.card_memory,
            "received": _whole(use.received),
            "sent": _whole(use.sent),
            "read_at": use.at or None,
            "spent": money.exact(self.bill.used),
            "hourly": money.exact(lease.hourly),
            "left": self.bill.left,
            "problem": None if self.problem is None else str(self.problem),
        }


async def top_of(client: PoolClient) -> list[TopRow]:
    """The account's running leases now: every agent is asked once, for as long as it may take to answer."""
    top = Top(client)
    await top.look()
    await top.ask_all()
    return await top.rows()


async def watch_leases(client: PoolClient, *, every: float = 1.0) -> AsyncIterator[list[TopRow]]:
    """The same each `every` seconds, for as long as somebody asks for more. Agents are asked meanwhile, so that one
    which is silent holds nothing up.
    """
    top = Top(client)
    await top.look()
    asking = asyncio.ensure_future(top.keep_asking())
    try:
        while True:
            began = monotonic()
            await top.look()
            yield await top.rows()
            await asyncio.sleep(max(0.0, every - (monotonic() - began)))
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


@dataclass
class Top:
    """What is known of the leases of one client's account."""

    client: PoolClient
    _records: list[LeaseRecord] = field(default_factory=list)
    _tags: dict[int, Tag] = field(default_factory=dict)
    _models: dict[int, str | None] = field(default_factory=dict)
    _down: dict[int, int] = field(default_factory=dict)
    _uses: dict[int, LeaseUse] = field(default_factory=dict)
    _last: dict[int, LeaseReading] = field(default_factory=dict)
    _problems: dict[int, LeaseholdError] = field(default_factory=dict)
    _asked: dict[int, float] = field(default_factory=dict)
    _looked: float | None = None

    async def look(self) -> None:
        """How the leases stand on the chain, if the last look is a while ago. Raises ChainError on the first."""
        if self._looked is not None and monotonic() - self._looked < LOOK_EVERY:
            return
        client, first = self.client, self._looked is None
        self._looked = monotonic()
        try:
            index = await client.index(again=not first)
            self._records = await index.leases(tenant=client.account, live=True)
            machines = {record.machine.id: record for record in await index.machines()}
        except LeaseholdError:
            if first:
                raise
            return  # a node that is away for a moment: what was seen last is shown
        tags, handed = client.home.names(client.deployment).all(Kind.LEASE), client.home.lease_names.all()
        self._tags = {record.lease.id: tag_of(record, tags, handed) for record in self._records}
        self._down = {number: record.machine.down_since for number, record in machines.items()}
        rented = {record.lease.machine for record in self._records} & machines.keys() - self._models.keys()
        listings = await client.machines().listings([machines[number] for number in sorted(rented)])
        self._models |= {listing.id: listing.model for listing in listings}

    async def rows(self) -> list[TopRow]:
        """One row a lease, by number."""
        now = await self.client.now()
        return [await self._row(record, now) for record in self._records]

    async def _row(self, record: LeaseRecord, now: int) -> TopRow:
        lease = record.lease
        bill = await self.client.bill(lease, now, down_since=self._down.get(lease.machine, 0))
        return TopRow(
            record,
            self._tags.get(lease.id, Tag()),
            bill,
            self._models.get(lease.machine),
            self._uses.get(lease.id),
            self._problems.get(lease.id),
        )

    async def ask_all(self) -> None:
        """Ask each machine's agent of its leases once."""
        await self._ask_in_turn(self._records)

    async def keep_asking(self) -> None:
        """Ask of whatever was not asked for a while, for ever."""
        while True:
            now = monotonic()
            due = [
                record
                for record in self._records
                if now - self._asked.get(record.lease.id, -ASK_EVERY) >= ASK_EVERY
            ]
            await self._ask_in_turn(due)
            await asyncio.sleep(1.0)

    async def _ask_in_turn(self, records: Sequence[LeaseRecord]) -> None:
        """A few machines at a time, the first alone: the wallet signs a session, and its password is asked once."""
        by_machine: dict[int, list[int]] = {}
        for record in records:
            by_machine.setdefault(record.lease.machine, []).append(record.lease.id)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def ask(leases: Sequence[int]) -> None:
            async with gate:
                await self._ask_machine(leases)

        if not by_machine:
            return
        first, *others = by_machine.values()
        await self._ask_machine(first)
        await asyncio.gather(*map(ask, others))

    async def _ask_machine(self, leases: Sequence[int]) -> None:
        """Ask one agent of these, over one connection. What it does not say of one is said of that one."""
        self._asked |= dict.fromkeys(leases, monotonic())
        left = list(leases)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS), self.client.agent_of(leases[0]) as agent:
                while left:
                    await self._ask(agent, left[0])
                    left.pop(0)
        except LeaseholdError as error:
            self._problems |= dict.fromkeys(left, error)
        except TimeoutError:
            return  # what it said last is as old as it says

    async def _ask(self, agent: AgentClient, lease: int) -> None:
        try:
            answer = await agent.metrics(lease)
        except AgentUnreachable:
            raise
        except LeaseholdError as error:
            self._problems[lease] = error
            return
        self._problems.pop(lease, None)
        self._take(lease, answer)

    def _take(self, lease: int, answer: LeaseMetrics) -> None:
        if not answer.readings:
            return
        *earlier, newest = answer.readings
        before = self._last.get(lease) or (earlier[-1] if earlier else None)
        if before is not None and before.at >= newest.at:
            return  # nothing new
        self._last[lease] = newest
        self._uses[lease] = use_between(before, newest)


def use_between(before: LeaseReading | None, newest: LeaseReading) -> LeaseUse:
    """What was used between two readings. A container that was started again begins at nought: of that nothing is said
    until the next.
    """
    use = LeaseUse(
        newest.at,
        memory=newest.memory,
        card_busy=newest.card_busy,
        card_memory=newest.card_memory,
    )
    if before is None or newest.at <= before.at:
        return use
    seconds = newest.at - before.at
    return replace(
        use,
        cores=_rate(before.cpu_seconds, newest.cpu_seconds, seconds),
        received=_rate(before.received, newest.received, seconds),
        sent=_rate(before.sent, newest.sent, seconds),
    )


def _rate(before: float | None, after: float | None, seconds: int) -> float | None:
    return None if before is None or after is None or after < before else (after - before) / seconds


def _whole(value: float | None, parts: int = 1) -> int | None:
    return None if value is None else round(value * parts)


def totals(rows: Sequence[TopRow]) -> Mapping[str, int]:
    """What all spend: token units until now, and an hour."""
    return {
        "spent": sum(row.bill.used for row in rows),
        "hourly": sum(row.record.lease.hourly for row in rows),
    }
