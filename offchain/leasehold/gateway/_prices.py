"""What a GPU-hour of each class was asked for over time: pure, from what machines have asked since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Final

from leasehold.chain import PriceChange

STEP: Final = 6 * 3_600
"""Seconds between two points."""


@dataclass(frozen=True, slots=True)
class Point:
    """The prices of a class at a time: token units per GPU-hour, of so many machines."""

    time: int
    least: int
    median: int
    most: int
    machines: int


def price_series(
    changes: Iterable[PriceChange], class_of: Callable[[bytes], str | None], since: int, until: int
) -> Mapping[str, list[Point]]:
    """Points for each class, every `STEP` seconds from `since` to `until`. Machines that retired ask nothing any more,
    and those whose cards nobody knows are in no class.
    """
    asked: dict[str, dict[int, int]] = defaultdict(dict)
    classes: dict[int, str] = {}
    known: dict[str, tuple[int, int, int, int]] = {}
    series: dict[str, list[Point]] = defaultdict(list)
    moments = _moments(since, until)
    due = next(moments, None)

    def note(time: int) -> None:
        for name, prices in asked.items():
            if name not in known and prices:
                values = sorted(prices.values())
                known[name] = values[0], median_low(values), values[-1], len(values)
            if prices:
                series[name].append(Point(time, *known[name]))

    for change in changes:
        while due is not None and due < change.time:
            note(due)
            due = next(moments, None)
        former = classes.pop(change.machine, None)
        if former is not None:
            asked[former].pop(change.machine, None)
            known.pop(former, None)
        named = class_of(change.hardware) if change.price else None
        if named is not None:
            classes[change.machine] = named
            asked[named][change.machine] = change.price
            known.pop(named, None)
    while due is not None:
        note(due)
        due = next(moments, None)
    return series


def _moments(since: int, until: int) -> Iterator[int]:
    """Whole steps between the two, and the last moment itself."""
    yield from range(since - since % STEP + STEP, until, STEP)
    yield until
