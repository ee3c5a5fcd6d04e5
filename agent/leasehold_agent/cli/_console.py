"""How sentences and JSON are printed.

Rich is loaded where something is drawn: the agent that runs draws nothing, and its memory is its host's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def terminal(*, stderr: bool = False) -> Console:
    """Sentences stay on one line: a terminal folds them, and a program that reads them need not."""
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=True, highlight=False)
