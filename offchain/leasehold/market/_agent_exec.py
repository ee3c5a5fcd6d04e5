"""A command running on a lease, seen from the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import orjson
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from leasehold.errors import AgentError
from leasehold.market.wire import CHUNK, STDERR, STDIN, STDOUT, AgentUnreachable, refusal


class ExecStream:
    """Write standard input, iterate `(fd, bytes)` of output (1) and error (2), then `wait` for the exit code.

    A side that does not read holds the other's writing back. `AgentClient.exec` opens it; leaving its block
    early ends the command.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def write(self, data: bytes) -> None:
        """Bytes for the command's standard input. Raises `AgentUnreachable` when the stream has ended."""
        for start in range(0, len(data), CHUNK):
            await self._send(bytes((STDIN,)) + data[start : start + CHUNK])

    async def write_eof(self) -> None:
        """The end of standard input."""
        await self._send('{"eof":true}')

    async def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size."""
        await self._send(orjson.dumps({"resize": [rows, columns]}).decode())

    async def _send(self, frame: str | bytes) -> None:
        try:
            await self._connection.send(frame)
        except ConnectionClosed:
            # A command may end without having read all of its input; its exit code says how it went.
            if not self._exit.done():
                raise AgentUnreachable("The connection to the agent broke off;", "try again.") from None

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        if self._exit.done():
            return
        try:
            async for frame in self._connection:
                if isinstance(frame, str):
                    self._last(frame)
                    return
                if frame[:1] not in (bytes((STDOUT,)), bytes((STDERR,))):
                    raise AgentError("The agent sent a frame that is not understood;", "update leasehold.")
                yield frame[0], frame[1:]
        except ConnectionClosed:
            pass
        raise AgentUnreachable("The connection to the agent broke off before the command ended.")

    def _last(self, frame: str) -> None:
        try:
            document = cast(dict[str, object], orjson.loads(frame))
            if "error" in document:
                raise refusal(str(document["error"]), str(document.get("detail", "")))
            code = document["exit"]
        except (ValueError, KeyError, TypeError):
            code = None
        if not isinstance(code, int):
            raise AgentError("The agent ended the command without an exit code;", "update leasehold.")
        self._exit.set_result(code)

    async def wait(self) -> int:
        """The command's exit code. Output that was not read is dropped."""
        async for _ in self:
            pass
        return self._exit.result()
