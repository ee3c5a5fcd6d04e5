"""The root of the command line: what stands before a command's name, and the groups."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._lazy import shape
from leasehold.cli._options import Globals, option

app = typer.Typer(
    name="leasehold",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    **shape(""),
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
        Path | None, option("--deployment FILE", "The pool's file. [LEASEHOLD_DEPLOYMENT]")
    ] = None,
    rpc: Annotated[
        list[str] | None, option("--rpc URL", "A node of the chain; several for failover. [LEASEHOLD_RPC]")
    ] = None,
    ipfs: Annotated[
        str | None, option("--ipfs MULTIADDR", "Your own IPFS node's API. [LEASEHOLD_IPFS]")
    ] = None,
    home: Annotated[
        Path | None, option("--home DIR", "Keys, settings and the index. [LEASEHOLD_HOME]")
    ] = None,
    gasless: Annotated[
        str | None,
        option(
            "--gasless URL",
            "A gateway that sends what your wallet signs, where it has no coin for gas. [LEASEHOLD_GASLESS]",
        ),
    ] = None,
    most_fee: Annotated[
        str | None,
        option(
            "--most-fee AMOUNT", "What it may take of your ledger for a transaction. [LEASEHOLD_MOST_FEE]"
        ),
    ] = None,
    debug: Annotated[bool, option("--debug", "Print tracebacks.")] = False,
    version: Annotated[
        bool, option("--version", "Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """What holds for every command."""
    ctx.obj = Globals(home, deployment, tuple(rpc or ()), ipfs, debug, gasless, most_fee)


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
