"""How soon the command line answers, beside an empty Typer application of the same environment.

`cli.help`: `leasehold --help`. `cli.machines`: `leasehold machines` with an index that is at the head of a local pool's
chain. Each takes turns with the empty application's `--help`, and the medians count; milliseconds from start to end.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devnet.anvil import Anvil
from devnet.contracts import deploy_fast

ROUNDS = 15
HELP_GOAL = 1.3
MACHINES_GOAL = 3.0
EMPTY = """
import typer
app = typer.Typer()
@app.callback()
def main() -> None: ...
app()
"""
LEASEHOLD = (sys.executable, "-c", "from leasehold.cli import main; main()")


def run() -> list[dict[str, Any]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder, Anvil() as chain:
        environment = {
            **os.environ,
            "LEASEHOLD_HOME": str(Path(folder, "home")),
            "LEASEHOLD_DEPLOYMENT": str(deploy_fast(chain.url, Path(folder))),
            "LEASEHOLD_RPC": chain.url,
        }
        _seconds([*LEASEHOLD, "machines"], environment)  # the index is warm from here on
        return [
            _row("cli.help", ["--help"], environment, HELP_GOAL),
            _row("cli.machines", ["machines"], environment, MACHINES_GOAL),
        ]


def _row(name: str, words: Sequence[str], environment: Mapping[str, str], goal: float) -> dict[str, Any]:
    ours, reference = [], []
    for _ in range(ROUNDS):
        reference.append(_seconds([sys.executable, "-c", EMPTY, "--help"], environment))
        ours.append(_seconds([*LEASEHOLD, *words], environment))
    mine, theirs = 1_000 * statistics.median(ours), 1_000 * statistics.median(reference)
    return {
        "name": name,
        "ours": round(mine),
        "reference": round(theirs),
        "ratio": round(mine / theirs, 2),
        "goal": f"<= {goal:g} x an empty Typer application, ms",
        "ok": mine / theirs <= goal,
    }


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    for row in run():
        print(row)
