"""A pool's token, as amounts are written in it."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain import Deployment
from leasehold.market._units import format_amount


@dataclass(frozen=True)
class Money:
    """How a pool's token is written."""

    symbol: str
    decimals: int

    @classmethod
    def of(cls, deployment: Deployment) -> Money:
        return cls(deployment.token_symbol, deployment.token_decimals)

    def show(self, units: int, *, places: int | None = 6) -> str:
        """``2.5 USDT``, for people. places: `None` for all; ``~`` says that some were cut."""
        return f"{format_amount(units, self.decimals, places=places)} {self.symbol}"

    def exact(self, units: int) -> str:
        """``2.5``, with all decimals: as one types it."""
        return format_amount(units, self.decimals)
