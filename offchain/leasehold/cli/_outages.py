"""What is said of outages that a lease's bill does not know of yet."""

from __future__ import annotations

from leasehold.chain import Lease
from leasehold.cli._invocation import Invocation
from leasehold.client import Outages, PoolClient, outages_of


async def outages_first(call: Invocation, session: PoolClient, lease: Lease) -> Outages:
    """The faults to take off the lease's bill before anything else; says so, or what to do about them first."""
    outages = await outages_of(session, lease)
    if outages.left:
        commands = ", ".join(f"`leasehold compensate {fault} --everyone`" for fault in outages.left)
        call.out.warn(
            f"An outage is not off its bill yet, and would stay on it: first run {commands}, with any wallet."
        )
    for fault in outages.faults:
        call.out.say(f"Outage {fault} is taken off its bill first, in a transaction of its own.")
    return outages
