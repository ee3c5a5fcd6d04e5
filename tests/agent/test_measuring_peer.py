"""A peer that hosts measure against, and what a host makes of one: also where either is somebody who means harm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from devnet.engine import Engine
from devnet.patience import patient
from devnet.world import free_port
from leasehold_agent.checks import MeasuringPeer, PeerLimits
from leasehold_agent.checks._outside import Effort, Outside, ask_peer
from leasehold_agent.checks._ports import listening

SOON = Effort(seconds=0.3, most_bytes=4 << 20)
"""For a peer that never ends by itself."""
PATIENT = Effort(seconds=patient(30), most_bytes=4 << 20)
"""For one that does: the bytes end it, however slow the machine is."""
_ASK = """
import asyncio, json, sys
from leasehold_agent.checks._outside import Effort, ask_peer
from leasehold_agent.checks._ports import listening

async def main():
    async with listening("0.0.0.0", [int(sys.argv[2])]) as held:
        seen = await ask_peer(sys.argv[1], [*held.ports, int(sys.argv[3])], Effort(30, 1 << 20))
    print(json.dumps([seen.address, seen.reached, list(seen.troubles), seen.down, seen.up]))

asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def serving(
    limits: PeerLimits | None = None, host: str = "127.0.0.1", **more: Any
) -> AsyncIterator[str]:
    peer = MeasuringPeer(limits, **more)
    port = await peer.start(host, 0)
    try:
        yield f"http://{host}:{port}"
    finally:
        await peer.close()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def odd(talk: Talk) -> AsyncIterator[str]:
    """A peer that does something else."""
    tasks = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await talk(reader, writer)
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            assert task is not None
            task.cancel()
        await asyncio.gather(*filter(None, tasks), return_exceptions=True)


def answering(body: bytes, status: str = "200 OK", headers: str = "") -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)
        await writer.drain()

    return talk


async def measured(url: str, ports: tuple[int, ...] = (9,), effort: Effort = SOON) -> Outside:
    """What a host finds out, which has to come to an end."""
    async with asyncio.timeout(patient(60)):
        return await ask_peer(url, ports, effort)


# ------------------------------------------------------------------------------------ the two of them


async def test_bytes_come_and_go() -> None:
    async with serving() as url:
        seen = await measured(url, (), PATIENT)
    assert seen.down is not None
    assert seen.up is not None
    assert min(seen.down, seen.up) > 0
    assert seen.troubles == ()


@pytest.mark.slow
async def test_the_command_serves_until_it_is_ended() -> None:
    """Without settings, keys or an engine."""
    port = str(free_port())
    command = ["leasehold-agent", "peer", "--listen", "127.0.0.1", "--port", port]
    peer = await asyncio.create_subprocess_exec(
        *command, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]}
    )
    assert peer.stderr is not None
    said = await asyncio.wait_for(peer.stderr.readline(), patient(30))
    assert port in said.decode()
    seen = await measured(f"http://127.0.0.1:{port}", (), PATIENT)
    peer.terminate()
    assert await asyncio.wait_for(peer.wait(), patient(30)) == 0
    assert seen.down
    assert seen.up


@pytest.mark.slow
def test_ports_are_tried_from_elsewhere(docker_engine: Engine) -> None:
    """From another network namespace: one of its ports takes connections, the other does not."""

    async def ask() -> list[Any]:
        async with serving(host=docker_engine.gateway) as url:
            command = [
                "nsenter",
                f"--net={docker_engine.netns}",
                sys.executable,
                "-c",
                _ASK,
                url,
                "18701",
                "18702",
            ]
            asked = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
            said, _ = await asyncio.wait_for(asked.communicate(), patient(60))
            return list(json.loads(said))

    address, reached, troubles, down, up = asyncio.run(ask())
    assert address == docker_engine.address
    assert reached == {"18701": True, "18702": False}
    assert troubles == []
    assert down > 0
    assert up > 0


async def test_ports_of_the_peers_own_host_are_not_tried() -> None:
    """Behind a proxy every caller has an address of the peer's host, and would look into it."""
    async with serving() as url, listening("127.0.0.1", [18_703]) as held:
        seen = await measured(url, held.ports, PATIENT)
    assert (seen.address, seen.reached) == ("", {})
    assert "not tried" in seen.troubles[0]
    assert seen.down


# ----------------------------------------------------------------------------- a peer that means harm


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte now and then, so that no silence is long."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """It never stops sending, and takes nothing."""
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\xff not http\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("talk", [silent, slow, garbage], ids=lambda talk: talk.__name__)
async def test_a_peer_that_is_of_no_use_keeps_nobody(talk: Talk) -> None:
    async with odd(talk) as url:
        seen = await measured(url)
    assert (seen.down, seen.up, seen.reached) == (None, None, {})
    assert seen.troubles


async def test_a_peer_that_never_stops_is_stopped() -> None:
    async with odd(endless) as url:
        seen = await measured(url)
    assert seen.down is not None
    assert (seen.up, seen.reached) == (None, {})


async def test_a_peer_that_does_not_listen() -> None:
    seen = await measured("http://127.0.0.1:1")
    assert (seen.down, seen.up) == (None, None)
    assert len(seen.troubles) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"[" * 4_000,
        b'{"bytes": 1}',
        b'{"bytes": "all", "ports": [9], "address": "a"}',
        b'{"ports": {"9": true}, "address": 7}',
        b"x" * 100_000,
    ],
)
async def test_answers_of_another_form_are_trouble(body: bytes) -> None:
    async with odd(answering(body)) as url:
        seen = await measured(url)
    assert (seen.up, seen.reached) == (None, {})
    assert seen.troubles


async def test_a_peer_says_what_it_reaches_only_of_what_was_asked() -> None:
    body = json.dumps({"address": "a" * 1_000, "ports": {"9": "yes", "22": True}}).encode()
    async with odd(answering(body)) as url:
        seen = await measured(url)
    assert seen.reached == {9: False}
    assert len(seen.address) == 64


async def test_nobody_is_sent_elsewhere() -> None:
    """A peer may name an address that only this host can reach."""
    asked: list[bytes] = []

    async def inner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())

    async with odd(inner) as inside, odd(answering(b"", "302 Found", f"Location: {inside}/\r\n")) as url:
        seen = await measured(url)
    assert asked == []
    assert "it answers 302" in seen.troubles


async def test_what_a_peer_says_is_one_line() -> None:
    detail = json.dumps({"detail": "no\n\x1b[31mroot# " + "x" * 1_000}).encode()
    async with odd(answering(detail, "403 Forbidden")) as url:
        (trouble,) = (await measured(url)).troubles
    assert trouble.isprintable()
    assert len(trouble) < 250


# ---------------------------------------------------------------------------- a caller who means harm


async def test_no_more_is_sent_or_taken_than_is_given() -> None:
    async with serving(PeerLimits(most_bytes=1_000)) as url, httpx.AsyncClient() as client:
        assert len((await client.get(f"{url}/v1/down?bytes=999999999999")).content) == 1_000
        assert (await client.post(f"{url}/v1/up", content=b"x" * 1_000)).json() == {"bytes": 1_000}


@pytest.mark.parametrize(
    "ports", [[], [0], [65_536], [True], ["22"], [22.0], list(range(1, 10)), None, {}, "8701"]
)
async def test_odd_ports_are_refused(docker_engine: Engine, ports: object) -> None:
    body = json.dumps({"ports": ports}).encode()
    asked = f"POST /v1/reach HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    async with serving(host="0.0.0.0") as url:
        port = url.rpartition(":")[2]
        script = f"exec 3<>/dev/tcp/{docker_engine.gateway}/{port}; cat >&3; head -1 <&3"
        command = ["nsenter", f"--net={docker_engine.netns}", "bash", "-c", script]
        said = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answer, _ = await asyncio.wait_for(said.communicate(asked), patient(30))
    assert b" 400 " in answer


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (b"GET /v1/down HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /v1/down?bytes=-1 HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /v1/down?bytes=" + "²".encode() + b" HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET //[ HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /v1/up HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /v1/up HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", b"413"),
        (b"POST /v1/up HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
    ],
)
async def test_odd_requests_are_refused(asked: bytes, status: bytes) -> None:
    async with serving() as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(asked)
        line = await asyncio.wait_for(reader.readline(), patient(30))
        writer.close()
    assert line.split()[1] == status


@pytest.mark.parametrize("begun", [b"", b"GET ", b"POST /v1/up HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"])
async def test_a_caller_who_stops_in_the_middle_is_let_go(begun: bytes) -> None:
    async with serving(PeerLimits(seconds=0.1)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(begun)
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), patient(30)) == b""
        writer.close()


async def test_a_head_without_end_is_let_go() -> None:
    async with serving() as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10_000)
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), patient(30)) == b""
        writer.close()


async def test_one_caller_has_so_many_requests_at_once() -> None:
    async with serving(PeerLimits(at_once_of_one=1, calls=10_000)) as url:
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/up HTTP/1.1\r\nContent-Length: 1\r\n\r\n")
        async with httpx.AsyncClient() as client:

            async def refused() -> bool:
                return (await client.get(f"{url}/v1/down?bytes=1")).status_code == 503

            async with asyncio.timeout(patient(30)):
                while not await refused():
                    pass
            writer.write(b"x")
            await reader.read()
            writer.close()
            assert not await refused()


async def test_one_caller_has_so_many_in_an_hour() -> None:
    now = 0.0
    async with serving(PeerLimits(calls=2), clock=lambda: now) as url, httpx.AsyncClient() as client:
        codes = [(await client.get(f"{url}/v1/down?bytes=1")).status_code for _ in range(3)]
        now = 1_801.0
        again = (await client.get(f"{url}/v1/down?bytes=1")).status_code
    assert codes == [200, 200, 429]
    assert again == 200
