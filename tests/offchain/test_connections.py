"""A connection that nobody wants any more is closed, whenever its caller is cancelled."""

from __future__ import annotations

import asyncio
import gc
import ssl
import warnings
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
