"""What leases use and cost at this moment: the arithmetic, and agents that are silent, late or start again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from pydantic import ValidationError

from leasehold.client import LeaseUse, PoolClient, top_of, totals, use_between, watch_leases
from leasehold.client import _top as top
from leasehold.home import Kind
from leasehold.market.wire import AgentUnreachable, LeaseMetrics, LeaseReading

from .conftest import RENTER, UNIT, World
from .test_choosing import FIRST, SECOND, THIRD, open_gang

Answer = Callable[[], LeaseMetrics]


def reading(at: int, cpu: float | None = None, **more: Any) -> LeaseReading:
    return LeaseReading(at=at, cpu_seconds=cpu, **more)


def test_what_is_used_is_the_difference_of_two_readings() -> None:
    before = reading(100, 10.0, received=1_000, sent=0, memory=5)
    after = reading(160, 100.0, received=61_000, sent=600, memory=7, card_busy=93.0, card_memory=8)
    assert use_between(before, after) == LeaseUse(160, 1.5, 7, 93.0, 8, 1_000.0, 10.0)
    assert use_between(None, after) == LeaseUse(160, None, 7, 93.0, 8)
    assert use_between(after, after).cores is None


def test_a_container_that_was_started_again_and_a_host_that_knows_little() -> None:
    """What counts from the start is smaller than before; nothing is said until the next reading."""
    use = use_between(reading(100, 500.0, received=9), reading(160, 2.0, received=10))
    assert (use.cores, use.received) == (None, 1 / 60)
    assert use_between(reading(1), reading(2)) == LeaseUse(2)


def test_what_no_host_can_have_is_not_said() -> None:
    """An agent that writes such a reading would end the command of whoever looks."""
    before = reading(100, 0.0, received=0)
    for wrong in (float("nan"), float("inf"), -1.0, 1e300):
        assert use_between(before, reading(160, wrong, card_busy=wrong)) == LeaseUse(160)
    huge = use_between(before, reading(160, received=10**400, memory=10**400, card_memory=-5))
    assert huge == LeaseUse(160)
    with pytest.raises(ValidationError):  # no calendar shows it
        reading(10**18)


class Agents:
    """Stand for the machines' agents: what each lease's says, or raises."""

    def __init__(self, client: PoolClient, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[int, Answer] = {}
        self.asked: list[int] = []

        @asynccontextmanager
        async def agent_of(lease: int) -> AsyncIterator[Agents]:
            self.lease = lease
            yield self

        monkeypatch.setattr(client, "agent_of", agent_of)

    async def metrics(self, lease: int) -> LeaseMetrics:
        self.asked.append(lease)
        if lease not in self.answers:
            raise AgentUnreachable("Nobody answers there.")
        return self.answers[lease]()


def said(*readings: LeaseReading) -> Answer:
    return lambda: LeaseMetrics(lease="1", readings=list(readings))


async def test_a_glance_at_all_leases(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await open_gang(world, b"g" * 32)
    world.advance(3_600)
    async with world.acting(RENTER, documents_timeout=0.1) as client:
        client.home.names(client.deployment).call(Kind.LEASE, FIRST, "train")
        agents = Agents(client, monkeypatch)
        agents.answers = {FIRST: said(reading(100, 0.0), reading(160, 30.0, memory=9)), SECOND: said()}
        first, second, third = await top_of(client)
        assert (first.tag.name, first.model, first.problem) == ("train", None, None)
        assert first.use == LeaseUse(160, 0.5, 9)
        assert first.bill.used == pytest.approx(2 * UNIT, rel=0.01)
        assert (second.use, second.problem) == (None, None)  # its agent has read nothing yet
        assert isinstance(third.problem, AgentUnreachable)
        told = first.to_json(client.money)
        assert (told["lease"], told["millicores"], told["memory"], told["left"]) == (
            "1",
            500,
            9,
            first.bill.left,
        )
        assert third.to_json(client.money)["problem"] == "Nobody answers there."
        assert totals([first, second, third])["hourly"] == 3 * UNIT  # one GPU, and two quarters
        assert agents.asked[0] == FIRST  # alone, for the password
        assert sorted(agents.asked) == [FIRST, SECOND, THIRD]


async def test_what_is_watched_goes_on_while_an_agent_is_silent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await open_gang(world, b"g" * 32)
    monkeypatch.setattr(top, "LOOK_EVERY", 0.0)
    async with world.acting(RENTER, documents_timeout=0.1) as client:
        agents, answered = Agents(client, monkeypatch), asyncio.Event()

        def tell() -> LeaseMetrics:
            answered.set()
            return LeaseMetrics(lease="1", readings=[reading(100, 0.0), reading(160, 60.0)])

        agents.answers = {FIRST: tell}
        async with aclosing(watch_leases(client, every=0.0)) as looks:  # type: ignore[type-var]
            rows = await anext(looks)
            assert [row.record.lease.id for row in rows] == [FIRST, SECOND, THIRD]
            await answered.wait()
            while (rows := await anext(looks))[0].use is None:
                pass
            assert rows[0].use.cores == 1.0
            spent = rows[0].bill.used
            world.advance(600)
            await world.chain.pool(RENTER).close(THIRD)
            while len(rows) == 3:
                rows = await anext(looks)
            assert rows[0].bill.used > spent
        tasks = [task for task in asyncio.all_tasks() if "keep_asking" in repr(task)]
        assert tasks == []  # nobody asks any more


async def test_a_hanging_agent_keeps_its_last_word(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "_ANSWER_SECONDS", 0.01)
    async with world.acting(RENTER, documents_timeout=0.1) as client:
        agents = Agents(client, monkeypatch)
        known = top.Top(client)
        await known.look()
        agents.answers = {FIRST: said(reading(100, 0.0), reading(160, 60.0))}
        await known.ask_all()
        before = (await known.rows())[0].use

        async def never(lease: int) -> LeaseMetrics:
            await asyncio.Event().wait()
            raise AssertionError

        monkeypatch.setattr(agents, "metrics", never)
        await known.ask_all()
        (row,) = await known.rows()
        assert (row.use, row.problem) == (before, None)
