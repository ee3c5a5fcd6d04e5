"""A WebSocket, and a stream of events, to an application in the same process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from leasehold.gateway._hub import Outlet

PATIENCE = 60.0


class Socket:
    """The client's side. taking: while it is not set, what the application sends is not taken."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.taking = asyncio.Event()
        self.taking.set()
        self.gone = False

    async def receive(self) -> dict[str, Any]:
        return await self.sent.get()

    async def send(self, message: dict[str, Any]) -> None:
        await self.taking.wait()
        if self.gone:
            raise OSError("the client is gone")  # as a server says it
        self.heard.put_nowait(message)

    def say(self, frame: object) -> None:
        text = frame if isinstance(frame, str) else json.dumps(frame)
        self.sent.put_nowait({"type": "websocket.receive", "text": text})

    async def message(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            return await self.heard.get()

    async def frame(self, topic: str) -> dict[str, Any]:
        """The next frame of a topic."""
        while True:
            message = await self.message()
            assert message["type"] == "websocket.send", message
            frame: dict[str, Any] = json.loads(message["text"])
            if frame["topic"] == topic:
                return frame

    async def frame_accepted(self) -> None:
        """The connection stands."""
        assert (await self.message())["type"] == "websocket.accept"

    async def closed(self) -> int:
        """With which code it ended."""
        while True:
            message = await self.message()
            if message["type"] == "websocket.close":
                return int(message["code"])


def scope_of(kind: str, path: str, query: bytes = b"", address: str = "198.51.100.1") -> dict[str, Any]:
    return {
        "type": kind, "path": path, "raw_path": path.encode(), "query_string": query, "headers": [],
        "client": (address, 4000), "server": ("gateway", 80), "scheme": "ws", "method": "GET", "subprotocols": [],
        "root_path": "", "http_version": "1.1",
    }  # fmt: skip


@asynccontextmanager
async def listening(
    app: FastAPI, address: str = "198.51.100.1", outlet: Outlet | None = None
) -> AsyncIterator[Socket]:
    """A connection to `/api/v1/live`, closed by its client at the end. outlet: what its server gives it, if it does."""
    socket = Socket()
    socket.sent.put_nowait({"type": "websocket.connect"})
    scope = scope_of("websocket", "/api/v1/live", address=address)
    if outlet is not None:
        scope["extensions"] = {"leasehold.outlet": {"write": outlet}}
    serving = asyncio.create_task(app(scope, socket.receive, socket.send))  # type: ignore[arg-type]
    try:
        yield socket
    finally:
        socket.gone = True
        socket.taking.set()
        socket.sent.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(PATIENCE):
            await serving


@asynccontextmanager
async def streaming(app: FastAPI, topics: str) -> AsyncIterator[Socket]:
    """A stream of server-sent events."""
    socket = Socket()
    socket.sent.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    scope = scope_of("http", "/api/v1/events", f"topics={topics}".encode()) | {"scheme": "http"}
    serving = asyncio.create_task(app(scope, socket.receive, socket.send))  # type: ignore[arg-type]
    try:
        yield socket
    finally:
        socket.gone = True
        socket.sent.put_nowait({"type": "http.disconnect"})
        async with asyncio.timeout(PATIENCE):
            await serving
