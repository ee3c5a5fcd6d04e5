"""Bodies of strangers' requests: bounded in bytes and in time before anything is made of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from leasehold.fields import in_words
from leasehold.gateway._describing import COMPONENT
from leasehold.gateway._refusals import BadRequest, TooMuch

BODY_SECONDS: Final = 60.0
JSON: Final = "application/json"

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, most: int, *, seconds: float = BODY_SECONDS) -> bytes:
    """The body. Raises TooMuch over `most` bytes; BadRequest where it is too slow, or breaks off."""
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                if len(body) + len(chunk) > most:
                    raise TooMuch(f"The body may have {most} bytes;", "send less.")
                body += chunk
    except TimeoutError:
        raise BadRequest("The body did not arrive in time;", "send it again.") from None
    except ClientDisconnect:
        raise BadRequest("The body broke off;", "send it again.") from None
    return bytes(body)


async def pieces(request: Request, seconds: float, advice: str = "send it again.") -> AsyncGenerator[bytes]:
    """The body as it comes. Raises BadRequest: nothing comes for `seconds`; ClientDisconnect: it breaks off."""
    async with aclosing(request.stream()) as chunks:
        while True:
            try:
                async with asyncio.timeout(seconds):
                    chunk = await anext(chunks, b"")
            except TimeoutError:
                raise BadRequest("The body did not arrive in time;", advice) from None
            if not chunk:
                return
            yield chunk


async def read_json(request: Request, kind: type[Model], most: int) -> Model:
    """The body as what it should be. Raises BadRequest, TooMuch.

    Another content type is refused: a page of another site may send a form without being asked, but no JSON.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise BadRequest(f"The body must be {JSON};", "say so in its content type.")
    try:
        return kind.model_validate_json(await read_body(request, most))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise BadRequest(f"{where}: {in_words(first['msg'])};", "correct it.") from None


def json_body(kind: type[BaseModel]) -> dict[str, object]:
    """How a route whose body is read so describes it."""
    return {
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": kind.model_json_schema(ref_template=COMPONENT)}},
        }
    }
