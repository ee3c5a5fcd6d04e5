"""What an account cannot pay, and how much it lacks. Amounts are token units.

NotEnoughFunds
├── LeaseNotCovered
│   ├── ExtensionNotCovered
│   └── ResizingNotCovered
├── StakeNotCovered
├── PenaltyNotCovered
└── LedgerTooLow
"""

from __future__ import annotations

from leasehold.errors import error_type
from leasehold.market._errors import NotEnoughFunds


@error_type(
    "lease-not-covered",
    problem="The lease needs {needed:money}; {ledger:money} are in the pool and {wallet:money} in the wallet",
    advice="get {missing:money} more, or take a shorter lease.",
)
class LeaseNotCovered(NotEnoughFunds):
    """Ledger and wallet together hold less than the deposit."""

    needed: int
    ledger: int
    wallet: int
    missing: int


@error_type(
    "extension-not-covered",
    problem="That costs {needed:money}; {ledger:money} are in the pool and {wallet:money} in the wallet",
    advice="get {missing:money} more, or extend by less.",
)
class ExtensionNotCovered(LeaseNotCovered):
    """The same, for more time."""


@error_type(
    "resizing-not-covered",
    problem=(
        "The larger share takes {needed:money} more; {ledger:money} are in the pool and {wallet:money} in the wallet"
    ),
    advice="get {missing:money} more, or take a smaller share.",
)
class ResizingNotCovered(LeaseNotCovered):
    """The same, for another share."""


@error_type(
    "stake-not-covered",
    problem="The stake takes {needed:money} from the wallet, which holds {wallet:money}",
    advice="get {missing:money} more, then try again.",
)
class StakeNotCovered(NotEnoughFunds):
    """Ledger and wallet together hold less than the stake."""

    needed: int
    wallet: int
    missing: int


@error_type(
    "penalty-not-covered",
    problem="The penalty is {penalty:money} and the ledger holds {ledger:money}",
    advice="deposit {missing:money} first.",
)
class PenaltyNotCovered(NotEnoughFunds):
    """Who ends a lease early pays out of the ledger."""

    penalty: int
    ledger: int
    missing: int


@error_type(
    "ledger-too-low",
    problem="The ledger of {account} lacks {missing:money}, and nothing else pays here",
    advice="deposit that first.",
)
class LedgerTooLow(NotEnoughFunds):
    """Nobody's wallet is pulled from where a group or a delegate acts."""

    account: str
    missing: int
