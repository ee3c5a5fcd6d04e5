"""The pool's token: what is needed of ERC-20."""

from eth_utils.crypto import keccak

from leasehold.chain._rpc import Rpc
from leasehold.chain._sender import Sends
from leasehold.chain._types import Receipt
from leasehold.errors import ChainError, Reverted, TokenRefused, UnknownRevert, WalletError

UNLIMITED = 2**256 - 1
_TRANSFER = "0x" + keccak(text="Transfer(address,address,uint256)").hex()


class Token:
    """An ERC-20 token. Amounts are token units."""

    def __init__(self, rpc: Rpc, address: str, sender: Sends | None = None) -> None:
        self.address = address
        self._rpc = rpc
        self._sender = sender

    async def balance(self, account: str) -> int:
        return await self._integer("balanceOf(address)", account)

    async def allowance(self, owner: str, spender: str) -> int:
        return await self._integer("allowance(address,address)", owner, spender)

    async def decimals(self) -> int:
        return await self._integer("decimals()")

    async def nonce(self, owner: str) -> int:
        """The next nonce of an ERC-2612 permit."""
        return await self._integer("nonces(address)", owner)

    async def domain_separator(self) -> bytes:
        """Under which ERC-2612 permits are signed."""
        return await self._call("DOMAIN_SEPARATOR()")

    async def name(self) -> str:
        return await self._text("name()")

    async def symbol(self) -> str:
        return await self._text("symbol()")

    async def _text(self, signature: str) -> str:
        from eth_abi.abi import decode as abi_decode
        from eth_abi.exceptions import DecodingError

        answer = await self._call(signature)
        try:
            return str(abi_decode(["string"], answer)[0])
        except DecodingError:  # some old tokens return a bytes32
            return answer[:32].rstrip(b"\0").decode("utf-8", "replace")

    async def approve(self, spender: str, amount: int = UNLIMITED) -> Receipt:
        """Lets `spender` take up to `amount` from the sender's wallet.

        Some tokens change an allowance only from zero or to zero; those get zero first.
        """
        try:
            return await self._write("approve(address,uint256)", spender, amount)
        except TokenRefused:
            if not amount or not await self.allowance(self._from(), spender):
                raise
        await self._write("approve(address,uint256)", spender, 0)
        return await self._write("approve(address,uint256)", spender, amount)

    async def transfer(self, to: str, amount: int) -> Receipt:
        return await self._write("transfer(address,uint256)", to, amount)

    def arrived(self, receipt: Receipt, to: str) -> int:
        """What the transaction brought to an account, by the token's own events."""
        arrived = 0
        for log in receipt.logs:
            topics, data = log["topics"], str(log["data"])
            ours = str(log["address"]).lower() == self.address.lower()
            if (
                ours
                and isinstance(topics, list)
                and len(topics) == 3
                and topics[0] == _TRANSFER
                and len(data) == 66
            ):
                arrived += int(data, 16) if int(topics[2], 16) == int(to, 16) else 0
        return arrived

    def _from(self) -> str:
        if self._sender is None:
            raise WalletError("This needs a key and none is unlocked", "name a wallet.")
        return self._sender.address

    async def _call(self, signature: str, *values: object) -> bytes:
        answer = await self._rpc.eth_call(self.address, _encode(signature, values))
        if not answer:
            raise ChainError(
                f"There is no token at {self.address}", "check the deployment file and the RPC address."
            )
        return answer

    async def _integer(self, signature: str, *values: object) -> int:
        answer = await self._call(signature, *values)
        if len(answer) < 32:
            raise ChainError(
                f"The token at {self.address} answered `{signature}` with half a number", "ask another node."
            )
        return int.from_bytes(answer[:32], "big")

    async def _write(self, signature: str, *values: object) -> Receipt:
        if self._sender is None:
            raise WalletError(f"`{signature}` needs a key and none is unlocked", "name a wallet.")
        try:
            return await self._sender.send(self.address, _encode(signature, values))
        except (UnknownRevert, Reverted) as error:
            reason = error.reason if isinstance(error, Reverted) else ""
            raise TokenRefused(
                self.address, self._sender.address, signature.partition("(")[0], reason
            ) from error


def _encode(signature: str, values: tuple[object, ...]) -> bytes:
    from eth_abi.abi import encode as abi_encode

    inner = signature[signature.index("(") + 1 : -1]
    return keccak(text=signature)[:4] + abi_encode(inner.split(",") if inner else [], values)
