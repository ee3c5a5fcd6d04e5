"""Hours of the week in which cells are sold, as their owner writes them: `Mon-Fri 22:00-08:00`, `Sat-Sun`.

They are hours of a clock on a wall in a named time zone, as its law has them: where clocks are set forward at two,
half past two does not come that night, and where they are set back, it comes twice and is meant both times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MINUTE, DAY, WEEK = 60, 24 * 60, 7 * 24 * 60  # the last two in minutes
_LONGEST_LOOK = 8 * 86_400  # seconds: every span of a week begins in it
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN = re.compile(r"(\w{3})(?:-(\w{3}))?(?: +(\d\d):(\d\d)-(\d\d):(\d\d))?", re.ASCII)


@dataclass(frozen=True)
class Hours:
    """spans: each a first minute of the week, counted from Monday's midnight, and how many there are. None: always."""

    spans: tuple[tuple[int, int], ...] = ()
    zone: tzinfo = UTC

    def at(self, now: int) -> bool:
        """Whether unix second `now` is in them."""
        if not self.spans:
            return True
        local = datetime.fromtimestamp(now, self.zone)
        minute = local.weekday() * DAY + local.hour * 60 + local.minute
        return any((minute - begin) % WEEK < minutes for begin, minutes in self.spans)

    def last_from(self, now: int, seconds: int) -> bool:
        """Whether all of the time from `now` on is in them, for so many seconds."""
        return _last_from(self, now // MINUTE, (now + seconds) // MINUTE)

    def change_after(self, now: int) -> int | None:
        """When they begin or end next, unix seconds; None where they never do."""
        sells, first = self.at(now), now - now % MINUTE
        minutes = range(first + MINUTE, first + _LONGEST_LOOK, MINUTE)
        return next((second for second in minutes if self.at(second) is not sells), None)


@lru_cache(maxsize=16)
def _last_from(hours: Hours, first: int, last: int) -> bool:
    return all(hours.at(minute * MINUTE) for minute in range(first, last + 1))


def parse_hours(texts: Iterable[str], zone: str) -> Hours:
    """Hours as they are written. Raises ValueError: with what is wrong, and what would be right."""
    return Hours(tuple(span for text in texts for span in _spans(text)), _zone(zone))


def _spans(text: str) -> Iterable[tuple[int, int]]:
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' names no hours: write 'Mon-Fri 22:00-08:00', or 'Sat-Sun' for whole days")
    first, last = _day(match[1]), _day(match[2] or match[1])
    begin, end = (0, DAY) if match[3] is None else (_minute(match[3], match[4]), _minute(match[5], match[6]))
    if begin in (DAY, end):
        raise ValueError(f"'{text}' begins when it ends: name the day alone for all of it")
    minutes = (end - begin) % DAY or DAY
    for day in range(first, last + 1 if last >= first else last + 8):
        yield (day % 7) * DAY + begin, minutes


def _day(text: str) -> int:
    try:
        return _DAYS.index(text.lower())
    except ValueError:
        raise ValueError(f"'{text}' is no day: they are Mon, Tue, Wed, Thu, Fri, Sat, Sun") from None


def _minute(hours: str, minutes: str) -> int:
    minute = int(hours) * 60 + int(minutes)
    if minute > DAY or int(minutes) > 59:
        raise ValueError(f"'{hours}:{minutes}' is no time of a day: they go from 00:00 to 24:00")
    return minute


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # also where the host has no names of time zones
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"'{name}' is no time zone that this host knows: write one such as Europe/Berlin (the package `tzdata` "
            "has them all)"
        ) from None
