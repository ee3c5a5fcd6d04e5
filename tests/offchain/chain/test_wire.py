"""The way to a node: bounded, straight there, and closed by whoever wanted it, whatever stands at the other end."""

from __future__ import annotations

import asyncio
import gc
import gzip
import ssl
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from devnet.serving import certificate
from leasehold.chain._endpoint import Unanswered
from leasehold.chain._wire import HttpWire, proxy_to

MOST = 1000
LONGEST = 80
"""Turns of the loop, more than a whole request takes on loopback."""

Serve = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


def untrusting() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@asynccontextmanager
async def node(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """What answers each request by `serve`, which is told its head, on connections that it may keep."""
    tasks = set[asyncio.Task[Any]]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                await reader.readexactly(length)
                await serve(head, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def saying(answer: bytes) -> Serve:
    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return serve


def whole(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
async def wire() -> AsyncIterator[HttpWire]:
    wire = HttpWire(untrusting)
    yield wire
    await wire.aclose()


async def test_an_answer_comes_whole_and_its_connection_is_kept(wire: HttpWire) -> None:
    heads = []

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append((head, writer.get_extra_info("peername")))
        writer.write(whole(b"{}", "Retry-After: 7"))

    async with node(serve) as url:
        for _ in range(2):
            answer = await wire.post(f"{url}/v3/a%2Fkey?x=1", b"[]", MOST)
            assert (answer.status, answer.body, answer.headers.get("retry-after")) == (200, b"{}", "7")
    (first, peer), (_, again) = heads
    assert peer == again
    assert first.startswith(b"POST /v3/a%2Fkey?x=1 HTTP/1.1\r\n")
    assert b"content-type: application/json" in first.lower()


@pytest.mark.parametrize("unasked", [1, 100_000], ids=["one", "many"])
async def test_what_comes_unasked_is_nobody_s_answer(wire: HttpWire, unasked: int) -> None:
    """A node that goes on talking on a connection that waits fills no memory, and answers no later call by it."""
    waits, ended = asyncio.Event(), asyncio.Event()
    calls = 0

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.write(whole(str(calls).encode()))
        if calls > 1:
            return
        await asyncio.sleep(
            0.1
        )  # until it waits: what comes along with an answer ends the connection by itself
        try:
            for _ in range(unasked):
                writer.write(whole(b"unasked"))
                await writer.drain()
        finally:
            ended.set()

    async with node(serve) as url:
        assert (await wire.post(url, b"", MOST)).body == b"1"
        waits.set()
        async with asyncio.timeout(60):
            await ended.wait()
        for _ in range(LONGEST):
            await asyncio.sleep(0)
        if unasked > 1:
            assert not any(kept[0].is_connected() for kept in kept_of(wire)), "it was hung up on"
        assert (await wire.post(url, b"", MOST)).body == b"2"


ENDLESS = {
    "a status line": (b"HTTP/1.1 200 ", b"x" * 8_000),
    "a line of its head": (b"HTTP/1.1 200 OK\r\nx: ", b"x" * 8_000),
    "lines of its head": (b"HTTP/1.1 200 OK\r\n", b"x: " + b"y" * 1_000 + b"\r\n"),
    "a folded line": (b"HTTP/1.1 200 OK\r\nx: y\r\n", b" " + b"y" * 1_000 + b"\r\n"),
    "heads before the head": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"),
    "lines behind it": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
        b"x: " + b"y" * 1_000 + b"\r\n",
    ),
}


async def test_an_answer_in_pieces_of_a_byte_is_given_up(wire: HttpWire) -> None:
    """Each takes the parser as long as one of many KiB: 11 MiB in such pieces took 17 s of the loop."""
    sent, ended = 0, asyncio.Event()

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        try:
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while sent < 24 << 20:
                writer.write(b"1\r\nx\r\n" * 4_000)
                await writer.drain()
                sent += 24_000
        finally:
            ended.set()
            writer.close()

    async with node(serve) as url:
        with pytest.raises(Unanswered):
            await wire.post(url, b"", 64 << 20)
        await ended.wait()
    assert sent < 16 << 20


async def test_an_answer_in_small_pieces_is_taken(wire: HttpWire) -> None:
    piece = b"x" * 40

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"28\r\n%b\r\n" % piece * 2_000 + b"0\r\n\r\n")

    async with node(serve) as url:
        assert (await wire.post(url, b"", 64 << 20)).body == piece * 2_000
        lines = b"[\r\n" + b'  "0x00",\r\n' * 5_000 + b"null]"  # as somebody may write it for people
        assert orjson.loads(lines)

    async def for_people(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(lines))

    async with node(for_people) as url:
        assert (await wire.post(url, b"", 64 << 20)).body == lines


@pytest.mark.parametrize("what", ENDLESS)
async def test_what_has_no_end_is_given_up(wire: HttpWire, what: str) -> None:
    """Whatever of its form a node drags out, the other side hangs up before it has kept much of it."""
    began, goes_on = ENDLESS[what]
    sent, ended = 0, asyncio.Event()

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        try:
            writer.write(began)
            while sent < 64 << 20:
                writer.write(goes_on)
                await writer.drain()
                sent += len(goes_on)
        finally:
            ended.set()
            writer.close()

    async with node(serve) as url:
        with pytest.raises(Unanswered):
            await wire.post(url, b"", MOST)
        await ended.wait()
    assert sent < 16 << 20, "what lies in the sockets' buffers, and not what somebody keeps"


def kept_of(wire: HttpWire) -> list[Any]:
    """The connections that wait, each with since when."""
    (session,) = wire._sessions.values()
    assert session.connector is not None
    return [kept for several in session.connector._conns.values() for kept in several]


async def test_what_was_packed_is_unpacked_as_far_as_it_may_go(wire: HttpWire) -> None:
    packed = gzip.compress(b"x" * MOST)
    async with node(saying(whole(packed, "content-encoding: gzip"))) as url:
        assert (await wire.post(url, b"", MOST)).body == b"x" * MOST
        with pytest.raises(Unanswered, match="longer"):
            await wire.post(url, b"", MOST - 1)
    async with node(saying(whole(packed[:-9], "content-encoding: gzip"))) as url:
        with pytest.raises(Unanswered, match="breaks off"):
            await wire.post(url, b"", MOST)
    async with node(saying(whole(b"x", "content-encoding: br\x1b[2J"))) as url:
        with pytest.raises(Unanswered, match="nobody asked for") as caught:
            await wire.post(url, b"", MOST)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("status", ["200 OK", "503 Busy", "429 Slowly"])
async def test_no_more_is_read_than_may_be(wire: HttpWire, status: str) -> None:
    """A body without end: of an answer as much as it may be, of a refusal nothing."""
    ended = asyncio.Event()

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        try:
            while True:
                writer.write(b"8\r\nxxxxxxxx\r\n")
                await writer.drain()
                await asyncio.sleep(0)
        finally:
            ended.set()

    async with node(serve) as url:
        if status.startswith("200"):
            with pytest.raises(Unanswered, match="longer"):
                await wire.post(url, b"", MOST)
        else:
            answer = await wire.post(url, b"", MOST)
            assert (answer.status, answer.body) == (int(status[:3]), b"")
        async with asyncio.timeout(60):
            await ended.wait()  # the connection is not kept, and so nobody goes on writing


async def test_nobody_is_followed_elsewhere_and_nothing_is_kept_for_the_next(wire: HttpWire) -> None:
    heads = []

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head.lower())
        writer.write(whole(b"", "location: /elsewhere", "set-cookie: a=b; path=/", status="307 Elsewhere"))

    async with node(serve) as url:
        for _ in range(2):
            assert (await wire.post(url, b"", MOST)).status == 307
    assert [head.split(b" ", 2)[1] for head in heads] == [b"/", b"/"]
    assert not any(b"cookie" in head for head in heads)


async def test_no_password_of_the_home_is_sent(
    wire: HttpWire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    heads = []

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head.lower())
        writer.write(whole(b""))

    async with node(serve) as url:
        await wire.post(url, b"", MOST)
        await wire.post(url.replace("127.0.0.1", "user:word@127.0.0.1"), b"", MOST)
    assert b"authorization" not in heads[0]
    assert b"authorization: basic dxnlcjp3b3jk" in heads[1]  # what stands in the address is meant for it


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * (1 << 20) + b"\r\n\r\n",
    ],
    ids=["nothing", "half", "chunks that are none", "another protocol", "a header without end"],
)
async def test_what_breaks_off_may_be_there_again(wire: HttpWire, answer: bytes) -> None:
    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        raise ConnectionResetError

    async with node(serve) as url:
        with pytest.raises(Unanswered) as caught:
            await wire.post(url, b"", MOST)
    assert caught.value.again
    assert url not in str(caught.value)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1",
        "http://[",
        "ftp://127.0.0.1/",
        "nowhere",
        "http://127.0.0.1:99999",
        "http://a..b/",
        "",
    ],
)
async def test_where_nobody_is_nobody_is_asked_again(wire: HttpWire, url: str) -> None:
    with pytest.raises(Unanswered) as caught:
        await wire.post(url, b"", MOST)
    assert not caught.value.again
    assert not url or url not in str(caught.value)


async def test_who_shows_a_stranger_s_certificate_is_not_believed(wire: HttpWire, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path))
    async with node(saying(whole(b"{}")), context) as url:
        with pytest.raises(Unanswered, match="certificate") as caught:
            await wire.post(url, b"", MOST)
    assert not caught.value.again


async def left_open(url: str, trusted: ssl.SSLContext, turns: int) -> bool:
    """Whether a request that is cancelled after so many turns leaves a connection to Python's collector."""
    wire = HttpWire(lambda: trusted)
    request = asyncio.create_task(wire.post(url, b"", MOST))
    for _ in range(turns):
        await asyncio.sleep(0)
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    await wire.aclose()
    del request, wire
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gc.collect()
    return any("unclosed" in str(warning.message) for warning in said)


@pytest.mark.parametrize("secured", [False, True], ids=["http", "https"])
async def test_whenever_a_request_is_cancelled_its_connection_is_closed(
    secured: bool, tmp_path: Path
) -> None:
    context = None
    if secured:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate(tmp_path))
    trusted = untrusting()
    trusted.check_hostname, trusted.verify_mode = False, ssl.CERT_NONE
    gc.freeze()  # what was alive before is not looked through at each collection
    async with node(saying(whole(b"{}")), context) as url:
        leaks = [turns for turns in range(LONGEST) if await left_open(url, trusted, turns)]
    assert leaks == []


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("http://node.example", {}, None),
        ("http://node.example", {"http_proxy": "http://p:1"}, "http://p:1"),
        ("https://node.example", {"http_proxy": "http://p:1"}, None),
        ("https://node.example", {"all_proxy": "p:1"}, "http://p:1"),
        ("http://node.example:99", {"http_proxy": "http://p:1", "no_proxy": "example"}, None),
        ("http://me:word@node.lan:8545", {"http_proxy": "http://p:1", "no_proxy": "node.lan:8545"}, None),
        ("http://node.lan:8546", {"http_proxy": "http://p:1", "no_proxy": "node.lan:8545"}, "http://p:1"),
        ("http://127.0.0.1:8545", {"http_proxy": "http://p:1"}, None),
        ("http://[::1]:8545", {"all_proxy": "http://p:1"}, None),
        ("http://127.0.0.1@node.example", {"http_proxy": "http://p:1"}, "http://p:1"),
    ],
)
def test_a_proxy_stands_where_the_environment_says_and_not_before_this_machine(
    url: str, environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_to(url) == proxy


async def test_a_proxy_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch, wire: HttpWire) -> None:
    monkeypatch.delenv("http_proxy", raising=False)
    monkeypatch.setenv("all_proxy", "socks5://me:word@p:1")
    with pytest.raises(Unanswered, match="no HTTP: socks5"):
        await wire.post("http://node.invalid", b"", MOST)


async def test_a_proxy_is_asked_the_way(monkeypatch: pytest.MonkeyPatch, wire: HttpWire) -> None:
    heads = []

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(whole(b"{}"))

    async with node(serve) as url:
        monkeypatch.setenv("http_proxy", url.replace("http://", "http://me:word@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert (await wire.post("http://node.invalid/x", b"", MOST)).body == b"{}"
    assert heads[0].startswith(b"POST http://node.invalid/x HTTP/1.1")
    assert b"proxy-authorization: basic" in heads[0].lower()
