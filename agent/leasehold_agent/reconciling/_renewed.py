"""Which lease another one renews: a pure function of what is noted here.

A slot is opened again by the tenant of the lease that it held last, and by nobody else: the contract sees to that. What
an id means can change all the same, by a transfer and by a reorganisation, so that whose the data was is asked of the
notes and not of the number.
"""

from __future__ import annotations

from collections.abc import Mapping

from leasehold_agent.chain import Desired
from leasehold_agent.store import Notes

_GENERATION = 0xFFFF


def renewed(desired: Desired, noted: Mapping[int, Notes]) -> int | None:
    """The lease before this one in its slot that ran here, on the same machine, for the same tenant.

    Those between that could not run left nothing, and are passed over; past one that is not known here nothing is
    looked for.
    """
    lease = desired.lease
    while lease & _GENERATION:
        lease -= 1
        notes = noted.get(lease)
        if notes is None or (notes.tenant, notes.machine) != (desired.tenant, desired.machine):
            return None
        if notes.launched and not (notes.failure is not None and not notes.billed):
            return lease
    return None
