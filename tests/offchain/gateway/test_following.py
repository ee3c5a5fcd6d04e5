"""The market stands where its index stands, whatever becomes of the chain."""

from __future__ import annotations

import asyncio
import contextlib

from leasehold.gateway._following import AGAIN, SCORES_EVERY, ask_scores

from .conftest import PROVIDER, World


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


async def test_scores_are_asked_for_once_there_is_a_market(world: World) -> None:
    """The first question comes before the index was read, and asks about nobody: it is not the last for minutes."""
    world.chain.of[PROVIDER] = 640
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 1:
            raise asyncio.CancelledError
        await world.machine(1)

    with contextlib.suppress(asyncio.CancelledError):
        await ask_scores(world.gateway, sleep)
    assert slept == [AGAIN, SCORES_EVERY]
    assert (await world.get("/api/v1/machines"))["items"][0]["score"] == 640
