"""The root of the command line: what stands before a command's name, and the groups."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._lazy import MARKUP, lazy
from leasehold.cli._options import Globals

VERBS = {
    "machines": {
        "machines": (
            "Search the pool's machines. All terms must hold; docs/reference/query.md describes the language."
        ),
    },
    "rent": {
        "rent": "Rent a machine, or part of one, and run a workload on it.",
    },
    "leases": {
        "leases": "List your leases, with what they have cost so far.",
        "show": "Show a lease: its state on chain, its bill, and what its machine's agent says.",
    },
    "tenancy": {
        "extend": "Pay for more time on a lease.",
        "resize": (
            "Take another share of the same machine from now on, at the same price and until the same end."
        ),
        "reject": "Give a lease back inside its trial: everything comes back but the hold fee.",
        "close": "End a lease now: pay for the seconds used, get the rest back.",
        "set-workload": "Run something else on a lease that you have. Its time and price stay.",
        "rate": (
            "Rate a lease of yours that has ended and was paid, once. It weighs as much as the fee that it "
            "paid."
        ),
    },
    "moving": {
        "move": (
            "Close a lease and open one on another machine instead, in one transaction: both happen, or "
            "neither."
        ),
        "failover": (
            "While a lease's machine is down, open the standby that the lease named with `rent --backup`."
        ),
    },
    "transfer": {
        "transfer": (
            "Give a running lease, with what is left of its escrow, to an account that has accepted it."
        ),
        "accept-transfer": (
            "Agree to take leases over: makes the file that `transfer` wants. Nothing is sent."
        ),
    },
    "auto_extend": {
        "auto-extend": (
            "Extend a lease again and again before it ends, until it has lived as long as `--at-most`."
        ),
    },
    "offer": {
        "request-quote": (
            "Write a request for terms, to be sent to the machine's provider, who answers with `offer sign`."
        ),
    },
    "access": {
        "logs": "Print what the workload has written, on its standard output and error.",
        "exec": "Run a command in the lease's container, and leave with its exit code.",
        "ssh": "Open a shell in the lease's container, by OpenSSH, with the machine's host key pinned.",
    },
    "results": {
        "results": "Fetch a lease's results, check them, open them, and keep a copy on your IPFS node.",
    },
    "challenge": {
        "challenge": "Ask the operator of a machine that you rent for a sign of life, with a bond.",
        "prove": (
            "Say that nobody answered a challenge in time: the machine is down from then on. Anyone may send "
            "it."
        ),
    },
    "faults": {
        "faults": "List the outages and other faults of the pool's machines, and what they cost.",
        "fault": "Show a fault: what happened, what it costs and whom it goes to, and what can be done next.",
    },
    "compensate": {
        "compensate": "Settle what outages have done to your leases, as far as it can be settled now.",
    },
}
GROUPS = {
    "wallet": "Make keys; see, approve, deposit and withdraw money.",
    "provider": "Offer machines: join, set terms, collect, leave.",
    "validator": "Stake a seat, measure machines as one of a committee, attest outages.",
    "pool": "See who has which power over a pool; make one, and own it.",
    "dataset": "Add, keep, list and fetch data on IPFS.",
    "group": "Rent as a group: so many of its signers must agree. Proposals and signatures travel as files.",
    "delegate": "Let others open, extend, close and resize leases for an account, up to a cap.",
    "offer": "Sign terms for a renter, see what became of them, take them back.",
}

app = typer.Typer(
    name="leasehold",
    cls=lazy("leasehold.cli", VERBS, GROUPS),
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="Rent GPU time from whoever has some, or offer your own. The chain keeps the accounts.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"leasehold {metadata.version('leasehold')}")
        raise typer.Exit


@app.callback()
def configure(
    ctx: typer.Context,
    deployment: Annotated[
        Path | None,
        typer.Option("--deployment", metavar="FILE", help="The pool's file. [LEASEHOLD_DEPLOYMENT]"),
    ] = None,
    rpc: Annotated[
        list[str] | None,
        typer.Option(
            "--rpc", metavar="URL", help="A node of the chain; several for failover. [LEASEHOLD_RPC]"
        ),
    ] = None,
    ipfs: Annotated[
        str | None,
        typer.Option("--ipfs", metavar="MULTIADDR", help="Your own IPFS node's API. [LEASEHOLD_IPFS]"),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option("--home", metavar="DIR", help="Keys, settings and the index. [LEASEHOLD_HOME]"),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", metavar="", help="Print tracebacks.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", help="Print the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """What holds for every command."""
    ctx.obj = Globals(home, deployment, tuple(rpc or ()), ipfs, debug)


def main() -> None:
    """The entry point of the console script."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:  # the output: everything else was said before
        from leasehold.cli._run import broken_off

        sys.exit(broken_off(error))
