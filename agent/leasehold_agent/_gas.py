"""The operator's gas: how many more leases its balance serves, and a sentence when that gets few."""

from __future__ import annotations

from dataclasses import dataclass

# What a lease costs its operator at most, by the ceilings of the contracts' documentation: start,
# publishResult, and one call in reserve.
GAS_PER_LEASE = 44_000 + 60_000 + 50_000
WARN_BELOW, ALARM_BELOW = 50, 5


@dataclass(frozen=True)
class GasState:
    """`balance` and `gas_price` in wei; `leases` is how many more they serve."""

    operator: str
    balance: int
    gas_price: int

    @property
    def leases(self) -> int:
        return self.balance // (GAS_PER_LEASE * self.gas_price) if self.gas_price else WARN_BELOW

    @property
    def warning(self) -> str | None:
        """A sentence that says what to do, or None while there is enough."""
        if self.leases >= WARN_BELOW:
            return None
        ether = self.balance / 10**18
        urgent = (
            "cannot start another lease" if self.leases == 0 else f"serves about {self.leases} more leases"
        )
        return f"The operator {self.operator} has {ether:.6f} of the chain's coin and {urgent}: send it some."

    @property
    def alarming(self) -> bool:
        return self.leases < ALARM_BELOW
