"""From a coroutine to an exit code: the outermost loop of every command.

docs/reference/cli.md lists the codes. An error is one sentence on stderr; a traceback is printed only under
``--debug``, because whoever needs one knows how to ask for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import sys
from collections.abc import Callable, Coroutine

import typer

from leasehold.cli._asking import Interrupted
from leasehold.cli._hints import said
from leasehold.cli._output import plain
from leasehold.errors import LeaseholdError

log = logging.getLogger("leasehold.cli")

EXIT_CODES = {
    0: "done",
    1: "something unexpected, or an error of no kind below",
    2: "the command line, a search or a setting cannot be understood",
    3: "the chain: no node answers, it is the wrong chain, a transaction failed or no gas money is left",
    4: "the contract refused",
    5: "the wallet: missing, wrong password",
    6: "the workload or its results",
    7: "datasets and IPFS",
    8: "the machine's agent refused or cannot be reached",
    9: "the market: no machine fits, the price is above the maximum, funds or allowance are missing",
    10: "the lease was opened and did not start; it was refunded",
    11: "not confirmed; nothing was sent",
    12: "a proposal, signature, acceptance or offer: damaged, for something else, over, or not signed enough",
    130: "interrupted",
    141: "whoever read the output went away, as `head` does",
}


_OUTPUT = frozenset({errno.EPIPE, errno.ENOSPC, errno.EIO})
"""With which writing an answer fails."""


def broken_off(error: OSError) -> int:
    """Say what a file, or our own output, refused; returns the exit code. A reader that went away is told nothing."""
    if isinstance(error, BrokenPipeError) or error.filename is None:
        with contextlib.suppress(OSError, ValueError):  # what is left goes nowhere, and says nothing
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 141
    what = error.filename if error.filename is not None else "The output"
    typer.echo(f"{plain(str(what))}: {error.strerror or error}; see to that and try again.", err=True)
    return 1


LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def run(
    command: Coroutine[object, object, int | None],
    *,
    debug: bool = False,
    if_interrupted: Callable[[], str] = lambda: "Interrupted.",
    loop_factory: LoopFactory | None = None,
) -> None:
    """Run a command to its end and leave with its exit code; `None` counts as 0.

    if_interrupted: what Ctrl-C has left, asked when it comes. loop_factory: makes its event loop; asyncio's, if `None`.
    """
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            code = runner.run(command)
    except LeaseholdError as error:
        if debug:
            raise
        typer.echo(plain(said(error)), err=True)
        raise typer.Exit(error.exit_code) from error
    except (KeyboardInterrupt, Interrupted):
        typer.echo(plain(if_interrupted()), err=True)
        raise typer.Exit(130) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and (error.filename is not None or error.errno in _OUTPUT):
            raise typer.Exit(broken_off(error)) from error
        log.debug("unexpected", exc_info=True)
        kind = type(error).__name__
        typer.echo(
            f"Unexpected {kind}: {plain(str(error))}. Please report it, with what --debug prints.", err=True
        )
        raise typer.Exit(1) from error
    raise typer.Exit(code or 0)
