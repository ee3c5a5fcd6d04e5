"""The market stands where its index stands, whatever becomes of the chain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog

from devnet.patience import patient
from leasehold.chain import EventWatcher, IndexConflict, Indexer, IndexUnavailable
from leasehold.errors import RpcUnavailable
from leasehold.gateway import _following
from leasehold.gateway._following import (
    AGAIN,
    SCORES_EVERY,
    ask_scores,
    hear,
    keep_market,
    kept_up,
    tell_owner,
)
from leasehold.gateway._gateway import STALE

from .conftest import PROVIDER, World
from .listening import listening

SECRET = "connection to server on socket /run/secret failed"


@asynccontextmanager
async def working(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """What a gateway does beside answering."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_what_a_left_branch_said_is_unsaid(world: World) -> None:
    await world.machine(1)
    fork = world.head + 1
    await world.open(1)
    assert (await world.get("/api/v1/machines"))["items"][0]["free_cells"] == 8
    await world.undo(fork)
    await world.machine(2, fork="other")
    items = (await world.get("/api/v1/machines", sort="id"))["items"]
    assert [(machine["id"], machine["free_cells"]) for machine in items] == [(1, 16), (2, 16)]
    assert (await world.get("/api/v1/leases"))["items"] == []


async def test_a_machine_that_joined_on_a_left_branch_is_gone(world: World) -> None:
    await world.machine(1)
    fork = world.head + 1
    await world.machine(2)
    await world.undo(fork)
    await world.machine(3, fork="other")
    assert [m["id"] for m in (await world.get("/api/v1/machines", sort="id"))["items"]] == [1, 3]


async def test_an_index_made_anew_is_read_anew(world: World) -> None:
    await world.machine(1)
    await world.open(1)
    await world.gateway.index.clear()
    world.head = 0
    await world.machine(5, fork="anew")
    assert [m["id"] for m in (await world.get("/api/v1/machines"))["items"]] == [5]


async def test_what_is_committed_is_told_without_being_asked_for(world: World) -> None:
    """By the index's own news, as it comes to every replica."""
    async with (
        asyncio.timeout(patient(30)),
        working(hear(world.gateway), keep_market(world.gateway)),
        listening(world.app) as socket,
    ):
        await socket.frame_accepted()
        block = await world.commit()
        while (await socket.frame("block"))["block"]["number"] < block.number:
            pass


async def test_an_index_that_fills_is_read_once_it_is_full(world: World) -> None:
    world.gateway.market.head = None
    world.gateway.target = world.head + 2
    async with asyncio.timeout(patient(30)), working(hear(world.gateway), keep_market(world.gateway)):
        await world.commit()
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.gateway.market.head is None
        block = await world.commit()
        while world.gateway.market.head != block:  # noqa: ASYNC110  # another task of this loop reads it
            await asyncio.sleep(0)


@pytest.mark.parametrize("error", [IndexUnavailable(SECRET), IndexConflict()])
async def test_a_database_that_is_away_is_said_to_be_away_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    await world.machine(1)

    async def away(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(_following, "AGAIN", 0.0)
    with monkeypatch.context() as broken:
        for name in ("leases_page", "changes_since"):
            broken.setattr(world.gateway.index, name, away)
        answer = await world.client.get("/api/v1/leases")
        assert (answer.status_code, answer.json()["code"]) == (503, "index-unreachable")
        assert int(answer.headers["retry-after"]) > 0
        assert "secret" not in answer.text
        assert (await world.client.get("/api/v1/machines")).status_code == 200, "it is in memory"
        async with asyncio.timeout(patient(30)), working(hear(world.gateway), keep_market(world.gateway)):
            while (ready := await world.client.get("/readyz")).status_code == 200:  # noqa: ASYNC110
                await asyncio.sleep(0)  # a request in memory lets nobody else have a turn
            assert "secret" not in ready.text
            assert ready.json()["trouble"].startswith("The gateway's database gives no answer")
            broken.undo()
            while (await world.client.get("/readyz")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0)


async def test_scores_are_asked_for_once_there_is_a_market(world: World) -> None:
    """The first question comes before the index was read, and asks about nobody: it is not the last for minutes."""
    world.chain.of[PROVIDER] = 640
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 1:
            raise asyncio.CancelledError
        await world.machine(1)

    with suppress(asyncio.CancelledError):
        await ask_scores(world.gateway, sleep)
    assert slept == [AGAIN, SCORES_EVERY]
    assert (await world.get("/api/v1/machines"))["items"][0]["score"] == 640


async def test_what_is_done_beside_and_ends_is_begun_again_and_said(world: World) -> None:
    """A task that died had ended silently, and the gateway looked as well as any."""
    await world.machine(1)
    begun, again = 0, asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise ValueError("a mistake")
        if begun == 3:
            again.set()
            await asyncio.Event().wait()

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    async with working(kept_up(world.gateway, "sweep", work, at_once)):
        await asyncio.wait_for(again.wait(), patient(20))
        answer = await world.client.get("/readyz")
        assert answer.status_code == 503
        assert "sweep" in answer.json()["trouble"]
    world.gateway.ended["sweep"] -= STALE
    assert (await world.client.get("/readyz")).status_code == 200


async def test_which_nodes_do_not_answer_is_for_the_owner_s_log_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, as long as it stays so, and without what of an address is a key; a stranger hears that it is so."""
    await world.machine(1)
    reasons = ("node.example:8545: no answer within 15 s", "other.example: HTTP 401")
    away = SimpleNamespace(stale_since=1.0, last_error=RpcUnavailable(reasons))
    world.gateway.watcher = cast(EventWatcher, away)
    monkeypatch.setattr(Indexer, "elected", True)  # of several replicas the others follow nobody
    looks = 0

    async def sleep(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            away.stale_since = away.last_error = None
        if looks == 3:
            raise asyncio.CancelledError

    public = await world.client.get("/readyz")
    with structlog.testing.capture_logs() as said, suppress(asyncio.CancelledError):
        await tell_owner(world.gateway, sleep)
    assert [entry["event"] for entry in said] == ["gateway.nodes_away", "gateway.nodes_answer"]
    assert all(reason in said[0]["cause"] for reason in reasons)
    assert (public.status_code, "example" in public.text) == (503, False)
    assert public.json()["trouble"].startswith("The chain's nodes give no answer")
