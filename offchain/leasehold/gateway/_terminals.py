"""Terminals: the WebSocket of a command on a lease, handed on frame by frame.

A browser sets no header on a WebSocket, so that its credential comes as a subprotocol beside the one that both ends
speak, and goes on as the header that the agent reads. A refusal is told as the agent's own last frame would tell it,
since a browser is not shown why a handshake failed. A side that does not read holds the other's writing back; one that
says nothing for long, or takes nothing, is let go.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack, suppress
from typing import Final

import orjson
from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from leasehold.errors import AgentError, LeaseholdError
from leasehold.gateway._agent_paths import FOLLOW_SECONDS, check_terminal
from leasehold.gateway._errors import GatewayRefusal
from leasehold.gateway._refusals import AgentSilent, BadRequest
from leasehold.gateway._relaying import MachineNumber, Relay, TheRelay, keys_of, target_of
from leasehold.market.wire import EXEC_PROTOCOL, MAX_AUTHORIZATION, MAX_FRAME, refusal

CREDENTIAL: Final = "leasehold.credential."
_CREDENTIAL: Final = re.compile(r"leasehold\.credential\.([A-Za-z0-9_-]+)")
_REFUSED, _LOST, _NORMAL = 1008, 1011, 1000
_MOST_REFUSAL: Final = 64 * 1024


class _Ends(Exception):
    """One side has ended, or is given up."""


async def serve_terminal(
    socket: WebSocket, machine: int, relay: Relay, *, idle: float = FOLLOW_SECONDS
) -> None:
    """Serve a WebSocket until its command ends, its browser goes, or neither says anything for `idle` seconds."""
    try:
        path, query = target_of(socket.scope, machine)
        check_terminal(path, query)
        credential = _credential(socket.scope.get("subprotocols") or [])
    except GatewayRefusal as error:
        await _refuse(socket, error.code, str(error))
        return
    await socket.accept(EXEC_PROTOCOL)
    target = path.decode("ascii") + ("?" + query.decode("ascii") if query else "")
    try:
        async with AsyncExitStack() as held:
            caller = relay.caller_of(socket)
            held.enter_context(relay.places.taken(**keys_of(caller, machine), terminal=caller))
            line = await held.enter_async_context(relay.lines.to(machine))
            headers = {"Authorization": "Leasehold " + credential}
            agent = await held.enter_async_context(line.terminal(target, headers))
            await _between(socket, agent, idle, relay.reading)
    except InvalidStatus as error:
        code, detail = _told(error)
        await _end(socket, code, detail)
    except AgentError as error:
        silent = AgentSilent(error.problem, error.advice or "try again later.")
        await _end(socket, silent.code, str(silent))
    except LeaseholdError as error:
        await _end(socket, error.code, str(error))


def _credential(offered: list[str]) -> str:
    """The one credential among the subprotocols. Raises BadRequest."""
    found = [match[1] for name in offered if (match := _CREDENTIAL.fullmatch(name))]
    if EXEC_PROTOCOL not in offered or len(found) != 1 or len(found[0]) > MAX_AUTHORIZATION:
        raise BadRequest(
            "The request is not signed for the agent;",
            f"offer the subprotocols `{EXEC_PROTOCOL}` and one `{CREDENTIAL}…`.",
        )
    return found[0]


async def _between(socket: WebSocket, agent: ClientConnection, idle: float, reading: float) -> None:
    """Frames both ways until one side ends."""
    heard = asyncio.Event()
    tasks = [
        asyncio.ensure_future(_to_agent(socket, agent, heard, reading)),
        asyncio.ensure_future(_to_browser(socket, agent, heard, reading)),
        asyncio.ensure_future(_silence(heard, idle)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            with suppress(_Ends, ConnectionClosed, WebSocketDisconnect, TimeoutError, RuntimeError):
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    with suppress(RuntimeError, OSError, WebSocketDisconnect):
        await socket.close(_NORMAL if agent.close_code == _NORMAL else _LOST)


async def _to_agent(socket: WebSocket, agent: ClientConnection, heard: asyncio.Event, reading: float) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise _Ends
        frame = message.get("bytes") or message.get("text") or b""
        if len(frame) > MAX_FRAME:
            raise _Ends
        heard.set()
        async with asyncio.timeout(reading):
            await agent.send(frame)


async def _to_browser(
    socket: WebSocket, agent: ClientConnection, heard: asyncio.Event, reading: float
) -> None:
    async for frame in agent:
        heard.set()
        async with asyncio.timeout(reading):
            await (socket.send_text(frame) if isinstance(frame, str) else socket.send_bytes(frame))


async def _silence(heard: asyncio.Event, idle: float) -> None:
    """Returns when nobody has said anything for `idle` seconds."""
    with suppress(TimeoutError):
        while True:
            heard.clear()
            async with asyncio.timeout(idle):
                await heard.wait()


def _told(error: InvalidStatus) -> tuple[str, str]:
    """What an agent said when it refused."""
    body = bytes(error.response.body or b"")[:_MOST_REFUSAL]
    try:
        problem = orjson.loads(body)
        refused = refusal(str(problem["type"])[:64], str(problem["detail"])[:1024])
    except (ValueError, KeyError, TypeError):
        return AgentSilent.code, "The agent refused without a reason; try again later."
    return refused.code, str(refused)


async def _refuse(socket: WebSocket, code: str, detail: str) -> None:
    await socket.accept(EXEC_PROTOCOL if EXEC_PROTOCOL in (socket.scope.get("subprotocols") or []) else None)
    await _end(socket, code, detail)


async def _end(socket: WebSocket, code: str, detail: str) -> None:
    with suppress(RuntimeError, OSError, WebSocketDisconnect):
        await socket.send_text(orjson.dumps({"error": code, "detail": detail}).decode())
        await socket.close(_REFUSED)


router = APIRouter(prefix="/api/v1/agents")


@router.websocket("/{machine}/{path:path}")
async def terminal(relay: TheRelay, socket: WebSocket, machine: MachineNumber) -> None:
    """A command on a lease, whose streams are frames."""
    await serve_terminal(socket, machine, relay)
