"""Amounts, durations and sizes, as people write them.

Money never passes through a float: text becomes whole token units, and back. What cannot be said exactly is
refused instead of rounded, because the difference would be somebody's money.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from leasehold.market._errors import InvalidAmount, InvalidDuration, InvalidInput, InvalidSize

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""What a program is told."""

_AMOUNT = re.compile(r"([0-9]{1,60})(?:\.([0-9]{1,60}))?")
_DURATION_PART = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(sec|min|s|m|h|d|w)(?![a-z])")
_VERSION = re.compile(r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,7})")
_SIZE = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,12})?)\s*([A-Za-z]*)")

SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
BYTES = {
    "b": 1,
    "k": 10**3,
    "kb": 10**3,
    "m": 10**6,
    "mb": 10**6,
    "g": 10**9,
    "gb": 10**9,
    "t": 10**12,
    "tb": 10**12,
    "p": 10**15,
    "pb": 10**15,
    "ki": 2**10,
    "kib": 2**10,
    "mi": 2**20,
    "mib": 2**20,
    "gi": 2**30,
    "gib": 2**30,
    "ti": 2**40,
    "tib": 2**40,
    "pi": 2**50,
    "pib": 2**50,
}


def parse_amount(text: str, decimals: int) -> int:
    """Token units of an amount written in whole tokens, such as ``2.5``.

    Raises:
        InvalidAmount: not a plain decimal number, or finer than the token's smallest unit.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise InvalidAmount(f"'{text}' is not an amount", "write whole tokens with decimals, such as 2.5.")
    whole, fraction = match[1], (match[2] or "").rstrip("0")
    if len(fraction) > decimals:
        raise InvalidAmount(f"'{text}' is finer than this token", f"it has {decimals} decimals.")
    scale: int = 10**decimals
    return int(whole) * scale + int(fraction.ljust(decimals, "0") or "0")


def format_amount(units: int, decimals: int, *, places: int | None = None) -> str:
    """An amount in whole tokens: exact, or cut to `places` decimals and marked ``~`` where that lost something."""
    sign, units = ("-", -units) if units < 0 else ("", units)
    whole, fraction = divmod(units, 10**decimals)
    digits = f"{fraction:0{decimals}d}".rstrip("0") if fraction else ""
    if places is not None and len(digits) > places:
        digits = digits[:places].rstrip("0")
        sign = f"~{sign}"
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def to_tokens(units: int, decimals: int) -> Decimal:
    """The same amount as an exact decimal number of whole tokens."""
    return Decimal(format_amount(units, decimals))  # arithmetic on Decimals would round to 28 digits


def per_hour(sells_gpus: bool | None) -> str:
    """What a price is for, behind its amount. sells_gpus: `None` where it is not known here."""
    if sells_gpus is None:
        return "an hour for a GPU (or CPU unit)"
    return "per GPU-hour" if sells_gpus else "an hour for a CPU unit"


def parse_duration(text: str) -> int:
    """Whole seconds of a duration such as ``90m``, ``2h``, ``1h30m`` or ``3d``.

    Raises:
        InvalidDuration: no unit, an unknown one, or not a whole number of seconds.
    """
    compact = re.sub(r"\s+", "", text).lower()
    total, position = Decimal(0), 0
    for match in _DURATION_PART.finditer(compact):
        if match.start() != position:
            break
        total += Decimal(match[1]) * SECONDS[match[2]]
        position = match.end()
    if position != len(compact) or not compact:
        raise InvalidDuration(
            f"'{text}' is not a duration", "write a number and its unit, such as 90m, 2h or 1d."
        )
    if total != int(total):
        raise InvalidDuration(f"'{text}' is not a whole number of seconds.")
    return int(total)


def format_duration(seconds: int) -> str:
    """The shortest exact form, such as ``1h30m``; `parse_duration` reads it back."""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(text: str, *, default_unit: str = "b") -> Decimal:
    """Bytes of a size such as ``80GB`` (10^9), ``80GiB`` (2^30) or, in `default_unit`, ``80``.

    Raises:
        InvalidSize: not a number with a known unit.
    """
    match = _SIZE.fullmatch(text.strip())
    factor = BYTES.get((match[2] or default_unit).lower()) if match else None
    if match is None or factor is None:
        raise InvalidSize(f"'{text}' is not a size", "write a number and its unit, such as 80GB or 512MiB.")
    return Decimal(match[1]) * factor


def version_in(text: str) -> tuple[int, ...] | None:
    """The numbers of a version that a text begins with: ``(570, 86, 10)`` of ``570.86.10``; `None` without one."""
    match = _VERSION.match(text)
    return tuple(map(int, match[1].split("."))) if match else None


def parse_version(text: str) -> tuple[int, ...]:
    """The numbers of a version such as ``12.4``.

    Raises:
        InvalidInput: it is none.
    """
    numbers = version_in(text)
    if numbers is None or _VERSION.fullmatch(text) is None:
        raise InvalidInput(f"'{text}' is not a version: write numbers and dots, such as 12.4.")
    return numbers


def format_size(count: int) -> str:
    """Bytes in decimal units, as disks and GPU models are sold: ``85.5 GB``."""
    for unit, factor in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            tenths = count * 10 // factor
            return (
                f"{tenths // 10} {unit}" if tenths % 10 == 0 or tenths >= 1_000 else f"{tenths / 10} {unit}"
            )
    return f"{count} B"


def format_time(seconds: int) -> str:
    """A time for people. Files and contracts may name any number: one past the calendar's end stays a number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"


def parse_time(text: str, now: int) -> int:
    """Unix seconds of `now`, of ``2h ago``, of ``2026-11-21T15:00:00Z`` (UTC where no zone is said), or as they are.

    Raises:
        InvalidInput: no point in time.
    """
    written = text.strip()
    if written == "now":
        return now
    if written.isascii() and written.isdigit():
        return int(written)
    if written.endswith(" ago"):
        return now - parse_duration(written.removesuffix(" ago"))
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise InvalidInput(
            f"'{text}' is no time: write 2026-11-21T15:00:00Z, '2h ago', now, or unix seconds."
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def parse_day(text: str) -> date:
    """A day as it is typed. Raises InvalidInput."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"'{text}' is not a day: write YYYY-MM-DD.") from None
