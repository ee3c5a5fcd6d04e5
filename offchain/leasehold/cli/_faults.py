"""Faults as people and programs read them, and what it takes to settle one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import FaultKind, FaultState, format_lease
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import ROLL_AFTER, Settlement, executable
from leasehold.market import Money, Payment, format_amount, format_duration

if TYPE_CHECKING:
    from leasehold.chain import Fault

BURNT = "0x000000000000000000000000000000000000dead"  # in the ledger; nobody has its key

KINDS = {
    FaultKind.NONE: "none",
    FaultKind.SELF_REPORTED: "self-reported",
    FaultKind.CHALLENGED: "challenged",
    FaultKind.ATTESTED: "attested",
    FaultKind.FALSE_HARDWARE: "false hardware",
}


def fault_json(fault: Fault, money: Money) -> dict[str, Json]:
    """A fault in JSON."""
    return {
        "fault": fault.id,
        "machine": fault.machine,
        "kind": KINDS[fault.kind],
        "state": fault.state.name.lower(),
        "from": fault.from_,
        "to": fault.to or None,
        "deadline": fault.deadline or None,
        "bps": fault.bps,
        "amount": format_amount(fault.amount, money.decimals),
        "token": money.symbol,
        "rules": fault.rules,
    }


def lasted(fault: Fault) -> str:
    """When it was, for people."""
    if fault.kind is FaultKind.FALSE_HARDWARE:
        return f"verification of {utc(fault.to)}"
    if not fault.to:
        return f"since {utc(fault.from_)}"
    return f"{utc(fault.from_)}, {format_duration(fault.to - fault.from_)}"


def costs(fault: Fault, money: Money) -> str:
    """What it costs, for people."""
    if fault.state is FaultState.RUNNING:
        return "not fixed yet"
    return f"{money.show(fault.amount, places=6)} ({fault.bps / 100:g} % of the stake)"


def what_next(fault: Fault, now: int, arbiter: str | None) -> str:
    """What can happen to it now, and who may send that."""
    if fault.state is FaultState.RUNNING:
        if now > fault.from_ + ROLL_AFTER:
            return f"anybody may file it: `leasehold compensate {fault.id}`"
        return "runs until the machine's operator or provider recovers it"
    if fault.state is FaultState.FILED and now <= fault.deadline:
        may = "the provider may appeal" if arbiter else "nobody rules on it: it stands"
        return f"{may} until {utc(fault.deadline)}; tenants register what they lost"
    if fault.state is FaultState.APPEALED and now <= fault.deadline:
        return f"{arbiter} may rule until {utc(fault.deadline)}; silence lets it stand"
    if fault.state is FaultState.UPHELD and now <= fault.deadline:
        return f"it stands; tenants register what they lost until {utc(fault.deadline)}"
    if executable(fault, now):
        return f"anybody may carry it out: `leasehold compensate {fault.id}`"
    if fault.state is FaultState.EXECUTED and fault.pot:
        return f"tenants are still owed a part: `leasehold compensate {fault.id}`"
    return "nothing more"


def sink_said(sink: str | None) -> str:
    """Who got what nobody had coming, for people."""
    return "burnt" if sink is None or sink.lower() == BURNT else sink


def from_ledger_said(payment: Payment, money: Money) -> str:
    """Where the money comes from that only a ledger can pay, for people."""
    if not payment.pulled:
        return f"{money.show(payment.amount)} from your ledger"
    return (
        f"{money.show(payment.amount)}: {money.show(payment.pulled)} go from the wallet into the ledger first"
    )


def settlement_said(settlement: Settlement, money: Money) -> str:
    """What is done to a fault, for people."""
    fault, shown = settlement.fault, ", ".join(map(format_lease, settlement.leases))
    leases = f"lease {shown}" if len(settlement.leases) == 1 else f"leases {shown}"
    if settlement.kind == "roll":
        return f"file the outage of machine {fault.machine}"
    if settlement.kind == "apply":
        return f"take outage {fault.id} off the bill of {leases}, and register what was lost"
    if settlement.kind == "execute":
        amount = money.show(fault.amount, places=6)
        return f"carry out fault {fault.id}: {amount} of machine {fault.machine}'s stake"
    return f"credit the part of {leases} in fault {fault.id}"


def settlement_json(settlement: Settlement, money: Money) -> dict[str, Json]:
    """The same in JSON."""
    said = settlement_said(settlement, money)
    return {"fault": settlement.fault.id, "step": settlement.kind, "said": said}
