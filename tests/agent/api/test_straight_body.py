"""Bodies taken past what takes HTTP apart: however they are cut, in one piece, and given back where they are no plain
ones.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import h11
import pytest

from devnet.patience import patient
from leasehold_agent.access import Ration
from leasehold_agent.api import _straight_body
from leasehold_agent.api._straight_body import ROOM, StraightBody

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
LEAST = 1000


class Cycle:
    waiting_for_100_continue = True

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        self.scope = {"headers": headers}


class Wire(asyncio.Transport):
    """A transport whose bytes a test hands over, as TLS does: what fits, and none while it is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: Any = None
        self.written = b""
        self.paused = False
        self.waiting = b""

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def is_closing(self) -> bool:
        return False

    def bring(self, data: bytes = b"") -> None:
        self.waiting += data
        while self.waiting and not self.paused:
            if isinstance(self.protocol, Owner):
                taken, self.waiting = self.waiting, b""
                self.protocol.data_received(taken)
                return
            buffer = self.protocol.get_buffer(-1)
            count = min(len(buffer), len(self.waiting))
            assert count, "a buffer has room while the transport may read"
            buffer[:count] = self.waiting[:count]
            self.waiting = self.waiting[count:]
            self.protocol.buffer_updated(count)


class Owner:
    """What uvicorn's protocol is to a body, with the real h11: it keeps what comes by the ordinary way."""

    def __init__(self, head: bytes = HEAD) -> None:
        self.conn = h11.Connection(h11.SERVER)
        self.loop = asyncio.get_running_loop()
        self.wire = Wire()
        self.wire.protocol = self
        self.transport: asyncio.Transport = self.wire
        self.conn.receive_data(head)
        request = self.conn.next_event()
        assert isinstance(request, h11.Request)
        self.cycle: Any = Cycle([*request.headers])
        self.rest = b""
        self.ended = self.lost = self.refused = False

    def data_received(self, data: bytes) -> None:
        self.conn.receive_data(data)
        try:
            while (event := self.conn.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Data):
                    self.rest += event.data
                self.ended |= isinstance(event, h11.EndOfMessage)
        except h11.RemoteProtocolError:
            self.refused = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True

    def eof_received(self) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


def begun(owner: Owner, ration: Ration | None = None) -> StraightBody:
    body = StraightBody.of(owner, ration or Ration(), "lease")
    assert body is not None
    assert owner.wire.written.startswith(b"HTTP/1.1 100 "), "its sender waits for that"
    return body


async def all_of(owner: Owner, body: StraightBody) -> bytes:
    """All pieces, while what could not be taken at once follows. Each is written over once the next is asked for."""
    out = b""
    async with asyncio.timeout(patient(20)):
        async for piece in body.pieces(LEAST):
            out += piece
            owner.wire.bring()
    return out


def chunked(data: bytes, sizes: random.Random, most: int) -> bytes:
    out = b""
    while data:
        size = sizes.randint(1, most)
        out += b"%x\r\n" % len(data[:size]) + data[:size] + b"\r\n"
        data = data[size:]
    return out


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 8))]
)
async def test_it_is_the_same_however_it_is_cut(seed: int) -> None:
    source = random.Random(seed)
    data = source.randbytes(3 * ROOM + source.randrange(ROOM))
    wire = chunked(data, source, source.choice((40, 5_000, 3 * ROOM))) + b"0\r\n\r\n"
    owner = Owner()
    body = begun(owner)
    reading = asyncio.create_task(all_of(owner, body))
    while wire:
        size = source.choice((1, 3, 1_000, 16_384, ROOM))
        owner.wire.bring(wire[:size])
        wire = wire[size:]
        if source.random() < 0.3:
            await asyncio.sleep(0)
    async with asyncio.timeout(patient(20)):
        while not reading.done():
            owner.wire.bring()
            await asyncio.sleep(0)
    assert await reading == data
    assert (owner.ended, owner.rest, owner.refused) == (True, b"", False)
    assert not owner.wire.paused


@pytest.mark.parametrize(
    ("behind", "rest", "refused"),
    [
        (b"5;name=value\r\nworld\r\n0\r\n\r\n", b"world", False),
        (b"000000005\r\nworld\r\n0\r\n\r\n", b"world", False),
        (b"0;x\r\n\r\n", b"", False),
        (b"0\r\nTrailer: x\r\n\r\n", b"", False),
        (b"-5\r\nworld\r\n", b"", True),
        (b"1_0\r\nworld\r\n", b"", True),
        (b"\r\n", b"", True),
    ],
)
async def test_what_is_no_plain_chunk_is_left_to_the_ordinary_way(
    behind: bytes, rest: bytes, refused: bool
) -> None:
    owner = Owner()
    body = begun(owner)
    owner.wire.bring(b"5\r\nhello\r\n" + behind)
    assert await all_of(owner, body) == b"hello"
    assert (owner.rest, owner.refused, owner.ended) == (rest, refused, not refused)


async def test_a_chunk_that_is_longer_than_it_says() -> None:
    """What stands behind it is no chunk, though it looks like one."""
    owner = Owner()
    body = begun(owner)
    owner.wire.bring(b"5\r\nhello5\r\nworld\r\n0\r\n\r\n")
    assert await all_of(owner, body) == b"hello"
    assert owner.refused


async def test_a_request_behind_it_is_not_taken_for_its_body() -> None:
    owner = Owner()
    body = begun(owner)
    owner.wire.bring(b"5\r\nhello\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await all_of(owner, body) == b"hello"
    assert owner.ended
    assert owner.conn.trailing_data[0].startswith(b"GET /next")


async def test_chunks_of_a_byte_take_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many a buffer holds: others have their turn in between."""
    owner = Owner()
    body = begun(owner)
    looks = list[int]()
    measured = owner.loop.call_later

    def later(delay: float, act: Any, *given: Any) -> Any:
        looks.append(1)
        return measured(delay, act, *given)

    monkeypatch.setattr(owner.loop, "call_later", later)
    owner.wire.bring(b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n")
    assert await all_of(owner, body) == b"x" * 10_000
    assert len(looks) >= 10_000 // _straight_body.MOST_CHUNKS
    assert owner.ended


async def test_who_is_not_read_from_waits() -> None:
    """Two buffers are all that is kept."""
    owner = Owner()
    begun(owner)
    owner.wire.bring(b"%x\r\n" % (8 * ROOM) + bytes(8 * ROOM))
    assert owner.wire.paused
    assert len(owner.wire.waiting) > 6 * ROOM


async def test_the_rest_is_thrown_away() -> None:
    """Whoever wants no more of it lets its sender go on."""
    owner = Owner()
    body = begun(owner)
    pieces = body.pieces(LEAST)
    owner.wire.bring(b"%x\r\n" % (4 * ROOM) + bytes(2 * ROOM))
    assert len(await anext(pieces)) > 0
    await pieces.aclose()
    owner.wire.bring(bytes(20 * ROOM))
    assert not owner.wire.waiting


async def test_a_connection_that_is_lost_ends_it() -> None:
    owner = Owner()
    body = begun(owner)
    owner.wire.bring(b"ff\r\nhello")
    body.connection_lost(None)
    assert await all_of(owner, body) == b"hello"
    assert owner.lost, "who reads on by the ordinary way is told there"


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace(b"Expect: 100-continue\r\n", b""),
        HEAD.replace(b"Transfer-Encoding: chunked", b"Content-Length: 5"),
        HEAD + b"5\r\nhel",
    ],
)
async def test_a_body_that_may_have_begun_is_not_taken(head: bytes) -> None:
    owner = Owner(head)
    assert StraightBody.of(owner, Ration(), "lease") is None
    assert not owner.wire.written
