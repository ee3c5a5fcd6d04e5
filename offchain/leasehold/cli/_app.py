"""The root of the command line: what stands before a command's name, and the groups."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli import (
    access,
    auto_extend,
    dataset,
    delegate,
    faults,
    leases,
    machines,
    moving,
    offer,
    rent,
    results,
    tenancy,
    transfer,
    wallet,
)
from leasehold.cli._options import Globals
from leasehold.cli._run import broken_off
from leasehold.cli.group import app as group
from leasehold.cli.pool import app as pool
from leasehold.cli.provider import app as provider
from leasehold.cli.validator import app as validator

app = typer.Typer(
    name="leasehold",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Rent GPU time from whoever has some, or offer your own. The chain keeps the accounts.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(wallet.app, name="wallet")
app.add_typer(provider, name="provider")
app.add_typer(validator, name="validator")
app.add_typer(pool, name="pool")
app.add_typer(dataset.app, name="dataset")
app.add_typer(group, name="group")
app.add_typer(delegate.app, name="delegate")
app.add_typer(offer.app, name="offer")
for part in (machines, rent, leases, tenancy, moving, transfer, auto_extend, offer, access, results, faults):
    part.register(app)


def _version(wanted: bool) -> None:
    if wanted:
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
        sys.exit(broken_off(error))
