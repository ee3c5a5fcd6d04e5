"""Amounts, durations and sizes: exact in both directions, refused when they cannot be."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.market import (
    InvalidAmount,
    InvalidDuration,
    InvalidSize,
    format_amount,
    format_duration,
    format_size,
    parse_amount,
    parse_duration,
    parse_size,
    to_tokens,
)


@pytest.mark.parametrize(
    ("text", "decimals", "units"),
    [
        ("1", 6, 1_000_000),
        ("2.5", 18, 25 * 10**17),
        ("0.000001", 6, 1),
        (" 3.10 ", 6, 3_100_000),
        ("0", 18, 0),
    ],
)
def test_amounts_become_token_units(text: str, decimals: int, units: int) -> None:
    assert parse_amount(text, decimals) == units


@pytest.mark.parametrize("text", ["", "-1", "+1", "1e3", "1,5", ".5", "5.", "NaN", "0x10", "1 000", "٣", "²"])
def test_what_is_no_plain_decimal_is_refused(text: str) -> None:
    with pytest.raises(InvalidAmount, match="is not an amount"):
        parse_amount(text, 6)


def test_what_the_token_cannot_express_is_refused_instead_of_rounded() -> None:
    with pytest.raises(InvalidAmount, match="it has 6 decimals"):
        parse_amount("0.0000001", 6)
    assert parse_amount("0.1000000", 6) == 100_000


@given(st.integers(-(2**96), 2**96), st.integers(0, 18))
@settings(max_examples=200, deadline=None)
def test_amounts_survive_the_round_trip(units: int, decimals: int) -> None:
    text = format_amount(units, decimals)
    assert (parse_amount(text, decimals) if units >= 0 else -parse_amount(text[1:], decimals)) == units
    assert Decimal(text) == to_tokens(units, decimals)


def test_short_amounts_say_that_they_are_cut() -> None:
    assert format_amount(1_234_567, 6, places=2) == "~1.23"
    assert format_amount(1_500_000, 6, places=2) == "1.5"
    assert format_amount(-9, 6, places=2) == "~-0"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5_400),
        ("2h", 7_200),
        ("1h30m", 5_400),
        ("1.5h", 5_400),
        ("1d", 86_400),
        ("2w", 1_209_600),
        ("45s", 45),
        ("1H 30min", 5_400),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "h", "1x", "-1h", "1h-2m", "5ms", "1h garbage", "0.0001s"])
def test_bad_durations_are_refused(text: str) -> None:
    with pytest.raises(InvalidDuration):
        parse_duration(text)


@given(st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_durations_survive_the_round_trip(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
    assert format_duration(-seconds).lstrip("-") == format_duration(seconds)


@pytest.mark.parametrize(
    ("text", "count"),
    [("80GB", 80 * 10**9), ("80 GiB", 80 * 2**30), ("512", 512), ("0.5k", 500), ("1TB", 10**12)],
)
def test_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


def test_a_size_without_a_unit_takes_the_default() -> None:
    assert parse_size("80", default_unit="gb") == 80 * 10**9
    for text in ("", "GB", "8 parsecs", "-1GB"):
        with pytest.raises(InvalidSize):
            parse_size(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (85_520_809_984, "85.5 GB"),
        (80 * 10**9, "80 GB"),
        (250 * 10**12, "250 TB"),
        (1_500, "1.5 kB"),
    ],
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert format_size(count) == text
