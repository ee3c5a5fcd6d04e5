"""Calls as a signer reads them: whose function, and every argument.

Names of arguments say what they are: the same name means the same thing in every contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leasehold.chain import UNLIMITED, DecodedCall, format_lease
from leasehold.market import Json, Money, format_duration, format_share, format_time

_AMOUNTS = {"amount", "cap", "max_price", "price", "spot_price"}
_TIMES = {"deadline", "expiry", "expires_at"}
_DURATIONS = {"duration", "period", "min_duration", "max_duration", "trial"}
_LEASES = {"lease", "reuse"}
_LISTS_OF_LEASES = {"leases", "settle"}
_HIDDEN = {("Controller", "multicall"): {"calls"}, ("Accounts", "executeAsDelegate"): {"data"}}


def call_json(call: DecodedCall) -> Json:
    """A call for a program: numbers above 2**53 as texts."""
    return {
        "contract": call.contract,
        "target": call.target,
        "function": call.function,
        "arguments": {name: _json(value) for name, value in call.arguments.items()},
        "inner": [call_json(inner) for inner in call.inner],
    }


class CallReader:
    """Shows calls in one pool's money. names: what the addresses are called that are known here."""

    def __init__(self, money: Money, names: Mapping[str, str]) -> None:
        self._money = money
        self._names = names

    def rows(self, call: DecodedCall, indent: str = "") -> Iterator[tuple[str, str]]:
        """Names and values for people, every argument of every call."""
        yield f"{indent}{call.contract}.{call.function}", self._address(call.target)
        hidden = _HIDDEN.get((call.contract, call.function), set())
        for name, value in call.arguments.items():
            if name not in hidden:
                yield from self._rows(f"{indent}  ", name, value)
        for inner in call.inner:
            yield from self.rows(inner, indent + "  ")

    def _rows(self, indent: str, name: str, value: object) -> Iterator[tuple[str, str]]:
        if isinstance(value, Mapping):
            yield indent + name, ""
            for inner, part in value.items():
                yield from self._rows(indent + "  ", inner, part)
        else:
            yield indent + name, self._value(name, value)

    def _value(self, name: str, value: object) -> str:
        if isinstance(value, bytes):
            return "0x" + value.hex() if value else "nothing"
        if isinstance(value, tuple | list):
            single = "lease" if name in _LISTS_OF_LEASES else name
            return ", ".join(self._value(single, part) for part in value) or "none"
        if isinstance(value, str) and value.startswith("0x"):
            return self._address(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        return self._number(name, value)

    def _number(self, name: str, value: int) -> str:
        if name in _AMOUNTS:
            return "without limit" if value == UNLIMITED else self._money.show(value)
        if name in _TIMES:
            return f"{format_time(value)} ({value})"
        if name in _DURATIONS:
            return f"{format_duration(value)} ({value} s)"
        if name in _LEASES:
            return format_lease(value) if value else "none"
        if name in ("share", "cells") and value in (1, 2, 4, *range(8, 65, 8)):
            return f"{format_share(value)} GPU ({value} cells)"
        return str(value)

    def _address(self, address: str) -> str:
        known = self._names.get(address)
        return f"{address} ({known})" if known else address


def _json(value: object) -> Json:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Mapping):
        return {str(name): _json(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_json(part) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 << 53:
        return str(value)
    return value if isinstance(value, str | int | bool) or value is None else str(value)
