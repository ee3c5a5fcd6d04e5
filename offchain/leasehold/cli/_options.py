"""The options and arguments that several commands have, named and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold import parse_lease
from leasehold.cli._completion import known_faults, known_groups, known_leases, known_machines, known_wallets
from leasehold.cli._spelling import Read, argument, option, unless
from leasehold.market import parse_day, parse_duration, parse_share

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
    int,
    argument("LEASE", "As `leasehold leases` shows it: 12, or 12.1.", autocompletion=known_leases),
    Read(parse_lease),
]
MachineId = Annotated[
    int, argument("MACHINE", "As `leasehold machines` shows it.", min=1, autocompletion=known_machines)
]
FaultId = Annotated[
    int, argument("FAULT", "As `leasehold faults` shows it.", min=1, autocompletion=known_faults)
]
ShareArgument = Annotated[
    int, argument("SHARE", "1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones."), Read(parse_share)
]
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
Approve = Annotated[
    bool, option("--approve", "First let the pool take from the wallet what this needs, and no more.")
]
NewFile = Annotated[Path | None, option("--output -o FILE", "By default a new file here.")]

SECONDS = Read(parse_duration)
SHARE = Read(parse_share)
LEASE = Read(parse_lease)
DAY = Read(parse_day)
