"""Which failed tests are worth a second look: a few by name, never a gate and never many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import failed
from failed import failed_tests


@pytest.mark.parametrize(
    ("recorded", "code"),
    [
        (None, 1),
        ({}, 1),
        ({"tests/test_a.py": True}, 1),
        ({"tests/test_a.py::test_one": True}, 0),
        ({f"tests/test_a.py::test_{number}": True for number in range(3)}, 0),
        ({f"tests/test_a.py::test_{number}": True for number in range(4)}, 1),
    ],
    ids=["no record", "none", "a file that cannot be imported", "one", "three", "four"],
)
def test_a_few_by_name_are_looked_at_once_more(
    recorded: dict[str, bool] | None, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "lastfailed"
    if recorded is not None:
        record.write_text(json.dumps(recorded))
    monkeypatch.setattr(failed, "LAST_FAILED", record)
    monkeypatch.setattr(sys, "argv", ["failed.py", "--most", "3"])
    assert failed.main() == code


@pytest.mark.slow
def test_what_the_tool_reads_is_what_pytest_writes(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_fails():\n    assert 0\ndef test_passes():\n    pass\n")
    options = ["-q", "-p", "no:pytest-brownie", "-p", "no:cov", "--rootdir", str(tmp_path)]
    # Options of this run, such as its own folder, are none of that one's.
    bare = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=tmp_path, env=bare, capture_output=True, check=False
    )
    assert failed_tests(tmp_path / failed.LAST_FAILED) == ["test_one.py::test_fails"]
