"""What happens, as it happens: by WebSocket, or as server-sent events where that is all that gets through.

Who listens takes a place, of which an address has few; what he sends is short and seldom; and what he does not read in
time lets him go. So a listener costs a bounded queue, and nobody waits for him.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Query, WebSocket
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from leasehold.gateway._errors import GatewayRefusal, TooManyCalls
from leasehold.gateway._gateway import Gateway, TheGateway, gateway_of
from leasehold.gateway._hub import MOST_TOPICS, Listener
from leasehold.gateway._outlets import outlet_of
from leasehold.gateway._words import block_json

router = APIRouter(prefix="/api/v1", tags=["live"])

SEND_SECONDS: Final = 20.0
"""For which one frame may take to be taken."""
BEAT_SECONDS: Final = 20.0
"""After which a quiet stream says that it is there."""
_MOST_TEXT: Final = 4_096
_TOPIC: Final = re.compile(r"block|machines|lease:[0-9]{1,15}(\.[0-9]{1,5})?")
_GOING, _POLICY, _LATER = 1000, 1008, 1013


@router.websocket("/live")
async def live(socket: WebSocket) -> None:
    """Frames in: `{"subscribe": [topics]}`, `{"unsubscribe": […]}`. Frames out: `{"topic": …, …}`."""
    gateway, visitor = gateway_of(socket), socket.scope["visitor"]
    try:
        gateway.live.enter(caller=visitor)
    except GatewayRefusal:
        await socket.close(_LATER)
        return
    listener = Listener(outlet_of(socket.scope))
    try:
        with contextlib.suppress(WebSocketDisconnect):  # gone before it was taken in
            await socket.accept()
            gateway.hub.hear(listener, ("block",))
            listener.offer(_greeting(gateway))
            await _conversation(gateway, socket, listener, visitor)
    finally:
        gateway.hub.leave(listener)
        gateway.live.leave(caller=visitor)


@router.get(
    "/events",
    summary="The same as server-sent events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(
    request: Request,
    gateway: TheGateway,
    topics: Annotated[
        str, Query(max_length=1_000, description="Topics with commas between them.")
    ] = "machines",
) -> Response:
    visitor = request.scope["visitor"]
    gateway.live.enter(caller=visitor)
    return _EventStream(gateway, visitor, _topics(topics.split(",")))


async def _conversation(gateway: Gateway, socket: WebSocket, listener: Listener, visitor: str) -> None:
    """Until one of the two sides is done."""
    sides = [
        asyncio.create_task(_hear(gateway, socket, listener, visitor)),
        asyncio.create_task(_speak(socket, listener)),
    ]
    try:
        done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        code = next(
            (side.result() for side in done if not side.cancelled() and side.exception() is None), _GOING
        )
    finally:
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):  # it may be gone
        async with asyncio.timeout(SEND_SECONDS):
            await socket.close(code)


async def _hear(gateway: Gateway, socket: WebSocket, listener: Listener, visitor: str) -> int:
    """What the client wants; the code with which to end."""
    while True:
        try:
            message = await socket.receive()
        except WebSocketDisconnect:
            return _GOING
        if message["type"] == "websocket.disconnect":
            return _GOING
        text = message.get("text")
        wish = _wish(text) if text is not None else None
        if wish is None:
            return _POLICY
        try:
            gateway.frames.take(visitor)
        except TooManyCalls:
            return _LATER
        gateway.hub.leave(listener, _topics(wish.get("unsubscribe", ())))
        gateway.hub.hear(listener, _topics(wish.get("subscribe", ())))


async def _speak(socket: WebSocket, listener: Listener) -> int:
    """Sends him what he hears; the code with which to end."""
    while (frame := await listener.frame()) is not None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await socket.send_text(frame.decode())
        except TimeoutError:
            return _LATER
        except (WebSocketDisconnect, RuntimeError, OSError):
            return _GOING
    return _LATER


def _wish(text: str) -> dict[str, Any] | None:
    """What a client's frame says; `None` where that is nothing of ours."""
    if len(text) > _MOST_TEXT:
        return None
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    known = isinstance(said, dict) and said.keys() <= {"subscribe", "unsubscribe"}
    if not known or not all(isinstance(topics, list) for topics in said.values()):
        return None
    wish: dict[str, Any] = said
    return wish


def _topics(named: Iterable[object]) -> list[str]:
    """Those that there are; of others nothing is ever said."""
    known = [topic for topic in named if isinstance(topic, str) and _TOPIC.fullmatch(topic)]
    return known[:MOST_TOPICS]


def _greeting(gateway: Gateway) -> bytes:
    head = gateway.market.head
    return orjson.dumps({"topic": "block", "block": None if head is None else block_json(head)})


class _EventStream(Response):
    """Frames as `text/event-stream`, until the client goes, does not read, or is let go."""

    def __init__(self, gateway: Gateway, visitor: str, topics: Iterable[str]) -> None:
        super().__init__(media_type="text/event-stream")
        self._gateway = gateway
        self._visitor = visitor
        self._topics = ("block", *topics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = Listener()
        try:
            self._gateway.hub.hear(listener, self._topics)
            listener.offer(_greeting(self._gateway))
            gone = asyncio.create_task(_gone(receive))
            telling = asyncio.create_task(self._tell(listener, send))
            await asyncio.wait((gone, telling), return_when=asyncio.FIRST_COMPLETED)
            for task in (gone, telling):
                task.cancel()
            await asyncio.gather(gone, telling, return_exceptions=True)
        finally:
            self._gateway.hub.leave(listener)
            self._gateway.live.leave(caller=self._visitor)

    async def _tell(self, listener: Listener, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            said = await _said(listener)
            async with asyncio.timeout(SEND_SECONDS):
                await send({"type": "http.response.body", "body": said or b"", "more_body": said is not None})
            if said is None:
                return


async def _said(listener: Listener) -> bytes | None:
    """The next event, or a sign of life; `None` at the end."""
    try:
        async with asyncio.timeout(BEAT_SECONDS):
            frame = await listener.frame()
    except TimeoutError:
        return b": here\n\n"
    return None if frame is None else b"data: %b\n\n" % frame


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
