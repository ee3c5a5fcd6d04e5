"""JSON-RPC, asynchronous, with several endpoints: addresses, or web3.py clients of somebody's own.

The endpoint that answered last is asked first. One that does not answer (refused, timed out, 5xx, rate-limited, no
JSON, an answer that is none) rests for a while, and the next is asked at once; an error that a node *answers* is the
caller's.
When none is left, those that may yet come round are asked again, with pauses that double or as long as they say, until
`patience` is used up. Calls that go out together are sent again in shorter batches where a node refuses the long one.

Once `check_chain` has named the chain, an endpoint is asked which chain it serves before it is trusted with
anything else, again after every failure, and in the same request as anything that is asked with `prove`: behind one
address there may be several nodes, and a development chain that was restarted is another chain.
"""

import asyncio
import itertools
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from leasehold.chain._deployment import Deployment
from leasehold.chain._endpoint import (
    BatchRefused,
    Endpoint,
    Limited,
    NodeRequest,
    Outcome,
    Unanswered,
    without_secrets,
)
from leasehold.chain._http_endpoint import HttpEndpoint
from leasehold.chain._log_columns import LogColumns
from leasehold.chain._shapes import check_header
from leasehold.chain._wire import OWN, HttpWire, Wire
from leasehold.errors import ChainError, RpcUnavailable, WrongChain

if TYPE_CHECKING:
    from web3 import AsyncWeb3

_REST_SECONDS = 5.0  # how long an endpoint that failed is asked last
_FIRST_PAUSE, _LAST_PAUSE = 0.25, 4.0  # seconds
_REMINDER = 2.5  # seconds
_ROUNDS = 3  # in which nodes that answer nonsense are asked
_NO_ADDRESS = "an address that is none"
_IDS = 1 << 52  # so that each is a whole number in everybody's JSON
_IDENTITY = (("eth_chainId", ()), ("eth_getBlockByNumber", ("0x0", False)))


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """A block. Hashes are `0x` and 64 lower-case hex digits; base_fee is wei, None before EIP-1559. `bloom` is
    empty where the node does not tell it."""

    number: int
    hash: str
    parent: str
    timestamp: int
    base_fee: int | None
    bloom: str = ""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "BlockHeader":
        """From a block or a header as JSON-RPC gives it, once `check_header` has passed it."""
        fee, bloom = raw.get("baseFeePerGas"), raw.get("logsBloom")
        return cls(
            int(raw["number"], 16),
            raw["hash"],
            raw["parentHash"],
            int(raw["timestamp"], 16),
            None if fee is None else int(fee, 16),
            bloom if isinstance(bloom, str) else "",
        )

    @classmethod
    def announced(cls, raw: object) -> "BlockHeader":
        """From what nobody has looked at yet. Raises Misshapen."""
        return cls.of(check_header(raw))


class Rpc:
    """The client. Use as an async context manager, or `aclose()` it.

    nodes: addresses, or web3.py clients of your own, the preferred first. timeout: seconds for one answer. patience:
    seconds that a call waits in all for nodes that want to be asked later. report: is told what is waited for. clock,
    sleep and wire: for tests.
    """

    def __init__(
        self,
        nodes: "Sequence[str | AsyncWeb3[Any]]",
        *,
        timeout: float = 15.0,
        patience: float = 20.0,
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wire: Wire | None = None,
    ) -> None:
        if not nodes:
            raise RpcUnavailable(("no address is set",))
        self._wire = wire or HttpWire(self._authorities)
        self._endpoints = [self._endpoint(node) for node in nodes]
        self._timeout = timeout
        self._patience = patience
        self._report = report
        self._clock = clock
        self._sleep = sleep
        # Nobody says beforehand what will be asked: an answer that comes unasked is nobody's.
        self._ids = itertools.count(secrets.randbelow(_IDS))
        self._expected: tuple[int, str] | None = None
        self._w3: AsyncWeb3[Any] | None = None

    def _endpoint(self, node: "str | AsyncWeb3[Any]") -> Endpoint:
        if isinstance(node, str):
            return HttpEndpoint(node, self._wire)
        from leasehold.chain._web3_endpoint import Web3Endpoint

        return Web3Endpoint(node)

    async def __aenter__(self) -> "Rpc":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. The next call opens new ones."""
        await self._wire.aclose()

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(endpoint.url for endpoint in self._endpoints)

    @property
    def proven_chain(self) -> int | None:
        """The id of the chain that `check_chain` has named, which every node proves to serve; None before."""
        return self._expected[0] if self._expected else None

    @property
    def w3(self) -> "AsyncWeb3[Any]":
        """web3.py over these nodes: it fails over, and its answers are checked, as everything here. Made once."""
        if self._w3 is None:
            from leasehold.chain._provider import web3_over

            self._w3 = web3_over(self)
        return self._w3

    async def call(self, method: str, params: Sequence[object] = ()) -> Any:
        """The result of one call.

        Raises RpcUnavailable when no endpoint answers, ContractError when a contract reverts, RpcError for
        every other error that a node answers, WrongChain when the only node that answers is on another chain.
        """
        return (await self._results([(method, params)], prove=False))[0]

    async def batch(self, calls: Sequence[tuple[str, Sequence[object]]], *, prove: bool = False) -> list[Any]:
        """The results of several calls in one round trip, in order. Raises as `call` does, for the first.

        prove: let the nodes that answer show in the same request that they serve the deployment's chain.
        """
        return await self._results(calls, prove=prove)

    async def outcomes(
        self, calls: Sequence[tuple[str, Sequence[object]]], *, prove: bool = False
    ) -> list[Outcome]:
        """As `batch`, but an error that a node answers stands in the list, in its call's place."""
        return await self._outcomes(
            [NodeRequest(next(self._ids), method, params) for method, params in calls], prove=prove
        )

    async def logs(self, query: Mapping[str, object]) -> LogColumns:
        """What `eth_getLogs` gives, field by field, without what was removed. Raises as `call` does."""
        request = NodeRequest(next(self._ids), "eth_getLogs", (query,), by_field=True)
        [outcome] = await self._outcomes([request], prove=False)
        if isinstance(outcome, ChainError):
            raise outcome
        found: LogColumns = outcome
        return found

    async def _outcomes(self, requests: Sequence[NodeRequest], *, prove: bool) -> list[Outcome]:
        found: dict[int, Outcome] = {}
        with self._reminding():
            while left := [each for each in requests if each.id not in found]:
                found |= await self._somewhere(left, prove)
        return [found[each.id] for each in requests]

    async def _results(self, calls: Sequence[tuple[str, Sequence[object]]], *, prove: bool) -> list[Any]:
        outcomes = await self.outcomes(calls, prove=prove)
        for outcome in outcomes:
            if isinstance(outcome, ChainError):
                raise outcome
        return outcomes

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

    async def now(self) -> int:
        """Unix seconds by which the next block will judge: the head's, or the clock's if that is later."""
        header = await self.header()
        return max(int(time.time()), header.timestamp if header else 0)

    async def headers(self, blocks: Sequence[int | str], *, prove: bool = False) -> list[BlockHeader | None]:
        """Several blocks' headers at once; see `batch` for `prove`."""
        tags = [hex(block) if isinstance(block, int) else block for block in blocks]
        raw = await self.batch([("eth_getBlockByNumber", (tag, False)) for tag in tags], prove=prove)
        return [None if each is None else BlockHeader.of(each) for each in raw]

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

    @contextmanager
    def _reminding(self) -> Iterator[None]:
        """Says that a node is waited for, when it is a while already."""
        loop, began, host = asyncio.get_running_loop(), time.monotonic(), _host(self._endpoints[0])
        reminders: list[asyncio.TimerHandle] = []

        def remind() -> None:
            self._report(f"Waiting for the node {host} to answer, for {time.monotonic() - began:.0f} s")
            reminders[:] = [loop.call_later(_REMINDER, remind)]

        reminders.append(loop.call_later(_REMINDER, remind))
        try:
            yield
        finally:
            reminders[0].cancel()

    async def _somewhere(self, requests: Sequence[NodeRequest], prove: bool) -> dict[int, Outcome]:
        """Outcomes of some of the requests, from the first endpoint that gives any.

        Raises WrongChain, or RpcUnavailable when there is no use in waiting any longer.
        """
        waited, pause = 0.0, _FIRST_PAUSE
        for rounds in itertools.count(1):
            problems: list[tuple[Endpoint, Unanswered | WrongChain]] = []
            for endpoint in self._in_order():
                try:
                    return await self._exchange(endpoint, requests, prove)
                except (Unanswered, WrongChain) as error:
                    problems.append((endpoint, error))
                    self._leave(endpoint, error)
            seconds = _seconds_until([error for _, error in problems], rounds, pause)
            if seconds is None or waited + seconds > self._patience:
                break
            self._report(f"{_told(problems[0][0], problems[0][1])}; asking again in {seconds:.0f} s")
            await self._sleep(seconds)
            waited, pause = waited + seconds, min(pause * 2, _LAST_PAUSE)
        strangers = [error for _, error in problems if isinstance(error, WrongChain)]
        if len(strangers) == len(problems):
            raise strangers[0]
        raise RpcUnavailable(tuple(_reason(endpoint, error) for endpoint, error in problems))

    def _leave(self, endpoint: Endpoint, error: Unanswered | WrongChain) -> None:
        seconds = error.seconds if isinstance(error, Limited) and error.seconds else _REST_SECONDS
        endpoint.checked = endpoint.checked and isinstance(error, Limited)
        endpoint.resting_until = self._clock() + seconds

    def _in_order(self) -> list[Endpoint]:
        now = self._clock()
        return sorted(
            self._endpoints, key=lambda e: max(e.resting_until - now, 0.0)
        )  # stable: preferred first

    async def _exchange(
        self, endpoint: Endpoint, requests: Sequence[NodeRequest], prove: bool
    ) -> dict[int, Outcome]:
        """What one endpoint says, in batches as short as it wants them. Raises Unanswered, WrongChain."""
        while True:
            part = requests[: endpoint.most]
            riders = self._identity(endpoint, prove)
            try:
                if riders and endpoint.most == 1:
                    _judge(self._expected, riders, await self._one_by_one(endpoint, riders))
                    endpoint.checked, riders = True, []
                found = await endpoint.ask([*riders, *part], self._timeout)
            except BatchRefused as error:
                if endpoint.most == 1 or len(riders) + len(part) == 1:
                    raise
                endpoint.split(len(riders) + len(part))
                self._report(f"{_told(endpoint, error)}; asking for {endpoint.most} at a time")
                continue
            except Limited:
                if part[1:]:
                    endpoint.split(len(part))
                raise
            if riders:
                _judge(self._expected, riders, found)
                endpoint.checked = True
                found = {number: found[number] for number in found.keys() - {each.id for each in riders}}
            if not found:
                raise Unanswered("it says which chain it serves, and nothing else")
            return found

    async def _one_by_one(self, endpoint: Endpoint, requests: Sequence[NodeRequest]) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        for each in requests:
            found |= await endpoint.ask([each], self._timeout)
        return found

    def _identity(self, endpoint: Endpoint, prove: bool) -> list[NodeRequest]:
        """What an endpoint has to answer beside what it is asked."""
        if self._expected is None or (endpoint.checked and not prove):
            return []
        wanted = _IDENTITY[-1:] if endpoint.checked else _IDENTITY
        return [NodeRequest(next(self._ids), method, params) for method, params in wanted]

    def _authorities(self) -> ssl.SSLContext:
        """Whose certificates are believed: nobody's, where nodes of this machine show none. Reading all takes 50 ms."""
        if all(each.url.startswith("http://") and _host(each) in OWN for each in self._endpoints):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        from leasehold import _connections

        return _connections.authorities()


def _judge(
    expected: tuple[int, str] | None, asked: Sequence[NodeRequest], found: Mapping[int, Outcome]
) -> None:
    """Raises WrongChain for a stranger, Unanswered for who will not say."""
    assert expected is not None
    chain_id, genesis = expected
    answers = [found.get(each.id, Unanswered("it does not say which chain it serves")) for each in asked]
    for answer in answers:
        if isinstance(answer, ChainError):
            raise Unanswered(str(answer)) from answer
        if isinstance(answer, Unanswered):
            raise answer
    block = answers[-1]
    if len(answers) > 1 and (actual := int(answers[0], 16)) != chain_id:
        raise WrongChain(f"chain {chain_id}", f"chain {actual}")
    if block is not None and block["hash"] != genesis.lower():  # a pruned node may not have block 0
        raise WrongChain(
            f"chain {chain_id} with genesis {genesis[:10]}…", f"one with genesis {block['hash'][:10]}…"
        )


def _seconds_until(problems: Sequence[Unanswered | WrongChain], rounds: int, pause: float) -> float | None:
    """How long to wait before all are asked again; None when that is of no use."""
    limits = [error for error in problems if isinstance(error, Limited)]
    if limits:
        return min(pause if error.seconds is None else max(error.seconds, pause) for error in limits)
    passing = any(isinstance(error, Unanswered) and error.again for error in problems)
    return pause if passing and rounds < _ROUNDS else None


def _told(endpoint: Endpoint, error: Exception) -> str:
    return f"The node {_host(endpoint)} says: {without_secrets(str(error), endpoint.url)}"


def _host(endpoint: Endpoint) -> str:
    """For people. The host alone: an address may hold the key of whoever pays for it. A client of somebody's own that
    has none is called by its class.
    """
    if endpoint.url.isidentifier():
        return endpoint.url
    try:
        return urlsplit(endpoint.url).hostname or _NO_ADDRESS
    except ValueError:
        return _NO_ADDRESS


def _reason(endpoint: Endpoint, error: Unanswered | WrongChain) -> str:
    """Port and all, since several nodes of one host are told apart by it."""
    host = _host(endpoint)
    with suppress(ValueError):
        port = urlsplit(endpoint.url).port
        host += f":{port}" if port else ""
    said = error.actual if isinstance(error, WrongChain) else str(error)
    return f"{host}: {without_secrets(said, endpoint.url)}"
