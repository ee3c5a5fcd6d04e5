"""What every call passes first and every answer last: limits, security's headers, and the last resort.

No header of a call makes part of an answer but `Origin`, and that only where it is on the list: so nothing that lies
between can be made to keep an answer for somebody else.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Final

import structlog
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leasehold.gateway._errors import CallTooLarge, GatewayFailed, GatewayRefusal
from leasehold.gateway._limits import CallRates
from leasehold.gateway._problems import problem
from leasehold.gateway._settings import GatewaySettings
from leasehold.gateway._visitors import networks, visitor
from leasehold.rates import RateLimit

_log = structlog.get_logger("leasehold.gateway")

MOST_ADDRESS: Final = 4_096
"""Bytes of a path with its query."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_MOST_VISITORS: Final = 8_192
_METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_ALLOWED: Final = "Authorization, Content-Type, Upload-Offset, Upload-Length"
_EXPOSED: Final = "Retry-After, Upload-Offset, Upload-Length, Location, Leasehold-Log-Offset"
_UNCOUNTED: Final = frozenset(("/healthz", "/readyz"))
SECURITY: Final = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_SECURITY_RAW: Final = tuple((name.lower().encode(), value.encode()) for name, value in SECURITY)


class Front:
    """The outermost of the application."""

    def __init__(
        self,
        app: ASGIApp,
        settings: GatewaySettings,
        counted: Counter[int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._proxies = networks(settings.proxies)
        self._origins = frozenset((*settings.origins, *settings.sign_in_origins))
        self._counted = counted
        self._calls = CallRates(RateLimit(settings.calls, 60.0), clock, _MOST_VISITORS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope["visitor"] = visitor(scope, self._proxies)
        if scope["type"] == "websocket":
            await self._greeted(scope, receive, send)
            return
        await self._answered(scope, receive, send)

    async def _greeted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket, whose beginning is a call as any other: it may have the gateway call an agent."""
        refused = self._refused(scope)
        if refused is None:
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "websocket.http.response.start":
                self._counted[message["status"]] += 1
                _put_headers(message, None, shared=bool(self._origins))
            await send(message)

        await problem(refused)(scope, receive, with_headers)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = self._origin(scope)
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._counted[message["status"]] += 1
                _put_headers(message, origin, shared=bool(self._origins))
            await send(message)

        try:
            if refused := self._refused(scope):
                await problem(refused)(scope, receive, with_headers)
            elif scope["method"] == "OPTIONS" and origin is not None:
                await _preflight(with_headers)
            else:
                await self._app(scope, receive, with_headers)
        except Exception as error:  # noqa: BLE001  # the outermost place: one bad call must not end the gateway
            trace = "".join(traceback.format_exception(error))  # never with the values of variables
            _log.error("gateway.failed", path=scope.get("path"), error=type(error).__name__, trace=trace)
            if not begun:
                await problem(GatewayFailed())(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> GatewayRefusal | None:
        if len(scope.get("raw_path", b"") or b"") + len(scope["query_string"]) > MOST_ADDRESS:
            return CallTooLarge(MOST_ADDRESS)
        if scope["path"] in _UNCOUNTED:
            return None
        try:
            self._calls.take(scope["visitor"])
        except GatewayRefusal as refused:
            return refused
        return None

    def _origin(self, scope: Scope) -> str | None:
        """The page elsewhere that may read the answer, if one asks."""
        if not self._origins:
            return None
        said = [value for name, value in scope["headers"] if name == b"origin"]
        origin = said[0].decode("latin-1") if len(said) == 1 else ""
        return origin if origin in self._origins else None


def _put_headers(message: Message, origin: str | None, *, shared: bool) -> None:
    said = {name.lower() for name, _ in message["headers"]}
    raw = [*message["headers"], *(header for header in _SECURITY_RAW if header[0] not in said)]
    message["headers"] = raw
    if not shared:  # and so no page elsewhere, either
        return
    headers = MutableHeaders(raw=raw)
    headers.append("Vary", "Origin")
    if origin is not None:
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Expose-Headers"] = _EXPOSED


async def _preflight(send: Send) -> None:
    headers = {
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Allow-Headers": _ALLOWED,
        "Access-Control-Max-Age": "600",
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 204, "headers": raw})
    await send({"type": "http.response.body", "body": b""})
