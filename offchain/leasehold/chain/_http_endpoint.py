"""A node at an address: JSON-RPC in the body of an HTTP request."""

import asyncio
import email.utils
import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from leasehold.chain._collector import resting
from leasehold.chain._endpoint import (
    BatchRefused,
    Endpoint,
    Limited,
    NodeRequest,
    Unanswered,
    is_limit,
    words_of,
)
from leasehold.chain._log_columns import written_columns
from leasehold.chain._wire import Wire, unread

_MOST_ANSWER = 64 << 20
_REFUSALS = frozenset(
    {401, 403, 404, 407}
)  # whatever the body says: they are of the way to the node, not of the node


class HttpEndpoint(Endpoint):
    """wire: what brings requests there."""

    def __init__(self, url: str, wire: Wire) -> None:
        super().__init__(url)
        self._wire = wire

    async def parts(self, requests: Sequence[NodeRequest], seconds: float) -> Mapping[int, Any]:
        """As `Endpoint`."""
        alone = len(requests) == 1
        body = orjson.dumps(requests[0].written() if alone else [each.written() for each in requests])
        status, limit, answer = await self._post(body, seconds, requests[0])
        try:
            return _alone(answer, requests[0], status) if alone else _together(answer, requests, status)
        except Limited as error:
            error.seconds = limit
            raise

    async def _post(self, body: bytes, seconds: float, request: NodeRequest) -> tuple[int, float | None, Any]:
        """Status, seconds it wants to be left alone for, and the JSON of the answer."""
        try:
            async with asyncio.timeout(seconds):
                answer = await self._wire.post(self.url, body, _MOST_ANSWER)
        except TimeoutError:
            raise Unanswered(f"no answer within {seconds:g} s", again=False) from None
        status, limit = answer.status, seconds_of(answer.headers.get("retry-after", "").strip())
        if status == 429:
            raise Limited(f"HTTP {status}", limit)
        if unread(status):
            raise Unanswered(f"HTTP {status}")
        try:
            with resting():
                return status, limit, _read(answer.body, request)
        except orjson.JSONDecodeError:
            if status == 413:
                raise BatchRefused(f"HTTP {status}") from None
            raise Unanswered(f"HTTP {status} without JSON") from None


def _read(body: bytes, request: NodeRequest) -> Any:
    """The JSON of an answer; of logs that are wanted field by field, with those in their place where that is sooner."""
    columns = written_columns(body, request.id) if request.by_field else None
    return orjson.loads(body) if columns is None else {"id": request.id, "result": columns}


def _alone(answer: Any, request: NodeRequest, status: int) -> dict[int, Any]:
    if not isinstance(answer, dict):
        raise Unanswered(f"HTTP {status} with {_kind(answer)} where an answer belongs")
    if status in _REFUSALS:
        raise Unanswered(f"HTTP {status}: {words_of(answer)}")
    if answer.get("error") is None and (status >= 300 or answer.get("id") != request.id):
        raise Unanswered(f"HTTP {status} with the answer to something else")
    return {request.id: answer}


def _together(answer: Any, requests: Sequence[NodeRequest], status: int) -> dict[int, Any]:
    if isinstance(answer, dict) and status not in _REFUSALS:
        if is_limit(answer.get("error"), ""):
            raise Limited(words_of(answer))
        raise BatchRefused(words_of(answer))
    if not isinstance(answer, list):
        raise Unanswered(f"HTTP {status}: {words_of(answer) if isinstance(answer, dict) else _kind(answer)}")
    ids = {each.id for each in requests}
    parts = {part["id"]: part for part in answer if isinstance(part, dict) and _among(part.get("id"), ids)}
    if not parts:
        raise BatchRefused("a list without the answers that were asked for")
    return parts


def _among(number: Any, ids: set[int]) -> bool:
    return type(number) is int and number in ids


def _kind(answer: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}.get(
        type(answer), "a number"
    )


def seconds_of(retry_after: str) -> float | None:
    """How long somebody wants to be left alone, by the header of that name; None where it says nothing of the kind."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
