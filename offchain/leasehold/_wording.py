"""How the data of an error becomes words: a template's fields are the error's attributes, and what follows a colon
says how one is written.

    {until:utc}      a time in unix seconds
    {duration:span}  seconds; {left:duration} the same as people write it, such as 1h30m
    {lease:lease}    a lease's id, such as 12.1
    {price:money}    token units, in the pool's token where that is known; {missing:tokens} the exact number alone
    {balance:coin}   wei, in the chain's coin
    {share:share}    cells, as a share of GPUs
    {state:state}    a lease's state; also `fault`, a fault's, and `round`, a verification's
"""

import string
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

_STATES = {
    "state": ("none", "opened", "active", "ended", "cancelled", "rejected"),
    "fault": ("none", "running", "filed", "appealed", "upheld", "executed", "dropped"),
    "round": ("none", "requested", "drawn", "passed", "failed", "inconclusive"),
}


class Teller(Protocol):
    """Who knows the pool's token."""

    def show(self, units: int) -> str:
        """An amount for people, with its symbol."""

    def exact(self, units: int) -> str:
        """An amount in whole tokens, as one types it."""


class Units:
    """Says amounts where nobody knows the token."""

    def show(self, units: int) -> str:
        return f"{units} token units"

    def exact(self, units: int) -> str:
        return f"{units} token units"


class Wording(string.Formatter):
    """Fills a template with the attributes of an error. say: how an error inside the error is told."""

    def __init__(self, teller: Teller, say: Callable[[Exception], str]) -> None:
        self._teller = teller
        self._say = say

    def fill(self, template: str, error: Exception) -> str:
        return self.vformat(template, (), _Attributes(error))

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs[str(key)]

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, bytes):
            return _text(value)
        if isinstance(value, Exception):
            return self._say(value)
        if not isinstance(value, int) or not format_spec:
            return cast(str, super().format_field(value, format_spec))
        if format_spec in ("money", "tokens"):
            return self._teller.show(value) if format_spec == "money" else self._teller.exact(value)
        if format_spec in _STATES:
            names = _STATES[format_spec]
            return names[value] if value < len(names) else str(int(value))
        if format_spec in _WRITTEN:
            return _WRITTEN[format_spec](value)
        return cast(str, super().format_field(value, format_spec))


class _Attributes(Mapping[str, Any]):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getitem__(self, name: str) -> Any:
        return getattr(self._error, name)

    def __iter__(self) -> Any:
        return iter(vars(self._error))

    def __len__(self) -> int:
        return len(vars(self._error))


def format_duration(seconds: int) -> str:
    """The shortest exact form, such as ``1h30m``."""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    parts = []
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def format_share(cells: int) -> str:
    """Cells as people write a share: parts of a GPU, or whole ones."""
    return {1: "1/8", 2: "1/4", 4: "1/2"}.get(cells, str(cells // 8))


def _lease(lease: int) -> str:
    slot, generation = lease >> 16, lease & 0xFFFF
    return f"{slot}.{generation}" if generation else str(slot)


def _utc(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):  # a contract may name any number
        return str(seconds)


_WRITTEN: dict[str, Callable[[int], str]] = {
    "utc": _utc,
    "span": lambda seconds: f"{seconds} s",
    "duration": format_duration,
    "lease": _lease,
    "share": format_share,
    "coin": lambda wei: f"{wei / 1e18:.6f}",
}


def _text(value: bytes) -> str:
    """A short ASCII code in a bytes32 as text, anything else as hex."""
    stripped = value.rstrip(b"\0")
    if len(value) == 32 and stripped and stripped.isascii() and stripped.decode("ascii").isprintable():
        return stripped.decode("ascii")
    return "0x" + value.hex()
