"""What a client tells whoever watches it while it works, so that nobody waits without knowing for what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leasehold.chain import Receipt

Update = Callable[[str], None]


class Observer:
    """Hears nothing. A face overrides what it wants to show."""

    @contextmanager
    def working(self, what: str) -> Iterator[Update]:
        """Something that may take a while begins; the yielded function says how it stands."""
        yield lambda text: None

    def waiting(self, what: str) -> None:
        """What a node or a transaction is being waited for at the moment."""

    def asked_on_device(self, what: str) -> None:
        """A hardware wallet asks its owner, who has to look there: what it has to show."""

    def gasless_fee(self, amount: str, payee: str) -> None:
        """What is signed next pays so much, with the token's symbol, into the ledger of `payee` for being sent."""

    def signed(self, transaction: str, nonce: int) -> None:
        """A transaction was signed: from now on it may be mined, whatever becomes of this process."""

    def mined(self, receipt: Receipt) -> None:
        """A transaction was mined."""

    def refused(self) -> None:
        """The last transaction was not sent, or failed: what stood before it stands."""
