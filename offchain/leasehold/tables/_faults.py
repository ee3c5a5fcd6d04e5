"""Faults of machines, and who was paid for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from leasehold.chain import Fault, FaultState, format_lease
from leasehold.client import ROLL_AFTER, FaultView, executable
from leasehold.market import Money, fault_cost, fault_when, format_time
from leasehold.tables._table import Pairs, Table

FAULT_COLUMNS: Final = (">fault", ">machine", "kind", "state", "when", ">costs")
LOSS_COLUMNS: Final = ("lease", "tenant", ">part of the slash", ">credited")
_BURNT: Final = "0x000000000000000000000000000000000000dead"  # in the ledger; nobody has its key


def faults_table(faults: Iterable[Fault], money: Money) -> Table:
    """Outages and other faults, and what they cost."""
    return Table(FAULT_COLUMNS, [_row(fault, money) for fault in faults])


def losses_table(view: FaultView, money: Money) -> Table:
    """What tenants have registered that they lost by a fault."""
    rows = [
        (format_lease(loss.lease), loss.tenant, money.show(loss.part), money.show(loss.amount))
        for loss in view.losses
    ]
    return Table(LOSS_COLUMNS, rows)


def fault_rows(view: FaultView, money: Money) -> Pairs:
    """One fault: what happened, what it costs and whom that went to."""
    fault = view.fault
    return (
        ("machine", str(fault.machine)),
        ("kind", fault.kind.word),
        ("when", fault_when(fault)),
        ("state", fault.state.name.lower()),
        ("costs", fault_cost(fault, money)),
        *((("went to", _went_to(view, money)),) if fault.state is FaultState.EXECUTED else ()),
        ("judged by", f"version {fault.rules} of the pool's parameters"),
        ("arbiter", view.arbiter or "nobody"),
    )


def fault_next(view: FaultView, now: int, settle: str = "settle it") -> str:
    """What can happen to a fault now, and who may send that. now: unix seconds of the chain. settle: how this face
    names what files or carries it out.
    """
    fault, until = view.fault, format_time(view.fault.deadline)
    if fault.state is FaultState.RUNNING:
        if now > fault.from_ + ROLL_AFTER:
            return f"anybody may file it: {settle}"
        return "runs until the machine's operator or provider recovers it"
    if fault.state is FaultState.FILED and now <= fault.deadline:
        may = "the provider may appeal" if view.arbiter else "nobody rules on it: it stands"
        return f"{may} until {until}; tenants register what they lost"
    if fault.state is FaultState.APPEALED and now <= fault.deadline:
        return f"{view.arbiter} may rule until {until}; silence lets it stand"
    if fault.state is FaultState.UPHELD and now <= fault.deadline:
        return f"it stands; tenants register what they lost until {until}"
    if executable(fault, now):
        return f"anybody may carry it out: {settle}"
    if fault.state is FaultState.EXECUTED and fault.pot:
        return f"tenants are still owed a part: {settle}"
    return "nothing more"


def _row(fault: Fault, money: Money) -> tuple[str, ...]:
    state, when = fault.state.name.lower(), fault_when(fault)
    return str(fault.id), str(fault.machine), fault.kind.word, state, when, fault_cost(fault, money)


def _went_to(view: FaultView, money: Money) -> str:
    tenants, reporters, rest = view.shares(money)
    sink = view.record.sink if view.record else None
    who = "burnt" if sink is None or sink.lower() == _BURNT else sink
    return f"tenants {tenants}, reporters {reporters}, {who} {rest} {money.symbol}"
