"""What is said before a lease ends: of outages that its bill does not know of yet, of results that nobody has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import format_lease
from leasehold.cli._command import Invocation
from leasehold.client import Outages, Unfetched

if TYPE_CHECKING:
    from leasehold.chain import Lease


def say_outages(call: Invocation, outages: Outages) -> None:
    """Which are taken off the bill before anything else, or what to do about them first."""
    if outages.left:
        commands = ", ".join(f"`leasehold compensate {fault} --everyone`" for fault in outages.left)
        call.out.warn(
            f"An outage is not off its bill yet, and would stay on it: first run {commands}, with any wallet."
        )
    for fault in outages.faults:
        call.out.say(f"Outage {fault} is taken off its bill first, in a transaction of its own.")


def warn_of_results(call: Invocation, lease: Lease, unfetched: Unfetched | None) -> None:
    """Says so if results of a lease that is about to end are not fetched yet."""
    fetch = f"`leasehold results {format_lease(lease.id)} DIR`"
    if unfetched is not None and unfetched.cid is not None:
        call.out.warn(f"Its results were not fetched here yet: {fetch} does that.")
    elif unfetched is not None:
        call.out.warn(
            "Nobody has its results yet: they are packed once it is closed, and the machine keeps its files for as "
            f"long as the lease was billed, longer where it has the room. Fetch them with {fetch}."
        )
