"""Calls as a signer reads them: whose function, every argument, and what can leave the ledger by it.

Names of arguments say what they are: the same name means the same thing in every contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from leasehold import UNLIMITED, format_lease
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import Outflow, PoolClient
from leasehold.market import format_amount, format_duration, format_share

if TYPE_CHECKING:
    from leasehold.chain import DecodedCall

_AMOUNTS = {"amount", "cap", "max_price", "price", "spot_price"}
_TIMES = {"deadline", "expiry", "expires_at"}
_DURATIONS = {"duration", "period", "min_duration", "max_duration", "trial"}
_LEASES = {"lease", "reuse"}
_LISTS_OF_LEASES = {"leases", "settle"}
_HIDDEN = {("Controller", "multicall"): {"calls"}, ("Accounts", "executeAsDelegate"): {"data"}}


class Reader:
    """Shows calls in one pool's money, and with the names that are known here."""

    def __init__(self, session: PoolClient, names: Mapping[str, str] | None = None) -> None:
        self._session = session
        self._money = session.money
        self._names = dict(names or {})

    def rows(self, call: DecodedCall, indent: str = "") -> Iterator[tuple[str, str]]:
        """Names and values for people, every argument of every call."""
        yield f"{indent}{call.contract}.{call.function}", self._address(call.target)
        hidden = _HIDDEN.get((call.contract, call.function), set())
        for name, value in call.arguments.items():
            if name not in hidden:
                yield from self._rows(f"{indent}  ", name, value)
        for inner in call.inner:
            yield from self.rows(inner, indent + "  ")

    def json(self, call: DecodedCall) -> Json:
        """The call in JSON: numbers above 2**53 as texts."""
        return {
            "contract": call.contract,
            "target": call.target,
            "function": call.function,
            "arguments": {name: _json(value) for name, value in call.arguments.items()},
            "inner": [self.json(each) for each in call.inner],
        }

    # --------------------------------------------------------------------------------------------------- values

    def _rows(self, indent: str, name: str, value: object) -> Iterator[tuple[str, str]]:
        if isinstance(value, Mapping):
            yield indent + name, ""
            for inner, each in value.items():
                yield from self._rows(indent + "  ", inner, each)
        else:
            yield indent + name, self._value(name, value)

    def _value(self, name: str, value: object) -> str:
        if isinstance(value, bytes):
            return "0x" + value.hex() if value else "nothing"
        if isinstance(value, tuple | list):
            single = "lease" if name in _LISTS_OF_LEASES else name
            return ", ".join(self._value(single, each) for each in value) or "none"
        if isinstance(value, str) and value.startswith("0x"):
            return self._address(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        if name in _AMOUNTS:
            return "without limit" if value == UNLIMITED else self._money.show(value)
        if name in _TIMES:
            return f"{utc(value)} ({value})"
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

    def show(self, outflow: Outflow) -> str:
        """What leaves, for people."""
        if outflow.unknown:
            return (
                f"{self._money.show(outflow.units)}, and whatever the calls above say that is not priced here"
            )
        return f"{self._money.show(outflow.units)} at most"

    def amount(self, outflow: Outflow) -> str:
        """The same for JSON, in whole tokens."""
        return format_amount(outflow.units, self._money.decimals)


def _json(value: object) -> Json:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Mapping):
        return {str(name): _json(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_json(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 << 53:
        return str(value)
    return value if isinstance(value, str | int | bool) or value is None else str(value)
