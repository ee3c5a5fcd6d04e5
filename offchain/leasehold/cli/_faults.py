"""Faults as people and programs read them, and what it takes to settle one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from eth_abi.abi import encode as abi_encode
from eth_utils.crypto import keccak

from leasehold.chain import (
    ZERO_DIGEST,
    CallUnreadable,
    DecodedCall,
    Fault,
    FaultKind,
    FaultRecord,
    FaultState,
    Lease,
    LeaseState,
    Receipt,
    decode_call,
    format_lease,
)
from leasehold.cli._output import Json
from leasehold.cli._session import Session
from leasehold.cli._shown import utc
from leasehold.errors import ChainError, UnknownFault
from leasehold.market import InvalidInput, Money, format_amount, format_duration

ROLL_AFTER = 120 * 3_600  # seconds; from then on anybody may file a running outage
MAX_REPORTERS = 64

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
        previous=0,
        arbiter=record.arbiter,
        amount=record.amount,
        bond=0,
        pot=record.pot - record.compensated,
        weight=record.weight,
        reporters=ZERO_DIGEST,
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
        "arbiter": fault.arbiter,
    }


def lasted(fault: Fault) -> str:
    """When it was, for people."""
    if fault.kind is FaultKind.FALSE_HARDWARE:
        return f"verification of {utc(fault.from_)}"
    if not fault.to:
        return f"since {utc(fault.from_)}"
    return f"{utc(fault.from_)}, {format_duration(fault.to - fault.from_)}"


def costs(fault: Fault, money: Money) -> str:
    """What it costs, for people."""
    if fault.state is FaultState.RUNNING:
        return "not fixed yet"
    return f"{money.show(fault.amount, places=6)} ({fault.bps / 100:g} % of the stake)"


def what_next(fault: Fault, now: int) -> str:
    """What can happen to it now, and who may send that."""
    if fault.state is FaultState.RUNNING:
        if now > fault.from_ + ROLL_AFTER:
            return f"anybody may file it: `leasehold compensate {fault.id}`"
        return "runs until the machine's operator or provider recovers it"
    if fault.state is FaultState.FILED and now <= fault.deadline:
        return f"the provider may appeal until {utc(fault.deadline)}; tenants register what they lost"
    if fault.state is FaultState.APPEALED and now <= fault.deadline:
        return f"{fault.arbiter} may rule until {utc(fault.deadline)}; silence lets it stand"
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
    if fault.state is FaultState.RUNNING or (fault.state is FaultState.DROPPED and fault.amount):
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


def leases_said(leases: Sequence[int]) -> str:
    """``lease 1`` or ``leases 1, 2.1``."""
    shown = ", ".join(format_lease(each) for each in leases)
    return f"lease {shown}" if len(leases) == 1 else f"leases {shown}"


async def execute(session: Session, fault: Fault) -> Receipt:
    """Move the stake of a fault whose time has come. Raises InvalidInput if its reporters cannot be found."""
    reporters = await reporters_of(session, fault)
    if reporters is None:
        raise InvalidInput(
            f"The reporters of fault {fault.id} could not be found in the chain's history: ask one of the validators "
            "who signed to run `leasehold compensate`, or use a node that keeps more of it."
        )
    return await (await session.pool.faults()).execute(fault.id, reporters)


def reporters_digest(reporters: Sequence[str]) -> bytes:
    """What a fault keeps of who shares its tenth."""
    return keccak(abi_encode(["address[]"], [list(reporters)]))


async def reporters_of(session: Session, fault: Fault) -> tuple[str, ...] | None:
    """Who shares a tenth of the slash: the chain has a digest only. `None` where the history does not tell."""
    if fault.reporters == ZERO_DIGEST:
        return ()
    async for candidate in _candidates(session, fault.machine):
        if reporters_digest(candidate) == fault.reporters:
            return candidate
    return None


async def _candidates(session: Session, machine: int) -> AsyncIterator[tuple[str, ...]]:
    """The machine's challengers, and the validators of all that was ever attested of it, the newest first."""
    if session.index is not None:
        for record in reversed(await session.index.challenges(machine=machine)):
            yield (record.challenger,)
    contracts, committee = await session.pool.contracts(), await session.pool.committee()
    for sent in reversed(await _transactions(session, machine)):
        for call in _calls(sent, contracts):
            if call.contract != "Faults" or call.function not in ("attest", "attestBefore"):
                continue
            seats = list(call.arguments["seats"])
            for block in ("latest", str(sent["blockNumber"])):  # a seat may be somebody else's by now
                try:
                    answer = await session.rpc.eth_call(
                        committee.address, committee.encode("validatorsOf", seats), block=block
                    )
                except ChainError:
                    continue
                yield _addresses(answer)[:MAX_REPORTERS]


async def _transactions(session: Session, machine: int) -> list[Mapping[str, Any]]:
    """What was sent to the pool's Faults about the machine, in order."""
    faults = await session.pool.faults()
    topic = f"0x{machine:064x}"
    query = {
        "address": faults.address,
        "fromBlock": hex(session.deployment.block),
        "toBlock": "latest",
        "topics": [None, None, topic],
    }
    logs = await session.rpc.call("eth_getLogs", [query])
    hashes = list(dict.fromkeys(str(log["transactionHash"]) for log in logs))
    if not hashes:
        return []
    return list(await session.rpc.batch([("eth_getTransactionByHash", [each]) for each in hashes]))


def _calls(sent: Mapping[str, Any], contracts: Mapping[str, str]) -> list[DecodedCall]:
    """What a transaction asked the pool's contracts for, as far as it can be read."""
    try:
        call = decode_call(str(sent["to"]), bytes.fromhex(str(sent["input"])[2:]), contracts)
    except (CallUnreadable, ValueError):
        return []
    if (call.contract, call.function) != ("Accounts", "execute"):
        return [call, *call.inner]
    found = []
    for inner in call.arguments["calls"]:
        try:
            found.append(decode_call(inner["target"], bytes(inner["data"]), contracts))
        except (CallUnreadable, ValueError):
            continue
    return found


def _addresses(answer: bytes) -> tuple[str, ...]:
    count = int.from_bytes(answer[32:64])
    words = (answer[64 + 32 * at : 96 + 32 * at] for at in range(count))
    return tuple("0x" + word[12:].hex() for word in words)
