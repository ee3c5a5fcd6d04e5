"""A node at an address: JSON-RPC in the body of an HTTP request."""

import asyncio
import email.utils
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import orjson

from leasehold._bounded import Unreadable, read_bounded
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

_MOST_ANSWER = 64 << 20
_REFUSALS = frozenset(
    {401, 403, 404, 407}
)  # whatever the body says: they are of the way to the node, not of the node


class HttpEndpoint(Endpoint):
    """client: gives the connections to use, opened where there are none."""

    def __init__(self, url: str, client: Callable[[], httpx.AsyncClient]) -> None:
        super().__init__(url)
        self._client = client

    async def parts(self, requests: Sequence[NodeRequest], seconds: float) -> Mapping[int, Any]:
        """As `Endpoint`."""
        alone = len(requests) == 1
        body = orjson.dumps(requests[0].written() if alone else [each.written() for each in requests])
        status, limit, answer = await self._post(body, seconds)
        try:
            return _alone(answer, requests[0], status) if alone else _together(answer, requests, status)
        except Limited as error:
            error.seconds = limit
            raise

    async def _post(self, body: bytes, seconds: float) -> tuple[int, float | None, Any]:
        """Status, seconds it wants to be left alone for, and the JSON of the answer."""
        try:
            async with (
                asyncio.timeout(seconds),
                self._client().stream(
                    "POST", self.url, content=body, headers={"accept-encoding": "gzip"}
                ) as response,
            ):
                status, limit = response.status_code, _retry_after(response)
                if status == 429:
                    raise Limited(f"HTTP {status}", limit)
                if status >= 500:
                    raise Unanswered(f"HTTP {status}")
                raw = await read_bounded(response, _MOST_ANSWER)
        except TimeoutError:
            raise Unanswered(f"no answer within {seconds:g} s", again=False) from None
        except httpx.HTTPError as error:
            raise Unanswered(str(error) or type(error).__name__, again=_may_pass(error)) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unanswered(f"not an address: {error}", again=False) from error
        except Unreadable as error:
            raise Unanswered(str(error)) from error
        try:
            with resting():
                return status, limit, orjson.loads(raw)
        except orjson.JSONDecodeError:
            if status == 413:
                raise BatchRefused(f"HTTP {status}") from None
            raise Unanswered(f"HTTP {status} without JSON") from None


def _may_pass(error: httpx.HTTPError) -> bool:
    """A connection that ended in the middle may be a node's that was just restarted; one that never began is not up."""
    return not isinstance(error, httpx.ConnectError | httpx.TimeoutException | httpx.UnsupportedProtocol)


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


def _retry_after(response: httpx.Response) -> float | None:
    return seconds_of(response.headers.get("retry-after", "").strip())


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
