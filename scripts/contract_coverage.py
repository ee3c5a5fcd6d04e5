"""Runs `forge coverage` and fails unless every line, branch and function of contracts/ is reached."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

REPORT = Path("build/lcov.info")
CONTRACTS = Path("contracts")
# What is only there for tests, and what has no code.
LEFT_OUT = ("test", "interfaces")
# Invariants and gas take long and reach nothing that a unit test should not.
NOT_RUN = "Invariant|Gas"
# forge keeps nothing of what it compiles for coverage, which takes most of the time.
COMPILER = Path("scripts/toolchain/solc_remembered.py")
MEMORY = Path("build/solc-coverage")


def measure() -> None:
    """Writes the coverage report. Test doubles and tests are left out."""
    command = ["forge", "coverage", "--report", "lcov", "--report-file", str(REPORT)]
    command += ["--no-match-coverage", r"(contracts/test|tests)/", "--no-match-contract", NOT_RUN]
    environment = os.environ | {
        "HOME": str(REPORT.parent.resolve()),  # forge keeps a cache of signatures there
        "FOUNDRY_SOLC": str(COMPILER.resolve()),
        "SOLC_MEMORY": str(MEMORY.resolve()),
        "FOUNDRY_FUZZ_RUNS": "24",  # `forge test` has ten times as many, and they reach the same lines
    }
    began = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(done.stdout[-4000:] + done.stderr[-4000:])
    forget(MEMORY, began)


def forget(memory: Path, since: float) -> None:
    """Removes what the compiler was last asked for before that time: other sources than there are now."""
    for answer in memory.iterdir():
        if answer.stat().st_mtime < since:
            answer.unlink()


def sources(root: Path = CONTRACTS) -> list[str]:
    """The files that have something to reach."""
    found = [path for path in sorted(root.rglob("*.sol")) if path.relative_to(root).parts[0] not in LEFT_OUT]
    return [path.as_posix() for path in found if re.search(r"^\s*function ", path.read_text(), re.MULTILINE)]


def misses(report: str, expected: list[str]) -> list[str]:
    """What no test reached of the files `expected`, as `file:line` with what was missed, and files not reported.

    report: in LCOV's format, as `geninfo(1)` describes it; what it says of other files counts nothing
    """
    reported = re.findall(r"^SF:(.+)$", report, re.MULTILINE)
    found = [f"{source} altogether" for source in expected if source not in reported]
    for record in report.split("end_of_record"):
        lines = record.split()
        source = next((line.removeprefix("SF:") for line in lines if line.startswith("SF:")), "")
        if source in expected:
            found += [f"{source}:{miss}" for miss in _missed_in(lines)]
    return found


def _missed_in(lines: list[str]) -> Iterator[str]:
    began: dict[str, str] = {}
    for line in lines:
        kind, _, rest = line.partition(":")
        values = rest.split(",")
        if kind == "FN":
            began[values[-1]] = values[0]
        elif kind == "FNDA" and values[0] == "0":
            yield f"{began[values[1]]} function {values[1]}"
        elif kind == "DA" and values[1] == "0":
            yield f"{values[0]} line"
        elif kind == "BRDA" and values[3] in ("0", "-"):
            yield f"{values[0]} branch {values[2]}"


def main() -> None:
    expected = sources()
    if not expected:
        sys.exit(f"No contract in {CONTRACTS}: run this from the root of the checkout.")
    measure()
    missed = misses(REPORT.read_text(), expected)
    if missed:
        sys.exit("Not covered:\n  " + "\n  ".join(missed))
    print(f"100 % of lines, branches and functions in {len(expected)} files.")


if __name__ == "__main__":
    main()
