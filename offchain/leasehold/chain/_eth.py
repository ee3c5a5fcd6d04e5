"""What sending asks of web3.py's `eth`: nonces, gas, fees, transactions and receipts of one account, in our errors.

Receipts and transactions come through web3.py and are read as the node wrote them: `decode_log` wants them so, and a
field that nobody needs may be as odd as it likes (docs/decisions/0116-odd-answers-are-no-answers.md).
"""

from collections.abc import Mapping
from typing import Any, Literal

from eth_utils.address import to_checksum_address
from web3 import AsyncWeb3
from web3.types import RPCEndpoint, TxParams

from leasehold.chain._fees import Fees, suggest_fees
from leasehold.chain._web3_terms import our_errors, plain


class Eth:
    """For one account. Every method raises ContractError, RpcError, RpcUnavailable or WrongChain, as `Rpc.call`."""

    def __init__(self, w3: "AsyncWeb3[Any]", account: str) -> None:
        self._w3 = w3
        self._account = to_checksum_address(account)

    async def chain_id(self) -> int:
        with our_errors("eth_chainId"):
            return await self._w3.eth.chain_id

    async def block_number(self) -> int:
        with our_errors("eth_blockNumber"):
            return await self._w3.eth.block_number

    async def balance(self) -> int:
        """The account's wei."""
        with our_errors("eth_getBalance"):
            return await self._w3.eth.get_balance(self._account)

    async def transaction_count(self, block: Literal["latest", "pending"]) -> int:
        """The nonce that comes next."""
        with our_errors("eth_getTransactionCount"):
            return await self._w3.eth.get_transaction_count(self._account, block)

    async def fees(self) -> Fees:
        """What a transaction of the next block should offer."""
        with our_errors("eth_feeHistory"):
            return await suggest_fees(self._w3.eth)

    async def estimate(self, to: str, data: bytes, value: int) -> int:
        """The gas that a call of the account's takes. Raises the ContractError that it would revert with.

        No block is named: `eth.estimate_gas` always names the latest, in which what waits for the next one reverts.
        """
        call = {
            "from": self._account,
            "to": to_checksum_address(to),
            "data": "0x" + data.hex(),
            "value": hex(value),
        }
        with our_errors("eth_estimateGas"):
            return int(await self._w3.manager.coro_request(RPCEndpoint("eth_estimateGas"), [call]), 16)

    async def replay(self, to: str, data: bytes, block: int) -> None:
        """Asks what the call does at the end of a block. Raises the ContractError that it reverts with."""
        call: TxParams = {"from": self._account, "to": to_checksum_address(to), "data": data}
        with our_errors("eth_call"):
            await self._w3.eth.call(call, block)

    async def send(self, raw: bytes) -> None:
        """Hands a signed transaction to the node."""
        with our_errors("eth_sendRawTransaction"):
            await self._w3.eth.send_raw_transaction(raw)

    async def receipt(self, tx_hash: str) -> Mapping[str, Any] | None:
        """As JSON-RPC writes it."""
        return await self._raw("eth_getTransactionReceipt", tx_hash)

    async def transaction(self, tx_hash: str) -> Mapping[str, Any] | None:
        """As JSON-RPC writes it: mined, or waiting."""
        return await self._raw("eth_getTransactionByHash", tx_hash)

    async def transactions(self, block: int) -> list[Mapping[str, Any]]:
        """Those of a block, as JSON-RPC writes them; none where there is no such block."""
        found = await self._raw("eth_getBlockByNumber", hex(block), True)
        return list((found or {}).get("transactions", ()))

    async def _raw(self, method: str, *params: object) -> dict[str, Any] | None:
        with our_errors(method):
            found = plain(await self._w3.manager.coro_request(RPCEndpoint(method), list(params)))
        return found if isinstance(found, dict) else None
