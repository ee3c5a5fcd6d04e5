"""Things of the market as people read them: a name and a value each, one way for every face."""

from __future__ import annotations

from datetime import date, timedelta

from leasehold.chain import Fault, FaultKind, FaultState, Terms
from leasehold.market._money import Money
from leasehold.market._units import format_duration, format_time, per_hour

EPOCH = date(1970, 1, 1)


def terms_rows(terms: Terms, money: Money, sells_gpus: bool | None = None) -> tuple[tuple[str, str], ...]:
    """A machine's terms. sells_gpus: whether it sells GPUs, or units of its CPU."""
    until = EPOCH + timedelta(days=terms.available_until_day)
    spot = f", spot {money.show(terms.spot_price)}" if terms.spot_price else ""
    return (
        ("price", f"{money.show(terms.price)} {per_hour(sells_gpus)}{spot}"),
        ("leases", f"{format_duration(terms.min_duration)} to {format_duration(terms.max_duration)}"),
        ("trial", format_duration(terms.trial)),
        ("available until", f"{until.isoformat()}, end of day UTC"),
    )


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
