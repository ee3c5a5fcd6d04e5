"""Faults at the head of the chain, and what it takes to settle one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.chain import (
    ZERO_ADDRESS,
    ZERO_DIGEST,
    Fault,
    FaultRecord,
    FaultState,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

PROVE_TIME = 3_600  # seconds after the last moment for an answer; from then on a challenge moves nothing


ROLL_AFTER = 120 * 3_600  # seconds; from then on anybody may file a running outage


async def current(client: PoolClient, record: FaultRecord) -> Fault:
    """A fault that the index has; the chain is asked only where a deadline runs."""
    if record.state in (FaultState.FILED, FaultState.APPEALED, FaultState.UPHELD):
        return await client.fault(record.fault)
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


async def arbiter_of(client: PoolClient, fault: Fault) -> str | None:
    """Who rules on an appeal against it: whom the rules name that judge it, or nobody."""
    named = (await client.pool.params(fault.rules)).arbiter if fault.rules else ZERO_ADDRESS
    return None if named == ZERO_ADDRESS else named


def executable(fault: Fault, now: int) -> bool:
    """Whether anybody may move the stake now."""
    waits = fault.state in (FaultState.FILED, FaultState.APPEALED, FaultState.UPHELD)
    return waits and now > fault.deadline
