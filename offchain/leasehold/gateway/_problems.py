"""Errors as RFC 9457 problem documents: `type` and `code` are the error's code, `hint` is what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import orjson
import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from leasehold.errors import LeaseholdError
from leasehold.gateway._errors import (
    MalformedCall,
    NothingThere,
    for_strangers,
    of_the_database,
    status_of,
)

_log = structlog.get_logger("leasehold.gateway")

MEDIA_TYPE: Final = "application/problem+json"
_SHOWN: Final = 500  # characters of what a caller sent that come back to him


class ProblemDocument(BaseModel):
    """Why a call was refused. detail: the library's sentence; hint: what to do next, of it."""

    type: str
    title: str
    status: int
    detail: str
    hint: str
    code: str


class RelayedProblem(BaseModel):
    """Why an agent refused a call that was handed on to it; or why the gateway did, with `hint` and `code` then."""

    type: str
    title: str
    status: int
    detail: str


def problem(error: LeaseholdError) -> Response:
    """The answer to an error."""
    status = status_of(error)
    body = {
        "type": f"urn:leasehold:{error.code}",
        "title": getattr(error, "title", HTTPStatus(status).phrase),
        "status": status,
        "detail": str(error)[:_SHOWN],
        "hint": error.advice[:_SHOWN],
        "code": error.code,
    }
    headers = {"Cache-Control": "no-store"}
    if (wait := getattr(error, "retry_after", None)) is not None:
        headers["Retry-After"] = str(wait)
    return Response(_written(body), status, headers, MEDIA_TYPE)


def _written(body: Mapping[str, object]) -> bytes:
    """As JSON, also where what a caller sent is no Unicode."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        said = {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in body.items()
        }
        return orjson.dumps(said)


async def _answer(request: Request, error: Exception) -> Response:
    if of_the_database(error):
        _log.warning("gateway.no_database", error=type(error).__name__)
    error = for_strangers(error)
    if isinstance(error, LeaseholdError):
        return problem(error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return problem(MalformedCall(".".join(str(part) for part in first["loc"]), str(first["msg"])))
    assert isinstance(error, HTTPException)
    refused = problem(NothingThere())
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        refused.status_code = error.status_code
        refused.headers["Allow"] = (error.headers or {}).get("Allow", "GET")
    return refused


def answer_problems(app: FastAPI) -> None:
    """Have the app answer what its routes raise knowingly."""
    for kind in (LeaseholdError, RequestValidationError, HTTPException, SQLAlchemyError):
        app.add_exception_handler(kind, _answer)
