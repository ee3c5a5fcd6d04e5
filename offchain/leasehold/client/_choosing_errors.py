"""Why nobody knows which leases are meant.

InvalidInput
├── NoLeaseChosen
├── ChosenTwice
├── NoSuchLeaseName
├── NoLeaseLabelled
├── OnlyOneLease
└── TooManyTogether
"""

from __future__ import annotations

from leasehold.errors import error_type
from leasehold.market import InvalidInput


@error_type(
    "no-lease-chosen",
    problem="You have no {leases} here, or named none",
    advice="name leases, a label that they have, or all.",
)
class NoLeaseChosen(InvalidInput):
    """Nothing was named, or all leases were and there are none. which: a word for their state, or nothing."""

    which: str

    @property
    def leases(self) -> str:
        return _leases(self.which)


@error_type(
    "chosen-twice",
    problem="Leases are named in two ways",
    advice="name them, or a label, or all: one of these.",
)
class ChosenTwice(InvalidInput):
    """By number or name, and by label, and all: what is meant is not certain, and money may hang on it."""


@error_type(
    "no-such-lease-name",
    problem="`{word}` is not a lease, and no {leases} of yours is called that",
    advice="{then}",
)
class NoSuchLeaseName(InvalidInput):
    """A word that is no number and no name. near: the name most like it, or nothing."""

    word: str
    which: str
    near: str

    @property
    def leases(self) -> str:
        return _leases(self.which)

    @property
    def then(self) -> str:
        if self.near:
            return f"write `{self.near}`, if that is meant."
        return "write its number, such as 12 or 12.1, or a name that it has."


@error_type(
    "no-lease-labelled",
    problem="No {leases} of yours has the label {listed}",
    advice="look at your leases and their labels.",
)
class NoLeaseLabelled(InvalidInput):
    """Leases are chosen by labels that none has together."""

    which: str
    labels: tuple[str, ...]

    @property
    def leases(self) -> str:
        return _leases(self.which)

    @property
    def listed(self) -> str:
        return " and ".join(self.labels)


@error_type("only-one-lease", problem="`{word}` is the leases {listed}", advice="name one of them.")
class OnlyOneLease(InvalidInput):
    """One thing can be done with one lease only, and several are meant."""

    word: str
    leases: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.leases)


@error_type(
    "too-many-together",
    problem="That is {many} leases, and {most} fit into one transaction",
    advice="name fewer at a time.",
)
class TooManyTogether(InvalidInput):
    """More leases are named than a block has room for."""

    many: int
    most: int


def _leases(which: str) -> str:
    return f"{which} lease" if which else "lease"
