"""What ending a lease takes, in every state that it can be in: pure functions of a snapshot.

Source of the formulas: `close` and `reject` of `Leases`, `_stopBill` of `Lifecycle`, `Billing`. A test closes one
in each state and finds the same to the unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from leasehold.chain import Fault, FaultKind, FaultRecord, FaultState, Lease, LeaseState, Params, cost

BPS = 10_000


@dataclass(frozen=True)
class Bill:
    """Where a lease's deposit stands: taken and refunded if its tenant closed it now, token units.

    seconds: since its start, up to where the bill stops. left: seconds of paid time. outcome: the state that closing
    leaves it in; of a lease that is over, the one that it is in.
    """

    used: int
    unused: int
    seconds: int
    left: int
    outcome: LeaseState


def accrued(lease: Lease, until: int) -> int:
    """What an active lease owes for its time up to `until`: earlier segments, and this one less its pauses."""
    since = (lease.segment_start or lease.start) + lease.paused
    owed = lease.segment_settled + cost(lease.price, lease.cells, max(0, until - since))
    return min(lease.deposit, max(lease.settled, owed))


def bill(lease: Lease, now: int, params: Params, *, down_since: int = 0) -> Bill:
    """What closing the lease at `now` would cost its tenant.

    Before its start that is the hold fee, and nothing once the start window has passed.

    params: those of the lease's own version. down_since: when the outage began that the machine has, or 0: the bill
    stops there.
    """
    stop = _stop(lease, now, down_since)
    if lease.state is LeaseState.OPENED:
        late = now > lease.start + params.start_window
        used = 0 if late else hold_fee(lease, params, now, down_since=down_since)
        outcome = LeaseState.CANCELLED if late else LeaseState.REJECTED
        return Bill(used, lease.deposit - used, 0, lease.end - lease.start, outcome)
    if lease.state is not LeaseState.ACTIVE:
        return Bill(lease.settled, 0, 0, 0, lease.state)
    used = accrued(lease, stop)
    left = max(0, lease.end - now)
    return Bill(used, lease.deposit - used, stop - lease.start, left, LeaseState.ENDED)


def hold_fee(lease: Lease, params: Params, now: int, *, down_since: int = 0) -> int:
    """What rejecting the lease now would keep: a part of the cost of the time it was held, token units."""
    return accrued(lease, _stop(lease, now, down_since)) * params.hold_fee_bps // BPS


def trial_end(lease: Lease, trial: int) -> int:
    """Until when a started lease may be rejected, exclusive. trial: seconds, of the terms that it was opened with."""
    return min(lease.start + trial, lease.end)


def without(lease: Lease, from_: int, to: int) -> Lease:
    """The lease once the outage `[from_, to)` has been taken off its bill."""
    begin = lease.segment_start or lease.start
    return replace(lease, paused=lease.paused + max(0, min(to, lease.end) - max(from_, begin)))


def applicable(fault: Fault | FaultRecord, leases: Iterable[Lease], applied: Iterable[int]) -> list[int]:
    """The leases off whose bills the outage is still to be taken, or whose loss is still to be registered."""
    if fault.state in (FaultState.RUNNING, FaultState.DROPPED):
        return []
    registers = fault.state in (FaultState.FILED, FaultState.APPEALED, FaultState.UPHELD)
    done = set(applied)
    owed = []
    for lease in leases:
        begin = max(lease.start, lease.segment_start)
        touched = min(fault.to, lease.end) > max(fault.from_, begin)
        pauses = lease.state is LeaseState.ACTIVE and fault.kind is not FaultKind.FALSE_HARDWARE
        counts = lease.state in (LeaseState.ACTIVE, LeaseState.ENDED) and lease.machine == fault.machine
        if counts and touched and (registers or pauses) and lease.id not in done:
            owed.append(lease.id)
    return owed


def _stop(lease: Lease, now: int, down_since: int) -> int:
    """Where the bill stops: at now if the end is still ahead, and at the begin of an outage that runs."""
    return max(lease.start, min(now, lease.end, down_since or lease.end))
