"""The roots of the exception tree, and how a contract's revert becomes one of its leaves."""

import string
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from typing import ClassVar, Self, cast

from leasehold._sentences import SENTENCES


class LeaseholdError(Exception):
    """Anything Leasehold can raise. `str(error)` is one sentence that says what went wrong and what to do
    next.

    `exit_code` is what the command line exits with.
    """

    exit_code: ClassVar[int] = 1


class ChainError(LeaseholdError):
    """The chain, a node, or a transaction."""

    exit_code: ClassVar[int] = 3


class ContractError(ChainError):
    """A contract refused. One subclass for each custom error, with the same name and the error's typed fields.

    A contract knows no decimals and no symbol: amounts are token units, in the fields and in the sentence.
    """

    exit_code: ClassVar[int] = 4
    signature: ClassVar[str] = ""
    _show: Callable[[int], str] | None = None

    def __str__(self) -> str:
        template = SENTENCES[type(self).__name__]
        return _Sentence(self._show or _units).format(template, **dict(self.values()))

    def in_money(self, show: Callable[[int], str]) -> Self:
        """This error, whose sentence says amounts as `show` writes them: for who knows the pool's token."""
        self._show = show
        return self

    def values(self) -> Iterator[tuple[str, object]]:
        """The error's arguments by name."""
        for field in fields(self):  # type: ignore[arg-type]  # every leaf is a dataclass
            yield field.name, getattr(self, field.name)


_STATES = {
    "state": ("none", "opened", "active", "ended", "cancelled", "rejected"),
    "fault": ("none", "running", "filed", "appealed", "upheld", "executed", "dropped"),
    "round": ("none", "requested", "drawn", "passed", "failed", "inconclusive"),
}


class _Sentence(string.Formatter):
    """Formats an error's arguments for people: `utc` and `span` for seconds, `lease` for a lease's id, `money` for
    amounts, and the names of states: `state` of a lease, `fault`, `round`."""

    def __init__(self, show: Callable[[int], str]) -> None:
        self._show = show

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, bytes):
            return _text(value)
        if not isinstance(value, int) or not format_spec:
            return str(value)
        if format_spec == "utc":
            return _utc(value)
        if format_spec == "money":
            return self._show(value)
        if format_spec == "span":
            return f"{value} s"
        if format_spec == "lease":
            slot, generation = value >> 16, value & 0xFFFF
            return f"{slot}.{generation}" if generation else str(slot)
        if format_spec in _STATES:
            names = _STATES[format_spec]
            return names[value] if value < len(names) else str(value)
        return cast(str, super().format_field(value, format_spec))


def _units(amount: int) -> str:
    return f"{amount} token units"


def _utc(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):  # a contract may name any number
        return str(seconds)


def _text(value: bytes) -> str:
    """A short ASCII code in a bytes32 as text, anything else as hex."""
    stripped = value.rstrip(b"\0")
    if len(value) == 32 and stripped and stripped.isascii() and stripped.decode("ascii").isprintable():
        return stripped.decode("ascii")
    return "0x" + value.hex()
