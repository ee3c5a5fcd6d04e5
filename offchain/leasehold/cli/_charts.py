"""Bars: as text in a terminal, and as a picture in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from xml.sax.saxutils import escape

WIDTH = 32  # characters of the longest bar
_BAR, _GAP, _LABELS, _LONGEST, _AMOUNTS = 18, 8, 160, 480, 140  # pixels
_COLOUR = "#2563eb"


def bars(values: Sequence[int]) -> list[str]:
    """A bar for each value, the longest `WIDTH` wide; what is more than nothing has one character at least."""
    block = "█" if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else "#"
    most = max(values, default=0)
    return [block * (max(1, round(Decimal(value * WIDTH) / most)) if value > 0 else 0) for value in values]


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
