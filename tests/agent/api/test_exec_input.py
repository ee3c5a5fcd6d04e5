"""Commands whose input is a request's body: how much, how it ends, and who may not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from devnet.patience import patient
from leasehold_agent.access import Slots
from leasehold_agent.api import _exec_input

from .conftest import LEASE, World
from .test_exec import EXEC, killed

MIB = 1 << 20


def query(*command: str) -> str:
    return str(httpx.QueryParams({"command": json.dumps(command)}))


async def run(
    world: World, body: bytes | AsyncIterator[bytes], *command: str, asked: str | None = None
) -> httpx.Response:
    asked = query(*command) if asked is None else asked
    headers = await world.tenant.sign("POST", EXEC, query=asked, op="lease.exec")
    return await world.http.post(f"{EXEC}?{asked}", content=body, headers=headers, timeout=patient(60))


async def test_much_goes_in_whole(world: World) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield bytes(70_000)

    answer = await run(world, pieces(), "sh", "-c", "wc -c")
    assert (answer.status_code, answer.json()) == (200, {"exit": 0, "said": "7000000\n"})


async def test_little_and_nothing(world: World) -> None:
    assert (await run(world, b"abc", "cat")).json() == {"exit": 0, "said": "abc"}
    assert (await run(world, b"", "cat")).json() == {"exit": 0, "said": ""}


async def test_what_it_says_is_kept_to_a_bound_and_it_goes_on(world: World) -> None:
    script = "cat >/dev/null; head -c 5000000 /dev/zero | tr '\\0' x; echo bad >&2; exit 7"
    answer = (await run(world, b"abc", "sh", "-c", script)).json()
    assert answer["exit"] == 7
    assert answer["said"] == "x" * _exec_input.MOST_SAID


async def test_a_command_that_has_had_enough(world: World) -> None:
    """It ends before its input does: its exit code says how it went, and what else comes is thrown away."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield bytes(MIB)

    answer = await run(world, pieces(), "sh", "-c", "head -c 10 >/dev/null; exec <&-; exit 3")
    assert answer.json() == {"exit": 3, "said": ""}


async def sent(world: World, *command: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which a request has begun, and its command reads."""
    asked = query(*command)
    headers = await world.tenant.sign("POST", EXEC, query=asked, op="lease.exec")
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(
        f"POST {EXEC}?{asked} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        f"Expect: 100-continue\r\n{lines}\r\n".encode()
    )
    async with asyncio.timeout(patient(20)):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    return reader, writer


async def test_a_client_that_vanishes_ends_the_command(world: World) -> None:
    _, writer = await sent(world, "sh", "-c", "cat >/dev/null; sleep 1000")
    pid = world.leases.streams[-1].pid
    writer.write(b"5\r\nhello\r\n")
    await writer.drain()
    writer.transport.abort()
    await killed(world, pid)


async def test_a_lease_that_changes_hands_ends_the_command(world: World) -> None:
    world.server.api.recheck_seconds = 0.01
    reader, writer = await sent(world, "sh", "-c", "sleep 1000")
    pid = world.leases.streams[-1].pid
    world.leases.change(LEASE, tenant=world.stranger.wallet.address)
    async with asyncio.timeout(patient(20)):
        assert b"409" in await reader.readuntil(b"\r\n")
    await killed(world, pid)
    writer.transport.abort()


async def test_a_body_without_end_behind_an_ended_command(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes, and nobody reads on."""
    monkeypatch.setattr(_exec_input, "LINGER_SECONDS", 0.01)
    reader, writer = await sent(world, "sh", "-c", "exit 4")
    async with asyncio.timeout(patient(20)):
        assert b"200" in await reader.readuntil(b"\r\n")
        assert b'"exit":4' in await reader.read()
    writer.transport.abort()


@pytest.mark.parametrize(
    "asked", ["", "command=", "command=ls", "command=[]", "command=[1]", 'command=["a\\u0000"]']
)
async def test_commands_that_make_no_sense(world: World, asked: str) -> None:
    answer = await run(world, b"x", asked=str(httpx.QueryParams(asked)))
    assert (answer.status_code, answer.json()["type"]) == (400, "bad-call")
    assert not world.leases.streams


async def test_a_command_that_is_too_long(world: World) -> None:
    answer = await run(world, b"", "x" * _exec_input.MOST_COMMAND)
    assert (answer.status_code, answer.json()["type"]) == (400, "bad-call")


async def test_without_a_container(world: World) -> None:
    world.leases.change(LEASE, container_id=None, phase="pulling")
    answer = await run(world, b"x", "cat")
    assert (answer.status_code, answer.json()["type"]) == (409, "not-running")


async def test_a_refusal_comes_before_the_body(world: World) -> None:
    """Whoever says `Expect` need not send a GiB to hear no."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
    writer.write(
        f"POST {EXEC} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n".encode()
    )
    async with asyncio.timeout(patient(20)):
        assert b"401" in await reader.readuntil(b"\r\n")
    writer.transport.abort()
    assert not world.leases.streams


async def test_streams_are_counted(world: World) -> None:
    world.server.api.admission.streams = Slots(1)
    _, writer = await sent(world, "sh", "-c", "sleep 1000")
    answer = await run(world, b"x", "cat")
    assert (answer.status_code, answer.json()["type"]) == (429, "too-many-requests")
    writer.transport.abort()
