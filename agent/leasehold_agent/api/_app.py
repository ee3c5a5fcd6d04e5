"""The agent's HTTP API, put together: what it says of itself, and every route."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from leasehold.errors import AgentError
from leasehold.market.wire import Problem
from leasehold_agent.api._audit_routes import router as audit
from leasehold_agent.api._audited import Audited
from leasehold_agent.api._checkpoint_routes import router as checkpoint
from leasehold_agent.api._code_routes import router as code
from leasehold_agent.api._commit_routes import router as commit
from leasehold_agent.api._gate import Gate
from leasehold_agent.api._lease_routes import router as lease
from leasehold_agent.api._power_routes import router as power
from leasehold_agent.api._problems import MEDIA_TYPE, LastResort, answer
from leasehold_agent.api._public_routes import Announced
from leasehold_agent.api._public_routes import router as public
from leasehold_agent.api._shared import Api
from leasehold_agent.api._stream_routes import router as stream
from leasehold_agent.api._upload_routes import router as upload
from leasehold_agent.api._volume_routes import router as volume

ROUTERS = (public, upload, lease, power, volume, checkpoint, commit, code, stream, audit)

_DESCRIPTION = """\
What a machine's agent does for the tenants of its leases.

Every call but `/v1/health`, `/v1/machine` and heartbeats needs `Authorization: Leasehold <base64url of canonical JSON
{"proof": hex, "request": {…}}>`. The request is EIP-712 typed data `Request` in the pool's domain;
`paramsHash` is the SHA-256 of canonical JSON `{"body": SHA-256 of the body in hex, "method", "path",
"query"}`. A request is valid for 300 s at most and serves once.

`GET /v1/leases/{lease}/exec` upgrades to a WebSocket (subprotocol `leasehold.exec.1`). The client's first
frame is text, `{"command": […], "tty": bool, "env": {}, "size": [rows, columns]}`. Binary frames begin with
one byte, 0 standard input, 1 output, 2 error. Text frames from the client are `{"resize": [rows, columns]}`
and `{"eof": true}`; the last frame of the agent is `{"exit": n}`, or `{"error": type, "detail": sentence}`.
`POST` at the same path runs a command on the request's body instead, and answers when that has ended. Say `Expect:
100-continue`, and a refusal comes before the body is sent.
"""


def create_app(api: Api) -> FastAPI:
    """The API as an ASGI application."""
    app = _empty()
    app.openapi = _described  # type: ignore[method-assign]  # as FastAPI's own guide does it
    app.state.api, app.state.announced = api, Announced()
    app.add_middleware(LastResort)
    app.add_middleware(Audited, audit=lambda: api.audit, now=lambda: api.context.now())
    app.add_middleware(Gate, known=api.admission.known)
    for kind in (AgentError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)
    # The routers' own routes: to include them takes each function apart once more, most of what an application costs.
    app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    return app


def openapi(app: FastAPI) -> bytes:
    """The API's description as committed in docs/reference/agent-api.json."""
    return orjson.dumps(app.openapi(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


@cache
def _described() -> dict[str, Any]:
    app = _empty()
    for router in ROUTERS:
        app.include_router(router)  # so that each operation says how it refuses
    return app.openapi()


def _empty() -> FastAPI:
    return FastAPI(
        title="Leasehold agent",
        version="1",
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses={
            "default": {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": "Refused, and why"}
        },
    )
