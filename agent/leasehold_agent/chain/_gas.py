"""The operator's gas: what is kept for answers, how many more leases the rest serves, a sentence when that gets few.

Tenants decide how often leases are declined, started and published for. Whoever could spend the last of the
operator's coins so would silence it, and then challenge it.
"""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain.typed import GroupProof, Proof, ProofKind

# What a lease costs its operator at most, by the ceilings of the contracts' documentation: start,
# publishResult, and one call in reserve.
GAS_PER_LEASE = 44_000 + 60_000 + 50_000
WARN_BELOW, ALARM_BELOW = 50, 5
# What a node wants to see for an answer, or for the end of an outage: a limit with its margin, at twice the fee.
GAS_PER_ANSWER = 2 * 200_000
# An `execute` of `close` at most: sixteen keys of a group's, and a tenant's and a provider's first balances.
GAS_PER_CLOSING = 350_000
# What a contract may burn that judges a signature, by the contracts' own bound, and a margin.
GAS_PER_JUDGE = 1_050_000
ANSWERS_KEPT = 8
"""For each machine. A question costs its asker a bond each time, which doubles within a day."""


@dataclass(frozen=True)
class GasState:
    """`balance` and `gas_price` in wei; `leases` is how many more they serve beside what is `kept` for `machines`."""

    operator: str
    balance: int
    gas_price: int
    machines: int = 0

    @property
    def kept(self) -> int:
        """Wei that nothing but an answer, or the end of an outage, may touch."""
        return self.machines * ANSWERS_KEPT * GAS_PER_ANSWER * self.gas_price

    @property
    def spare(self) -> int:
        """Wei beside that."""
        return max(0, self.balance - self.kept)

    @property
    def leases(self) -> int:
        return self.spare // (GAS_PER_LEASE * self.gas_price) if self.gas_price else WARN_BELOW

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


def closing_gas(proof: bytes) -> int:
    """The most that closing a lease by a tenant's proof can burn, whatever the contracts do that judge his signatures.

    What a node estimates is no bound: such a contract may answer a block later as it likes. Raises ProofMalformed, and
    ContractError for a group that is none.
    """
    kind = Proof.decode(proof).kind
    judges = int(kind is ProofKind.ERC1271)
    if kind is ProofKind.GROUP:
        signatures = GroupProof.decode(proof).signatures
        judges = sum(signature.kind is ProofKind.ERC1271 for _, signature in signatures)
    return GAS_PER_CLOSING + judges * GAS_PER_JUDGE
