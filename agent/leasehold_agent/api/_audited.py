"""The end of what was begun in the audit log: what was answered to whom had shown a right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leasehold_agent.store import DONE, AuditLog, NotedAct

ACT: Final = "act"
"""Under which name a route leaves its act in the request's state."""
_STARTS: Final = ("http.response.start", "websocket.http.response.start")
_BODIES: Final = ("http.response.body", "websocket.http.response.body")


class Audited:
    """Notes each act's outcome before a byte of the answer leaves. audit: asked for at each call; None: no log."""

    def __init__(self, app: ASGIApp, audit: Callable[[], AuditLog | None], now: Callable[[], int]) -> None:
        self._app = app
        self._audit = audit
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] in _STARTS:
                status = int(message["status"])
            if (outcome := outcome_of(message, status)) and (act := scope.get("state", {}).pop(ACT, None)):
                await self._end(act, outcome)
            await send(message)

        await self._app(scope, receive, noted)

    async def _end(self, act: NotedAct, outcome: str) -> None:
        if (audit := self._audit()) is not None:
            await audit.end(act, outcome, self._now())


def outcome_of(message: Message, status: int) -> str:
    """What a message says of the outcome: nothing, that the caller was let in, or the code of a refusal."""
    if message["type"] == "websocket.accept" or (message["type"] in _STARTS and status < 400):
        return DONE
    if message["type"] not in _BODIES or status < 400:
        return ""
    try:
        return str(orjson.loads(message.get("body", b""))["type"])[:64]
    except (ValueError, KeyError, TypeError):
        return str(status)
