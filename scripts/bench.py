"""`make bench`: every benchmark, one table, build/bench.json.

Each benchmark measures ours and a reference in the same run, so that a ratio holds on a noisy machine; gas is
counted.
A row is `{name, ours, reference, ratio, goal, ok}`, and may say in `others` what others need; the exit code is 1 when a
row misses its goal.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

SUITES = (
    "gas",
    "cli",
    "watcher",
    "indexer",
    "web3",
    "datasets",
    "agent",
    "agent_load",
    "packing",
    "files",
    "prompt",
    "gateway",
    "dapp",
)
COLUMNS = ("name", "ours", "reference", "ratio", "goal")
REPORT = Path("build/bench.json")


def measure(suite: str, console: Console) -> list[dict[str, Any]]:
    """The rows of one suite; a suite that breaks becomes a row that fails, so that the others still run."""
    console.print(f"[dim]measuring {suite} …[/dim]")
    try:
        return list(importlib.import_module(f"bench_{suite}").run())
    except Exception as error:  # noqa: BLE001 - the outermost loop: reported as a failed row
        traceback.print_exc()
        return [
            {"name": suite, "ours": None, "reference": None, "ratio": None, "goal": str(error), "ok": False}
        ]


def text(value: Any) -> str:
    """A figure as people read it."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help="only these (default: all)")
    console = Console()
    rows = [row for suite in parser.parse_args().suites or SUITES for row in measure(suite, console)]

    columns = (*COLUMNS, "others") if any(row.get("others") for row in rows) else COLUMNS
    table = Table(*columns, "")
    for row in rows:
        table.add_row(
            *(text(row.get(column)) for column in columns), "ok" if row["ok"] else "[red]MISSED[/red]"
        )
    console.print(table)
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(rows, indent=2) + "\n")
    console.print(f"Written to {REPORT}.")
    return 0 if rows and all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
