"""The client against the real API: certificates, receipts, logs that survive a restart, commands."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import socket
import ssl
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self
from unittest.mock import AsyncMock

import pytest
from eth_account import Account

from devnet.patience import patient
from devnet.serving import MACHINE, certificate
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Receipt, SessionKey, TypedData
from leasehold.errors import AgentError
from leasehold.market import StatementInvalid, _agent_client, checked
from leasehold.market._agent_client import pinned
from leasehold.market.wire import (
    FORMER_OPS,
    LOG_OFFSET,
    MAX_UPLOAD,
    OPS,
    READ_OPS,
    AgentRefusal,
    AgentUnreachable,
    BadReceipt,
    BodyTooLarge,
    EngineUnavailable,
    LeaseStanding,
    NoResults,
    NotRunning,
    NotYourLease,
    SessionScope,
    SessionWithdrawn,
    refusal,
)
from leasehold_agent._errors import EngineDown as EngineDown
from leasehold_agent._runtime import LogView, VolumeFacts
from leasehold_agent.api import ApiServer, _public_routes, _stream_routes
from leasehold_agent.store import LeaseSample

from .conftest import DOMAIN, LEASE, World

NOBODY = "https://127.0.0.1:1"


async def test_the_public_calls(world: World) -> None:
    async with world.client() as client:
        assert (await client.health()).time == world.clock()
        assert (await client.machine()).machines == [MACHINE]


async def test_status_and_results(world: World) -> None:
    async with world.client() as client:
        status = await client.status(LEASE)
        assert (status.lease, status.phase, status.lease_id) == ("12.1", "running", str(LEASE))
        with pytest.raises(NoResults, match="published"):
            await client.results(LEASE)
        world.leases.change(LEASE, result_cid="bafy", outputs=("/out",))
        assert (await client.results(LEASE)).cid == "bafy"


async def test_metrics(world: World) -> None:
    async with world.client() as client:
        tenant = (await client.status(LEASE)).tenant
        world.leases.samples[LEASE] = [
            (tenant, LeaseSample(60, cpu_seconds=1.5)),
            ("0xElse", LeaseSample(70)),
        ]
        answer = await client.metrics(LEASE)
    assert (answer.lease, [(r.at, r.cpu_seconds, r.memory) for r in answer.readings]) == (
        "12.1",
        [(60, 1.5, None)],
    )


async def test_refusals_are_the_agent_s_own(world: World) -> None:
    async with world.client() as client:
        with pytest.raises(NotYourLease) as caught:
            await client.status(LEASE + 1)
    assert isinstance(caught.value, AgentError)
    assert caught.value.status == 403


async def test_an_endpoint_that_is_down_is_passed_over(world: World) -> None:
    async with world.client("http://127.0.0.1:2", NOBODY, f"https://127.0.0.1:{world.port}/") as client:
        assert (await client.status(LEASE)).phase == "running"
        assert (await client.status(LEASE)).phase == "running"


async def test_nobody_answers(world: World) -> None:
    async with world.client(NOBODY) as client:
        with pytest.raises(AgentUnreachable, match=r"127\.0\.0\.1:1"):
            await client.status(LEASE)
        with pytest.raises(AgentUnreachable):
            async with client.exec(LEASE, ["true"]):
                pass
        with pytest.raises(AgentUnreachable):
            await anext(client.logs(LEASE, follow=True))
    async with world.client("http://127.0.0.1:2") as client:
        with pytest.raises(AgentUnreachable, match="names none"):
            await client.health()


async def test_an_agent_that_goes_away_is_looked_for_anew(world: World) -> None:
    async with world.client() as client:
        await client.health()
        await world.server.close()
        with pytest.raises(AgentUnreachable, match="broke off"):
            await client.status(LEASE)
        world.server = await ApiServer.open(world.context)
        await world.server.start("127.0.0.1", world.port)
        assert (await client.status(LEASE)).phase == "running"


class Doorman:
    """In front of an agent: cuts as many connections as it is told, and lets all others through."""

    def __init__(self, world: World, cuts: int, after: int) -> None:
        self._world, self._cuts, self._after, self.came = world, cuts, after, 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._let_in, "127.0.0.1", 0)
        self.address = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        if self.came <= self._cuts:
            await reader.read(self._after)
            writer.transport.abort()
            return
        theirs, mine = await asyncio.open_connection("127.0.0.1", self._world.port)
        await asyncio.gather(self._pass(reader, mine), self._pass(theirs, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
        writer.close()


@pytest.mark.parametrize("after", [0, 1, 1 << 16])
async def test_whose_connection_is_cut_comes_again(world: World, after: int) -> None:
    """An agent under a flood cuts those off who are strangers to it; to the tenant that is no answer."""
    async with Doorman(world, 3, after) as doorman, world.client(doorman.address) as client:
        assert (await client.status(LEASE)).phase == "running"
        assert doorman.came == 4
    async with Doorman(world, 3, after) as doorman, world.client(doorman.address) as client:
        await client.put_workload(b"sealed")
        assert doorman.came == 4
    async with (
        Doorman(world, 1, after) as doorman,
        world.client(doorman.address) as client,
        client.exec(LEASE, ["true"]) as stream,
    ):
        assert await stream.wait() == 0
    async with Doorman(world, 10_000, after) as doorman, world.client(doorman.address) as client:
        with pytest.raises(AgentUnreachable):
            await client.status(LEASE)
        assert doorman.came < 10


async def test_another_certificate_is_not_trusted(world: World, tmp_path: Path) -> None:
    other, _ = certificate(tmp_path)
    async with world.client(contact=world.contact(certificate=other.read_text())) as client:
        with pytest.raises(AgentUnreachable, match="certificate"):
            await client.status(LEASE)


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_is_no_certificate(text: str) -> None:
    with pytest.raises(AgentError, match="certificate"):
        pinned(text)


class Tunnel:
    """A way that leads to `address`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.closed = False

    async def open(self) -> str:
        return self.address

    async def close(self) -> None:
        self.closed = True


async def test_a_tunnel_where_no_endpoint_answers(world: World) -> None:
    tunnel = Tunnel(f"https://localhost:{world.port}")
    async with world.client(NOBODY, tunnel=tunnel) as client:
        assert (await client.status(LEASE)).phase == "running"
        async with client.exec(LEASE, ["true"]) as stream:
            assert await stream.wait() == 0
    assert tunnel.closed


# Uploads


async def test_an_upload_and_its_receipt(world: World) -> None:
    sealed = b"sealed" * 1000
    async with world.client() as client:
        held = await client.put_workload(sealed)
    digest = hashlib.sha256(sealed).digest()
    assert held.receipt.digest_ == digest
    assert held.receipt.expires_at > world.clock()
    assert world.leases.workloads.kept[digest] == sealed


async def test_an_upload_that_is_too_large_is_not_sent(world: World) -> None:
    async with world.client(NOBODY) as client:
        with pytest.raises(BodyTooLarge):
            await client.put_workload(bytes(MAX_UPLOAD + 1))


async def test_a_receipt_of_somebody_else(world: World) -> None:
    async with world.client(operator=world.wallet.address) as client:
        with pytest.raises(BadReceipt, match="not by the operator"):
            await client.put_workload(b"x")


class Forger(LocalSigner):
    """An operator who signs another receipt than was asked for, or none."""

    change: Callable[[Receipt], object] = staticmethod(lambda receipt: receipt)

    async def sign_typed_data(self, message: TypedData) -> bytes:  # type: ignore[override]
        changed = self.change(Receipt.from_json(message["message"]))
        if isinstance(changed, bytes):
            return changed
        assert isinstance(changed, Receipt)
        return await super().sign_typed_data(changed.typed_data(DOMAIN))


@pytest.mark.parametrize("signature", [b"", b"\1" * 64, b"\xff" * 65])
async def test_a_receipt_that_is_none(world: World, signature: bytes) -> None:
    forger = Forger(b"\3" * 32)
    forger.change = lambda _: signature  # type: ignore[method-assign,assignment]
    await served_by(world, forger)
    async with world.client() as client:
        with pytest.raises(BadReceipt):
            await client.put_workload(b"x")


async def test_a_receipt_signed_for_another_digest(world: World) -> None:
    forger = Forger(b"\3" * 32)
    forger.change = lambda receipt: replace(receipt, digest_=bytes(32))  # type: ignore[method-assign,assignment]
    await served_by(world, forger)
    async with world.client() as client:
        with pytest.raises(BadReceipt):
            await client.put_workload(b"x")


async def served_by(world: World, operator: LocalSigner) -> None:
    world.context = replace(world.context, operator=operator)
    await world.restart()


async def test_a_receipt_for_something_else_or_from_the_past(world: World) -> None:
    async with world.client() as client:
        held = await client.put_workload(b"x")
        digest = held.receipt.digest_
        with pytest.raises(BadReceipt, match="something else"):
            client._checked(signed(held.receipt, held.signature), bytes(32))
        world.clock.at = held.receipt.expires_at
        with pytest.raises(BadReceipt, match="expired"):
            client._checked(signed(held.receipt, held.signature), digest)


def signed(receipt: Receipt, signature: bytes) -> _agent_client.SignedReceipt:
    return _agent_client.SignedReceipt.model_validate(
        {"receipt": receipt.to_json(), "signature": "0x" + signature.hex()}
    )


# Logs


async def collect(pieces: AsyncIterator[bytes]) -> bytes:
    async with asyncio.timeout(patient(20)):
        return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize(("tail", "text"), [(None, b"one\ntwo\n"), (1, b"two\n"), (0, b"")])
@pytest.mark.parametrize("follow", [False, True])
async def test_logs(world: World, tail: int | None, text: bytes, follow: bool) -> None:
    await world.leases.say(LEASE, b"one\ntwo\n", end=True)
    async with world.client() as client:
        assert await collect(client.logs(LEASE, tail=tail, follow=follow)) == text


@pytest.mark.parametrize("tail", [None, 1])
async def test_a_log_by_time_is_asked_for_again_as_it_was(world: World, tail: int | None) -> None:
    """A byte's place is a place in what is shown: with stamps it is another."""
    await world.leases.say(LEASE, b"one\n")
    async with world.client() as client:
        pieces = client.logs(LEASE, tail=tail, follow=True, since=1_700_000_000, timestamps=True)
        assert await anext(pieces) == b"one\n"
        await world.restart()
        await world.leases.say(LEASE, b"two\n", end=True)
        assert await collect(pieces) == b"two\n"
    assert set(world.leases.views) == {LogView(1_700_000_000, stamped=True)}


async def test_a_log_that_outlived_its_container_has_no_times(world: World) -> None:
    world.leases.change(LEASE, container_id=None, kept_log=True)
    await world.leases.say(LEASE, b"one\n", end=True)
    async with world.client() as client:
        assert await collect(client.logs(LEASE)) == b"one\n"
        for view in ({"since": 0}, {"timestamps": True}):
            with pytest.raises(AgentError, match="without them"):
                await collect(client.logs(LEASE, **view))


@pytest.mark.parametrize("tail", [None, 1])
async def test_a_followed_log_goes_on_after_the_agent_was_restarted(world: World, tail: int | None) -> None:
    await world.leases.say(LEASE, b"one\ntwo\n")
    async with world.client() as client:
        pieces = client.logs(LEASE, tail=tail, follow=True)
        assert await anext(pieces) == (b"one\ntwo\n" if tail is None else b"two\n")
        await world.restart()
        await world.leases.say(LEASE, b"two\nthree\n")
        assert await anext(pieces) == b"two\nthree\n"
        await world.leases.say(LEASE, b"", end=True)
        assert await collect(pieces) == b""
    assert world.naps.taken


async def test_a_follower_gives_up_at_last(world: World) -> None:
    await world.leases.say(LEASE, b"one\n")
    async with world.client() as client:
        pieces = client.logs(LEASE, follow=True)
        await anext(pieces)
        await world.server.close()
        with pytest.raises(AgentUnreachable, match="has not answered"):
            await anext(pieces)
    assert sum(world.naps.taken) >= 300
    world.server = await ApiServer.open(world.context)


async def test_an_engine_that_is_down_for_a_moment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.leases.say(LEASE, b"one\n")
    found, down = world.leases.lookup, 0

    async def lookup(lease: int) -> object:
        nonlocal down
        if down:
            down -= 1
            raise EngineDown("The Docker engine does not answer; try again.")
        return await found(lease)

    monkeypatch.setattr(world.leases, "lookup", lookup)
    async with world.client() as client:
        pieces = client.logs(LEASE, follow=True)
        await anext(pieces)
        down = 2
        await world.restart()
        await world.leases.say(LEASE, b"two\n", end=True)
        assert await collect(pieces) == b"two\n"
        down = 1
        with pytest.raises(EngineUnavailable):
            await anext(client.logs(LEASE, follow=True))


@pytest.mark.parametrize("begun", [False, True])
async def test_an_agent_that_says_nothing_of_a_log_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """Nothing is to come but what is there already, and whoever waits for it may be a script."""
    monkeypatch.setattr(_agent_client, "PATIENCE_SECONDS", 0.5)

    async def silent(*_: object) -> AsyncIterator[bytes]:
        if begun:
            yield b"one\n"
        await asyncio.sleep(1_000)

    monkeypatch.setattr(world.leases, "logs", silent)
    async with world.client() as client, asyncio.timeout(patient(10)):
        pieces = client.logs(LEASE)
        if begun:
            assert await anext(pieces) == b"one\n"
        with pytest.raises(AgentUnreachable, match="said nothing of the log"):
            await anext(pieces)


async def test_an_agent_that_never_answers_for_a_log_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followed or not: that it is there is said before the first line."""
    monkeypatch.setattr(_agent_client, "PATIENCE_SECONDS", 0.5)

    async def never(*_: object, **__: object) -> object:
        await asyncio.sleep(1_000)
        raise AssertionError

    monkeypatch.setattr(_stream_routes, "read_log", never)
    async with world.client() as client, asyncio.timeout(patient(10)):
        for follow in (False, True):
            with pytest.raises(AgentUnreachable, match="said nothing of the log"):
                await anext(client.logs(LEASE, follow=follow))


async def test_no_log_yet(world: World) -> None:
    world.leases.change(LEASE, container_id=None, phase="pulling")
    async with world.client() as client:
        with pytest.raises(NotRunning, match="pulling"):
            await anext(client.logs(LEASE))


async def test_a_log_that_breaks_off_is_no_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(lease: int, tail: int | None, follow: bool, view: object) -> AsyncIterator[bytes]:
        yield b"one\n"
        raise EngineDown("The Docker engine does not answer; try again.")

    monkeypatch.setattr(world.leases, "logs", broken)
    async with world.client() as client:
        with pytest.raises(AgentUnreachable, match="broke off"):
            await collect(client.logs(LEASE))


# Commands


async def test_a_command(world: World) -> None:
    async with (
        world.client() as client,
        client.exec(LEASE, ["sh", "-c", "cat; echo e >&2; exit 3"]) as stream,
    ):
        await stream.write(b"x" * 300_000)
        await stream.write_eof()
        found = {1: b"", 2: b""}
        async for fd, data in stream:
            found[fd] += data
        assert found == {1: b"x" * 300_000, 2: b"e\n"}
        assert await stream.wait() == 3


async def test_a_terminal(world: World) -> None:
    script = "stty size; read x; stty size"
    async with (
        world.client() as client,
        client.exec(LEASE, ["sh", "-c", script], tty=True, size=(40, 100), env={"A": "b"}) as stream,
    ):
        assert await anext(aiter(stream)) == (1, b"40 100\r\n")
        await stream.resize(50, 120)
        await stream.write(b"\n")
        assert b"50 120" in b"".join([data async for _, data in stream])
        assert await stream.wait() == 0


async def test_a_command_that_is_refused(world: World) -> None:
    async with world.client() as client:
        with pytest.raises(NotYourLease):
            async with client.exec(LEASE + 1, ["true"]):
                pass


async def test_a_container_that_stops_before_the_command(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object, **__: object) -> object:
        raise EngineDown("The Docker engine does not answer; try again.")

    monkeypatch.setattr(world.leases, "exec", gone)
    async with world.client() as client, client.exec(LEASE, ["true"]) as stream:
        with pytest.raises(EngineUnavailable):
            await stream.wait()


async def test_an_agent_that_goes_away_under_a_command(world: World) -> None:
    async with world.client() as client, client.exec(LEASE, ["sh", "-c", "echo up; sleep 1000"]) as stream:
        await anext(aiter(stream))
        await world.server.close()
        with pytest.raises(AgentUnreachable):
            await stream.wait()
        with pytest.raises(AgentUnreachable):
            await stream.write(b"x")
    world.server = await ApiServer.open(world.context)


async def stuck(world: World) -> None:
    """Until what is sent to the last command goes nowhere any more."""
    process = world.leases.streams[-1]._process
    assert process is not None
    assert process.stdin is not None
    async with asyncio.timeout(patient(10)):
        while not process.stdin.transport.get_write_buffer_size():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_command_that_reads_nothing_is_left_all_the_same(world: World) -> None:
    """Who does not read does not hear that it is over either; and the thread that feeds it ends, too."""
    async with world.client() as client:
        async with asyncio.timeout(patient(20)):
            async with client.exec(LEASE, ["sh", "-c", "echo up; sleep 1000"]) as stream:
                await anext(aiter(stream))
                writing = asyncio.create_task(stream.write(bytes(64 << 20)))
                await stuck(world)
            with pytest.raises(AgentUnreachable):
                await writing
    await world.leases.close()


async def test_a_machine_that_vanishes_is_noticed(world: World) -> None:
    """A command that is only listened to sends nothing by which it would be."""
    async with world.client() as client, client.exec(LEASE, ["cat"]) as stream:
        held = stream._connection.transport.get_extra_info("socket")
        assert held.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60


async def ended(world: World) -> None:
    """The last command, and its process."""
    async with asyncio.timeout(patient(10)):
        while not world.leases.streams[-1].closed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_command_on_much_input(world: World) -> None:
    heard = list[int]()

    def feed(writer: BinaryIO) -> None:
        assert writer.tell() == 0
        writer.write(b"small")
        writer.write(bytes(5 << 20))
        assert writer.tell() == 5 + (5 << 20)

    async with world.client() as client:
        end = await client.exec_on(LEASE, ["sh", "-c", "wc -c; exit 3"], feed, heard.append)
    assert (end.exit, end.said) == (3, f"{5 + (5 << 20)}\n")
    assert sum(heard) == 5 + (5 << 20)


async def test_input_that_cannot_be_read_here_ends_the_command(world: World) -> None:
    def feed(writer: BinaryIO) -> None:
        writer.write(bytes(1 << 20))
        raise FileNotFoundError("it is gone")

    async with world.client() as client:
        with pytest.raises(FileNotFoundError, match="it is gone"):
            await client.exec_on(LEASE, ["sh", "-c", "cat >/dev/null; sleep 1000"], feed)
        await ended(world)


async def test_input_is_given_up_with_whoever_gives_it(world: World) -> None:
    """What is written is written in a thread, which ends all the same, and with it the command."""
    begun = threading.Event()

    def feed(writer: BinaryIO) -> None:
        begun.set()
        while True:
            writer.write(bytes(1 << 20))

    async with world.client() as client:
        asking = asyncio.create_task(client.exec_on(LEASE, ["sh", "-c", "cat >/dev/null; sleep 1000"], feed))
        await asyncio.to_thread(begun.wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await ended(world)


async def test_input_that_nobody_may_give_is_not_read(world: World) -> None:
    def feed(writer: BinaryIO) -> None:
        raise AssertionError("it was asked for")

    async with world.client(signer=LocalSigner(b"\7" * 32)) as client:
        with pytest.raises(NotYourLease):
            await client.exec_on(LEASE, ["cat"], feed)
    world.leases.change(LEASE, container_id=None, phase="pulling")
    async with world.client() as client:
        with pytest.raises(NotRunning):
            await client.exec_on(LEASE, ["cat"], feed)


@asynccontextmanager
async def speaking(world: World, *words: bytes) -> AsyncIterator[str]:
    """A server with the agent's certificate that answers a request so, each time anew, and ends."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(world.context.tls_certificate, world.context.tls_key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            healthy = b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{"version":"","time":0}'
            for said in (healthy,) if head.startswith(b"GET /v1/health") else words:
                writer.write(said)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    "words",
    [
        (),
        (b"what\r\n\r\n",),
        (b"HTTP/1.1 100 Continue\r\n\r\n",),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2",),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"x" * 100_000),
    ],
)
async def test_an_agent_that_breaks_off_under_much_input(world: World, words: tuple[bytes, ...]) -> None:
    async with speaking(world, *words) as base, world.client(base) as client:
        with pytest.raises(AgentUnreachable):
            await client.exec_on(LEASE, ["cat"], lambda writer: None)


async def test_an_answer_to_much_input_that_is_not_understood(world: World) -> None:
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n"
    async with speaking(world, head + b"a: b\r\n" * 200 + b"[]") as base, world.client(base) as client:
        with pytest.raises(AgentError, match="not understood"):
            await client.exec_on(LEASE, ["cat"], lambda writer: None)


async def test_a_command_with_much_output(world: World) -> None:
    heard, taken = list[int](), list[bytes]()

    def take(source: BinaryIO) -> None:
        taken.append(source.read(3))
        while data := source.read(1 << 20):
            taken.append(data)

    async with world.client() as client:
        script = "cat; head -c 5000000 /dev/zero; echo aside >&2; exit 3"
        end = await client.exec_from(LEASE, ["sh", "-c", script], take, b"given", heard.append)
        assert (end.exit, end.said) == (3, "aside\n")
        assert taken[0] == b"giv"
        assert b"".join(taken) == b"given" + bytes(5_000_000)
        assert sum(heard) == 5_000_005
        whole = list[bytes]()
        await client.exec_from(LEASE, ["echo", "all"], lambda source: whole.append(source.read()))
        assert whole == [b"all\n"]
        assert (await client.exec_from(LEASE, ["sh", "-c", "echo x; exit 4"], lambda source: None)).exit == 4


async def test_output_that_cannot_be_kept_here_ends_the_command(world: World) -> None:
    def take(source: BinaryIO) -> None:
        source.read(10)
        raise FileNotFoundError("it is gone")

    def none(source: BinaryIO) -> None:
        assert not source.read()
        raise ValueError("no archive")

    async with world.client() as client:
        with pytest.raises(FileNotFoundError, match="it is gone"):
            await client.exec_from(LEASE, ["cat", "/dev/zero"], take)
        await ended(world)
        with pytest.raises(ValueError, match="no archive"):
            await client.exec_from(LEASE, ["true"], none)
        assert (await client.exec_from(LEASE, ["false"], none)).exit == 1, "what failed there is why"


async def test_output_is_given_up_with_whoever_takes_it(world: World) -> None:
    begun = threading.Event()

    def take(source: BinaryIO) -> None:
        begun.set()
        while source.read(1 << 20):
            pass

    async with world.client() as client:
        asking = asyncio.create_task(client.exec_from(LEASE, ["cat", "/dev/zero"], take))
        await asyncio.to_thread(begun.wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await ended(world)


async def test_output_that_nobody_may_have(world: World) -> None:
    def take(source: BinaryIO) -> None:
        raise AssertionError("there was some")

    async with world.client(signer=LocalSigner(b"\7" * 32)) as client:
        with pytest.raises(NotYourLease):
            await client.exec_from(LEASE, ["cat"], take)


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "words",
    [
        (),
        (b"HTTP/1.1 200 OK\r\n\r\n",),
        (_CHUNKED + b"-5\r\n",),
        (_CHUNKED + b"0\r\n\r\n",),
        (_CHUNKED + b"8\r\n\0\0\0\5abcd\r\n0\r\n\r\n",),
        (_CHUNKED + b"ff\r\n\0\0\0\5a",),
        (_CHUNKED + b"5\r\n\0\0\0\1x\r\n",),
    ],
)
async def test_an_agent_that_breaks_off_under_much_output(world: World, words: tuple[bytes, ...]) -> None:
    async with speaking(world, *words) as base, world.client(base) as client:
        with pytest.raises(AgentUnreachable):
            await client.exec_from(LEASE, ["cat"], lambda source: None)


async def test_much_output_that_is_announced(world: World) -> None:
    """The agent is told, where nothing is given."""
    async with world.client() as client:
        for given, much in ((b"", True), (b"given", False)):
            took = list[bytes]()

            def take(source: BinaryIO, took: list[bytes] = took) -> None:
                took.append(source.read())

            assert (await client.exec_from(LEASE, ["cat"], take, given, much=True)).exit == 0
            assert (took, world.leases.much) == ([given], much)


async def test_a_pack_of_code(world: World) -> None:
    pack = os.urandom(3_000_000)
    async with world.client() as client:
        assert (await client.put_code(LEASE, pack)).left == 1
        assert world.leases.codes == {LEASE: [(world.wallet.address, pack)]}
    async with world.client(signer=LocalSigner(b"\7" * 32)) as client:
        with pytest.raises(NotYourLease):
            await client.put_code(LEASE, pack)


@pytest.mark.parametrize("words", [(), (b"HTTP/1.1 100 Continue\r\n\r\n",)])
async def test_a_pack_that_broke_off_comes_again_and_not_for_ever(
    world: World, words: tuple[bytes, ...]
) -> None:
    async with speaking(world, *words) as base, world.client(base) as client:
        with pytest.raises(AgentUnreachable):
            await client.put_code(LEASE, b"pack")
    assert len(world.naps.taken) > 3


@pytest.mark.parametrize(
    ("end", "error"),
    [
        (b"[]", AgentError),
        (b"", AgentError),
        (b'{"type":"not-running","detail":"The container has ended."}', NotRunning),
    ],
)
async def test_an_end_of_much_output_that_is_no_exit_code(
    world: World, end: bytes, error: type[Exception]
) -> None:
    body = bytes(4) + end
    words = _CHUNKED + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    async with speaking(world, words) as base, world.client(base) as client:
        with pytest.raises(error):
            await client.exec_from(LEASE, ["cat"], lambda source: None)


async def test_leaving_the_block_ends_the_command(world: World) -> None:
    async with world.client() as client:
        async with client.exec(LEASE, ["sh", "-c", "echo up; sleep 1000"]) as stream:
            await anext(aiter(stream))
        await ended(world)


# What an agent may answer


def test_refusals_of_a_newer_agent() -> None:
    assert type(refusal("unheard", "Of.")) is AgentRefusal
    assert str(_agent_client._refused(418, b"<html>")).startswith("The agent answered with status 418")
    assert isinstance(_agent_client._refused(409, b'{"type": "not-running", "detail": "No."}'), NotRunning)


@pytest.mark.slow
async def test_answers_that_are_not_understood(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_agent_client, "_MOST_ANSWER", 10)
    async with world.client() as client:
        with pytest.raises(AgentError, match="longer"):
            await client.health()
        monkeypatch.setattr(_agent_client, "_MOST_ANSWER", 10_000)
        with pytest.raises(AgentError, match="not understood"):
            await client._document(_agent_client.AgentResults, "GET", "/v1/health")


@asynccontextmanager
async def answering(world: World, head: bytes, body: bytes) -> AsyncIterator[str]:
    """An agent with the right certificate that answers everything with the same bytes; its address."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(world.context.tls_certificate, world.context.tls_key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n%s\r\n\r\n" % (len(body), head))
            writer.write(body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("call", ["health", "machine"])
async def test_an_answer_that_unfolds_without_end_is_given_up(world: World, call: str) -> None:
    """398 KiB of gzip used to become 824 MB, on the way to finding out that the agent is there."""
    bomb = gzip.compress(bytes(100 << 20), 6)
    async with answering(world, b"content-encoding: gzip", bomb) as address, world.client(address) as client:
        tracemalloc.start()
        try:
            with pytest.raises(AgentError, match="longer than 4096 KiB"):
                await getattr(client, call)()
            assert tracemalloc.get_traced_memory()[1] < 32 << 20
        finally:
            tracemalloc.stop()


async def test_an_answer_packed_as_nobody_asked_is_not_unpacked(world: World) -> None:
    async with answering(world, b"content-encoding: br", b"x") as address, world.client(address) as client:
        with pytest.raises(AgentError, match="nobody asked for"):
            await client.health()


@pytest.mark.parametrize("offset", [b"soon", b"-1", b"9" * 5_000, "²".encode()])
async def test_a_log_that_begins_nowhere_is_read_all_the_same(world: World, offset: bytes) -> None:
    """Whoever followed it got an error that nobody catches, and a run lost its end."""
    head = b"connection: close\r\n" + LOG_OFFSET.encode() + b": " + offset
    async with answering(world, head, b"hello\n") as address, world.client(address) as client:
        assert await collect(client.logs(LEASE)) == b"hello\n"


async def test_an_operators_word_on_a_lease_and_on_his_machine(world: World) -> None:
    async with world.client() as client:
        said = checked(await client.statement(LEASE), DOMAIN).said
        assert isinstance(said, LeaseStanding)
        assert (said.lease, said.machine, said.container) == (str(LEASE), MACHINE, "c")
        assert checked(await client.heartbeat(), DOMAIN).said.time == world.clock()
    async with world.client(operator="0x" + "11" * 20) as client:
        for ask in (client.statement(LEASE), client.heartbeat()):
            with pytest.raises(StatementInvalid, match="another's"):
                await ask


async def test_a_word_on_something_else_is_none_on_this(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that answers with what its operator once signed of another lease, or of the machine."""
    async with world.client() as client:
        lease, beat = await client.statement(LEASE), await client.heartbeat()
        monkeypatch.setattr(client, "_of_lease", AsyncMock(return_value=beat))
        with pytest.raises(StatementInvalid):
            await client.statement(LEASE)
        monkeypatch.setattr(client, "_of_lease", AsyncMock(return_value=lease))
        with pytest.raises(StatementInvalid):
            await client.statement(LEASE + 1)
        monkeypatch.setattr(client, "_document", AsyncMock(return_value=lease))
        with pytest.raises(StatementInvalid):
            await client.heartbeat()


async def test_a_container_is_stopped_started_and_started_anew(world: World) -> None:
    async with world.client() as client:
        assert (await client.power(LEASE, "stop")).phase == "stopped"
        assert (await client.power(LEASE, "start")).phase == "running"
        await client.power(LEASE, "restart")
    assert world.leases.powered == [(LEASE, "stop"), (LEASE, "start"), (LEASE, "restart")]


async def test_volumes_are_told_of_exported_and_removed(world: World) -> None:
    world.leases.cid = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
    world.leases.volumes_of[LEASE] = [VolumeFacts("models", "/data", 1 << 30, 9, attached=True)]
    async with world.client() as client:
        (volume,) = (await client.volumes(LEASE)).volumes
        assert (volume.name, volume.size, volume.attached, volume.export) == ("models", 1 << 30, True, None)
        (volume,) = (await client.export_volume(LEASE, "models")).volumes
        assert volume.export is not None
        assert volume.export.cid == world.leases.cid
        with pytest.raises(NotRunning):
            await client.export_volume(LEASE, "other")
        assert (await client.discard_volume(LEASE, "models")).volumes == []


async def test_the_tenant_reads_who_did_what(world: World) -> None:
    async with world.client() as client:
        await client.status(LEASE)
        told = await client.audit(LEASE)
    assert ("lease.status", "done", None) in [(act.op, act.outcome, act.session) for act in told.acts]


async def test_a_session_is_withdrawn(world: World) -> None:
    session = await SessionKey.grant(
        world.wallet.address, DOMAIN, world.wallet,
        private_key=b"\x42" * 32, ops=READ_OPS, expires_at=world.clock() + 600,
    )  # fmt: skip
    async with world.client() as client, world.client(signer=session) as colleague:
        await colleague.status(LEASE)
        with pytest.raises(SessionScope):
            await colleague.power(LEASE, "stop")
        await client.revoke_session(LEASE, session.session.key)
        with pytest.raises(SessionWithdrawn):
            await colleague.status(LEASE)


async def test_an_agent_of_before_is_shown_a_session_that_it_understands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def former() -> SessionKey:
        nonlocal asked
        asked += 1
        return await SessionKey.grant(
            world.wallet.address, DOMAIN, world.wallet,
            private_key=b"\x43" * 32, ops=FORMER_OPS, expires_at=world.clock() + 600,
        )  # fmt: skip

    async with world.client(former=former) as client:
        await client.status(LEASE)
        assert (asked, await client.operations()) == (0, OPS)
    monkeypatch.setattr(_public_routes, "OPS", ())
    async with world.client(former=former) as client:
        await client.status(LEASE)
        await client.status(LEASE)
        assert (asked, await client.operations()) == (1, FORMER_OPS)
    async with world.client() as client:
        sessions = {act.session for act in (await client.audit(LEASE)).acts}
    assert Account.from_key(b"\x43" * 32).address in sessions
