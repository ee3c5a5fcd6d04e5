"""docs/findings.md names every finding once, and every test it names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "findings.md"
COUNTS = {
    "C": range(1, 14),
    "S": range(1, 22),
    "H": range(1, 13),
    "N": range(8),
    "U": range(1, 10),
    "T": range(1, 4),
}
ROW = re.compile(r"^\| ([A-Z]\d+) \| ([^|]+) \| (.*?) \| (.*) \|$")
REFERENCE = re.compile(r"`((?:tests|scripts)/[^`]+)`")


def rows(text: str) -> list[tuple[str, str, str]]:
    """number, state and tests of each row."""
    return [
        (found[1], found[2].strip(), found[3]) for line in text.splitlines() if (found := ROW.match(line))
    ]


def missing(reference: str) -> str | None:
    """What of `path`, `path::name` or `path::Class::name` is not there."""
    path, *names = reference.split("::")
    if not (ROOT / path).exists():
        return path
    if not names:
        return None
    text = (ROOT / path).read_text()
    lost = [
        name for name in names if not re.search(rf"(def|class|function|contract) {re.escape(name)}\b", text)
    ]
    return f"{path}: {', '.join(lost)}" if lost else None


def test_every_number_stands_there_once() -> None:
    wanted = [f"{letter}{number}" for letter, numbers in COUNTS.items() for number in numbers]
    assert [number for number, _, _ in rows(PAGE.read_text())] == wanted


def test_what_is_mended_names_a_test() -> None:
    bare = [
        n for n, state, tests in rows(PAGE.read_text()) if state == "mended" and not REFERENCE.search(tests)
    ]
    assert bare == []


def test_the_tests_that_it_names_exist() -> None:
    found = [missing(reference) for reference in REFERENCE.findall(PAGE.read_text())]
    assert [each for each in found if each] == []


@pytest.mark.parametrize(
    "reference", ["tests/nowhere.py", "tests/scripts/test_findings.py::test_that_is_not_here"]
)
def test_a_test_that_is_not_there_is_named(reference: str) -> None:
    assert missing(reference)
