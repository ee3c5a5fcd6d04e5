"""Runs `forge coverage` and fails unless every line and branch of contracts/ is reached."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPORT = Path("build/lcov.info")


def measure() -> None:
    """Writes the coverage report. Test doubles and tests are left out."""
    command = ["forge", "coverage", "--report", "lcov", "--report-file", str(REPORT)]
    command += ["--no-match-coverage", r"(contracts/test|tests)/", "--no-match-contract", "Invariant|Gas"]
    # forge keeps a cache of signatures under HOME
    environment = os.environ | {"HOME": str(REPORT.parent.resolve())}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(done.stdout[-4000:] + done.stderr[-4000:])


def misses(report: str) -> list[str]:
    """The lines and branches that no test reached, as `file:line` with what was missed."""
    found: list[str] = []
    source = ""
    for record in report.splitlines():
        kind, _, rest = record.partition(":")
        values = rest.split(",")
        if kind == "SF":
            source = rest
        elif kind == "DA" and values[1] == "0":
            found.append(f"{source}:{values[0]} line")
        elif kind == "BRDA" and values[3] in ("0", "-"):
            found.append(f"{source}:{values[0]} branch {values[2]}")
    return found


def main() -> None:
    measure()
    report = REPORT.read_text()
    files = report.count("SF:")
    missed = misses(report)
    if files == 0:
        sys.exit("forge coverage reported no file: the check itself is broken.")
    if missed:
        sys.exit("Not covered:\n  " + "\n  ".join(missed))
    print(f"100 % of lines and branches in {files} files.")


if __name__ == "__main__":
    main()
