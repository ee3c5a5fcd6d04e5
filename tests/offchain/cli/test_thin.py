"""The command line stays a thin face: so many lines of Python for each heading of its reference, and no more.

What a notebook or a page would need as well (what a machine's row says, what a run's file means, how a port is brought
here) belongs in the library beneath. Held for each heading, since a verb that comes brings lines of its own
(docs/decisions/0242-a-thin-face.md).
"""

from __future__ import annotations

import re
from pathlib import Path

import leasehold.cli

ROOT = Path(__file__).parents[3]
LINES = 46
"""For each heading. When the library was turned into the product there were 46.3: 5,227 lines for 113 headings."""


def headings() -> int:
    """Verbs and groups, as the reference tells them."""
    return len(re.findall(r"(?m)^#{2,3} `leasehold", (ROOT / "docs/reference/cli.md").read_text()))


def lines() -> int:
    """All that a person reads there: code, docstrings, comments, blank lines."""
    files = Path(str(leasehold.cli.__file__)).parent.rglob("*.py")
    return sum(len(file.read_text().splitlines()) for file in files)


def test_the_command_line_has_so_many_lines_for_each_heading() -> None:
    assert headings() > 100
    assert lines() <= LINES * headings(), f"{lines() / headings():.1f} lines a heading"
