"""A lease whose job is done is closed for its tenant, who has signed that beforehand.

The order is heeded for the end of the workload that it was given for, while the lease is its signer's. What it is worth
is asked of the chain right before it is sent; one that will never pass is forgotten.
"""

from __future__ import annotations

import structlog

from leasehold.chain import ClosingOrder, format_lease
from leasehold.errors import ContractError, TransactionFailed
from leasehold_agent._errors import NodesDisagree
from leasehold_agent.chain import ChainGate, Desired
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.store import Notes, read_order

_log = structlog.get_logger("leasehold_agent")
_MOST_REFUSALS = 3
"""So often may a chain refuse a lease's orders that its node had called good: each time may cost gas."""


class Closing:
    """most: wei of the chain's coin that closing one lease may cost."""

    def __init__(self, chain: ChainGate, leases: LeaseBook, most: int) -> None:
        self._chain = chain
        self._leases = leases
        self._most = most

    async def close(self, desired: Desired) -> None:
        """Send the order, if it is still one. Raises NodesDisagree where another workload may have been set."""
        order = standing_order(self._leases, desired)
        if order is None:
            return
        if not await self._chain.has_workload(desired.lease, desired.workload):
            raise NodesDisagree(f"The nodes do not agree what lease {format_lease(desired.lease)} is to run.")
        log_step(desired.lease, "close-for-tenant")
        try:
            stands = await self._chain.close(order, self._most, desired.seen)
        except (ContractError, TransactionFailed):
            self._count_refusal(desired.lease)
            raise
        if not stands:
            _forget(
                self._leases,
                desired.lease,
                "it was taken back or used, is past its time, or its signer's no more",
            )

    def _count_refusal(self, lease: int) -> None:
        folder = self._leases.folder(lease)
        notes = folder.load()
        notes.order_refusals += 1
        folder.save(notes)
        if refused_for_good(notes):
            _forget(self._leases, lease, f"the chain refused it {notes.order_refusals} times")


def standing_order(leases: LeaseBook, desired: Desired) -> ClosingOrder | None:
    """The order to close the lease at the end of what it runs now, as far as that is known here."""
    kept = read_order(leases.folder(desired.lease).order, desired.lease)
    if kept is None or kept.workload != desired.workload.hex() or kept.order.account != desired.tenant:
        return None
    return kept.order


def refused_for_good(notes: Notes) -> bool:
    """Whether the lease has no further order: a contract that judges them may call each good until it is mined."""
    return notes.order_refusals >= _MOST_REFUSALS


def _forget(leases: LeaseBook, lease: int, why: str) -> None:
    leases.folder(lease).order.unlink(missing_ok=True)
    _log.warning("closing-order", lease=format_lease(lease), forgotten=why)
