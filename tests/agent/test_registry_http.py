"""Questions to a registry: whom they trust, and how little an answer can cost."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leasehold_agent.engine import _registry_http
from leasehold_agent.engine._registry_http import ask

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextlib.asynccontextmanager
async def answering(
    answer: bytes, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that says `answer` to everybody; its port, and what it heard."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()
        await server.wait_closed()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """Of an authority that nobody knows, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("certificate")
    key, made = folder / "key.pem", folder / "ca.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", made],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made, key)
    return made, context


async def test_an_authority_counts_for_the_registry_that_the_engine_has_it_for(
    certificate: tuple[Path, ssl.SSLContext], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_registry_http, "CERTIFICATES", tmp_path)
    made, context = certificate
    async with answering(OK, context) as (port, heard):
        url = f"https://127.0.0.1:{port}/v2/"
        headers = {"Host": f"127.0.0.1:{port}", "Authorization": "Basic c2VjcmV0"}
        other = tmp_path / "127.0.0.1:1"
        other.mkdir()
        (other / "ca.crt").write_bytes(made.read_bytes())
        with pytest.raises(OSError, match="Error"):
            await ask("GET", url, headers, None)
        assert heard == []  # nothing was said to who could not be known
        other.rename(tmp_path / f"127.0.0.1:{port}")
        answer = await ask("GET", url, headers, None)
    assert (answer.status, answer.body) == (200, b"{}")
    assert b"Basic c2VjcmV0" in heard[0]


async def test_a_redirect_is_an_answer_and_no_order() -> None:
    async with answering(OK) as (elsewhere, heard):
        sent_on = f"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:{elsewhere}/\r\nContent-Length: 0\r\n\r\n"
        async with answering(sent_on.encode()) as (port, _):
            url, host = f"http://127.0.0.1:{port}/v2/", {"Host": f"127.0.0.1:{port}"}
            answer = await ask("GET", url, {**host, "Authorization": "Basic c2VjcmV0"}, None)
    assert (answer.status, heard) == (307, [])


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + bytes(300 << 10),
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (300 << 10) + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
)
async def test_odd_answers_are_none_and_cost_little(answer: bytes) -> None:
    async with answering(answer) as (port, _):
        with pytest.raises(OSError, match=r"says too much|Error"):
            await ask("GET", f"http://127.0.0.1:{port}/", {"Host": "x"}, None)


async def test_who_says_nothing_is_waited_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry_http, "_SECONDS", 0.2)
    go_on = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(TimeoutError):
        await ask("GET", f"http://127.0.0.1:{port}/", {"Host": "x"}, None)
    go_on.set()
    server.close()
    await server.wait_closed()
