"""What a stranger or a tenant may do to the API, and who is served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import eth_keys.backends
import httpx
import pytest
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from devnet.patience import patient
from leasehold.chain import LocalSigner, format_lease
from leasehold.rates import RateLimit
from leasehold_agent.access import Buckets, Line, Ration, Slots, Visitor
from leasehold_agent.access._door import DoorLimits
from leasehold_agent.access._slots import MOST_STRANGERS
from leasehold_agent.access._turns import networks
from leasehold_agent.api._gate import Gate, Ready
from leasehold_agent.api._protocols import MOST_PIECES

from .conftest import LEASE, OTHER, World
from .test_auth import STATUS, contract_call, granted, refused
from .test_exec import opened, sh
from .test_leases import LOGS, follow, gone


async def served(world: World) -> bool:
    """A tenant who comes anew, with a connection of its own."""
    async with httpx.AsyncClient(base_url=world.base, verify=world.tls, trust_env=False) as http:
        return (await http.get(STATUS, headers=await world.tenant.sign("GET", STATUS))).is_success


async def silent(world: World, count: int, address: str = "127.0.1.1") -> list[asyncio.StreamWriter]:
    return [
        (await asyncio.open_connection("127.0.0.1", world.port, local_addr=(address, 0)))[1]
        for _ in range(count)
    ]


async def hang_up(writers: list[asyncio.StreamWriter]) -> None:
    for writer in writers:
        writer.close()
    for writer in writers:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()


async def test_silent_connections_shut_nobody_out(world: World) -> None:
    """Nothing but connections, not even a first byte of TLS, from one address and from hundreds."""
    writers = await silent(world, 100)
    for number in range(MOST_STRANGERS):
        writers += await silent(world, 1, f"127.0.{number % 8 + 2}.{number // 8 + 1}")
    assert await served(world)
    assert world.server.api.door.strangers <= MOST_STRANGERS
    await hang_up(writers)


async def test_a_header_byte_by_byte(world: World) -> None:
    """Slow headers hold places of strangers, and the deadline is for all of the header."""
    world.server.api.door.limits = DoorLimits(strangers=8, fair_seconds=0)
    sent = []
    for _ in range(20):
        _, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
        writer.write(b"GET /v1/health HT")
        sent.append(writer)
    assert await served(world)
    await hang_up(sent)


async def test_a_hello_byte_by_byte(world: World) -> None:
    """Nothing is made of it before it is whole, and then it is as good as any other."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = world.tls.wrap_bio(incoming, outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    hello = outgoing.read()
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    door = world.server.api.door
    for end in range(1, len(hello), 40):
        writer.write(hello[max(0, end - 40) : end])
        await asyncio.sleep(0.001)
    assert not door._inside
    assert await served(world)
    writer.write(hello[end:])
    assert (await reader.read(1)) == b"\x16"
    await hang_up([writer])


async def test_half_a_hello_and_no_more(world: World) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(b"\x16\x03\x01\x02\x00\x01")
    door = world.server.api.door
    async with asyncio.timeout(patient(10)):
        while not door.strangers:  # noqa: ASYNC110  # nothing announces it
            await asyncio.sleep(0.01)
        await hang_up([writer])
        while door.strangers:  # noqa: ASYNC110  # nothing announces it
            await asyncio.sleep(0.01)


async def test_a_handshake_and_no_more(world: World) -> None:
    """From more addresses than there are places: a newcomer waits for at most the time that they have."""
    world.server.api.door.limits = DoorLimits(strangers=32, fair_seconds=0.1)
    writers = []
    for number in range(40):
        source = (f"127.0.{number}.9", 0)
        writers.append(
            (await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls, local_addr=source))[1]
        )
    assert await served(world)
    assert len(world.server.api.door._inside) <= 8
    await hang_up(writers)


FLOOD = """
import itertools, socket, sys, time
port, words, held = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), []
for number in itertools.count():
    source = f"127.{number % 90 + 1}.{number // 90 % 250}.{number % 241 + 1}"
    try:
        held.append(socket.create_connection(("127.0.0.1", port), 10, (source, 0)))
        held[-1].sendall(words)
    except OSError:
        pass
    if len(held) > 600:
        held.pop(0).close()
    if number == 200:
        print(flush=True)
    time.sleep(0.002)
"""
"""Connections without end, from everywhere: each says its words, stays for a while and is followed by the next. At an
attacker's pace: an endless loop would be an attack on the machine that runs the tests.
"""

FLOODING_NETWORKS = 90
"""Of the size that turns are counted by; there are places inside for one of each."""


@contextlib.asynccontextmanager
async def flooded(port: int, words: bytes) -> AsyncIterator[None]:
    flood = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FLOOD, str(port), words.hex(), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert flood.stdout is not None
        assert await flood.stdout.readline()
        yield
    finally:
        flood.kill()
        await flood.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("words", [b"", b"\x16", None], ids=["silent", "half a hello", "a whole one"])
async def test_a_newcomer_is_served_in_a_flood(world: World, words: bytes | None) -> None:
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        world.tls.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    # Long enough for a handshake and a signature on this machine, whatever else it does.
    world.server.api.door.limits = DoorLimits(fair_seconds=patient(1))
    refused = 0
    async with flooded(world.port, outgoing.read() if words is None else words):
        if words is None:  # until each of its networks has had a turn they are as new as he is
            had = world.server.api.door._porch._turns._had
            async with asyncio.timeout(patient(20)):
                while sum(name.count(".") == 1 for name in had) < FLOODING_NETWORKS:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        for number in range(8):  # each time as if he had never come
            here = f"127.{200 + number}.0.1"
            transport = httpx.AsyncHTTPTransport(verify=world.tls, local_address=here, trust_env=False)
            async with httpx.AsyncClient(
                base_url=world.base, transport=transport, timeout=patient(10)
            ) as http:
                try:
                    headers = await world.tenant.sign("GET", STATUS)
                    assert (await http.get(STATUS, headers=headers)).is_success
                except httpx.NetworkError:
                    refused += 1
    assert refused <= 1


async def test_connections_of_one_lease_are_counted(world: World) -> None:
    world.server.api.door._connections = Slots(1)
    assert (await world.http.get(STATUS, headers=await world.tenant.sign("GET", STATUS))).is_success
    assert not await served(world)
    world.server.api.door._connections = Slots(2)


def test_the_curve_is_native() -> None:
    """The one in Python takes 6.5 to 24 ms of the loop for each signature of a stranger."""
    assert eth_keys.backends.get_default_backend_class().endswith("CoinCurveECCBackend")


async def test_signatures_of_one_address_are_counted(world: World) -> None:
    authorizer = world.server.api.authorizer
    authorizer._checks = Buckets(RateLimit(2, 60), world.clock)
    for _ in range(2):
        headers = await world.stranger.sign("GET", STATUS, account=world.tenant.wallet.address)
        refused(await world.http.get(STATUS, headers=headers), 401, "invalid-request-proof")
    headers = await world.tenant.sign("GET", STATUS)
    response = await world.http.get(STATUS, headers=headers)
    refused(response, 429, "too-many-requests")
    theirs = f"/v1/leases/{format_lease(OTHER)}"  # a neighbour behind the same address
    headers = await world.stranger.sign("GET", theirs, lease=OTHER)
    assert (await world.http.get(theirs, headers=headers)).is_success
    world.clock.at += 60
    headers = await world.tenant.sign("GET", STATUS)
    assert (await world.http.get(STATUS, headers=headers)).is_success


async def test_requests_of_one_address_are_counted() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Ready(b"{}")(scope, receive, send)

    gate = Gate(app, set(), rate=RateLimit(2, 1e9), strangers=RateLimit(3, 1e9))
    for address, status in [("a", 200), ("a", 200), ("a", 429), ("b", 200), ("c", 429)]:
        transport = httpx.ASGITransport(gate, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="https://agent") as http:
            assert (await http.get("/")).status_code == status


async def test_the_first_requests_of_a_connection_count_for_nothing() -> None:
    """Whatever others have asked before: whom the door has let in is heard, as often as it takes to show a lease."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Ready(b"{}")(scope, receive, send)

    never = RateLimit(0.5, 1e9)
    gate = Gate(app, set(), rate=never, strangers=never)
    with socket.socket() as unused:
        visitor = Visitor(unused, networks("127.0.0.1"))

        async def through_a_door(scope: Scope, receive: Receive, send: Send) -> None:
            await gate({**scope, "state": {"visitor": visitor}}, receive, send)

        transport = httpx.ASGITransport(through_a_door, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="https://agent") as http:
            assert [(await http.get("/")).status_code for _ in range(4)] == [200, 200, 429, 429]


@pytest.mark.parametrize("path", ["/v1/machine", "/v1/openapi.json"])
async def test_ready_answers_are_made_once(world: World, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await world.http.get(path)
    large = b'{"images":["' + b"x" * 900_000 + b'"]}'
    world.server.api.context = replace(world.context, contact=lambda: large)
    again = (await world.http.get(path)).json()
    if "open" in path:
        assert again == first.json()
    else:
        assert again["contact"] == {"images": ["x" * 900_000]}
        assert again["signatures"] != first.json()["signatures"]
    monkeypatch.setattr(LocalSigner, "sign_typed_data", None)
    monkeypatch.setattr("orjson.loads", None)
    monkeypatch.setattr("orjson.dumps", None)
    assert (await world.http.get(path)).status_code == 200


async def test_a_path_that_is_no_ascii(world: World) -> None:
    async with opened_raw(world) as (reader, writer):
        writer.write("GET /v1/leases/é HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert (await reader.readline()).split()[1] in (b"400", b"404")
    headers = await world.tenant.sign("GET", STATUS)
    assert (await world.http.get("/v1/leases/%C3%A9", headers=headers)).status_code == 400


@contextlib.asynccontextmanager
async def opened_raw(world: World) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
    async with asyncio.timeout(patient(10)):
        yield reader, writer
    await hang_up([writer])


async def test_the_end_of_a_log_takes_its_place_first(world: World) -> None:
    """Looking for the last lines reads the whole log: nobody does so without a place."""
    await world.leases.say(LEASE, b"line\n" * 10)
    world.server.api.admission.streams = Slots(0)
    read = world.leases.logs_of[LEASE]
    query = "tail=1&follow=true"
    headers = await world.tenant.sign("GET", LOGS, op="lease.logs", query=query)
    refused(await world.http.get(f"{LOGS}?{query}", headers=headers), 429, "too-many-requests")
    assert read.followers == 0


async def test_a_stream_ends_with_its_session(world: World) -> None:
    world.server.api.recheck_seconds = 0.01
    world.tenant.signer = await granted(world, ends=60)
    async with opened(world, sh("echo up; sleep 1000")) as socket:
        assert b"up" in await socket.recv()
        response, pieces = await follow(world)
        world.clock.at += 61
        async with asyncio.timeout(patient(10)):
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert [piece async for piece in pieces] == []
        await response.aclose()
    await gone(world)


async def test_a_stream_ends_with_the_approval_of_a_contract(world: World) -> None:
    api = world.server.api
    api.recheck_seconds = api.approval_seconds = 0.01
    world.chain.is_authorized = always(True)  # type: ignore[method-assign]
    api.authorizer._is_authorized = always(True)
    headers = await contract_call(world, LOGS, "lease.logs", "follow=true")
    request = world.http.build_request("GET", LOGS + "?follow=true", headers=headers, timeout=None)
    response = await world.http.send(request, stream=True)
    assert response.status_code == 200
    await world.leases.say(LEASE, b"one\n")
    pieces = response.aiter_raw()
    assert await anext(pieces) == b"one\n"
    api.authorizer._is_authorized = always(None)  # the chain is away: nothing is taken from anybody
    await world.leases.say(LEASE, b"two\n")
    assert await anext(pieces) == b"two\n"
    api.authorizer._is_authorized = always(False)
    async with asyncio.timeout(patient(10)):
        assert [piece async for piece in pieces] == []
    await response.aclose()
    await gone(world)


def always(answer: bool | None):  # type: ignore[no-untyped-def]
    async def is_authorized(account: str, digest: bytes, proof: bytes) -> bool:
        if answer is None:
            raise TimeoutError
        return answer

    return is_authorized


async def raw(socket: ClientConnection, frame: Frame, count: int) -> None:
    transport = socket.transport
    data = frame.serialize(mask=True)
    for _ in range(count):
        transport.write(data)


async def cut_off(socket: ClientConnection) -> None:
    async with asyncio.timeout(patient(10)):
        await socket.wait_closed()


async def test_pieces_that_hold_nothing(world: World) -> None:
    """A message of empty fragments has no length and never ends."""
    async with opened(world, sh("cat")) as socket:
        await raw(socket, Frame(Opcode.BINARY, b"\0", fin=False), 1)
        await raw(socket, Frame(Opcode.CONT, b"", fin=False), MOST_PIECES + 10)
        await cut_off(socket)


async def test_pings_whose_answers_nobody_reads(world: World) -> None:
    async with opened(world, sh("yes")) as socket:
        socket.transport.pause_reading()
        connections = world.server._server.server_state.connections  # type: ignore[union-attr]
        (server,) = [each for each in connections if hasattr(each, "writable")]
        async with asyncio.timeout(patient(10)):
            while server.writable.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await raw(socket, Frame(Opcode.PING, b"x" * 100), 10_000)
        async with asyncio.timeout(patient(10)):
            while not server.disconnected:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        socket.transport.abort()


@pytest.mark.slow
async def test_many_tiny_frames_arrive_whole(world: World) -> None:
    async with opened(world, sh("wc -c")) as socket:
        await raw(socket, Frame(Opcode.BINARY, b"\0x"), 20_000)
        await socket.send('{"eof": true}')
        async with asyncio.timeout(patient(20)):
            assert (await socket.recv())[1:].strip() == b"20000"
        assert await served(world)


async def test_a_frame_that_says_it_is_huge(world: World) -> None:
    async with opened(world, sh("cat")) as socket:
        socket.transport.write(b"\x82\xff" + (2**40).to_bytes(8, "big") + bytes(4))
        await cut_off(socket)


async def test_a_body_that_says_it_is_small(world: World) -> None:
    """A compressed body stays what it is: nothing is unpacked here."""
    bomb = b"\x1f\x8b" + bytes(100)
    path = "/v1/workloads/" + hashlib.sha256(bomb).hexdigest()
    headers = await world.stranger.sign("PUT", path, body=bomb, op="workload.put", lease=0)
    answer = await world.http.put(path, headers={**headers, "Content-Encoding": "gzip"}, content=bomb)
    assert answer.status_code == 201
    assert list(world.leases.workloads.kept.values()) == [bomb]


async def test_a_line_has_its_speed() -> None:
    line = Line(1000)
    await line.carry(1, 1000)
    carrying = asyncio.create_task(line.carry(1, 10**9))
    await line.carry(2, 1000)
    await asyncio.sleep(0)
    assert not carrying.done()
    carrying.cancel()
    await asyncio.gather(carrying, return_exceptions=True)
    await Line().carry(1, 10**12)


async def test_time_is_rationed_only_when_turns_are_slow() -> None:
    now = 0.0
    ration = Ration(lambda: now, RateLimit(1, 4), lambda: now)
    assert ration.spend("busy", 3) == 0
    now = 0.5  # what the loop did meanwhile took half a second
    await asyncio.sleep(0)
    assert ration.spend("busy", 1) > 1
    assert ration.spend("other", 0.1) == 0


async def test_what_a_busy_host_takes_from_the_loop_is_charged_to_nobody() -> None:
    """An upload beside containers that had all processors came at 15 KB/s: the time in which it waited was its own."""
    now = worked = 0.0
    ration = Ration(lambda: now, RateLimit(1, 4), lambda: worked)
    ration.spend("anybody", 0)
    now = 5.0
    await asyncio.sleep(0)
    with ration.measured("upload") as debt:
        now += 10
    assert debt() == 0
    with ration.measured("busy") as debt:
        now += 10
        worked += 10
    assert debt() > 1


async def test_openings_wait_for_their_turn(world: World) -> None:
    opening = world.server.api.admission.opening
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(8):
            await stack.enter_async_context(opening.turn(1))
        waiting = asyncio.create_task(stack.enter_async_context(opening.turn(1)))
        async with opening.turn(2):
            assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert not opening._waiting
