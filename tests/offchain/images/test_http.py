"""Questions to registries over real sockets: what an answer can cost, and where none is sent on."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator

import pytest

from leasehold.images import ImageResolver, RegistryUnreachable, ask

MANIFEST = json.dumps({"config": {"digest": "sha256:" + "c" * 64}, "layers": []}).encode()


@contextlib.asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that says `answer` to everybody; its port, and what it heard."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()
        await server.wait_closed()


def ok(body: bytes, *headers: str) -> bytes:
    head = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def test_a_registry_on_ones_own_loopback_is_asked_in_clear() -> None:
    digest = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
    async with answering(ok(MANIFEST, f"Docker-Content-Digest: {digest}")) as (port, heard):
        image = await ImageResolver().resolve(f"127.0.0.1:{port}/a/b:tag")
    assert image.reference == f"127.0.0.1:{port}/a/b@{digest}"
    (request,) = heard
    assert request.startswith(b"GET /v2/a/b/manifests/tag HTTP/1.1\r\n")
    assert b"application/vnd.oci.image.index.v1+json" in request
    assert b"uthorization" not in request


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + bytes(5 << 20),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"100000\r\n" + bytes(1 << 20) + b"\r\n") * 5,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (300 << 10) + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
    ids=["long", "without an end", "a long header", "no HTTP", "nothing"],
)
async def test_odd_answers_are_none_and_cost_little(answer: bytes) -> None:
    async with answering(answer) as (port, _):
        with pytest.raises(RegistryUnreachable):
            await ImageResolver().resolve(f"127.0.0.1:{port}/a/b:tag")


async def test_a_redirect_is_followed_nowhere() -> None:
    async with answering(ok(MANIFEST)) as (elsewhere, heard):
        sent_on = f"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:{elsewhere}/\r\nContent-Length: 0\r\n\r\n"
        async with answering(sent_on.encode()) as (port, _):
            with pytest.raises(RegistryUnreachable, match="it answers 307"):
                await ImageResolver().resolve(f"127.0.0.1:{port}/a/b:tag")
    assert heard == []


async def test_what_is_packed_though_nobody_asked_for_that_is_another_image() -> None:
    """A few hundred KiB of gzip would unfold to a gigabyte: nothing here unfolds it."""
    async with answering(ok(b"\x1f\x8b" + bytes(64), "Content-Encoding: gzip")) as (port, _):
        answer = await ask("GET", f"http://127.0.0.1:{port}/", {"Host": "x"}, most=1 << 20)
    assert answer.body == b"\x1f\x8b" + bytes(64)


async def test_who_is_not_there_cannot_be_asked() -> None:
    async with answering(b"") as (port, _):
        pass
    with pytest.raises(RegistryUnreachable, match="ConnectError"):
        await ImageResolver().resolve(f"127.0.0.1:{port}/a/b:tag")
