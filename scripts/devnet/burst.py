"""Many transactions of one moment, from many accounts, in a few blocks: a month of a market in some seconds.

The accounts are impersonated, so that nobody signs; everything else is as it would be, and what the contracts refuse is
raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from devnet.anvil import Anvil

_IN_A_BLOCK: Final = 40
_GAS: Final = 700_000
_GAS_PRICE: Final = 10**10


class BurstRefused(RuntimeError):
    """A contract refused one of the transactions; the text is its reason as the node has it."""


@dataclass(frozen=True)
class Sending:
    """A transaction that is to be sent."""

    sender: str
    to: str
    data: bytes


@dataclass(frozen=True)
class Burst:
    """A chain on which `bursts` sends."""

    anvil: Anvil

    def send(self, transactions: Sequence[Sending], at: int) -> list[list[dict[str, Any]]]:
        """The logs of each. at: the first block's time; each further one is a second later. Raises BurstRefused."""
        logs: list[list[dict[str, Any]]] = []
        for first in range(0, len(transactions), _IN_A_BLOCK):
            logs += self._block(transactions[first : first + _IN_A_BLOCK], at + first // _IN_A_BLOCK)
        return logs

    def pass_to(self, time: int) -> None:
        """An empty block at that time."""
        self.anvil.set_time(time)
        self.anvil.mine()

    def read(self, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """What the contracts answer, each named by its address and calldata."""
        asked = [("eth_call", ({"to": to, "data": "0x" + data.hex()}, "latest")) for to, data in calls]
        return [bytes.fromhex(answer[2:]) for answer in self.anvil.requests(asked)]

    def _block(self, transactions: Sequence[Sending], at: int) -> list[list[dict[str, Any]]]:
        wanted = [
            {
                "from": sent.sender,
                "to": sent.to,
                "data": "0x" + sent.data.hex(),
                "gas": hex(_GAS),
                "gasPrice": hex(_GAS_PRICE),
            }
            for sent in transactions
        ]
        hashes = self.anvil.requests([("eth_sendTransaction", (transaction,)) for transaction in wanted])
        self.pass_to(at)
        receipts = self.anvil.requests([("eth_getTransactionReceipt", (digest,)) for digest in hashes])
        for transaction, receipt in zip(wanted, receipts, strict=True):
            if receipt is None or receipt["status"] != "0x1":
                raise BurstRefused(self._reason(transaction))
        return [receipt["logs"] for receipt in receipts]

    def _reason(self, transaction: dict[str, str]) -> str:
        try:
            self.anvil.request("eth_call", transaction, "latest")
        except RuntimeError as error:
            return f"{transaction['data'][:10]} from {transaction['from']}: {error}"
        return f"{transaction['data'][:10]} from {transaction['from']} was refused, or did not fit into its block"


@contextmanager
def bursts(anvil: Anvil) -> Iterator[Burst]:
    """As long as it lasts, blocks are mined by `Burst.send` alone, and any account sends."""
    anvil.request("evm_setAutomine", False)
    anvil.request("anvil_autoImpersonateAccount", True)
    try:
        yield Burst(anvil)
    finally:
        anvil.request("anvil_autoImpersonateAccount", False)
        anvil.request("evm_setAutomine", True)
