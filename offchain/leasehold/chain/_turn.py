"""A turn of an account: what was decided from the chain is sent with the nonce that was free then, or not at all.

Two processes with one wallet may look at the same block and decide the same. Each reads the account's next nonce before
it looks; whoever is mined first has it, and the other's transaction cannot be mined: the account's own count on the
chain decides between them, wherever they run, and no lock between them is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold._errors import ChainError, error_type

if TYPE_CHECKING:
    from leasehold.chain._rpc import Rpc

_turn: ContextVar[Turn | None] = ContextVar("turn", default=None)


@error_type(
    "turn-taken",
    problem="Another program has sent something with this wallet meanwhile",
    advice="look again before you send it.",
)
class TurnTaken(ChainError):
    """Nothing was sent: what was decided may be done already. nonce: that was free when it was looked."""

    nonce: int


@dataclass
class Turn:
    """The next nonce that `account` may use in this turn."""

    account: str
    nonce: int

    def check(self, account: str, nonce: int) -> None:
        """Raises TurnTaken where this account's next nonce is not the turn's."""
        if account.lower() == self.account.lower() and nonce != self.nonce:
            raise TurnTaken(self.nonce)

    def passed(self, account: str) -> None:
        """One of this account's was mined, in its turn."""
        if account.lower() == self.account.lower():
            self.nonce += 1


def present_turn() -> Turn | None:
    """The turn in which this task sends, if it is in one."""
    return _turn.get()


async def free_nonce(rpc: Rpc, account: str) -> int | None:
    """The account's next nonce, to be asked for before the chain is looked at; `None` while something of it waits to be
    mined. Raises ChainError.
    """
    asked = [("eth_getTransactionCount", (account, tag)) for tag in ("latest", "pending")]
    mined, sent = await rpc.batch(asked)
    return int(mined, 16) if int(sent, 16) <= int(mined, 16) else None


@contextmanager
def turn(account: str, nonce: int) -> Iterator[None]:
    """What this task, and those that it starts, send for the account goes out with `nonce` and the following ones.

    A sender raises TurnTaken within, before anything of it can be mined, where another has taken one of them.
    """
    token = _turn.set(Turn(account, nonce))
    try:
        yield
    finally:
        _turn.reset(token)
