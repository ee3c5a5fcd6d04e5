"""Things of the market as people read them: a name and a value each, one way for every face."""

from __future__ import annotations

from dataclasses import fields
from datetime import date, timedelta

from leasehold.chain import Fault, FaultKind, FaultState, Params, Terms
from leasehold.market._quote import Money
from leasehold.market._rules import changes, format_param
from leasehold.market._units import format_duration, format_time

EPOCH = date(1970, 1, 1)


def terms_rows(terms: Terms, money: Money) -> tuple[tuple[str, str], ...]:
    """A machine's terms."""
    until = EPOCH + timedelta(days=terms.available_until_day)
    spot = f", spot {money.show(terms.spot_price)}" if terms.spot_price else ""
    return (
        ("price", f"{money.show(terms.price)} per GPU-hour{spot}"),
        ("leases", f"{format_duration(terms.min_duration)} to {format_duration(terms.max_duration)}"),
        ("trial", format_duration(terms.trial)),
        ("available until", f"{until.isoformat()}, end of day UTC"),
    )


def params_rows(params: Params, money: Money) -> list[tuple[str, str]]:
    """A pool's parameters."""
    names = [field.name for field in fields(Params)]
    return [(name, format_param(name, getattr(params, name), money)) for name in names]


def changes_rows(before: Params, after: Params, money: Money) -> list[tuple[str, str, str]]:
    """What differs between two versions of a pool's parameters: name, old and new."""
    return [
        (
            change.name,
            format_param(change.name, change.before, money),
            format_param(change.name, change.after, money),
        )
        for change in changes(before, after)
    ]


def fault_when(fault: Fault) -> str:
    """When it was."""
    if fault.kind is FaultKind.FALSE_HARDWARE:
        return f"verification of {format_time(fault.to)}"
    if not fault.to:
        return f"since {format_time(fault.from_)}"
    return f"{format_time(fault.from_)}, {format_duration(fault.to - fault.from_)}"


def fault_cost(fault: Fault, money: Money) -> str:
    """What it costs."""
    if fault.state is FaultState.RUNNING:
        return "not fixed yet"
    return f"{money.show(fault.amount)} ({fault.bps / 100:g} % of the stake)"
