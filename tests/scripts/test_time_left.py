"""A lane of tests that has no time left begins nothing more, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ONE = "tests/scripts/test_time_left.py::test_what_is_begun"


@pytest.mark.slow
def test_what_is_begun() -> None:
    """Nothing that could fail: it is begun, or not."""


@pytest.mark.slow
@pytest.mark.parametrize(("until", "comes"), [("1", "1 skipped"), (None, "1 passed")])
def test_nothing_is_begun_afterwards(tmp_path: Path, until: str | None, comes: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LEASEHOLD_TESTS_UNTIL"}
    if until is not None:
        environment["LEASEHOLD_TESTS_UNTIL"] = until
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path}/one",
        ONE,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert comes in done.stdout
    assert ("not begun, for want of time" in done.stdout) == (until == "1")
