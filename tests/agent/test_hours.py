"""Hours in which an owner sells his cells, by the clock on his wall: nights, weekends, and the nights that are odd."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from leasehold_agent.host import Hours, parse_hours

BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = parse_hours(["Mon-Fri 22:00-08:00", "Sat-Sun"], "Europe/Berlin")
HOUR, DAY = 3_600, 86_400


def at(*when: int, fold: int = 0, zone: ZoneInfo = BERLIN) -> int:
    return int(datetime(*when, tzinfo=zone, fold=fold).timestamp())  # type: ignore[misc]


@pytest.mark.parametrize(
    ("when", "sold"),
    [
        ((2026, 11, 24, 21, 59), False),  # a Tuesday
        ((2026, 11, 24, 22, 0), True),
        ((2026, 11, 25, 0, 0), True),
        ((2026, 11, 25, 7, 59), True),
        ((2026, 11, 25, 8, 0), False),
        ((2026, 11, 28, 12, 0), True),  # Saturday
        ((2026, 11, 29, 23, 59), True),
        ((2026, 11, 30, 0, 0), False),  # Monday: Sunday names no night of its own
        ((2026, 11, 30, 3, 0), False),
    ],
)
def test_nights_and_weekends(when: tuple[int, ...], sold: bool) -> None:
    assert NIGHTS.at(at(*when)) is sold


def test_a_night_on_which_clocks_go_forward_is_an_hour_shorter() -> None:
    """In Berlin on 29 March 2026 two o'clock is three o'clock."""
    nights = parse_hours(["Mon-Sun 22:00-08:00"], "Europe/Berlin")
    dusk = at(2026, 3, 28, 22, 0)
    assert nights.change_after(dusk - 1) == dusk
    assert nights.change_after(dusk) == dusk + 9 * HOUR == at(2026, 3, 29, 8, 0)
    gap = parse_hours(["Sun 02:00-03:00"], "Europe/Berlin")  # does not come that night
    assert not any(gap.at(second) for second in range(at(2026, 3, 29, 0, 0), at(2026, 3, 29, 6, 0), 60))
    assert gap.at(at(2026, 3, 22, 2, 30))


def test_a_night_on_which_clocks_go_back_has_an_hour_twice() -> None:
    """In Berlin on 25 October 2026 three o'clock is two o'clock again."""
    nights = parse_hours(["Mon-Sun 22:00-08:00"], "Europe/Berlin")
    dusk = at(2026, 10, 24, 22, 0)
    assert nights.change_after(dusk) == dusk + 11 * HOUR == at(2026, 10, 25, 8, 0)
    twice = parse_hours(["Sun 02:00-03:00"], "Europe/Berlin")
    seconds = range(at(2026, 10, 25, 0, 0), at(2026, 10, 25, 6, 0), 60)
    assert sum(twice.at(second) for second in seconds) == 120
    assert twice.at(at(2026, 10, 25, 2, 30))
    assert twice.at(at(2026, 10, 25, 2, 30, fold=1))


def test_the_same_hours_elsewhere_are_others() -> None:
    now = at(2026, 7, 1, 23, 0)
    for zone, sold in (
        ("Europe/Berlin", True),
        ("UTC", False),
        ("Asia/Kathmandu", True),
        ("America/New_York", False),
    ):
        assert parse_hours(["Mon-Sun 22:00-08:00"], zone).at(now) is sold


def test_what_is_sold_ends_before_the_owner_comes_back() -> None:
    """So long before its end nothing is sold that may last so long."""
    dawn = at(2026, 11, 25, 8, 0)
    assert NIGHTS.last_from(dawn - 2 * HOUR - 1, 2 * HOUR)
    assert not NIGHTS.last_from(dawn - 2 * HOUR, 2 * HOUR)
    assert not NIGHTS.last_from(dawn + HOUR, 0)
    assert NIGHTS.last_from(at(2026, 11, 28, 0, 0), 2 * DAY - 60)
    assert not NIGHTS.last_from(at(2026, 11, 28, 0, 0), 2 * DAY)
    assert not NIGHTS.last_from(at(2026, 11, 24, 7, 0), 16 * HOUR), "the day between is not sold"


def test_no_hours_are_all_hours() -> None:
    assert parse_hours([], "Europe/Berlin").at(0)
    assert Hours().last_from(0, 30 * DAY)
    assert Hours().change_after(0) is None
    assert parse_hours(["Mon-Sun"], "UTC").change_after(0) is None


def test_a_week_that_wraps() -> None:
    hours = parse_hours(["sat-mon 12:00-24:00", "Sun 23:00-01:00"], "UTC")
    monday = int(datetime(2026, 11, 30, tzinfo=UTC).timestamp())
    assert hours.at(monday + 13 * HOUR)
    assert hours.at(monday + 59 * 60), "Sunday's night"
    assert not hours.at(monday + HOUR)
    assert not hours.at(monday + DAY + 13 * HOUR)
    assert hours.change_after(monday + HOUR) == monday + 12 * HOUR


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nights", "names no hours"),
        ("", "names no hours"),
        ("Mon-Fri 22-8", "names no hours"),
        ("Mon 8:00-9:00", "names no hours"),
        ("Mon 08:00-09:00 x", "names no hours"),
        ("Foo 08:00-09:00", "'Foo' is no day"),
        ("Mon 08:61-09:00", "'08:61' is no time"),
        ("Mon 08:00-25:00", "'25:00' is no time"),
        ("Mon 24:01-08:00", "'24:01' is no time"),
        ("Mon 08:00-08:00", "begins when it ends"),
        ("Mon 24:00-08:00", "begins when it ends"),
        ("Mon ٠٨:00-09:00", "names no hours"),
    ],
)
def test_what_names_no_hours(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_hours([text], "UTC")


@pytest.mark.parametrize("zone", ["", "Berlin", "../etc/passwd", "/etc/passwd", "Europe/\0", "Europe"])
def test_what_is_no_time_zone(zone: str) -> None:
    with pytest.raises(ValueError, match="is no time zone"):
        parse_hours(["Mon"], zone)
