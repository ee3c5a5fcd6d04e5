"""A node behind somebody's own web3.py client, with whatever provider, middleware and connection that has.

Its answers are looked at as any node's: a middleware that makes something else of them gets no further than a node that
does.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import ClientError, ClientResponseError
from web3 import AsyncWeb3
from web3.exceptions import ProviderConnectionError, TooManyRequests, Web3Exception
from web3.providers.async_base import AsyncBaseProvider
from web3.types import RPCEndpoint
from websockets.exceptions import WebSocketException

from leasehold.chain._endpoint import (
    BatchRefused,
    Endpoint,
    Limited,
    NodeRequest,
    Unanswered,
    is_limit,
    words_of,
)
from leasehold.chain._http_endpoint import seconds_of
from leasehold.chain._web3_terms import answered_error, plain
from leasehold.errors import ChainError

_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What web3.py and its own middleware raise over an answer that is none."""
_NO_ANSWER = (Web3Exception, ClientError, WebSocketException, OSError, *_UNREADABLE)


class Web3Endpoint(Endpoint):
    """w3: connected already, where its provider is one that has to be; it stays its owner's to close."""

    def __init__(self, w3: "AsyncWeb3[Any]") -> None:
        if not getattr(w3.provider, "is_async", False):
            raise ChainError("That web3 client is a synchronous one", "hand in an `AsyncWeb3`.")
        super().__init__(_named(w3.provider))
        self._w3 = w3

    async def parts(self, requests: Sequence[NodeRequest], seconds: float) -> Mapping[int, Any]:
        """As `Endpoint`."""
        try:
            async with asyncio.timeout(seconds):
                if len(requests) > 1 and self._takes_lists():
                    return await self._together(requests)
                return await self._one_by_one(requests)
        except TimeoutError:
            raise Unanswered(f"no answer within {seconds:g} s", again=False) from None
        except _NO_ANSWER as error:
            raise _unanswered(error, alone=len(requests) == 1) from error

    def _takes_lists(self) -> bool:
        """Over a connection that stays, web3.py has one list on its way at a time: tasks would get one another's."""
        provider = self._w3.provider
        own = type(provider).make_batch_request is not AsyncBaseProvider.make_batch_request
        return own and not provider.has_persistent_connection

    async def _together(self, requests: Sequence[NodeRequest]) -> Mapping[int, Any]:
        w3 = self._w3
        ask = await w3.provider.batch_request_func(w3, w3.middleware_onion)
        answers = plain(await ask([(RPCEndpoint(each.method), each.params) for each in requests]))
        if isinstance(answers, dict) and is_limit(answers.get("error"), ""):
            raise Limited(words_of(answers))
        if not isinstance(answers, list) or len(answers) != len(requests):
            raise BatchRefused("a list without the answers that were asked for")
        return {
            each.id: answer
            for each, answer in zip(requests, answers, strict=True)
            if isinstance(answer, dict)
        }

    async def _one_by_one(self, requests: Sequence[NodeRequest]) -> Mapping[int, Any]:
        answers = await asyncio.gather(*(self._alone(each) for each in requests), return_exceptions=True)
        parts: dict[int, Any] = {}
        failures: list[BaseException] = []
        for each, answer in zip(requests, answers, strict=True):
            if isinstance(answer, BaseException):
                failures.append(answer)
            else:
                parts[each.id] = answer
        for failure in failures:
            if isinstance(failure, asyncio.CancelledError):  # the client was closed: nobody has cancelled us
                raise Unanswered("the web3 client is closed", again=False) from failure
            if not parts or not isinstance(failure, (*_NO_ANSWER, Unanswered)):
                raise failure
        return parts

    async def _alone(self, request: NodeRequest) -> Any:
        try:
            answer = plain(await self._answer(RPCEndpoint(request.method), request.params))
        except (
            Web3Exception
        ) as error:  # of a socket, or of a middleware that does not leave it to whoever asked
            answer = {"error": answered_error(error)}
            if answer["error"] is None:
                raise
        if not isinstance(answer, dict):
            raise Unanswered("a provider that gives no answer, but something else")
        return answer

    async def _answer(self, method: RPCEndpoint, params: Sequence[Any]) -> Any:
        w3 = self._w3
        if (
            w3.provider.has_persistent_connection
        ):  # what does not go by the manager is a stray there, and ends it
            return {"result": await w3.manager.socket_request(method, params)}
        return await (await w3.provider.request_func(w3, w3.middleware_onion))(method, params)


def _named(provider: AsyncBaseProvider) -> str:
    """What it is called where it is said that it does not answer."""
    address = getattr(provider, "endpoint_uri", None) or getattr(provider, "ipc_path", None)
    return str(address or type(provider).__name__)


def _unanswered(error: Exception, *, alone: bool) -> Unanswered:
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, ClientResponseError):
        if error.status == 429:
            wish = error.headers.get("retry-after", "") if error.headers else ""
            return Limited(f"HTTP {error.status}", seconds_of(wish))
        if not alone and error.status in (400, 413):
            return BatchRefused(f"HTTP {error.status}")
        return Unanswered(f"HTTP {error.status}")
    if isinstance(error, TooManyRequests):
        return Limited(words)
    if not alone and isinstance(error, _UNREADABLE):
        return BatchRefused(words)
    return Unanswered(words, again=not isinstance(error, OSError | ProviderConnectionError))
