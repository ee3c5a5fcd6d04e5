"""What is refused before any route is asked, over a socket: too many connections, silent ones, and what is no HTTP."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext, suppress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from devnet.patience import patient
from leasehold.gateway._front import SECURITY
from leasehold.gateway._protocol import bounded
from leasehold.gateway._serving import TURN_SECONDS, loop_factory, short_turns

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Opened = Callable[[], Awaitable[Streams]]
SLOW = b"GET /slow HTTP/1.1\r\nhost: gate.example\r\n\r\n"
PLAIN = b"GET / HTTP/1.1\r\nhost: gate.example\r\n\r\n"


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/slow":
        await asyncio.sleep(0.2)  # longer than a connection may be silent
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Opened]:
    given = dict(getattr(request, "param", {}))
    listening = socket.create_server(("127.0.0.1", 0))
    http = bounded(given.pop("proxies", ()), **given)
    config = uvicorn.Config(
        answering, http=http, lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign]  # the tests' own process keeps its signals
    task, writers = asyncio.create_task(server.serve([listening])), list[asyncio.StreamWriter]()

    async def opened() -> Streams:
        streams = await asyncio.open_connection(*listening.getsockname())
        writers.append(streams[1])
        return streams

    yield opened
    for writer in writers:
        writer.close()
    server.should_exit = True
    await task


async def asked(streams: Streams, data: bytes) -> int:
    """The status of the answer to what is sent."""
    streams[1].write(data)
    head = await asyncio.wait_for(streams[0].readuntil(b"\r\n\r\n"), patient(20))
    return int(head.split()[1])


NO_HTTP = b"\x00\x01\r\n\r\n"
LONG = b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n"


@pytest.mark.parametrize("data", [NO_HTTP, LONG], ids=["no HTTP", "long"])
async def test_what_is_no_http_is_refused_with_securitys_headers(connect: Opened, data: bytes) -> None:
    reader, writer = await connect()
    writer.write(data)
    said = (await asyncio.wait_for(reader.read(), patient(20))).lower()
    assert said.startswith(b"http/1.1 400")
    for name, value in SECURITY:
        assert f"{name}: {value}\r\n".lower().encode() in said


@pytest.mark.parametrize("connect", [{"each": 2}], indirect=True)
async def test_one_address_has_so_many_connections_and_no_more(connect: Opened) -> None:
    """Four thousand that said nothing had kept everybody else out, for ever."""
    first, second = await connect(), await connect()
    assert [await asked(one, PLAIN) for one in (first, second)] == [204, 204]
    reader, _ = await connect()
    said = (await asyncio.wait_for(reader.read(), patient(20))).lower()
    assert said.startswith(b"http/1.1 429")
    assert b"retry-after: 5" in said
    assert b"nosniff" in said
    first[1].close()
    await first[1].wait_closed()
    assert await asked(second, PLAIN) == 204
    assert await asked(await connect(), PLAIN) == 204


@pytest.mark.parametrize("connect", [{"each": 1, "proxies": ["127.0.0.0/8"]}], indirect=True)
async def test_a_proxy_that_is_known_has_as_many_as_it_wants(connect: Opened) -> None:
    assert [await asked(await connect(), PLAIN) for _ in range(3)] == [204] * 3


@pytest.mark.parametrize("connect", [{"seconds": 0.05}], indirect=True)
async def test_who_asks_for_nothing_is_let_go(connect: Opened) -> None:
    reader, writer = await connect()
    writer.write(b"GET / HTT")
    assert await asyncio.wait_for(reader.read(), patient(20)) == b""


@pytest.mark.parametrize("connect", [{"seconds": 0.05}], indirect=True)
async def test_half_of_a_second_request_is_not_waited_for(connect: Opened) -> None:
    """uvicorn stops its clock with the first byte that comes: one whole request had bought a place for ever."""
    streams = await connect()
    assert await asked(streams, PLAIN) == 204
    streams[1].write(b"GET / HTT")
    assert await asyncio.wait_for(streams[0].read(), patient(20)) == b""


@pytest.mark.parametrize("connect", [{"seconds": 0.05}], indirect=True)
async def test_who_waits_for_a_slow_answer_is_not_let_go(connect: Opened) -> None:
    streams = await connect()
    assert await asked(streams, SLOW) == 204


CRUMBS = b"transfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 3_000


async def test_a_body_in_chunks_of_a_byte_is_refused(connect: Opened) -> None:
    """A stranger's 6 MB of them had kept a gateway from everybody else for five seconds."""
    reader, writer = await connect()
    writer.write(b"POST /slow HTTP/1.1\r\nhost: gate.example\r\n" + CRUMBS)
    said = (await asyncio.wait_for(reader.read(), patient(20))).lower()
    assert said.startswith(b"http/1.1 400")
    assert b"nosniff" in said


async def test_who_sends_them_after_his_answer_is_let_go(connect: Opened) -> None:
    failed = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.append(context))
    reader, writer = await connect()
    head, chunks = CRUMBS.split(b"\r\n\r\n", 1)
    assert (
        await asked((reader, writer), b"POST / HTTP/1.1\r\nhost: gate.example\r\n" + head + b"\r\n\r\n")
        == 204
    )
    writer.write(chunks)
    with suppress(ConnectionResetError):  # some of it was not read
        assert await asyncio.wait_for(reader.read(), patient(20)) == b""
    assert failed == []


async def test_large_chunks_are_as_many_as_one_likes(connect: Opened) -> None:
    """And small ones too, a few at a time."""
    streams = await connect()
    large = b"800\r\n" + b"x" * 0x800 + b"\r\n"
    body = CRUMBS.replace(b"1\r\nx\r\n" * 3_000, b"1\r\nx\r\n" * 500 + large * 2_000 + b"0\r\n\r\n")
    assert await asked(streams, b"POST /slow HTTP/1.1\r\nhost: gate.example\r\n" + body) == 204


def test_threads_take_short_turns_while_it_serves_and_no_longer() -> None:
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(TURN_SECONDS)
        assert before > TURN_SECONDS
    assert sys.getswitchinterval() == before


def test_where_there_is_no_uvloop_asyncios_own_loop_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory() is None


async def test_the_loop_is_the_one_that_was_made_for_it(request: pytest.FixtureRequest) -> None:
    module = type(asyncio.get_running_loop()).__module__
    assert module.startswith("uvloop" if "uvloop" in request.node.name else "asyncio")
