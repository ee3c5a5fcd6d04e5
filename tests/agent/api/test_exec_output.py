"""Commands whose output is an answer's body: how much, how it ends, and who may not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack

import httpx
import orjson
import pytest
from starlette.types import Message, Receive, Scope, Send

from devnet.patience import patient
from leasehold_agent._errors import NoContainer
from leasehold_agent._runtime import CommandStream
from leasehold_agent.access import Slots
from leasehold_agent.api._exec_output import LENGTH, MOST_INPUT, CommandResponse, output_of

from .conftest import LEASE, World
from .test_exec import EXEC, killed
from .test_exec_input import query

OUTPUT = f"{EXEC}/output"


def taken(body: bytes) -> tuple[bytes, dict[str, object]]:
    """What the command wrote, and how it ended."""
    out = b""
    while size := LENGTH.unpack_from(body)[0]:
        out += body[LENGTH.size : LENGTH.size + size]
        body = body[LENGTH.size + size :]
    return out, orjson.loads(body[LENGTH.size :])


async def run(world: World, *command: str, given: bytes = b"", asked: str | None = None) -> httpx.Response:
    asked = query(*command) if asked is None else asked
    headers = await world.tenant.sign("POST", OUTPUT, query=asked, op="lease.exec")
    return await world.http.post(f"{OUTPUT}?{asked}", content=given, headers=headers, timeout=patient(60))


async def test_much_comes_out_whole(world: World) -> None:
    answer = await run(world, "sh", "-c", "head -c 5000000 /dev/zero; echo aside >&2; exit 7")
    assert taken(answer.content) == (bytes(5_000_000), {"exit": 7, "said": "aside\n"})


async def test_it_runs_on_what_is_given(world: World) -> None:
    given = bytes(range(256)) * (MOST_INPUT // 256)
    assert taken((await run(world, "cat", given=given)).content) == (given, {"exit": 0, "said": ""})
    assert taken((await run(world, "true", given=given)).content)[1]["exit"] == 0, "it need not read"


async def test_too_much_is_given(world: World) -> None:
    answer = await run(world, "cat", given=bytes(MOST_INPUT + 1))
    assert answer.status_code == 413
    assert not world.leases.streams


async def begun(world: World, script: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
    """A request whose command runs, and its process."""
    asked = query("sh", "-c", script)
    headers = await world.tenant.sign("POST", OUTPUT, query=asked, op="lease.exec")
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"POST {OUTPUT}?{asked} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n{lines}\r\n".encode())
    async with asyncio.timeout(patient(20)):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    return reader, writer, world.leases.streams[-1].pid


async def test_a_client_that_vanishes_ends_the_command(world: World) -> None:
    _, writer, pid = await begun(world, "sleep 1000")
    writer.transport.abort()
    await killed(world, pid)


async def test_a_client_that_does_not_read_holds_the_command_back(world: World) -> None:
    """What it writes waits in its own pipe, and it ends with its reader."""
    _, writer, pid = await begun(world, "cat /dev/zero")
    writer.transport.abort()
    await killed(world, pid)


@pytest.mark.slow
async def test_a_lease_that_changes_hands_ends_the_command(world: World) -> None:
    world.server.api.recheck_seconds = 0.01
    reader, writer, pid = await begun(world, "sleep 1000")
    world.leases.change(LEASE, tenant=world.stranger.wallet.address)
    await killed(world, pid)
    async with asyncio.timeout(patient(20)):
        assert b'"exit"' not in await reader.read(), "a body without its end broke off"
    writer.transport.abort()


@pytest.mark.parametrize("asked", ["", "command=ls", "command=[]", 'command=["a\\u0000"]'])
async def test_commands_that_make_no_sense(world: World, asked: str) -> None:
    answer = await run(world, asked=str(httpx.QueryParams(asked)))
    assert (answer.status_code, answer.json()["type"]) == (400, "bad-call")
    assert not world.leases.streams


async def test_without_a_container(world: World) -> None:
    world.leases.change(LEASE, container_id=None, phase="pulling")
    answer = await run(world, "cat")
    assert (answer.status_code, answer.json()["type"]) == (409, "not-running")


async def test_streams_are_counted(world: World) -> None:
    world.server.api.admission.streams = Slots(1)
    _, writer, pid = await begun(world, "sleep 1000")
    assert (await run(world, "cat")).json()["type"] == "too-many-requests"
    writer.transport.abort()
    await killed(world, pid)


class Lost:
    """A command whose container ends under it."""

    closed = False

    async def write(self, data: bytes | memoryview) -> None:
        raise ConnectionError("it reads nothing")

    async def write_eof(self) -> None: ...
    async def resize(self, rows: int, columns: int) -> None: ...

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        yield 1, b"so far"

    async def wait(self) -> int:
        raise NoContainer("The container has ended.")

    async def close(self) -> None:
        self.closed = True


def lost() -> CommandStream:
    return Lost()


async def test_a_container_that_ends_under_it_is_said() -> None:
    body = b"".join([piece async for piece in output_of(lost(), b"x")])
    assert taken(body) == (b"so far", {"type": "not-running", "detail": "The container has ended."})


async def test_a_command_ends_whose_answer_nobody_began_to_read() -> None:
    """He goes before the first line of it: no generator has begun that would clean up."""
    stream = Lost()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        await asyncio.Event().wait()

    scope: Scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    given: tuple[Receive, Send] = (receive, send)
    async with asyncio.timeout(patient(20)):
        await CommandResponse(stream, output_of(stream, b""), ExitStack())(scope, *given)
    assert stream.closed
