"""The command: its verbs, and how what went wrong is said."""

from __future__ import annotations

import errno
import sys
from importlib import metadata
from typing import Annotated

import typer

from leasehold.errors import LeaseholdError
from leasehold_agent._config_file import config_file
from leasehold_agent._logs import configure_logs
from leasehold_agent.cli._check import check
from leasehold_agent.cli._console import terminal
from leasehold_agent.cli._describe import describe
from leasehold_agent.cli._drain import drain
from leasehold_agent.cli._pause import pause
from leasehold_agent.cli._peer import peer
from leasehold_agent.cli._report import report
from leasehold_agent.cli._run import run
from leasehold_agent.cli._settings import settings
from leasehold_agent.cli._status import status


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"leasehold-agent {metadata.version('leasehold')}")
        raise typer.Exit


app = typer.Typer(
    help="The agent of a Leasehold provider's host: runs what was paid for, and stops what no longer is.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)


@app.callback()
def configure(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """What holds for every verb."""


for verb in (describe, check, run, status, settings, drain, pause, report, peer):
    app.command()(verb)


def main() -> None:
    """The console script. Errors are one sentence and an exit code, never a traceback."""
    configure_logs(sys.stderr)  # standard output is for a command's answer; `run` logs there itself
    try:
        app(standalone_mode=True)
    except LeaseholdError as error:
        terminal(stderr=True).print(str(error), style="red", markup=False)
        sys.exit(error.exit_code)
    except OSError as error:
        terminal(stderr=True).print(_broken(error), style="red", markup=False)
        sys.exit(1)


def _broken(error: OSError) -> str:
    """What the host refused, and which setting may be wrong."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"A port is taken ({error.strerror}): end what has it, or set another `api_port` or `ssh_port`."
        )
    what = error.filename if error.filename is not None else "This host refused something"
    return f"{what}: {error.strerror or error}; see to that, or set another `state_dir` in {config_file()}."
