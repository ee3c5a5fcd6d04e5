"""A command in a lease's container whose input is a request's body, of any length: what is copied there.

A WebSocket's frames are put together, unmasked and queued, each in a turn of the loop; a body is handed on as it comes.
What the command says is kept for the answer, which comes when it has ended.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final

from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request

from leasehold.market.wire import Argument, BadCall, CommandEnd
from leasehold_agent._runtime import CommandStream, LeaseRuntime
from leasehold_agent.access import Admission
from leasehold_agent.api._straight_body import body_pieces

MOST_SAID: Final = 4096
"""Bytes of what a command says that are kept; it goes on, and the rest is thrown away."""
PIECE: Final = 64 * 1024
"""What is gathered before it goes on: by the first the engine's side tells much input from little."""
MOST_COMMAND: Final = 16 * 1024
LINGER_SECONDS: Final = 5.0
"""How long input is thrown away that comes after the command's end: its sender hears of that when he has sent it."""
_COMMAND: Final = TypeAdapter[list[str]](list[Argument])


def command_of(text: str) -> list[str]:
    """The command that a query names, in JSON. Raises BadCall."""
    try:
        command = _COMMAND.validate_json(text[: MOST_COMMAND + 1])
    except ValidationError:
        command = []
    if not command or len(text) > MOST_COMMAND:
        raise BadCall(
            f"Name in `command` what to run, as a list of words in JSON of {MOST_COMMAND} characters."
        )
    return command


async def serve_input(
    request: Request, runtime: LeaseRuntime, lease: int, command: list[str], admission: Admission
) -> CommandEnd:
    """Run the command on the body. Raises AgentError; BadCall where the body breaks off, and then it is killed."""
    async with admission.opening.turn(lease):
        stream = await runtime.exec(lease, command)
    said = bytearray()
    draining = asyncio.create_task(_drain(stream, said))
    feeding = asyncio.create_task(_feed(request, stream, admission, lease))
    try:
        await asyncio.wait({feeding, draining}, return_when=asyncio.FIRST_COMPLETED)
        if feeding.done():
            feeding.result()
        code = await draining
        await asyncio.wait({feeding}, timeout=LINGER_SECONDS)
        return CommandEnd(exit=code, said=said.decode("utf-8", "replace"))
    except ClientDisconnect:
        raise BadCall("The body broke off.") from None
    finally:
        for task in (feeding, draining):
            task.cancel()
        await asyncio.gather(feeding, draining, return_exceptions=True)
        await stream.close()


async def _drain(stream: CommandStream, said: bytearray) -> int:
    async for _, data in stream:
        said += data[: MOST_SAID - len(said)]
    return await stream.wait()


async def _feed(request: Request, stream: CommandStream, admission: Admission, lease: int) -> None:
    reads = True
    async with aclosing(body_pieces(request, PIECE)) as pieces:
        async for piece in pieces:
            await admission.line.carry(lease, len(piece))
            reads = reads and await write_to(stream, piece)
    await stream.write_eof()


async def write_to(stream: CommandStream, data: bytes | memoryview) -> bool:
    """Whether the command still reads. One that does not may have had enough: how it ends says how it went."""
    try:
        await stream.write(data)
    except ConnectionError:
        return False
    return True
