"""Errors as RFC 9457 problem documents: `type` is the exception's name, `detail` says what to do next."""

from __future__ import annotations

import traceback
from typing import Final

import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leasehold.errors import AgentError
from leasehold.market.wire import AgentRefusal, BadCall, EngineUnavailable, NotRunning, StoreFull
from leasehold_agent._errors import EngineDown, NoContainer, UploadsFull

_log = structlog.get_logger("leasehold_agent.api")

MEDIA_TYPE: Final = "application/problem+json"


class Internal(AgentRefusal):
    """The agent itself failed; what, stands in its log."""

    status = 500
    title = "The agent failed"


class NoSuchPlace(AgentRefusal):
    """A path or method that the API does not have."""

    status = 404
    title = "No such place"


_REFUSED_AS: Final[dict[type[Exception], type[AgentRefusal]]] = {
    EngineDown: EngineUnavailable,
    NoContainer: NotRunning,
    UploadsFull: StoreFull,
}
"""What of the agent's own errors a caller is told; of the others, that the agent has failed."""


def name_of(error: Exception) -> str:
    """What a caller is told that `error` is called."""
    return _REFUSED_AS.get(type(error), type(error)).__name__


def as_refusal(error: Exception) -> AgentRefusal:
    """The refusal that answers `error`."""
    if isinstance(error, AgentRefusal):
        return error
    if isinstance(error, AgentError):
        return _REFUSED_AS.get(type(error), Internal)(str(error))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return BadCall(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}.")
    if isinstance(error, HTTPException):
        refused = NoSuchPlace("The API has no such path or method; see /v1/openapi.json.")
        refused.status = error.status_code  # type: ignore[misc]  # 404 and 405 share one sentence
        return refused
    return Internal("The agent failed; try again, and tell its provider if it stays so.")


def problem(error: Exception) -> JSONResponse:
    """The answer to `error`."""
    refused = as_refusal(error)
    body = {
        "type": type(refused).__name__,
        "title": refused.title,
        "status": refused.status,
        "detail": str(refused),
    }
    headers = {"Cache-Control": "no-store"}
    if refused.retry_after is not None:
        headers["Retry-After"] = str(refused.retry_after)
    if refused.status == 401:
        headers["WWW-Authenticate"] = "Leasehold"
    return JSONResponse(body, refused.status, headers=headers, media_type=MEDIA_TYPE)


async def answer(request: Request, error: Exception) -> JSONResponse:
    """Exception handler for what a route raises knowingly."""
    response = problem(error)
    if request.method == "PUT":
        response.headers["Connection"] = "close"  # else the rest of a refused body would be read to its end
    return response


class LastResort:
    """Answers what no route expected, and logs it: the outermost of the app.

    Where the answer has begun, it is broken off, which HTTP's framing shows to the client.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001  # the outermost place: one bad call must not end the agent
            # The path only: headers and queries may hold what belongs to the tenant.
            trace = "".join(traceback.format_exception(error))  # never with the values of variables
            _log.error("api.failed", path=scope.get("path"), error=type(error).__name__, trace=trace)
            if not begun:
                await problem(error)(scope, receive, send)
