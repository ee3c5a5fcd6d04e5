"""What a user's home lacks.

SettingsError
├── GroupUnknown
└── NoGroups
WalletError
└── NoAgeKey
"""

from __future__ import annotations

from leasehold.errors import SettingsError, WalletError, error_type


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
