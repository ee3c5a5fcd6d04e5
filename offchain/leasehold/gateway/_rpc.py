"""The pool's chain for browsers that have no node: `/api/v1/rpc` speaks JSON-RPC 2.0 and asks what the table lets it.

Calls go through the gateway's own `Rpc`: it fails over, proves which chain it speaks to, and checks answers, so that a
browser reads the same chain as the index does. A wallet's own node stays the one that signs and sends if it likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

import orjson
from eth_utils.crypto import keccak
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from leasehold.chain import Rpc
from leasehold.errors import ChainError, ContractError, LeaseholdError, RpcError
from leasehold.gateway._bodies import read_body
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._relaying import CallerOf
from leasehold.gateway._rpc_calls import MOST_BLOCKS, MOST_DATA, MethodRefused, check_call, span_of

MOST_CALLS: Final = 20
MOST_ANSWER: Final = 8 << 20
SECONDS: Final = 20.0
MOST_AT_ONCE: Final = {"all": 128, "caller": 8}
_MOST_BODY: Final = 2 * MOST_DATA + 64 * 1024
_UNREADABLE, _NO_REQUEST, _NO_METHOD, _NO_PARAMS, _FAILED, _LIMIT = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
    -32005,
)
_REVERTED: Final = 3
_KNOWN: Final = ("already known", "already imported", "known transaction")

Answer = dict[str, Any]


class RpcProxy:
    """What the route needs. caller_of: by what a caller is counted."""

    def __init__(self, rpc: Rpc, *, caller_of: CallerOf, seconds: float = SECONDS) -> None:
        self.rpc = rpc
        self.caller_of = caller_of
        self.places = Places(MOST_AT_ONCE)
        self.seconds = seconds

    async def answer(self, body: bytes) -> bytes | None:
        """The answer to what came; `None` where nothing is to be said to it."""
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError:
            return orjson.dumps(_error(None, _UNREADABLE, "That is no JSON."))
        if not isinstance(asked, list):
            said = await self._each([asked])
            return _written(said[0]) if said else None
        if not 1 <= len(asked) <= MOST_CALLS:
            return orjson.dumps(_error(None, _NO_REQUEST, f"A list has 1 to {MOST_CALLS} calls."))
        said = await self._each(asked)
        return _together(said) if said else None

    async def _each(self, asked: Sequence[Any]) -> list[Answer]:
        """An answer to each that wants one, in order. One that is refused does not keep the others from theirs."""
        answers: list[Answer | None] = [_refused(one) for one in asked]
        good = [place for place, answer in enumerate(answers) if answer is None]
        for place, answer in zip(good, await self._asked([asked[place] for place in good]), strict=True):
            answers[place] = answer
        return [answer for one, answer in zip(asked, answers, strict=True) if answer and _wants_one(one)]

    async def _asked(self, calls: Sequence[dict[str, Any]]) -> list[Answer]:
        try:
            async with asyncio.timeout(self.seconds):
                return await self._outcomes(calls)
        except TimeoutError:
            return [
                _error(one.get("id"), _LIMIT, "The chain's nodes do not answer in time.") for one in calls
            ]
        except ChainError:  # without its words: they name the gateway's nodes
            return [_error(one.get("id"), _FAILED, "The chain's nodes do not answer.") for one in calls]

    async def _outcomes(self, calls: Sequence[dict[str, Any]]) -> list[Answer]:
        wide = await self._too_wide(calls)
        left = [one for place, one in enumerate(calls) if place not in wide]
        outcomes = iter(
            await self.rpc.outcomes([(one["method"], one.get("params", [])) for one in left]) if left else []
        )
        return [
            _error(one.get("id"), _LIMIT, f"Logs of {MOST_BLOCKS} blocks at most are looked through at once.")
            if place in wide
            else _told(one, next(outcomes))
            for place, one in enumerate(calls)
        ]

    async def _too_wide(self, calls: Sequence[dict[str, Any]]) -> set[int]:
        """The places of those calls that look for logs in too many blocks."""
        searches = [place for place, one in enumerate(calls) if one["method"] == "eth_getLogs"]
        if not searches:
            return set()
        head = await self.rpc.block_number()
        return {place for place in searches if span_of(calls[place]["params"], head) > MOST_BLOCKS}


def _refused(one: Any) -> Answer | None:
    """The answer to what is not asked of a node; `None` where it is."""
    if not isinstance(one, dict) or one.get("jsonrpc") != "2.0" or not isinstance(one.get("method"), str):
        return _error(None, _NO_REQUEST, "That is no call of JSON-RPC 2.0.")
    number = one.get("id")
    if not (
        number is None or type(number) in (int, float) or (isinstance(number, str) and len(number) <= 64)
    ):
        return _error(None, _NO_REQUEST, "An id is a number, or a short text.")
    params = one.get("params", [])
    if not isinstance(params, list):
        return _error(number, _NO_PARAMS, "Parameters are a list.")
    try:
        check_call(one["method"], params)
    except MethodRefused as error:
        return _error(number, _NO_METHOD, str(error))
    except LeaseholdError as error:
        return _error(number, _NO_PARAMS, str(error))
    return None


def _wants_one(one: Any) -> bool:
    """A call without an id is told nothing."""
    return not isinstance(one, dict) or "id" in one or one.get("jsonrpc") != "2.0"


def _told(one: dict[str, Any], outcome: Any) -> Answer:
    number = one.get("id")
    if not isinstance(outcome, ChainError):
        return {"jsonrpc": "2.0", "id": number, "result": outcome}
    said = outcome if isinstance(outcome, RpcError) else outcome.__cause__
    if isinstance(outcome, ContractError):
        data = said.data if isinstance(said, RpcError) else None
        return _error(number, _REVERTED, f"execution reverted: {outcome}"[:1024], data)
    if not isinstance(said, RpcError):
        return _error(number, _FAILED, "The chain's nodes do not answer.")
    if one["method"] == "eth_sendRawTransaction" and any(words in said.message.lower() for words in _KNOWN):
        # Sent again by the gateway when a node did not answer: it is there, which is what was wanted.
        return {"jsonrpc": "2.0", "id": number, "result": "0x" + keccak(hexstr=one["params"][0]).hex()}
    return _error(number, said.number or _FAILED, said.message[:1024], said.data)


def _error(number: Any, code: int, message: str, data: Any = None) -> Answer:
    error = (
        {"code": code, "message": message}
        if data is None
        else {"code": code, "message": message, "data": data}
    )
    return {"jsonrpc": "2.0", "id": number, "error": error}


def _written(answer: Answer) -> bytes:
    raw = orjson.dumps(answer)
    if len(raw) > MOST_ANSWER:
        return orjson.dumps(_error(answer["id"], _LIMIT, "The answer is too large: ask for less."))
    return raw


def _together(answers: Sequence[Answer]) -> bytes:
    """A list of answers, no longer in all than one may be."""
    parts, left = [], MOST_ANSWER
    for answer in answers:
        raw = _written(answer)
        if len(raw) > left:
            raw = orjson.dumps(
                _error(answer["id"], _LIMIT, "The answers are too large together: ask for less.")
            )
        left -= len(raw)
        parts.append(raw)
    return b"[" + b",".join(parts) + b"]"


router = APIRouter(prefix="/api/v1", tags=["chain"])
TheProxy = Annotated[RpcProxy, Depends(PartOf(RpcProxy))]
_SCHEMA: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"anyOf": [{"type": "object"}, {"type": "array"}]}}},
    }
}


@router.post(
    "/rpc",
    openapi_extra=_SCHEMA,
    response_class=Response,
    responses={
        200: {"content": {"application/json": {}}},
        204: {"description": "To calls without an id nothing is said"},
    },
)
async def rpc(proxy: TheProxy, request: Request) -> Response:
    """JSON-RPC 2.0 to the pool's chain: reading methods, and `eth_sendRawTransaction`; a list has 20 calls at most."""
    with proxy.places.taken(caller=proxy.caller_of(request)):
        said = await proxy.answer(await read_body(request, _MOST_BODY))
    if said is None:
        return Response(status_code=204)
    return Response(said, media_type="application/json", headers={"Cache-Control": "no-store"})
