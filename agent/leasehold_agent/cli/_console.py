"""How sentences and JSON are printed."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def terminal(*, stderr: bool = False) -> Console:
    """Sentences stay on one line: a terminal folds them, and a program that reads them need not."""
    return Console(stderr=stderr, soft_wrap=True, highlight=False)
