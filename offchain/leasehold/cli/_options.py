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
from leasehold.cli._completion import known_faults, known_groups, known_leases, known_machines, known_wallets


@dataclass(frozen=True)
class Globals:
    """What stands before the command's name. `None` leaves the settings as they are."""

    home: Path | None = None
    deployment: Path | None = None
    rpc: tuple[str, ...] = ()
    ipfs: str | None = None
    debug: bool = False


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
    """

    parse: Callable[[str], object]


def unless(word: str) -> Read:
    """The text as it is, but `None` for the word that means all or any."""
    return Read(lambda text: None if text == word else text)


SECONDS = Read(lambda text: leasehold.parse_duration(text))
SHARE = Read(lambda text: leasehold.parse_share(text))
LEASE = Read(lambda text: leasehold.parse_lease(text))
DAY = Read(lambda text: leasehold.parse_day(text))

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
ProposalPath = Annotated[
    Path | None, option("--proposal FILE", "Where --as-group writes; by default a new file here.")
]
ForAccount = Annotated[
    str | None, option("--for-account ADDRESS", "Act as this account's delegate, paid from its ledger.")
]

# ------------------------------------------------------------------------------------------------- of several commands

LeaseId = Annotated[
    int, argument("LEASE", "As `leasehold leases` shows it: 12, or 12.1.", autocompletion=known_leases), LEASE
]
MachineId = Annotated[
    int, argument("MACHINE", "As `leasehold machines` shows it.", min=1, autocompletion=known_machines)
]
FaultId = Annotated[
    int, argument("FAULT", "As `leasehold faults` shows it.", min=1, autocompletion=known_faults)
]
ShareArgument = Annotated[int, argument("SHARE", "1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones."), SHARE]
AmountOrAll = Annotated[str | None, argument("AMOUNT", "Whole tokens, or `all`."), unless("all")]
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
