"""The default account of somebody's web3.py client, which its signing middleware signs for, or the node.

Neither sends here: what is signed is taken before it leaves, so that a `Sender` knows every transaction's hash before a
node does and can send the same bytes again.
"""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_utils.address import is_checksum_address
from hexbytes import HexBytes
from web3 import AsyncWeb3
from web3.middleware import async_combine_middleware
from web3.types import RPCEndpoint, RPCResponse

from leasehold.chain._signer import TypedData
from leasehold.chain._web3_terms import our_errors, plain
from leasehold.errors import ChainError, WalletError

_BOUND = ("type", "chainId", "nonce", "to", "value", "data", "gas", "maxFeePerGas", "maxPriorityFeePerGas")
"""What a signature must be for, and an access list that is empty."""
_SIGNATURE = 65  # bytes
_PATIENCE = 300.0  # seconds: there may be a person who has to agree


class Web3Signer:
    """w3: its `eth.default_account` is the wallet. patience: seconds for a signature, since others wait meanwhile.
    Raises WalletError where it has no account.
    """

    def __init__(self, w3: "AsyncWeb3[Any]", *, patience: float = _PATIENCE) -> None:
        account = w3.eth.default_account
        if not is_checksum_address(account):
            raise WalletError("The web3 client has no default account", "set `w3.eth.default_account`.")
        self._w3 = w3
        self._account = str(account)
        self._patience = patience

    def __repr__(self) -> str:
        return f"Web3Signer({self.address})"

    @property
    def address(self) -> str:
        """The account, checksummed."""
        return self._account

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        """As `Signer`. Raises WalletError where neither signs, or something else than was asked for."""
        wish = {name: hex(value) if isinstance(value, int) else value for name, value in transaction.items()}
        w3 = self._w3
        sign = await async_combine_middleware(w3.middleware_onion.as_tuple_of_middleware(), w3, self._signed)
        try:
            with our_errors("eth_signTransaction"):
                asked = sign(RPCEndpoint("eth_sendTransaction"), [{**wish, "from": self._account}])
                answer = plain(await self._in_time(asked))
        except ChainError as error:
            raise self._refusal(error) from error
        if answer.get("error") is not None or not isinstance(answer.get("result"), str | dict):
            raise self._refusal(answer.get("error"))
        result = answer["result"]
        return self._checked(result.get("raw") if isinstance(result, dict) else result, transaction)

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """As `Signer`: the node signs, since web3.py has no middleware for it. Raises WalletError where it does not."""
        params = [self._account, json.dumps(message, default=_written)]
        try:
            with our_errors("eth_signTypedData_v4"):
                asked = self._w3.manager.coro_request(RPCEndpoint("eth_signTypedData_v4"), params)
                signature = await self._in_time(asked)
        except ChainError as error:
            raise WalletError(
                f"The node signs no words for {self._account} ({error})",
                "hand in the account itself as the wallet.",
            ) from error
        try:
            signer = Account.recover_message(
                encode_typed_data(full_message=dict(message)), signature=signature
            )
            signed = bytes(HexBytes(signature))
        except Exception as error:  # as in `_checked`
            raise self._altered() from error
        if signer != self._account or len(signed) != _SIGNATURE:
            raise self._altered()
        return signed

    async def _in_time(self, asked: Coroutine[Any, Any, Any]) -> Any:
        """Nothing is lost by not waiting: what is signed later is sent by nobody."""
        try:
            return await asyncio.wait_for(asked, self._patience)
        except TimeoutError as error:
            raise WalletError(
                f"Nobody has signed for {self._account} within {self._patience:g} seconds",
                "look at the node or the middleware that has the key.",
            ) from error

    async def _signed(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Stands where the provider would: what comes down signed goes up again, and the rest to the node."""
        if method == "eth_sendRawTransaction":
            return {"jsonrpc": "2.0", "id": 0, "result": params[0]}
        asked = RPCEndpoint("eth_signTransaction") if method == "eth_sendTransaction" else method
        response: RPCResponse = await self._w3.provider.make_request(asked, params)
        return response

    def _refusal(self, reason: object) -> WalletError:
        said = reason.get("message") if isinstance(reason, Mapping) else reason
        return WalletError(
            f"Nobody signs for {self._account}: no middleware of the web3 client does, and its node says: {said};",
            "hand in the account itself as the wallet.",
        )

    def _checked(self, raw: Any, wish: Mapping[str, int | str | bytes]) -> bytes:
        """The bytes, if they are what was to be signed to the last field. Raises WalletError."""
        try:
            signed = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
            sender = Account.recover_transaction(HexBytes(raw))
            same = all(HexBytes(signed[name]) == HexBytes(wish[name]) for name in _BOUND)
        except Exception as error:  # eth-account, rlp and eth-keys raise each their own over such bytes
            raise self._altered() from error
        if not same or signed["accessList"] or sender != self._account:
            raise self._altered()
        return bytes(HexBytes(raw))

    def _altered(self) -> WalletError:
        return WalletError(
            f"What was signed for {self._account} is not what was to be sent",
            "look at the client's middleware.",
        )


def _written(value: object) -> str:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    raise TypeError(f"{type(value).__name__} in a typed message")
