"""What a user's home lacks.

InvalidInput
└── RunNameUnfit
SettingsError
├── GroupUnknown
├── NoGroups
├── RunUnreadable
├── BadName
├── BadLabel
├── NameTaken
└── TooManyNames
WalletError
├── NoAgeKey
├── TooBusyToOpen
└── HolderRefused
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
    "bad-name",
    problem="`{name}` is no name",
    advice="choose up to 64 letters, digits, spaces and `._-`, and no number or address.",
)
class BadName(SettingsError):
    """It cannot be typed, or would be taken for what is named by itself."""

    name: str


@error_type(
    "bad-label",
    problem="`{label}` is no label",
    advice="write WORD=VALUE, of letters, digits and `._/-`, such as project=vision.",
)
class BadLabel(SettingsError):
    """A label's word or value cannot be typed."""

    label: str


@error_type(
    "name-taken", problem="The {kind} {thing} is called `{name}` already", advice="choose another name."
)
class NameTaken(SettingsError):
    """Of what is no lease, a name stands for one thing."""

    name: str
    kind: str
    thing: str


@error_type("too-many-names", problem="There are more than {most} {what}", advice="take some off first.")
class TooManyNames(SettingsError):
    """A file that is read at every command stays small."""

    what: str
    most: int


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


@error_type("holder-refused", problem="Wallet `{name}` was not used: {reason}", advice="unlock it again.")
class HolderRefused(WalletError):
    """The process that holds it open did not sign."""

    name: str
    reason: str


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
