"""The options and arguments that several commands have, named and explained once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._completion import known_faults, known_groups, known_leases, known_machines, known_wallets


@dataclass(frozen=True)
class Globals:
    """What stands before the command's name. `None` leaves the settings as they are."""

    home: Path | None = None
    deployment: Path | None = None
    rpc: tuple[str, ...] = ()
    ipfs: str | None = None
    debug: bool = False


JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, messages on stderr.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before money moves.")]
Wallet = Annotated[
    str | None,
    typer.Option(
        "--wallet",
        "-w",
        metavar="NAME",
        help="Which wallet; by default the only one, or the setting.",
        autocompletion=known_wallets,
    ),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file", metavar="FILE", help="Read the wallet's password from the first line of FILE."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen and send nothing.")]
LeaseId = Annotated[
    str,
    typer.Argument(
        metavar="LEASE", help="As `leasehold leases` shows it: 12, or 12.1.", autocompletion=known_leases
    ),
]
MachineId = Annotated[
    int,
    typer.Argument(
        metavar="MACHINE", min=1, help="As `leasehold machines` shows it.", autocompletion=known_machines
    ),
]
FaultId = Annotated[
    int,
    typer.Argument(
        metavar="FAULT", min=1, help="As `leasehold faults` shows it.", autocompletion=known_faults
    ),
]
AmountOrAll = Annotated[str, typer.Argument(metavar="AMOUNT", help="Whole tokens, or `all`.")]
MaxPrice = Annotated[
    str | None, typer.Option("--max-price", metavar="AMOUNT", help="Most whole tokens per GPU-hour.")
]
AllowUnverified = Annotated[
    bool, typer.Option("--allow-unverified", help="Machines that nobody has measured, too.")
]
WithoutAgent = Annotated[
    bool,
    typer.Option(
        "--without-agent",
        help="Open the lease even if the machine's agent cannot be reached now; it finds the workload on IPFS.",
    ),
]
Approve = Annotated[
    bool,
    typer.Option("--approve", help="First let the pool take from the wallet what this needs, and no more."),
]
AsGroup = Annotated[
    str | None,
    typer.Option(
        "--as-group",
        metavar="NAME",
        help="Write a proposal for this group to approve, and send nothing.",
        autocompletion=known_groups,
    ),
]
OfGroup = Annotated[
    str | None,
    typer.Option(
        "--as-group",
        metavar="NAME",
        help="Of this group's leases, instead of yours.",
        autocompletion=known_groups,
    ),
]
ProposalPath = Annotated[
    Path | None,
    typer.Option("--proposal", metavar="FILE", help="Where --as-group writes; by default a new file here."),
]
ForAccount = Annotated[
    str | None,
    typer.Option(
        "--for-account", metavar="ADDRESS", help="Act as this account's delegate, paid from its ledger."
    ),
]
