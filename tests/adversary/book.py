"""Who has what, and every move of it. Nothing is made and nothing is lost but what is minted or burnt."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

NOBODY = "nobody"
BURNT = "burnt"


class Refused(Exception):
    """The contract would revert."""


@dataclass(frozen=True)
class Move:
    """`amount` from one account to another. about: the number of the fault, round, seat or lease that it is for."""

    at: int
    source: str
    target: str
    amount: int
    why: str
    about: int


class Book:
    """Accounts: a person's own is its name, others (`stake 3`, `seat 2`, `lease 7`) belong to somebody."""

    def __init__(self) -> None:
        self.now = 0
        self.balances: defaultdict[str, int] = defaultdict(int)
        self.owners: dict[str, str] = {BURNT: NOBODY}
        self.moves: list[Move] = []

    def owner(self, account: str) -> str:
        """Who has it in the end: a stake is its provider's, and an adversary's names are the adversary's."""
        while account in self.owners and self.owners[account] != account:
            account = self.owners[account]
        return account

    def mint(self, who: str, amount: int) -> None:
        self.balances[who] += amount

    def move(self, source: str, target: str, amount: int, why: str, about: int = 0) -> None:
        """Refused if `source` has not as much."""
        if amount == 0:
            return
        if amount < 0 or self.balances[source] < amount:
            raise Refused(f"{source} has {self.balances[source]}, not {amount} for {why}")
        self.balances[source] -= amount
        self.balances[target] += amount
        self.moves.append(Move(self.now, source, target, amount, why, about))

    def wealth(self, names: frozenset[str]) -> int:
        """All that belongs to these, wherever it stands."""
        return sum(amount for account, amount in self.balances.items() if self.owner(account) in names)
