"""What a transaction offers for its gas (EIP-1559). All amounts are wei per unit of gas."""

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from web3.eth import AsyncEth

_BLOCKS = 5
_PERCENTILE = 50.0
_MIN_TIP = 1
# What is tipped is paid, and nodes say what is usual: one that lies must not be able to spend a wallet's coins.
_MOST_TIP = 100 * 10**9
# Nodes take a replacement from 10 % on (geth) or 12.5 % (others, for some kinds of transaction).
_BUMP_NUMERATOR, _BUMP_DENOMINATOR = 1125, 1000


@dataclass(frozen=True, slots=True)
class Fees:
    """max_fee: the most that is paid in all. tip: the part of it that goes to the block's proposer."""

    max_fee: int
    tip: int

    def bumped(self, fresh: "Fees") -> "Fees":
        """The least a node takes as a replacement, or what is right by now if that is more."""
        return Fees(max(_bump(self.max_fee), fresh.max_fee), max(_bump(self.tip), fresh.tip))

    def doubled(self) -> "Fees":
        """Twice of each: what waits in a pool does not tell how much it offers."""
        return Fees(2 * self.max_fee, 2 * self.tip)

    def capped(self, max_fee: int) -> "Fees":
        """The same, but never above `max_fee`."""
        return Fees(min(self.max_fee, max_fee), min(self.tip, max_fee))


def _bump(amount: int) -> int:
    return amount * _BUMP_NUMERATOR // _BUMP_DENOMINATOR + 1


async def suggest_fees(eth: "AsyncEth") -> Fees:
    """Fees for the next block: the usual tip, and room for the base fee to double (six full blocks)."""
    history = await eth.fee_history(_BLOCKS, "latest", [_PERCENTILE])
    base = history["baseFeePerGas"][-1]
    paid = [tip for block in history.get("reward") or [] for tip in block[:1] if tip]
    # Empty blocks say nothing.
    tip = int(statistics.median(paid)) if paid else await eth.max_priority_fee
    tip = min(max(tip, _MIN_TIP), _MOST_TIP)
    return Fees(2 * base + tip, tip)
