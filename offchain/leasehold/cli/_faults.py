"""Faults as people and programs read them, and what it takes to settle one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leasehold.chain import (
    ZERO_ADDRESS,
    ZERO_DIGEST,
    Challenge,
    Fault,
    FaultKind,
    FaultRecord,
    FaultState,
    Lease,
    LeaseState,
    format_lease,
)
from leasehold.cli._output import Json
from leasehold.cli._session import Session
from leasehold.cli._shown import utc
from leasehold.errors import UnknownFault
from leasehold.market import Money, format_amount, format_duration

BURNT = "0x000000000000000000000000000000000000dead"  # in the ledger; nobody has its key
PROVE_TIME = 3_600  # seconds after the last moment for an answer; from then on a challenge moves nothing
ROLL_AFTER = 120 * 3_600  # seconds; from then on anybody may file a running outage

KINDS = {
    FaultKind.NONE: "none",
    FaultKind.SELF_REPORTED: "self-reported",
    FaultKind.CHALLENGED: "challenged",
    FaultKind.ATTESTED: "attested",
    FaultKind.FALSE_HARDWARE: "false hardware",
}


async def fault_at(session: Session, fault: int) -> Fault:
    """A fault at the head of the chain. Raises UnknownFault."""
    found = await (await session.pool.faults()).fault_of(fault)
    if found.state is FaultState.NONE:
        raise UnknownFault(fault)
    return found


async def current(session: Session, record: FaultRecord) -> Fault:
    """A fault that the index has; the chain is asked only where a deadline runs."""
    if record.state in (FaultState.FILED, FaultState.APPEALED, FaultState.UPHELD):
        return await fault_at(session, record.fault)
    return Fault(
        id=record.fault,
        machine=record.machine,
        kind=record.kind,
        state=record.state,
        from_=record.from_,
        to=record.to,
        filed_at=record.filed_at,
        deadline=0,
        bps=record.bps,
        rules=record.rules,
        round=0,
        amount=record.amount,
        bond=0,
        previous=0,
        pot=record.pot - record.compensated,
        reporter=ZERO_DIGEST,
    )


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


async def answer_until(session: Session, machine: int, challenge: Challenge) -> int:
    """The last moment to answer a challenge: by the rules that were accepted when it was asked."""
    version = await session.pool.accepted_at(machine, challenge.at)
    return challenge.at + (await session.pool.params(version)).challenge_window


async def arbiter_of(session: Session, fault: Fault) -> str | None:
    """Who rules on an appeal against it: whom the rules name that judge it, or nobody."""
    named = (await session.pool.params(fault.rules)).arbiter if fault.rules else ZERO_ADDRESS
    return None if named == ZERO_ADDRESS else named


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


def executable(fault: Fault, now: int) -> bool:
    """Whether anybody may move the stake now."""
    waits = fault.state in (FaultState.FILED, FaultState.APPEALED, FaultState.UPHELD)
    return waits and now > fault.deadline


def applicable(fault: Fault, leases: Iterable[Lease], applied: Iterable[int]) -> list[int]:
    """The leases off whose bills the outage is still to be taken, or whose loss is still to be registered."""
    if fault.state in (FaultState.RUNNING, FaultState.DROPPED):
        return []
    registers = fault.state in (FaultState.FILED, FaultState.APPEALED, FaultState.UPHELD)
    done = set(applied)
    found = []
    for lease in leases:
        begin = max(lease.start, lease.segment_start)
        touched = min(fault.to, lease.end) > max(fault.from_, begin)
        pauses = lease.state is LeaseState.ACTIVE and fault.kind is not FaultKind.FALSE_HARDWARE
        counts = lease.state in (LeaseState.ACTIVE, LeaseState.ENDED) and lease.machine == fault.machine
        if counts and touched and (registers or pauses) and lease.id not in done:
            found.append(lease.id)
    return found


def sink_said(sink: str | None) -> str:
    """Who got what nobody had coming, for people."""
    return "burnt" if sink is None or sink.lower() == BURNT else sink


def leases_said(leases: Sequence[int]) -> str:
    """``lease 1`` or ``leases 1, 2.1``."""
    shown = ", ".join(format_lease(each) for each in leases)
    return f"lease {shown}" if len(leases) == 1 else f"leases {shown}"
