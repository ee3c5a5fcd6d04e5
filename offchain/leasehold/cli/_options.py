"""How an option or argument is written, and those that several commands have, named and explained once.

What reads them is looked up when something is typed: help answers without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import leasehold
from leasehold.cli._completion import (
    ended_leases,
    known_faults,
    known_groups,
    known_labels,
    known_leases,
    known_machines,
    known_wallets,
    running_leases,
)


@dataclass(frozen=True)
class Globals:
    """What stands before the command's name. `None` leaves the settings as they are."""

    home: Path | None = None
    deployment: Path | None = None
    rpc: tuple[str, ...] = ()
    ipfs: str | None = None
    debug: bool = False
    gasless: str | None = None
    most_fee: str | None = None


def option(spelled: str, text: str | None = None, **more: Any) -> Any:
    """An option as it is typed: its names, then a word for its value. Without that word it is a flag."""
    words = spelled.split()
    names = [word for word in words if word.startswith("-")]
    return typer.Option(*names, metavar=" ".join(words[len(names) :]), help=text, **more)


def argument(metavar: str, text: str | None = None, **more: Any) -> Any:
    """An argument, by the word that stands for it."""
    return typer.Argument(metavar=metavar, help=text, **more)


@dataclass(frozen=True)
class Read:
    """How the text that is typed is read: `Annotated[int, option("--for DURATION"), Read(parse_duration)]`. A command
    has what `parse` makes of it, or of each of several in a tuple; what was not typed stays `None`.

    named: of which kind the home may have a name in its place (`leasehold.home.Kind`).
    """

    parse: Callable[[str], object]
    named: str | None = None


def unless(word: str) -> Read:
    """The text as it is, but `None` for the word that means all or any."""
    return Read(lambda text: None if text == word else text)


SECONDS = Read(lambda text: leasehold.parse_duration(text))
SHARE = Read(lambda text: leasehold.parse_share(text))
LEASE = Read(lambda text: leasehold.parse_lease(text))
DAY = Read(lambda text: leasehold.parse_day(text))
ACCOUNT = Read(str, named="address")
DATASET = Read(str, named="dataset")


def _size(text: str) -> int:
    from leasehold.market import parse_size

    return int(parse_size(text))


SIZE = Read(_size)


def _machine(text: str) -> int:
    from leasehold.market import InvalidInput

    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 2**64):
        raise InvalidInput(
            f"`{text}` is no machine: write its number as `leasehold machines` shows it, or a name that you gave it."
        )
    return int(text)


MACHINE = Read(_machine, named="machine")

Seconds = Annotated[int | None, SECONDS]
"""A duration, if one was typed; as the others."""
Cells = Annotated[int | None, SHARE]
Day = Annotated[int | None, DAY]
OneLease = Annotated[int | None, LEASE]
Account = Annotated[str | None, ACCOUNT]

# ------------------------------------------------------------------------------------------- that `shared` gives out

JsonFlag = Annotated[bool, option("--json", "One JSON document on stdout, messages on stderr.")]
Yes = Annotated[bool, option("--yes -y", "Do not ask before money moves.")]
Wallet = Annotated[
    str | None,
    option(
        "--wallet -w NAME",
        "Which wallet; by default the only one, or the setting.",
        autocompletion=known_wallets,
    ),
]
PasswordFile = Annotated[
    Path | None, option("--password-file FILE", "Read the wallet's password from the first line of FILE.")
]
DryRun = Annotated[bool, option("--dry-run", "Show what would happen and send nothing.")]
AsGroup = Annotated[
    str | None,
    option(
        "--as-group NAME",
        "Write a proposal for this group to approve, and send nothing.",
        autocompletion=known_groups,
    ),
]
OfGroup = Annotated[
    str | None,
    option("--as-group NAME", "Of this group's leases, instead of yours.", autocompletion=known_groups),
]
AsSafe = Annotated[str | None, option("--as-safe ADDRESS", "The same for a Safe, whose owners approve it.")]
ProposalPath = Annotated[
    Path | None, option("--proposal FILE", "Where --as-group writes; by default a new file here.")
]
ForAccount = Annotated[
    str | None, option("--for-account ADDRESS", "Act as this account's delegate, paid from its ledger.")
]

# ------------------------------------------------------------------------------------------------- of several commands

_A_LEASE = "As `leasehold leases` shows it: 12, 12.1, or its name."
_LEASES = "Leases by number or name; `gang:12` is 12 and what was opened with it."
LeaseId = Annotated[
    int, argument("LEASE", "As `leasehold leases` shows it: 12, or 12.1.", autocompletion=known_leases), LEASE
]
AnyLease = Annotated[str, argument("LEASE", _A_LEASE, autocompletion=known_leases)]
RunningLease = Annotated[str, argument("LEASE", _A_LEASE, autocompletion=running_leases)]
AnyLeases = Annotated[list[str] | None, argument("[LEASE]...", _LEASES, autocompletion=known_leases)]
RunningLeases = Annotated[list[str] | None, argument("[LEASE]...", _LEASES, autocompletion=running_leases)]
EndedLeases = Annotated[list[str] | None, argument("[LEASE]...", _LEASES, autocompletion=ended_leases)]


@dataclass(frozen=True)
class Several:
    """How several leases are chosen at once, where none is named."""

    label: Annotated[
        list[str] | None,
        option(
            "--label WORD=VALUE",
            "Your leases with this label; several: with all of them.",
            autocompletion=known_labels,
        ),
    ] = None
    everything: Annotated[bool, option("--all", "All of your leases with which this can be done.")] = False


MachineId = Annotated[
    int,
    argument("MACHINE", "As `leasehold machines` shows it, or its name.", autocompletion=known_machines),
    MACHINE,
]
FaultId = Annotated[
    int, argument("FAULT", "As `leasehold faults` shows it.", min=1, autocompletion=known_faults)
]
ShareArgument = Annotated[int, argument("SHARE", "1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones."), SHARE]
AmountOrAll = Annotated[str | None, argument("AMOUNT", "Whole tokens, or `all`."), unless("all")]
WishedShare = Annotated[
    Cells, option("--share SHARE", "1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones, by default 1.")
]
Search = Annotated[str | None, option("--search -s SEARCH", "Which machines, as `leasehold machines` does.")]
Spot = Annotated[bool, option("--spot", "At the lower price for leases that may be ended with notice.")]
MaxPrice = Annotated[str | None, option("--max-price AMOUNT", "Most whole tokens per GPU-hour.")]
AllowUnverified = Annotated[bool, option("--allow-unverified", "Machines that nobody has measured, too.")]
WithoutAgent = Annotated[
    bool,
    option(
        "--without-agent",
        "Open the lease even if the machine's agent cannot be reached now; it finds the workload on IPFS.",
    ),
]
CloseWhenDone = Annotated[
    bool | None,
    option(
        "--close-when-done/--keep-open",
        "Sign that the lease closes when its command has ended by itself; by default of a batch job.",
    ),
]
Approve = Annotated[
    bool, option("--approve", "First let the pool take from the wallet what this needs, and no more.")
]
NewFile = Annotated[Path | None, option("--output -o FILE", "By default a new file here.")]
