"""Who listens is told, and costs no more than a queue of bounded length."""

from __future__ import annotations

import asyncio
import json

import pytest

from leasehold.gateway._front import POLICY
from leasehold.gateway._hub import MOST_TOPICS, QUEUE, Hub, Listener

from .conftest import Opening, World
from .listening import listening, streaming


async def heard(world: World, topic: str) -> None:
    """Until somebody hears a topic."""
    while not world.gateway.hub.heard(topic):  # noqa: ASYNC110  # another task of this loop does it
        await asyncio.sleep(0)


async def test_a_listener_is_told_of_machines_and_of_his_lease(world: World) -> None:
    async with listening(world.app) as socket:
        assert (await socket.message())["type"] == "websocket.accept"
        assert (await socket.frame("block"))["block"]["number"] == world.head
        socket.say({"subscribe": ["machines", "lease:1"]})
        await heard(world, "lease:1")
        await world.machine(1)
        told = await socket.frame("machines")
        assert [machine["id"] for machine in told["machines"]] == [1]
        assert told["block"]["number"] == world.head
        await world.open(1)
        told = await socket.frame("lease:1")
        assert told["lease"]["state"] == "opened"
        assert (await socket.frame("lease:1"))["lease"]["state"] == "active"
        socket.say({"unsubscribe": ["machines"]})
        while world.gateway.hub.heard("machines"):  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert world.gateway.live.count == 0
    assert not world.gateway.hub.heard("block")


@pytest.mark.parametrize(
    "frame",
    ["no json", "[]", '"text"', '{"subscribe": "machines"}', '{"publish": []}', '{"subscribe": null}', "{" * 5_000,
     "[" * 4_000, json.dumps({"subscribe": ["x" * 5_000]})],
)  # fmt: skip
async def test_what_is_no_wish_ends_the_connection(world: World, frame: str) -> None:
    async with listening(world.app) as socket:
        socket.say(frame)
        assert await socket.closed() == 1008


async def test_topics_that_there_are_not_are_heard_by_nobody(world: World) -> None:
    async with listening(world.app) as socket:
        odd = ["lease:", "lease:1;", "lease:" + "9" * 40, "other", 7, None, ["machines"], "lease:٣"]
        socket.say({"subscribe": [*odd, "machines"]})
        await heard(world, "machines")
        assert {topic for topic in map(str, odd) if world.gateway.hub.heard(topic)} == set()


async def test_one_listener_hears_so_many_topics(world: World) -> None:
    async with listening(world.app) as socket:
        for first in range(0, 200, 50):
            socket.say({"subscribe": [f"lease:{number}" for number in range(first, first + 50)]})
        socket.say({"unsubscribe": ["lease:0"], "subscribe": ["machines"]})
        await heard(world, "machines")
        assert sum(world.gateway.hub.heard(f"lease:{number}") for number in range(200)) < MOST_TOPICS


async def test_a_slow_reader_is_let_go_and_fills_nothing(world: World) -> None:
    async with listening(world.app) as socket:
        await socket.frame_accepted()
        socket.taking.clear()
        for _ in range(QUEUE + 3):
            await world.tell()
        assert world.gateway.hub.dropped == 1
        assert not world.gateway.hub.heard("block")
        socket.taking.set()
        assert await socket.closed() == 1013


async def test_so_many_connections_of_one_address_and_altogether(opened: Opening) -> None:
    world = await opened(most_live_each=2, most_live=3)
    async with listening(world.app, "198.51.100.1"), listening(world.app, "198.51.100.1"):
        await until_live(world, 2)
        async with listening(world.app, "198.51.100.1") as third:
            assert await third.closed() == 1013
        async with listening(world.app, "198.51.100.2"):
            await until_live(world, 3)
            async with listening(world.app, "198.51.100.3") as fourth:
                assert await fourth.closed() == 1013
            refused = await world.client.get("/api/v1/events")
            assert refused.status_code == 503
    async with listening(world.app, "127.0.0.1"), listening(world.app, "127.0.0.1"):
        await until_live(world, 2)
        own = await world.client.get("/api/v1/events")
        assert (own.status_code, own.json()["code"]) == (429, "busy"), "its own limit is nobody else's fault"
        assert int(own.headers["retry-after"]) >= 1
    assert world.gateway.live.count == 0


async def test_a_connection_counts_as_a_call_of_its_address(opened: Opening) -> None:
    """One that is ended at once takes no place, and may have had the gateway call an agent all the same."""
    world = await opened(calls=2)
    for _ in range(2):
        async with listening(world.app) as socket:
            await socket.frame_accepted()
    async with listening(world.app) as socket:
        refused = await socket.message()
        assert (refused["type"], refused["status"]) == ("websocket.http.response.start", 429)
        headers = dict(refused["headers"])
        assert int(headers[b"retry-after"]) >= 1
        assert headers[b"content-security-policy"] == POLICY.encode()
    async with listening(world.app, "198.51.100.2") as socket:
        await socket.frame_accepted()


async def until_live(world: World, count: int) -> None:
    while world.gateway.live.count < count:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_who_sends_without_end_is_let_go(world: World) -> None:
    async with listening(world.app) as socket:
        for _ in range(700):
            socket.say({"subscribe": []})
        assert await socket.closed() == 1013


async def test_the_same_as_server_sent_events(world: World) -> None:
    async with streaming(world.app, "machines,lease:1") as stream:
        assert (await stream.message())["status"] == 200
        assert b'"topic":"block"' in (await stream.message())["body"]
        await world.machine(1)
        bodies = [(await stream.message())["body"] for _ in range(2)]
        assert any(b'"topic":"machines"' in body for body in bodies)
        assert all(body.startswith(b"data: ") and body.endswith(b"\n\n") for body in bodies)
    assert world.gateway.live.count == 0


async def test_a_frame_is_written_once_for_all_who_hear_it() -> None:
    hub, listeners = Hub(), [Listener() for _ in range(3)]
    for listener in listeners:
        hub.hear(listener, ("machines",))
    await hub.say("machines", {"many": True})
    frames = [await listener.frame() for listener in listeners]
    assert frames[0] is frames[1] is frames[2]


async def test_who_tells_a_thousand_lets_others_have_their_turn_and_keeps_the_order() -> None:
    hub, listeners = Hub(), [Listener() for _ in range(1_000)]
    for listener in listeners:
        hub.hear(listener, ("machines",))
    telling = asyncio.create_task(hub.say("machines", {"block": 1}))
    again = asyncio.create_task(hub.say("machines", {"block": 2}))
    turns = 0
    while not again.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 2 * len(listeners) // 64, "nobody waits for all of them"
    await telling
    for listener in listeners:
        assert [json.loads(await listener.frame() or b"")["block"] for _ in range(2)] == [1, 2]
