"""What leases have cost: a table with bars, and a picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from leasehold.market import Money, format_duration
from leasehold.tables._table import Table

if TYPE_CHECKING:
    from leasehold.client import Costs

BAR_WIDTH: Final = 32  # characters of the longest bar
_BAR, _GAP, _LABELS, _LONGEST, _AMOUNTS = 18, 8, 160, 480, 140  # pixels
_COLOUR: Final = "#2563eb"


def costs_table(costs: Costs, money: Money, block: str = "█") -> Table:
    """What is added up under each key, with a bar of `block`s."""
    columns = (costs.by.value, ">leases", ">time", f">{money.symbol}", "")
    rows = [
        (row.key, str(row.leases), format_duration(row.seconds), money.exact(row.units), bar)
        for row, bar in zip(costs.rows, bars([row.units for row in costs.rows], block), strict=True)
    ]
    return Table(columns, rows)


def spent_table(costs: Costs, money: Money) -> Table:
    """The same for a spreadsheet: seconds in place of spans, no bars."""
    rows = [(row.key, str(row.leases), str(row.seconds), money.exact(row.units)) for row in costs.rows]
    return Table((costs.by.value, "leases", "seconds", money.symbol), rows)


def costs_chart(costs: Costs, money: Money) -> str:
    """The same as a picture, in SVG."""
    rows = [(row.key, row.units, money.show(row.units)) for row in costs.rows]
    return svg(f"Cost by {costs.by.value}: {money.show(costs.units)}", rows)


def bars(values: Sequence[int], block: str = "█") -> list[str]:
    """A bar for each value, the longest `BAR_WIDTH` wide; what is more than nothing has one character at least."""
    most = max(values, default=0)
    shares = (Decimal(value * BAR_WIDTH) / most if value > 0 else None for value in values)
    return ["" if share is None else block * max(1, round(share)) for share in shares]


def svg(title: str, rows: Sequence[tuple[str, int, str]]) -> str:
    """A bar chart. rows: a name, a value that is not negative, and how that is written."""
    step, most = _BAR + _GAP, max((value for _, value, _ in rows), default=0) or 1
    height, width = 40 + step * len(rows), _LABELS + _LONGEST + _AMOUNTS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<text x="8" y="22" font-size="15">{escape(title)}</text>',
    ]
    for place, (name, value, written) in enumerate(rows):
        top, long = 34 + place * step, _LONGEST * value // most
        middle = top + _BAR - 5
        parts += [
            f'<text x="{_LABELS - 8}" y="{middle}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LABELS}" y="{top}" width="{long}" height="{_BAR}" fill="{_COLOUR}"/>',
            f'<text x="{_LABELS + long + 6}" y="{middle}">{escape(written)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
