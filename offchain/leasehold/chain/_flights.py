"""What a sender knows of a transaction on its way, and of one that was mined."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.chain._fees import Fees

if TYPE_CHECKING:
    from leasehold.chain._ordered import Block

RIVALS = 8  # times that another may take a call's nonce: a node that says so for ever would collect payments


@dataclass(frozen=True, slots=True)
class Intent:
    to: str
    data: bytes
    value: int
    gas: int


@dataclass(slots=True)
class Flight:
    """One nonce and everything that was signed for it. meant: once it is withdrawn, the hashes of what was to be done;
    the others do nothing.
    """

    nonce: int
    intent: Intent
    fees: Fees
    since: float
    first_block: int
    last: bytes = b""
    hashes: list[str] = field(default_factory=list)
    meant: frozenset[str] | None = None

    @property
    def withdrawn(self) -> bool:
        return self.meant is not None

    def does_nothing(self, mined: str) -> bool:
        """Whether what was mined under this hash is what withdrew it."""
        return self.meant is not None and mined not in self.meant


@dataclass(frozen=True, slots=True)
class Mined:
    """What was mined, for when a node forgets it. decided: the block that it was meant for, None for any."""

    raw: bytes
    fees: Fees
    decided: "Block | None"


@dataclass(slots=True)
class Bounds:
    """How long a call may take, how often it may yet be signed for another nonce, which block it was decided on at,
    and whether nobody waits for it any more.
    """

    deadline: float
    decided: "Block | None" = None
    rivals: int = RIVALS
    left: bool = False
