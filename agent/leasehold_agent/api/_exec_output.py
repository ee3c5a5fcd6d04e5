"""A command in a lease's container whose output is the answer's body, of any length: what is copied out.

The body is what the command writes, in pieces behind their lengths; behind a length of zero stands how it ended, or why
nobody knows. A body without that broke off. What the command reads comes whole and is little: a list of names.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Final

import orjson
from starlette.types import Receive, Scope, Send

from leasehold.errors import AgentError
from leasehold.market.wire import CommandEnd
from leasehold_agent._runtime import CommandStream
from leasehold_agent.api._exec_input import MOST_SAID
from leasehold_agent.api._problems import name_of
from leasehold_agent.api._streams import HeldResponse

MOST_INPUT: Final = 64 * 1024
LENGTH: Final = struct.Struct(">I")
_STDOUT: Final = 1


async def output_of(stream: CommandStream, given: bytes) -> AsyncIterator[bytes]:
    """The answer's body, while the command runs on `given`. It leaves the stream open."""
    said = bytearray()
    feeding = asyncio.create_task(_give(stream, given))
    try:
        async for fd, data in stream:
            if fd == _STDOUT:
                yield LENGTH.pack(len(data)) + data
            else:
                said += data[: MOST_SAID - len(said)]
        end = CommandEnd(exit=await stream.wait(), said=said.decode("utf-8", "replace"))
        yield LENGTH.pack(0) + end.model_dump_json().encode()
    except AgentError as error:
        yield LENGTH.pack(0) + orjson.dumps({"type": name_of(error), "detail": str(error)})
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _give(stream: CommandStream, given: bytes) -> None:
    """One that does not read all of it may have had enough: how it ends says how it went."""
    await stream.write(given)
    await stream.write_eof()


class CommandResponse(HeldResponse):
    """A body that a command writes, which ends with it, even where nobody has begun to read."""

    def __init__(self, stream: CommandStream, chunks: AsyncIterator[bytes], held: ExitStack) -> None:
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        super().__init__(chunks, held, media_type="application/octet-stream", headers=headers)
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._stream.close()
