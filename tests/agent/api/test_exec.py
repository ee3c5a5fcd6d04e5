"""Commands over the WebSocket: frames, terminals, exit codes, backpressure, and who may not."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from devnet.patience import patient
from leasehold.market.wire import CHUNK, EXEC_PROTOCOL, BadCall, ExecStart, parse_control, parse_start
from leasehold_agent.access import Slots
from leasehold_agent.api import _exec

from .conftest import LEASE, World

EXEC = "/v1/leases/12/exec"


@asynccontextmanager
async def opened(world: World, first: object = None, **fields: object) -> AsyncIterator[ClientConnection]:
    headers = await world.tenant.sign("GET", EXEC, **{"op": "lease.exec", **fields})  # type: ignore[arg-type]
    async with connect(
        f"wss://127.0.0.1:{world.port}{EXEC}",
        ssl=world.tls,
        additional_headers=headers,
        subprotocols=[EXEC_PROTOCOL],  # type: ignore[list-item]
        proxy=None,
        compression=None,
        max_queue=4,
        close_timeout=1,
    ) as socket:
        if first is not None:
            await socket.send(orjson.dumps(first).decode())
        yield socket


@dataclass
class Outcome:
    out: bytes
    err: bytes
    last: dict[str, object]
    code: int | None


async def outcome(socket: ClientConnection) -> Outcome:
    found = {1: b"", 2: b""}
    last: dict[str, object] = {}
    async with asyncio.timeout(patient(20)):
        try:
            while True:
                frame = await socket.recv()
                if isinstance(frame, str):
                    last = orjson.loads(frame)
                else:
                    found[frame[0]] += frame[1:]
        except ConnectionClosed as closed:
            return Outcome(found[1], found[2], last, closed.rcvd.code if closed.rcvd else None)


def sh(script: str, **more: object) -> dict[str, object]:
    return {"command": ["/bin/sh", "-c", script], **more}


async def test_output_error_and_exit_code(world: World) -> None:
    async with opened(world, sh("echo out; echo err >&2; exit 7")) as socket:
        assert socket.subprotocol == EXEC_PROTOCOL
        found = await outcome(socket)
    assert found == Outcome(b"out\n", b"err\n", {"exit": 7}, 1000)


async def test_input_and_its_end(world: World) -> None:
    async with opened(world, {"command": ["cat"]}) as socket:
        await socket.send(b"\x00hello ")
        await socket.send(b"\x00world")
        await socket.send('{"eof": true}')
        found = await outcome(socket)
    assert (found.out, found.last) == (b"hello world", {"exit": 0})


async def test_environment(world: World) -> None:
    async with opened(world, sh("echo $A", env={"A": "b=c"})) as socket:
        assert (await outcome(socket)).out == b"b=c\n"


async def test_a_terminal_and_its_size(world: World) -> None:
    script = "stty size; read x; stty size; exit 3"
    async with opened(world, sh(script, tty=True, size=[40, 100])) as socket:
        async with asyncio.timeout(patient(10)):
            assert await socket.recv() == b"\x0140 100\r\n"
        await socket.send('{"resize": [50, 120]}')
        await socket.send(b"\x00\n")
        found = await outcome(socket)
    assert b"50 120" in found.out
    assert found.last == {"exit": 3}


async def test_much_goes_through_whole(world: World) -> None:
    async with opened(world, sh("head -c 5000000 /dev/zero")) as socket:
        found = await outcome(socket)
    assert (len(found.out), found.last) == (5_000_000, {"exit": 0})


async def test_a_client_that_does_not_read_holds_the_command_back(world: World) -> None:
    async with opened(world, sh("head -c 200000000 /dev/zero; echo over >$HOME/over")) as socket:
        await socket.recv()
        progress = -1
        async with asyncio.timeout(patient(20)):
            while (now := _written(world)) != progress:
                progress = now
                await asyncio.sleep(0.2)
        assert 0 < progress < 100_000_000
        assert not (world.leases.root / str(LEASE) / "over").exists()


def _written(world: World) -> int:
    """Bytes that the command's first child has written."""
    with open(f"/proc/{world.leases.streams[-1].pid}/io") as file:
        mine = next(int(line.split()[1]) for line in file if line.startswith("wchar"))
    for child in _children(world.leases.streams[-1].pid):
        with open(f"/proc/{child}/io") as file:
            mine += next(int(line.split()[1]) for line in file if line.startswith("wchar"))
    return mine


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


async def killed(world: World, pid: int) -> None:
    async with asyncio.timeout(patient(10)):
        while world.server.api.admission.streams.used(LEASE) or not world.leases.streams[-1].closed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("tty", [False, True])
async def test_a_client_that_vanishes_ends_the_command(world: World, tty: bool) -> None:
    async with opened(world, sh("echo up; sleep 1000", tty=tty)) as socket:
        await socket.recv()
        pid = world.leases.streams[-1].pid
        socket.transport.abort()
    await killed(world, pid)


async def test_a_client_that_closes_ends_the_command(world: World) -> None:
    async with opened(world, sh("echo up; sleep 1000")) as socket:
        await socket.recv()
        pid = world.leases.streams[-1].pid
    await killed(world, pid)


async def test_a_lease_that_changes_hands_ends_the_command(world: World) -> None:
    world.server.api.recheck_seconds = 0.01
    async with opened(world, sh("echo up; sleep 1000")) as socket:
        await socket.recv()
        pid = world.leases.streams[-1].pid
        world.leases.change(LEASE, tenant=world.stranger.wallet.address)
        await killed(world, pid)


FIRST_FRAMES = [
    "",
    "[]",
    "{}",
    '{"command": []}',
    '{"command": "ls"}',
    '{"command": ["a\\u0000"]}',
    '{"command": ["a"], "x": 1}',
]


@pytest.mark.parametrize("frame", FIRST_FRAMES)
async def test_first_frames_that_make_no_sense(world: World, frame: str) -> None:
    async with opened(world) as socket:
        await socket.send(frame)
        found = await outcome(socket)
    assert (found.last["error"], found.code) == ("bad-call", 1008)
    assert not world.leases.streams


async def test_a_first_frame_of_bytes(world: World) -> None:
    async with opened(world) as socket:
        await socket.send(b"\x00")
        assert (await outcome(socket)).last["error"] == "bad-call"


async def test_a_first_frame_that_does_not_come(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exec, "START_SECONDS", 0.05)
    async with opened(world) as socket:
        assert (await outcome(socket)).last["error"] == "bad-call"


async def test_a_client_that_leaves_before_its_first_frame(world: World) -> None:
    async with opened(world):
        pass
    async with asyncio.timeout(patient(10)):
        while world.server.api.admission.streams.used(LEASE):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert not world.leases.streams


@pytest.mark.parametrize(
    "frame", [b"\x01x", b"\x02", "{", '{"resize": [0, 1]}', '{"resize": [1]}', '{"more": 1}']
)
async def test_later_frames_that_make_no_sense(world: World, frame: str | bytes) -> None:
    async with opened(world, sh("sleep 1000")) as socket:
        await socket.send(frame)
        found = await outcome(socket)
    assert (found.last["error"], found.code) == ("bad-call", 1008)


async def test_a_frame_that_is_too_long(world: World) -> None:
    async with opened(world, {"command": ["cat"]}) as socket:
        await socket.send(b"\x00" + bytes(8 * CHUNK))
        assert (await outcome(socket)).code == 1009


async def test_writing_to_a_command_that_does_not_read(world: World) -> None:
    async with opened(world, sh("exec <&-; sleep 0.1; exit 4")) as socket:
        with contextlib.suppress(ConnectionClosed):
            async with asyncio.timeout(patient(10)):
                while True:
                    await socket.send(b"\x00" + bytes(CHUNK))
        assert (await outcome(socket)).last == {"exit": 4}
    async with asyncio.timeout(patient(10)):
        while world.server.api.admission.streams.used(LEASE):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def refused(world: World, **fields: object) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as caught:
        async with opened(world, **fields):
            pass
    response = caught.value.response
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, orjson.loads(response.body or b"")["type"]


async def test_without_a_right(world: World) -> None:
    assert await refused(world, op="lease.status") == (403, "wrong-operation")
    assert await refused(world, nonce=b"a" * 32, expires_at=world.clock()) == (401, "request-expired")
    assert await refused(world, account=world.stranger.wallet.address) == (403, "not-your-lease")
    with pytest.raises(InvalidStatus) as caught:
        async with connect(f"wss://127.0.0.1:{world.port}{EXEC}", ssl=world.tls, proxy=None):
            pass
    assert caught.value.response.status_code == 401


async def test_a_replay(world: World) -> None:
    async with opened(world, sh("exit 0"), nonce=b"a" * 32) as socket:
        await outcome(socket)
    assert await refused(world, nonce=b"a" * 32) == (401, "request-replayed")


async def test_without_a_container(world: World) -> None:
    world.leases.change(LEASE, container_id=None, phase="pulling")
    assert await refused(world) == (409, "not-running")


async def test_a_container_that_has_just_stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(world) as socket:
        world.leases.change(LEASE, container_id=None, phase="stopping")
        await socket.send(orjson.dumps(sh("exit 0")).decode())
        found = await outcome(socket)
    assert found.last["error"] == "not-running"


async def test_streams_are_counted(world: World) -> None:
    world.server.api.admission.streams = Slots(1)
    async with opened(world, sh("echo up; sleep 1000")) as socket:
        await socket.recv()
        assert await refused(world) == (429, "too-many-requests")


def test_frames() -> None:
    assert parse_start('{"command": ["a"], "size": [1, 2]}') == ExecStart(command=["a"], size=(1, 2))
    assert parse_control('{"eof": true}').eof
    with pytest.raises(BadCall) as caught:
        parse_start('{"command": ["a"], "env": {"SECRET": 1}}')
    assert "1" not in str(caught.value)
