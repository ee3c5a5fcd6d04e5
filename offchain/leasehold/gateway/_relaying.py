"""Requests to agents, handed on as browsers signed them: `/api/v1/agents/{machine}/{path}`.

The gateway is nobody to an agent. It adds nothing to a request and cannot sign one; what it hands on is the method,
path, query, credential and body that the agent's own check is over. Where it goes is in the machine's contact document
(`Lines`), never in what the caller says. An agent is a stranger too: of its answer come the status, the bytes up to a
bound, and three headers that are understood; the type is what the API's reference says, and no browser runs any of it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Annotated, Final

import httpx
from fastapi import APIRouter, Depends, Path, Request
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from leasehold._bounded import Pieces, Unreadable
from leasehold.errors import AgentError
from leasehold.gateway._agent_paths import METHODS, AgentCall, call_of
from leasehold.gateway._bodies import pieces
from leasehold.gateway._lines import Lines
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import AgentSilent, BadRequest, TooMuch
from leasehold.market.wire import LOG_OFFSET, MAX_AUTHORIZATION

MOST_AT_ONCE: Final = {"all": 512, "caller": 32, "machine": 64, "terminal": 8, "visit": 12}
"""visit: of one caller at one machine, whose other renters would else find no place."""
READING_SECONDS: Final = 60.0
"""For which a browser that takes nothing of an answer is waited for, or one that sends nothing of its body."""
_SCHEME: Final = re.compile(r"Leasehold [A-Za-z0-9_-]+")
_PROBLEM: Final = "application/problem+json"
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_NUMBERS: Final = ("content-length", "retry-after", LOG_OFFSET.lower())
"""Headers of an agent's that are handed on; each is a number."""
HARMLESS: Final = {
    "cache-control": "no-store",
    "content-disposition": 'attachment; filename="agent-answer"',
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""So that no agent's answer is ever a page of the gateway's origin."""

CallerOf = Callable[[HTTPConnection], str]
MachineNumber = Annotated[int, Path(ge=0, lt=2**32)]


class Relay:
    """What the routes need. caller_of: by what a caller is counted."""

    def __init__(
        self,
        lines: Lines,
        *,
        caller_of: CallerOf,
        places: Places | None = None,
        reading: float = READING_SECONDS,
    ) -> None:
        self.lines = lines
        self.caller_of = caller_of
        self.places = places or Places(MOST_AT_ONCE)
        self.reading = reading

    async def carry(self, machine: int, request: Request) -> Response:
        """The agent's answer to the request. Raises GatewayRefusal."""
        path, query = target_of(request.scope, machine)
        call = call_of(request.method, path, query)
        headers = _request_headers(request, call)
        async with AsyncExitStack() as held:
            held.enter_context(self.places.taken(**keys_of(self.caller_of(request), machine)))
            line = await held.enter_async_context(self.lines.to(machine))
            body = _body(request, call.most, self.reading) if "content-length" in headers else None
            target = path + (b"?" + query if query else b"")
            try:
                answer = await held.enter_async_context(
                    line.asked(request.method, target, headers, body, silence=call.silence)
                )
            except AgentError as error:
                raise AgentSilent(error.problem, error.advice or "try again later.") from error
            return _Carried(answer, _answer_headers(answer, call), call, self.reading, held.pop_all())


class _Carried(Response):
    """An answer on its way, which ends what it needs of the agent's when it was sent, or nobody takes it."""

    def __init__(
        self,
        answer: httpx.Response,
        headers: Mapping[str, str],
        call: AgentCall,
        reading: float,
        held: AsyncExitStack,
    ) -> None:
        self.status_code = answer.status_code
        self.background = None
        self.init_headers(headers)
        self._answer, self._call, self._reading, self._held = answer, call, reading, held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            sending = asyncio.ensure_future(self._send(send))
            leaving = asyncio.ensure_future(_left(receive))
            try:
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    with suppress(
                        httpx.HTTPError, TimeoutError, TooMuch, Unreadable
                    ):  # what has begun can only be cut off
                        sending.result()
            finally:
                for task in (sending, leaving):
                    task.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await self._timely(send, start)
        left, small = self._call.answer, Pieces()
        async for chunk in self._answer.aiter_raw():
            small.take(chunk)
            if (left := left - len(chunk)) < 0:
                raise TooMuch("The agent's answer is longer than any should be;")
            await self._timely(send, {"type": "http.response.body", "body": chunk, "more_body": True})
        await self._timely(send, {"type": "http.response.body", "body": b"", "more_body": False})

    async def _timely(self, send: Send, message: dict[str, object]) -> None:
        async with asyncio.timeout(self._reading):
            await send(message)


def keys_of(caller: str, machine: int) -> dict[str, str]:
    """By what a call is counted that somebody has handed on."""
    return {"caller": caller, "machine": str(machine), "visit": f"{machine} {caller}"}


async def _left(receive: Receive) -> None:
    """Returns when the browser has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def target_of(scope: Scope, machine: int) -> tuple[bytes, bytes]:
    """Path and query of the agent's API, as they came over the wire."""
    raw: bytes = scope.get("raw_path") or b""
    before, found, path = raw.partition(b"/agents/%d/" % machine)
    if not found or b"%" in before:
        raise BadRequest("The path is not written as it should be;", "write the machine's number plainly.")
    return b"/" + path, scope.get("query_string") or b""


def _request_headers(request: Request, call: AgentCall) -> dict[str, str]:
    """The credential and the body's length: nothing else goes on. Raises BadRequest, TooMuch."""
    headers: dict[str, str] = {}
    credentials = request.headers.getlist("authorization")
    if call.signed:
        if (
            len(credentials) != 1
            or len(credentials[0]) > MAX_AUTHORIZATION
            or not _SCHEME.fullmatch(credentials[0])
        ):
            raise BadRequest(
                "The request is not signed for the agent;", "name one credential, `Leasehold …`."
            )
        headers["authorization"] = credentials[0]
    if request.method not in ("PUT", "POST"):
        return headers
    length = request.headers.get("content-length", "0" if "transfer-encoding" not in request.headers else "")
    if not _NUMBER.fullmatch(length) or "transfer-encoding" in request.headers:
        raise BadRequest("The body's length must be said beforehand;", "send `Content-Length`.")
    if int(length) > call.most:
        raise TooMuch(f"The body may have {call.most} bytes;", "send less.")
    return {**headers, "content-length": length, "content-type": "application/octet-stream"}


async def _body(request: Request, most: int, seconds: float) -> AsyncIterator[bytes]:
    """The body as it comes, of no more than so many bytes."""
    left = most
    try:
        async with aclosing(pieces(request, seconds)) as chunks:
            async for chunk in chunks:
                if (left := left - len(chunk)) < 0:
                    raise TooMuch(f"The body may have {most} bytes;", "send less.")
                yield chunk
    except ClientDisconnect:
        raise BadRequest("The body broke off;", "send it again.") from None


def _answer_headers(answer: httpx.Response, call: AgentCall) -> dict[str, str]:
    """What the browser is told of an answer. Raises AgentSilent for one that no agent gives."""
    if not (200 <= answer.status_code < 300 or 400 <= answer.status_code < 600):
        raise AgentSilent("The agent answered what no agent does;", "tell its provider.")
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise AgentSilent("The agent packed its answer, which nobody asked for;", "tell its provider.")
    numbers = {name: answer.headers.get(name, "") for name in _NUMBERS}
    told = {name: value for name, value in numbers.items() if _NUMBER.fullmatch(value)}
    if int(told.get("content-length", "0")) > call.answer:
        raise AgentSilent("The agent's answer is longer than any should be;", "tell its provider.")
    return {**HARMLESS, **told, "content-type": call.kind if answer.is_success else _PROBLEM}


router = APIRouter(prefix="/api/v1/agents", tags=["agents"])
_ANSWERS: Final[Mapping[str, object]] = {
    "application/json": {},
    "text/plain": {},
    "application/octet-stream": {},
}
TheRelay = Annotated[Relay, Depends(PartOf(Relay))]


async def carried(relay: TheRelay, machine: MachineNumber, path: str, request: Request) -> Response:
    """Hands one call on to the machine's agent, as it was signed, and its answer back. path: of the agent's API."""
    return await relay.carry(machine, request)


for _method in METHODS:
    router.add_api_route(
        "/{machine}/{path:path}",
        carried,
        methods=[_method],
        operation_id=f"agent_{_method.lower()}",
        response_class=Response,
        responses={200: {"content": dict(_ANSWERS)}, 201: {"description": "Made", "content": dict(_ANSWERS)}},
    )
