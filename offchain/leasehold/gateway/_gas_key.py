"""The key that pays gas for what others signed. It holds gas money, and is nobody in the contracts' eyes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from leasehold.chain import Receipt, Rpc, Sends
from leasehold.errors import (
    ChainError,
    GasFundsLow,
    TransactionCancelled,
    TransactionFailed,
    TransactionTimeout,
)
from leasehold.gateway._gas_costs import GasPricing
from leasehold.gateway._refusals import BadRequest, Busy, NotServed

MOST_GAS: Final = 2_000_000
_MARGIN, _SPARE = 130, 70_000  # what `Sender` allows beyond an estimate, and more


class GasKey:
    """Sends one thing after another, each at a price that is bounded. sender: the key's."""

    def __init__(self, rpc: Rpc, sender: Sends, pricing: GasPricing) -> None:
        self._rpc = rpc
        self._sender = sender
        self._pricing = pricing
        self._alone = False

    @property
    def address(self) -> str:
        return self._sender.address

    async def price(self) -> int:
        """Of a unit of gas, wei. Raises NotServed while it is dearer than the operator lets it be, ChainError."""
        price = int(await self._rpc.call("eth_gasPrice"), 16)
        self._pricing.check_price(price)
        return price

    async def gas_of(self, to: str, data: bytes) -> int:
        """What a call takes at the chain's head. Raises ContractError: why it would be refused; BadRequest."""
        call = {"from": self.address, "to": to, "data": "0x" + data.hex()}
        gas = int(await self._rpc.call("eth_estimateGas", [call]), 16)
        check_gas(gas)
        return gas

    def risk(self, gas: int, price: int) -> int:
        """Wei that sending what takes so much can cost at most."""
        return (gas * _MARGIN // 100 + _SPARE) * min(2 * price, self._pricing.most_price)

    async def check_alone(self) -> None:
        """Right after a start: whether all is mined that a process before this one sent with the key. Raises Busy."""
        if self._alone:
            return
        latest, pending = await self._rpc.batch(
            [("eth_getTransactionCount", [self.address, tag]) for tag in ("latest", "pending")]
        )
        if int(pending, 16) > int(latest, 16) and not self._alone:
            raise Busy("What this gateway sent before is not mined yet;", retry_after=5)
        self._alone = True

    async def send(self, to: str, data: bytes, fee: int, lost: Callable[[int], None]) -> Receipt:
        """Sends it. fee: token units that it brings. lost: told how many wei it cost beyond that; not told where
        something was mined, or may be, that brought nothing.

        Raises:
            NotServed: there is no gas money. ChainError.
        """
        try:
            receipt = await self._sender.send(to, data)
        except GasFundsLow as error:
            lost(0)
            raise NotServed(
                "This gateway has no gas money left;", "use another, or tell its operator."
            ) from error
        except ChainError as error:
            if not _may_be_mined(error):
                lost(0)
            raise
        cost = receipt.gas_used * receipt.gas_price
        lost(max(0, cost - self._pricing.in_wei(fee)))  # gas became dearer while it waited
        return receipt


def check_gas(gas: int) -> None:
    """Raises BadRequest for more than is sent for others."""
    if gas > MOST_GAS:
        raise BadRequest(
            f"That takes {gas} gas, and {MOST_GAS} are sent for others at most;", "do less at once."
        )


def _may_be_mined(error: ChainError) -> bool:
    """Whether gas was, or may yet be, paid for what ended so: what is refused before it is sent costs nothing."""
    mined = (TransactionFailed, TransactionTimeout, TransactionCancelled)
    return isinstance(error, mined) or isinstance(error.__cause__, mined)
