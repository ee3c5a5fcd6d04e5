"""What a user's home lacks.

InvalidInput
└── RunNameUnfit
SettingsError
├── GroupUnknown
├── NoGroups
└── RunUnreadable
WalletError
├── NoAgeKey
└── TooBusyToOpen
"""

from __future__ import annotations

from leasehold.errors import SettingsError, WalletError, error_type
from leasehold.market import InvalidInput


@error_type("group-unknown", problem="There is no group '{name}' in {path}", advice="name one of {listed}.")
class GroupUnknown(SettingsError):
    """The book of groups has others."""

    name: str
    path: str
    known: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.known)


@error_type("no-groups", problem="There is no group '{name}' in {path}", advice="make it first.")
class NoGroups(SettingsError):
    """The book of groups is empty."""

    name: str
    path: str


@error_type(
    "no-age-key",
    problem="Wallet `{name}` has no age key in {folder}",
    advice="results that were sealed to another key need that one.",
)
class NoAgeKey(WalletError):
    """Nothing was ever sealed to the wallet here."""

    name: str
    folder: str


@error_type(
    "too-busy-to-open",
    problem="This machine is too busy now to open the age key of wallet `{name}`",
    advice="the password may be right: try again when it has less to do.",
)
class TooBusyToOpen(WalletError):
    """age measures how fast the machine is at this moment, and refuses what it thinks would take it too long."""

    name: str


@error_type(
    "run-name-unfit",
    problem="`{name}` is no name for a run",
    advice="use letters, digits, `.`, `_` and `-`, 64 at most, a letter or digit first.",
)
class RunNameUnfit(InvalidInput):
    """A run's record lies in a file of its name."""

    name: str


@error_type(
    "run-unreadable",
    problem="{path} cannot be read, and says which leases a run has open",
    advice="look at your leases, end those that nobody needs, and move the file away.",
)
class RunUnreadable(SettingsError):
    """A run's record is damaged."""

    path: str
