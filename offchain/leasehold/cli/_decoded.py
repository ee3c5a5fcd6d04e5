"""Calls as a signer reads them: whose function, every argument, and what can leave the ledger by it.

Names of arguments say what they are: the same name means the same thing in every contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leasehold.chain import UNLIMITED, DecodedCall, cost, format_lease
from leasehold.cli._output import Json
from leasehold.cli._session import Session
from leasehold.cli._shown import utc
from leasehold.market import accrued, extension_cost, format_amount, format_duration, format_share

_AMOUNTS = {"amount", "cap", "max_price", "price", "spot_price"}
_TIMES = {"deadline", "expiry", "expires_at"}
_DURATIONS = {"duration", "period", "min_duration", "max_duration", "trial"}
_LEASES = {"lease", "reuse"}
_LISTS_OF_LEASES = {"leases", "settle"}
_HIDDEN = {("Controller", "multicall"): {"calls"}, ("Accounts", "executeAsDelegate"): {"data"}}
# What moves none of the ledger's money out, whatever the arguments.
_FREE = {
    "close", "reject", "cancelUnstarted", "claim", "setWorkload", "cancelOffers", "delist", "relist", "withhold",
    "setContact", "setOperator", "setHardware", "setTerms", "recover", "retire", "unstake", "rate", "announce",
    "deployGroup", "failover", "pullFees", "setDelegate",
}  # fmt: skip


@dataclass(frozen=True)
class Outflow:
    """What calls can take out of the ledger: token units at most, and whether anything could not be priced.

    besides: what they give away or allow that is not in the ledger, in words.
    """

    units: int
    unknown: bool = False
    besides: tuple[str, ...] = ()

    def __add__(self, other: Outflow) -> Outflow:
        return Outflow(self.units + other.units, self.unknown or other.unknown, self.besides + other.besides)


class Reader:
    """Shows calls in one pool's money, and with the names that are known here."""

    def __init__(self, session: Session, names: Mapping[str, str] | None = None) -> None:
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

    async def outflow(self, call: DecodedCall) -> Outflow:
        """What the call can take out of the account's ledger at most, as things stand."""
        total = Outflow(0)
        for inner in call.inner:
            total += await self.outflow(inner)
        if call.inner:
            return total
        given, name = call.arguments, call.function
        if call.contract == "Controller" and name in ("transfer", "withdraw", "addStake"):
            return Outflow(int(given["amount"]))
        if name in ("open", "openWithOffer"):
            request = given["request"]
            price = min(
                int(request["max_price"]), int(given["offer"]["price"]) if "offer" in given else 1 << 80
            )
            if "offer" not in given:
                terms, _ = await self._session.pool.terms_of(request["machine"], request["revision"])
                price = min(price, terms.spot_price if request["spot"] else terms.price)
            return Outflow(cost(price, request["share"], request["duration"], up=True))
        if name in ("extend", "resize", "terminate", "transferLease"):
            return await self._of_lease(name, given)
        if name == "setDelegate" and given["cap"]:
            span = f"in each {format_duration(given['period'])}" if given["period"] else "altogether"
            allowed = f"{given['delegate']} may then spend {self._money.show(given['cap'])} {span}"
            return Outflow(0, besides=(allowed,))
        if name == "rescue":
            return Outflow(0, besides=("tokens that lie at the address itself, not in the ledger, go out",))
        return Outflow(0, unknown=name not in _FREE)

    async def _of_lease(self, name: str, given: Mapping[str, Any]) -> Outflow:
        lease, now = await self._session.pool.lease_of(int(given["lease"])), await self._session.now()
        if name == "extend":
            return Outflow(extension_cost(lease, int(given["duration"])))
        if name == "resize":
            left = max(0, lease.end - now)
            deposit = accrued(lease, now) + cost(lease.price, int(given["share"]), left, up=True)
            return Outflow(max(0, deposit - lease.deposit))
        if name == "transferLease":
            rest = self._money.show(lease.deposit - lease.settled)
            gone = f"lease {format_lease(lease.id)} goes to {given['to']}, and {rest} of escrow with it"
            return Outflow(0, besides=(gone,))
        params = await self._session.pool.params(lease.params)
        return Outflow(0 if lease.spot else cost(lease.price, lease.cells, params.penalty_seconds))

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
