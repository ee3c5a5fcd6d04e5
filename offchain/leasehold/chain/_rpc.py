"""JSON-RPC over HTTP, asynchronous, with several endpoints.

The endpoint that answered last is asked first. One that does not answer (refused, timed out, 5xx,
rate-limited, no JSON) rests for a while, and the next is asked at once; an error that a node *answers* is
the caller's. Once
`check_chain` has named the chain, an endpoint is asked which chain it serves before it is trusted with
anything else, and again after every failure: a development chain that was restarted is another chain.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx
import orjson

from leasehold.chain._deployment import Deployment
from leasehold.errors import (
    ChainError,
    ContractError,
    Reverted,
    RpcError,
    RpcUnavailable,
    UnknownRevert,
    WrongChain,
    decode_revert,
)

_REST_SECONDS = 5.0  # how long an endpoint that failed is asked last
_RATE_LIMITED = frozenset({-32005, -32029, 429})
_LOOPBACK: Mapping[str, None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


@dataclass(slots=True)
class _Endpoint:
    url: str
    resting_until: float = 0.0
    checked: bool = False


class _Unanswered(Exception):
    """An endpoint did not answer. Never leaves this module."""


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """A block. Hashes are `0x` and 64 lower-case hex digits; base_fee is wei, None before EIP-1559."""

    number: int
    hash: str
    parent: str
    timestamp: int
    base_fee: int | None

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "BlockHeader":
        """From a block or a header as JSON-RPC gives it."""
        fee = raw.get("baseFeePerGas")
        return cls(
            int(raw["number"], 16),
            raw["hash"],
            raw["parentHash"],
            int(raw["timestamp"], 16),
            None if fee is None else int(fee, 16),
        )


class Rpc:
    """The client. Use as an async context manager, or `aclose()` it.

    urls: endpoints, the preferred first. timeout: seconds for one answer. transport: for tests.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not urls:
            raise RpcUnavailable(("no address is set",))
        self._endpoints = [_Endpoint(url) for url in urls]
        self._timeout = timeout
        self._clock = clock
        self._transport = transport
        self._client: httpx.AsyncClient | None = None
        self._ids = itertools.count(1)
        self._expected: tuple[int, str] | None = None

    async def __aenter__(self) -> "Rpc":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. The next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(endpoint.url for endpoint in self._endpoints)

    async def call(self, method: str, params: Sequence[object] = ()) -> Any:
        """The result of one call.

        Raises RpcUnavailable when no endpoint answers, ContractError when a contract reverts, RpcError for
        every other error that a node answers, WrongChain when the only node that answers is on another chain.
        """
        request = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answer = await self._ask(request)
        if not isinstance(answer, dict):
            raise RpcUnavailable(("an endpoint answered a call with a list",))
        return _result(answer, method)

    async def batch(self, calls: Sequence[tuple[str, Sequence[object]]]) -> list[Any]:
        """The results of several calls in one round trip, in order. Raises as `call` does, for the first."""
        if not calls:
            return []
        requests = [
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
            for method, params in calls
        ]
        answer = await self._ask(requests)
        if isinstance(answer, dict):  # refused as a whole
            return [_result(answer, "batch")]
        answers = {part["id"]: part for part in answer}
        return [_result(answers[request["id"]], str(request["method"])) for request in requests]

    # ---------------------------------------------------------------------------------------------- typed
    # calls

    async def check_chain(self, deployment: Deployment) -> None:
        """Makes sure that the nodes serve the deployment's chain, by its id and by its block 0, from now on.

        Raises WrongChain, or RpcUnavailable.
        """
        self._expected = (deployment.chain_id, deployment.genesis)
        for endpoint in self._endpoints:
            endpoint.checked = False
        await self.chain_id()

    async def chain_id(self) -> int:
        return int(await self.call("eth_chainId"), 16)

    async def block_number(self) -> int:
        return int(await self.call("eth_blockNumber"), 16)

    async def header(self, block: int | str = "latest") -> BlockHeader | None:
        """A block's header by number, tag or hash; None when the node has no such block."""
        if isinstance(block, str) and len(block) == 66:
            raw = await self.call("eth_getBlockByHash", [block, False])
        else:
            tag = hex(block) if isinstance(block, int) else block
            raw = await self.call("eth_getBlockByNumber", [tag, False])
        return None if raw is None else BlockHeader.of(raw)

    async def balance(self, account: str) -> int:
        """The account's wei."""
        return int(await self.call("eth_getBalance", [account, "latest"]), 16)

    async def eth_call(
        self, to: str, data: bytes, *, sender: str | None = None, block: str = "latest"
    ) -> bytes:
        """What a call would return. Raises the ContractError that it reverts with."""
        call = {"to": to, "data": "0x" + data.hex()}
        if sender is not None:
            call["from"] = sender
        return bytes.fromhex((await self.call("eth_call", [call, block]))[2:])

    # ---------------------------------------------------------------------------------------------- transport

    async def _ask(self, request: object) -> Any:
        body = orjson.dumps(request)
        reasons: list[str] = []
        strangers: list[WrongChain] = []
        for endpoint in self._in_order():
            try:
                if self._expected is not None and not endpoint.checked:
                    await self._verify(endpoint)
                return await self._post(endpoint, body)
            except _Unanswered as error:
                reasons.append(f"{endpoint.url}: {error}")
            except WrongChain as error:
                strangers.append(error)
                reasons.append(f"{endpoint.url}: {error.actual}")
            endpoint.checked = False
            endpoint.resting_until = self._clock() + _REST_SECONDS
        if len(strangers) == len(reasons):
            raise strangers[0]
        raise RpcUnavailable(tuple(reasons))

    def _in_order(self) -> list[_Endpoint]:
        now = self._clock()
        return sorted(
            self._endpoints, key=lambda e: max(e.resting_until - now, 0.0)
        )  # stable: preferred first

    async def _verify(self, endpoint: _Endpoint) -> None:
        assert self._expected is not None
        chain_id, genesis = self._expected
        calls = (("eth_chainId", ()), ("eth_getBlockByNumber", ("0x0", False)))
        requests = [
            {"jsonrpc": "2.0", "id": i, "method": method, "params": params}
            for i, (method, params) in enumerate(calls)
        ]
        answers = [await self._post(endpoint, orjson.dumps(request)) for request in requests]
        try:
            actual = int(_result(answers[0], "eth_chainId"), 16)
            block = _result(answers[1], "eth_getBlockByNumber")
        except ChainError as error:
            raise _Unanswered(str(error)) from error
        if actual != chain_id:
            raise WrongChain(f"chain {chain_id}", f"chain {actual}")
        if block is not None and block["hash"] != genesis:  # a pruned node may not have block 0
            raise WrongChain(
                f"chain {chain_id} with genesis {genesis[:10]}…", f"one with genesis {block['hash'][:10]}…"
            )
        endpoint.checked = True

    async def _post(self, endpoint: _Endpoint, body: bytes) -> Any:
        if self._client is None:
            self._client = httpx.AsyncClient(
                transport=self._transport,
                timeout=self._timeout,
                mounts=None if self._transport else _LOOPBACK,  # a proxy does not reach our own loopback
                headers={"content-type": "application/json"},
            )
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(endpoint.url, content=body)
            if response.status_code == 429 or response.status_code >= 500:
                raise _Unanswered(f"HTTP {response.status_code}")
            answer = orjson.loads(response.content)
        except TimeoutError:
            raise _Unanswered(f"no answer within {self._timeout:g} s") from None
        except httpx.HTTPError as error:
            raise _Unanswered(str(error) or type(error).__name__) from error
        except httpx.InvalidURL as error:
            raise _Unanswered(f"not an address: {error}") from error
        except orjson.JSONDecodeError as error:
            raise _Unanswered(f"HTTP {response.status_code} without JSON") from error
        if isinstance(answer, dict) and _error_code(answer) in _RATE_LIMITED:
            raise _Unanswered(str(answer["error"].get("message", "rate-limited")))
        return answer


def _error_code(answer: Mapping[str, Any]) -> int | None:
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


def _result(answer: Mapping[str, Any], method: str) -> Any:
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    reverted = revert_of(error)
    if reverted is not None:
        raise reverted
    raise RpcError(int(error.get("code", 0)), str(error.get("message", error)), error.get("data"), method)


def revert_of(error: Mapping[str, Any]) -> ContractError | None:
    """The contract's error in a JSON-RPC error, or None when it is not about a revert."""
    data = error.get("data")
    while isinstance(data, dict):  # some nodes wrap it
        data = data.get("data") or data.get("result") or data.get("originalError")
    message = str(error.get("message", ""))
    if isinstance(data, str) and data.startswith("0x") and (len(data) >= 10 or "revert" in message):
        return decode_revert(bytes.fromhex(data[2:]))
    if error.get("code") == 3 or "execution reverted" in message:
        reason = message.partition("execution reverted")[2].strip(": ")
        return Reverted(reason) if reason else UnknownRevert("0x")
    return None
