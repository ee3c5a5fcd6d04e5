"""What every binding is: a contract at an address, read and written by the functions of its ABI."""

from collections.abc import Iterable
from typing import Any, TypeVar

from leasehold.chain._abi import Function, functions
from leasehold.chain._decode import decode_log
from leasehold.chain._eip712 import Call
from leasehold.chain._log import Event
from leasehold.chain._rpc import Rpc
from leasehold.chain._sender import Sends
from leasehold.chain._types import Receipt
from leasehold.errors import ChainError, WalletError

E = TypeVar("E", bound=Event)


class Contract:
    """A contract at an address. `sender` may be left out where only reads are wanted."""

    _abi: str

    def __init__(self, rpc: Rpc, address: str, sender: Sends | None = None) -> None:
        self.address = address
        self._rpc = rpc
        self._sender = sender

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address})"

    async def now(self) -> int:
        """Unix seconds by which the next block will judge, as `Rpc.now`."""
        return await self._rpc.now()

    async def block_number(self) -> int:
        """The newest block's."""
        return int(await self._rpc.call("eth_blockNumber"), 16)

    @classmethod
    def encode(cls, function: str, *values: object) -> bytes:
        """The calldata of a function, named as in Solidity, for `multicall`."""
        return cls._function(function).encode(*values)

    def call(self, function: str, *values: object) -> Call:
        """The same with its target, for `AccountsContract.execute`: nothing is sent."""
        return Call(self.address, self.encode(function, *values))

    def events(self, receipt: Receipt) -> list[Event]:
        """This contract's events in a receipt, in order."""
        mine = (log for log in receipt.logs if str(log["address"]).lower() == self.address.lower())
        return [event for log in mine if (event := decode_log(log)) is not None]

    @classmethod
    def _function(cls, name: str) -> Function:
        return functions(cls._abi)[name]

    async def _read(self, name: str, *values: object) -> Any:
        from eth_abi.exceptions import DecodingError

        function = self._function(name)
        answer = await self._rpc.eth_call(self.address, function.encode(*values))
        if not answer:
            raise ChainError(
                f"There is no contract at {self.address}", "check the deployment file and the RPC address."
            )
        try:
            decoded = function.decode(answer)
        except (DecodingError, ValueError, OverflowError) as error:
            raise ChainError(
                f"The contract at {self.address} answered `{name}` with something else than it should",
                "check the deployment file, or use another RPC address.",
            ) from error
        return decoded[0] if len(decoded) == 1 else decoded

    async def _write(self, name: str, *values: object) -> Receipt:
        if self._sender is None:
            raise WalletError(f"`{name}` needs a key and none is unlocked", "name a wallet.")
        return await self._sender.send(self.address, self._function(name).encode(*values))

    def _event(self, receipt: Receipt, kind: type[E]) -> E:
        return first_event(self.events(receipt), kind)


def first_event(events: Iterable[Event], kind: type[E]) -> E:
    """The first event of a kind. Raises ChainError when there is none."""
    for event in events:
        if isinstance(event, kind):
            return event
    raise ChainError(
        f"The transaction left no {kind.__name__}", "check that the deployment file names a pool."
    )
