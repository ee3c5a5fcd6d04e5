"""Whoever is on the other side of a channel: an HTTP server and a mail server on loopback, which behave as told."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Talk = Callable[["Edge", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Edge:
    """One server. heard: of HTTP each request's head and body, of SMTP each letter. left: how many talks are over.
    talk: how it behaves from now on, if otherwise than at first; status: what `answers` says, if so.
    """

    port: int = 0
    talk: Talk | None = None
    status: str | None = None
    heard: list[tuple[str, bytes]] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@asynccontextmanager
async def edge(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[Edge]:
    made, talks = Edge(), set[asyncio.Task[None]]()

    async def talked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await (made.talk or talk)(made, reader, writer)
        finally:
            writer.close()
            made.left.set()

    server = await asyncio.start_server(talked, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def request(edge: Edge, reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(
        (
            int(line.partition(":")[2])
            for line in head.splitlines()
            if line.lower().startswith("content-length")
        ),
        0,
    )
    edge.heard.append((head, await reader.readexactly(length)))
    edge.came.set()


def answers(status: str, *headers: str) -> Talk:
    async def talk(edge: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(edge, reader)
        lines = (f"HTTP/1.1 {edge.status or status}", "Content-Length: 0", "Connection: close", *headers)
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await writer.drain()

    return talk


async def streams_for_ever(edge: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body that never ends, as fast as anybody takes it."""
    await request(edge, reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        await writer.drain()


async def drips(edge: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One byte of a head now and then: no timeout for a single byte ever passes."""
    edge.came.set()
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def drips_a_greeting(edge: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The same of a mail server."""
    writer.write(b"220-")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


def takes_mail(refuses: bytes = b"") -> Talk:
    """As much of RFC 5321 as a letter needs. refuses: the command to which it says no."""

    async def talk(edge: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            word = line.split()[0].upper()
            if word == refuses:
                writer.write(b"550 no\r\n")
            elif word == b"DATA":
                writer.write(b"354 go on\r\n")
                edge.heard.append(("letter", await reader.readuntil(b"\r\n.\r\n")))
                edge.came.set()
                writer.write(b"250 taken\r\n")
            else:
                writer.write(b"250 here\r\n" if word != b"QUIT" else b"221 bye\r\n")
            await writer.drain()

    return talk
