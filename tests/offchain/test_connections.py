"""A connection that nobody wants any more is closed, whenever its caller is cancelled."""

from __future__ import annotations

import asyncio
import gc
import ssl
import warnings
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from devnet.serving import certificate
from leasehold._connections import authorities, tidy
from leasehold.chain import Rpc
from leasehold.errors import RpcUnavailable

LONGEST = 80
"""Turns of the loop, more than a whole request takes on loopback."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def left_open(client: httpx.AsyncClient, url: str, turns: int) -> bool:
    """Whether a request that is cancelled after so many turns leaves a connection to Python's collector."""
    async with client:
        request = asyncio.create_task(client.get(url))
        for _ in range(turns):
            await asyncio.sleep(0)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
    del request
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
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    url = f"http{'s' if secured else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    leaks = []
    gc.freeze()  # what was alive before is not looked through at each collection
    async with server:
        for turns in range(LONGEST):
            client = tidy(httpx.AsyncClient(verify=trusting, trust_env=False))
            if await left_open(client, url, turns):
                leaks.append(turns)
    assert leaks == []


async def test_certificates_are_read_once_and_believed_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    believed = authorities()
    assert believed.verify_mode is ssl.CERT_REQUIRED
    assert believed.check_hostname
    assert believed.get_ca_certs() == httpx.create_ssl_context().get_ca_certs() != []

    def read_again(*_: object, **__: object) -> ssl.SSLContext:
        raise AssertionError("the certificates are read once more")

    monkeypatch.setattr(ssl, "create_default_context", read_again)
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, Rpc([f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"]) as rpc:
        with pytest.raises(RpcUnavailable):
            await rpc.call("eth_chainId", [])


HINT = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize("secured", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("before", [b"", HINT * 3, HINT * 50_000], ids=["none", "a few", "without end"])
async def test_answers_before_the_answer_are_few(secured: bool, before: bytes, tmp_path: Path) -> None:
    """One machine's agent had a gateway read them, and nobody else have a turn, for as long as it liked: each read of
    them had its time.
    """

    async def hinting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(before + ANSWER)
                await writer.drain()
        writer.close()

    context = None
    if secured:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate(tmp_path))
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    server = await asyncio.start_server(hinting, "127.0.0.1", 0, ssl=context)
    url = f"http{'s' if secured else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, tidy(httpx.AsyncClient(verify=trusting, trust_env=False)) as client:
        for _ in range(2):  # the second question is asked over the same connection
            if len(before) < 1_000:
                assert (await client.get(url)).content == b"ok"
            else:
                with pytest.raises(httpx.RemoteProtocolError, match="too much"):
                    await client.get(url)


async def test_a_body_that_looks_like_an_answer_is_a_body() -> None:
    body = HINT * 5_000

    async def telling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(telling, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, tidy(httpx.AsyncClient(trust_env=False)) as client:
        assert (await client.get(url)).content == body
