"""The port itself: TLS, and clients that send slowly, much, or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from dataclasses import replace

import pytest

from devnet.patience import patient
from leasehold.rates import RateLimit
from leasehold_agent._runtime import ServeContext
from leasehold_agent.api import ApiServer, UploadLimits, UploadRates

from .conftest import World


async def raw(world: World, sent: bytes) -> bytes:
    """What comes back until the other side hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=world.tls)
    writer.write(sent)
    async with asyncio.timeout(patient(10)):
        answer = await reader.read()
    writer.close()
    return answer


async def test_an_enormous_header(world: World) -> None:
    answer = await raw(world, b"GET /v1/health HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 200_000)
    assert answer.startswith(b"HTTP/1.1 400") or answer == b""


async def test_a_header_that_never_ends(world: World, context: ServeContext) -> None:
    server = await ApiServer.open(context)
    world.port = await server.start("127.0.0.1", 0, header_seconds=0.1)
    assert await raw(world, b"GET /v1/health HTTP/1.1\r\nHost: a\r\n") == b""
    await server.close()


async def test_a_second_header_that_never_ends(world: World, context: ServeContext) -> None:
    server = await ApiServer.open(context)
    world.port = await server.start("127.0.0.1", 0, header_seconds=1)  # in which the first must have come
    answer = await raw(world, b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/health HTTP")
    assert answer.count(b"HTTP/1.1 200") == 1
    await server.close()


async def test_nothing_at_all(world: World, context: ServeContext) -> None:
    server = await ApiServer.open(context)
    world.port = await server.start("127.0.0.1", 0, header_seconds=0.1)
    assert await raw(world, b"") == b""
    await server.close()


async def test_no_plain_http(world: World) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
    async with asyncio.timeout(patient(10)):
        with contextlib.suppress(ConnectionResetError):
            assert not await reader.read()
    writer.close()


async def test_nothing_names_the_server_s_software(world: World) -> None:
    assert "server" not in (await world.http.get("/v1/health")).headers


async def test_a_port_that_is_taken(context: ServeContext) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = await ApiServer.open(context)
        with pytest.raises(OSError, match="in use"):
            await server.start("127.0.0.1", taken.getsockname()[1])
        await server.close()


async def test_a_certificate_without_its_key(context: ServeContext) -> None:
    broken = replace(context, tls_key=context.tls_certificate)
    server = await ApiServer.open(broken)
    with pytest.raises(ssl.SSLError):
        await server.start("127.0.0.1", 0)
    await server.close()


async def test_addresses_of_the_next_protocol(context: ServeContext, world: World) -> None:
    server = await ApiServer.open(context)
    port = await server.start("::1", 0)
    reader, writer = await asyncio.open_connection("::1", port, ssl=world.tls)
    writer.write(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
    async with asyncio.timeout(patient(10)):
        assert b"200" in await reader.readline()
    writer.close()
    await server.close()


async def test_a_forwarded_address_is_not_believed(world: World) -> None:
    world.server.api.limits = UploadLimits(replace(UploadRates(), address=RateLimit(1, 60)), world.clock)
    path = "/v1/workloads/" + "0" * 64
    first = await world.http.put(path, headers={"X-Forwarded-For": "10.0.0.1"})
    second = await world.http.put(path, headers={"X-Forwarded-For": "10.0.0.2"})
    assert (first.status_code, second.status_code) == (401, 429)
