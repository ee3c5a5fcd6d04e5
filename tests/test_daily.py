"""docs/daily.md: each of its twenty-five rows names the tests that type it, but for those that are not there yet."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_YET = {16, 17, 18}
"""A queue, several nodes, services: later work."""
_ROW = re.compile(r"^\| (\d+) \|(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/(?:e2e|offchain/cli)/test_\w+\.py)(?:::(test_\w+))?`")


def test_each_row_is_typed_by_tests_that_are_there() -> None:
    rows = {int(number): cells for number, cells in _ROW.findall((ROOT / "docs/daily.md").read_text())}
    assert sorted(rows) == list(range(1, 26))
    for number in rows.keys() - NOT_YET:
        *_, last = rows[number].split("|")
        tests = [_TEST.fullmatch(name.strip()) for name in last.split(",")]
        for typed in tests:
            assert typed is not None, (number, last)
            path, function = typed.groups()
            text = (ROOT / path).read_text()
            assert re.search(rf"^(?:async )?def {function or r'test_'}", text, re.MULTILINE), (
                number,
                typed[0],
            )


def test_what_is_not_there_yet_says_so() -> None:
    rows = {
        int(number): cells.split("|") for number, cells in _ROW.findall((ROOT / "docs/daily.md").read_text())
    }
    for number in NOT_YET:
        assert rows[number][3].strip()
