"""A table as every face draws it: a terminal, a notebook, a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

Pairs = tuple[tuple[str, str], ...]
"""One thing: names and values, in the order in which people want them."""


_FORMULA: Final = re.compile(r"\s*([=@]|[+-](?!$|[0-9.]+$))")


def _no_formula(cell: str) -> str:
    """A text as a spreadsheet leaves it, behind an apostrophe where it would work it out. Numbers stay as they are."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


class Table(NamedTuple):
    """Several things, a row each, all of them texts. A column that begins with `>` holds numbers: it is aligned right.

    Texts may be a stranger's, such as a model's name: whoever draws them takes from them what steers his medium.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    @property
    def heads(self) -> tuple[str, ...]:
        """What stands above the columns."""
        return tuple(column.removeprefix(">") for column in self.columns)

    def csv(self) -> str:
        """Comma-separated values, the heads first, each line ended by `\\n`. What would be a formula is a text."""
        written = io.StringIO()
        rows = ([_no_formula(cell) for cell in row] for row in (self.heads, *self.rows))
        csv.writer(written, lineterminator="\n").writerows(rows)
        return written.getvalue()

    def lines(self, room: int | None = None) -> list[str]:
        """As lines of characters of one width, the heads first. room: of how many rows, by default of all."""
        cells = [self.heads, *self.rows[:room]]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return ["  ".join(self._aligned(row, widths)) for row in cells]

    def _aligned(self, row: tuple[str, ...], widths: list[int]) -> Iterator[str]:
        for column, cell, width in zip(self.columns, row, widths, strict=True):
            yield cell.rjust(width) if column.startswith(">") else cell.ljust(width)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.heads)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.rows)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
