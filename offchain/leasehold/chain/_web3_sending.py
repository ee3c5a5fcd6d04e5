"""Sending through web3.py as we send: `contract.functions.deposit(…).transact()` goes by a `Sender`, or whoever sends.

So it is estimated, priced, watched, replaced and found again as any transaction of ours, and may be a group's proposal
or a delegate's call.
"""

from typing import Any, cast

from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3 import AsyncWeb3
from web3.middleware.base import Middleware, Web3Middleware
from web3.types import AsyncMakeRequestFn, RPCEndpoint, RPCResponse

from leasehold.chain._sender import Sends
from leasehold.errors import WalletError

_NAME = "leasehold"
_OURS = frozenset({"from", "to", "data", "value"})


class SendingMiddleware(Web3Middleware):
    """Sends the calls of one account; those of others go on to the node. A call's hash is given once it is mined."""

    def __init__(self, w3: "AsyncWeb3[Any]", sender: Sends) -> None:
        super().__init__(w3)
        self._sender = sender

    async def async_wrap_make_request(self, make_request: AsyncMakeRequestFn) -> AsyncMakeRequestFn:
        """As web3.py asks for it."""

        async def middleware(method: RPCEndpoint, params: Any) -> RPCResponse:
            if method != "eth_sendTransaction" or not self._is_ours(params[0]):
                return await make_request(method, params)
            return {"jsonrpc": "2.0", "id": 0, "result": await self._send(params[0])}

        return middleware

    def _is_ours(self, call: dict[str, Any]) -> bool:
        return str(call.get("from", "")).lower() == self._sender.address.lower()

    async def _send(self, call: dict[str, Any]) -> str:
        if others := sorted(call.keys() - _OURS):
            raise WalletError(f"`{others[0]}` is chosen when the transaction is sent", "leave it out.")
        value = call.get("value", 0)
        receipt = await self._sender.send(
            str(call.get("to", "")),
            bytes(HexBytes(call.get("data", b""))),
            int(value, 16) if isinstance(value, str) else value,
        )
        return receipt.tx_hash


def send_by(w3: "AsyncWeb3[Any]", sender: Sends) -> None:
    """What is sent through `w3` from the sender's account goes by the sender from now on, as it does by default."""
    if _NAME not in w3.middleware_onion:
        w3.middleware_onion.add(cast("Middleware", lambda of: SendingMiddleware(of, sender)), _NAME)
        w3.eth.default_account = to_checksum_address(sender.address)
