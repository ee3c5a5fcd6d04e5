"""The exec WebSocket: a command in a lease's container, its standard streams as frames.

Nothing is queued here: a side that does not read stops the other side's writing, through the frames, the
engine's stream and the process's pipe. A client that goes away ends its command; one that goes while the command reads
nothing of what waits for it is not heard to go, and its place is the lease's until the command ends, or the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import orjson
import structlog
from starlette.websockets import WebSocket, WebSocketDisconnect

from leasehold.chain import format_lease
from leasehold.errors import AgentError
from leasehold.market.wire import CHUNK, STDIN, BadCall, ExecStart, parse_control, parse_start
from leasehold_agent._runtime import CommandStream, LeaseRuntime
from leasehold_agent.access import Admission
from leasehold_agent.api._exec_input import write_to
from leasehold_agent.api._problems import name_of

_log = structlog.get_logger("leasehold_agent.api")

Carry = Callable[[int], Awaitable[None]]
"""Counts bytes against the lease's part of the network."""
START_SECONDS: Final = 10.0
_NORMAL, _REFUSED, _LOST = 1000, 1008, 1011


async def serve_exec(socket: WebSocket, runtime: LeaseRuntime, lease: int, admission: Admission) -> None:
    """Serve an accepted WebSocket until its command ends or its client goes."""
    try:
        start = await _first(socket)
        size = start.size if start.tty else None
        async with admission.opening.turn(lease):
            stream = await runtime.exec(lease, start.command, tty=start.tty, env=start.env, size=size)
    except WebSocketDisconnect:
        return
    except AgentError as error:
        await _end(socket, {"error": name_of(error), "detail": str(error)}, _REFUSED)
        return
    # Without the command: what is in it is the tenant's.
    _log.info("exec.started", lease=format_lease(lease), tty=start.tty)
    await _relay(socket, stream, partial(admission.line.carry, lease))


async def _first(socket: WebSocket) -> ExecStart:
    try:
        async with asyncio.timeout(START_SECONDS):
            message = await socket.receive()
    except TimeoutError:
        raise BadCall("The first frame, which says what to run, did not come.") from None
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text = message.get("text")
    if not isinstance(text, str):
        raise BadCall("The first frame must be text: it says what to run.")
    return parse_start(text)


async def _relay(socket: WebSocket, stream: CommandStream, carry: Carry) -> None:
    feeding = asyncio.create_task(_feed(socket, stream, carry))
    draining = asyncio.create_task(_drain(socket, stream, carry))
    try:
        # `_feed` ends when the client has gone, or has sent what cannot be understood.
        await asyncio.wait({feeding, draining}, return_when=asyncio.FIRST_COMPLETED)
        if draining.done():
            await _end(socket, {"exit": draining.result()}, _NORMAL)
        else:
            feeding.result()
    except WebSocketDisconnect:
        pass
    except BadCall as error:
        await _end(socket, {"error": error.code, "detail": str(error)}, _REFUSED)
    except (AgentError, OSError) as error:
        await _end(socket, {"error": name_of(error), "detail": str(error)}, _LOST)
    finally:
        for task in (feeding, draining):
            task.cancel()
        await asyncio.gather(feeding, draining, return_exceptions=True)
        await stream.close()


async def _drain(socket: WebSocket, stream: CommandStream, carry: Carry) -> int:
    async for fd, data in stream:
        for start in range(0, len(data), CHUNK):
            await socket.send_bytes(bytes((fd,)) + data[start : start + CHUNK])
        await carry(len(data))
    return await stream.wait()


async def _feed(socket: WebSocket, stream: CommandStream, carry: Carry) -> None:
    """What a command does not read that has ended, or has had enough, is dropped: how it ends says how it went."""
    reads = True
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        data, text = message.get("bytes"), message.get("text")
        if data:
            if data[0] != STDIN:
                raise BadCall("A client's binary frames begin with the byte 0, standard input.")
            reads = reads and await write_to(stream, data[1:])
            await carry(len(data))
        elif text is not None:
            control = parse_control(text)
            if control.resize is not None:
                await stream.resize(*control.resize)
            if control.eof:
                await stream.write_eof()


async def _end(socket: WebSocket, last: dict[str, object], code: int) -> None:
    try:
        await socket.send_text(orjson.dumps(last).decode())
        await socket.close(code)
    except (WebSocketDisconnect, RuntimeError):
        return  # the client was quicker
