"""What is told to many is written once, goes straight to who waits for it, and never before what came earlier."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Final

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect

from devnet.patience import patient
from leasehold._slices import MOST_FRAGMENTS, SLICE
from leasehold.gateway._hub import QUEUE, Hub, Listener, News
from leasehold.gateway._outlets import OutletSocket, outlet_of

from .conftest import World
from .listening import listening

BLOCK, MACHINES = {"block": 7}, {"machines": [1]}
BOTH = {"block": BLOCK, "machines": MACHINES}
HANDSHAKE: Final = (
    b"GET / HTTP/1.1\r\nHost: gate\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Wire:
    """A connection's outlet, as far as a listener knows it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.open = True

    def write(self, frames: bytes) -> bool:
        if self.open:
            self.written.append(frames)
        return self.open


async def waiting(listener: Listener) -> asyncio.Task[bytes | None]:
    """Who speaks for a listener, and waits for the next frame."""
    speaking = asyncio.create_task(listener.frame())
    await asyncio.sleep(0)
    return speaking


# --------------------------------------------------------------------------------------------------- what a hub does


async def test_what_happened_at_once_is_one_write_of_the_same_bytes_for_all() -> None:
    hub, wires = Hub(), [Wire() for _ in range(3)]
    listeners = [Listener(wire.write) for wire in wires]
    speaking = [await waiting(listener) for listener in listeners]
    for listener in listeners:
        hub.hear(listener, ("block", "machines"))
    await hub.tell(BOTH)
    assert [len(wire.written) for wire in wires] == [1, 1, 1]
    assert wires[0].written[0] is wires[1].written[0] is wires[2].written[0]
    assert not any(task.done() for task in speaking), "nobody was woken for it"
    for task in speaking:
        task.cancel()


async def test_each_hears_only_what_he_listens_to() -> None:
    hub, wire, other = Hub(), Wire(), Listener()
    listener = Listener(wire.write)
    hub.hear(listener, ("machines",))
    hub.hear(other, ("block",))
    speaking = await waiting(listener)
    await hub.tell(BOTH)
    assert b'"topic":"machines"' in wire.written[0]
    assert b'"topic":"block"' not in wire.written[0]
    assert json.loads(await other.frame() or b"") == {"topic": "block", **BLOCK}
    speaking.cancel()


async def test_nothing_overtakes_what_waits_already() -> None:
    hub, wire = Hub(), Wire()
    listener = Listener(wire.write)
    hub.hear(listener, ("block",))
    listener.offer(b"greeting")
    await hub.say("block", {"block": 1})  # nobody speaks for him yet
    assert await listener.frame() == b"greeting"
    await hub.say("block", {"block": 2})  # the greeting is being written
    assert not wire.written
    for number in (1, 2):
        assert json.loads(await listener.frame() or b"")["block"] == number
    speaking = await waiting(listener)
    await hub.say("block", {"block": 3})
    assert b'"block":3' in wire.written[0]
    wire.open = False
    await hub.say("block", {"block": 4})
    wire.open = True
    await hub.say("block", {"block": 5})  # who speaks has not been woken yet
    assert len(wire.written) == 1
    assert json.loads(await speaking or b"")["block"] == 4
    assert json.loads(await listener.frame() or b"")["block"] == 5


async def test_whose_outlet_takes_nothing_is_let_go_as_any_other() -> None:
    hub, wire = Hub(), Wire()
    wire.open = False
    listener = Listener(wire.write)
    hub.hear(listener, ("block", "machines"))
    speaking = await waiting(listener)
    for _ in range(QUEUE // 2 + 2):
        await hub.tell(BOTH)
    assert hub.dropped == 1
    assert not hub.heard("block")
    wire.open = True
    listener.tell(News((b"late",)))
    assert wire.written == []
    assert await speaking is None


async def test_a_block_and_its_machines_are_told_at_once(world: World) -> None:
    wire = Wire()
    async with listening(world.app, outlet=wire.write) as client:
        await client.frame_accepted()
        assert (await client.frame("block"))["block"]["number"] == world.head
        client.say({"subscribe": ["machines"]})
        while not world.gateway.hub.heard("machines"):  # noqa: ASYNC110  # another task of this loop does it
            await asyncio.sleep(0)
        await world.machine(1)
        (written,) = wire.written
        assert 0 < written.index(b'"topic":"block"') < written.index(b'"topic":"machines"')


# ------------------------------------------------------------------------------------------------- over a real socket


class Serving:
    """A server of one hub. listeners: those who have come."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.listeners: list[Listener] = []
        self.ends = asyncio.Event()
        self.url = ""

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        outlet = outlet_of(scope)
        assert outlet is not None
        assert not outlet(b"before the handshake")
        await receive()
        await send({"type": "websocket.accept"})
        listener = Listener(outlet)
        self.hub.hear(listener, ("block", "machines"))
        self.listeners.append(listener)
        speaking = asyncio.create_task(listener.frame())
        await asyncio.wait((speaking, asyncio.create_task(self.ends.wait())), return_when="FIRST_COMPLETED")
        speaking.cancel()
        await send({"type": "websocket.close", "code": 1013})
        assert not outlet(b"after the close")

    async def come(self, count: int) -> None:
        async with asyncio.timeout(patient(20)):
            while len(self.listeners) < count:  # noqa: ASYNC110  # the server's tasks of this loop do it
                await asyncio.sleep(0)


@pytest.fixture
async def serving() -> AsyncIterator[Serving]:
    serving, place = Serving(), socket.create_server(("127.0.0.1", 0))
    serving.url = f"ws://127.0.0.1:{place.getsockname()[1]}"
    config = uvicorn.Config(
        serving.app,
        interface="asgi3",
        ws=OutletSocket,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign]  # the tests' own process keeps its signals
    task = asyncio.create_task(server.serve([place]))
    yield serving
    serving.ends.set()
    server.should_exit = True
    await task


async def received(client: ClientConnection) -> dict[str, object]:
    said: dict[str, object] = json.loads(await asyncio.wait_for(client.recv(), patient(20)))
    return said


@pytest.mark.parametrize("length", [1, 200, 70_000], ids=["short", "two octets", "eight octets"])
async def test_a_client_hears_each_frame_whole_and_in_order(serving: Serving, length: int) -> None:
    async with connect(serving.url, max_size=None) as client:
        await serving.come(1)
        for number in range(3):
            await serving.hub.tell({"block": {"block": number}, "machines": {"text": "é" * length}})
        for number in range(3):
            assert await received(client) == {"topic": "block", "block": number}
            assert await received(client) == {"topic": "machines", "text": "é" * length}
        serving.ends.set()
        await asyncio.wait_for(client.wait_closed(), patient(20))
        assert client.close_code == 1013


async def test_who_does_not_read_fills_no_more_than_the_servers_buffer(serving: Serving) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", int(serving.url.rpartition(":")[2]), limit=1)
    writer.write(HANDSHAKE)
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket's
    await serving.come(1)
    told = 0
    while not serving.hub.dropped:
        await serving.hub.say("block", {"text": "x" * 100_000})
        told += 1
        assert told < 2_000, "more than any kernel's buffers of a loopback"
    writer.transport.abort()


# ----------------------------------------------------------------------------------------- who sends what is nothing

EMPTY: Final = {"ping": b"\x89\x80\0\0\0\0", "pong": b"\x8a\x80\0\0\0\0", "text": b"\x81\x80\0\0\0\0"}
"""Frames of no bytes, as a client sends them."""


@pytest.mark.parametrize("frame", EMPTY.values(), ids=EMPTY)
async def test_a_great_many_small_frames_let_others_have_their_turn(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, frame: bytes
) -> None:
    """One stranger's 7 MB, sent in four seconds, had kept a gateway from everybody else for eight."""
    counts = list[int]()
    handle = OutletSocket.handle_events

    def counted(socket: OutletSocket) -> None:
        counts.append(len(socket.conn.events))
        handle(socket)

    monkeypatch.setattr(OutletSocket, "handle_events", counted)
    async with connect(serving.url, close_timeout=0.1) as client:  # its goodbye lies behind what is not read
        await serving.come(1)
        client.transport.write(frame * 20_000)
        async with asyncio.timeout(patient(20)):
            # No text is taken while the application has not had the one before.
            while sum(counts) < (1 if frame == EMPTY["text"] else 20_000):  # noqa: ASYNC110  # in this loop, too
                await asyncio.sleep(0)
    assert max(counts) <= SLICE // len(frame) + 1


async def pinging(writer: asyncio.StreamWriter) -> None:
    """Until it is cut."""
    while True:
        writer.write((b"\x89\xfd\0\0\0\0" + b"x" * 125) * 1_000)
        await writer.drain()


async def test_who_pings_and_reads_no_answer_is_cut(serving: Serving) -> None:
    """What it was answered lay in memory, without end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(serving.url.rpartition(":")[2]), limit=1)
    writer.write(HANDSHAKE)
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket's
    await serving.come(1)
    with pytest.raises(ConnectionError):
        await asyncio.wait_for(pinging(writer), patient(20))
    writer.transport.abort()
    reader.feed_eof()


async def test_a_message_of_empty_fragments_is_cut(serving: Serving) -> None:
    """They count for nothing in its length, and each lay in memory."""
    async with connect(serving.url) as client:
        await serving.come(1)
        client.transport.write(b"\x01\x80\0\0\0\0" + b"\0\x80\0\0\0\0" * (MOST_FRAGMENTS + 1))
        await asyncio.wait_for(client.wait_closed(), patient(20))
        assert client.close_code == 1006
