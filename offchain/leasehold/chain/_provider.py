"""web3.py over our nodes: a provider that fails over and checks what nodes answer, as `Rpc` does for the rest of us.

    w3 = rpc.w3
    await w3.eth.get_block("latest")

What a node answers with an error reaches web3.py as that error, so that it raises its own (`ContractCustomError`,
`Web3RPCError`). Where no node answers, or only one of another chain, there is nothing to hand on: `RpcUnavailable` and
`WrongChain` are raised through it.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from web3 import AsyncWeb3
from web3.providers.async_base import AsyncJSONBaseProvider
from web3.types import RPCEndpoint, RPCError, RPCResponse

from leasehold.chain._web3_terms import plain
from leasehold.errors import ChainError, ContractError, RpcError, RpcUnavailable, WrongChain

_REVERTED = 3  # geth's code for it


class Nodes(Protocol):
    """What the provider asks: an `Rpc`."""

    async def call(self, method: str, params: Sequence[object] = ()) -> Any:
        """The result of one call."""
        ...

    async def outcomes(self, calls: Sequence[tuple[str, Sequence[object]]]) -> list[Any]:
        """The results of several, or the errors in their places."""
        ...


class FallbackProvider(AsyncJSONBaseProvider):
    """A provider of several nodes: the next is asked where one does not answer, or answers what cannot be."""

    # A contract may not have us fetch addresses of its choice (EIP-3668): none of ours asks for that.
    global_ccip_read_enabled = False

    def __init__(self, nodes: Nodes) -> None:
        super().__init__()
        self._nodes = nodes

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """As web3.py asks for it. Raises RpcUnavailable, WrongChain."""
        try:
            return self._response(await self._nodes.call(method, plain(params or [])))
        except (ContractError, RpcError) as error:
            return self._response(error)

    async def make_batch_request(
        self, requests: list[tuple[RPCEndpoint, Any]]
    ) -> list[RPCResponse] | RPCResponse:
        """As web3.py asks for it. Raises RpcUnavailable, WrongChain."""
        calls = [(method, plain(params or [])) for method, params in requests]
        return [self._response(outcome) for outcome in await self._nodes.outcomes(calls)]

    async def is_connected(self, show_traceback: bool = False) -> bool:
        """Whether a node of the right chain answers. show_traceback: raise what is wrong instead."""
        try:
            await self._nodes.call("eth_chainId")
        except (RpcUnavailable, WrongChain):
            if show_traceback:
                raise
            return False
        return True

    def _response(self, outcome: Any) -> RPCResponse:
        number = next(self.request_counter)
        if isinstance(outcome, ChainError):
            return {"jsonrpc": "2.0", "id": number, "error": _written(outcome)}
        return {"jsonrpc": "2.0", "id": number, "result": outcome}


def _written(error: ChainError) -> RPCError:
    """The error as the node wrote it."""
    answered = error if isinstance(error, RpcError) else error.__cause__
    if not isinstance(answered, RpcError):
        return {"code": _REVERTED, "message": f"execution reverted: {error}"}
    written: RPCError = {"code": answered.number, "message": answered.message}
    data = _revert_data(answered.data)
    if data is not None:
        written["data"] = data
    return written


def _revert_data(data: object) -> Any:
    while isinstance(data, dict):  # some nodes wrap it, and web3.py looks for a text
        data = data.get("data") or data.get("result") or data.get("originalError")
    return data


def web3_over(nodes: Nodes) -> AsyncWeb3[FallbackProvider]:
    """web3.py's client of these nodes.

    It is without `validation`, which asks for the chain's id before every call and refuses the blocks of chains with a
    proof of authority: which chain it is, is shown by every node before it is asked for anything else.
    """
    w3 = AsyncWeb3(FallbackProvider(nodes))
    w3.middleware_onion.remove("validation")
    return w3
