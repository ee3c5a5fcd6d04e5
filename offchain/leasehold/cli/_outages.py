"""What is said of outages that a lease's bill does not know of yet."""

from __future__ import annotations

from leasehold.cli._invocation import Invocation
from leasehold.client import Outages


def say_outages(call: Invocation, outages: Outages) -> None:
    """Which are taken off the bill before anything else, or what to do about them first."""
    if outages.left:
        commands = ", ".join(f"`leasehold compensate {fault} --everyone`" for fault in outages.left)
        call.out.warn(
            f"An outage is not off its bill yet, and would stay on it: first run {commands}, with any wallet."
        )
    for fault in outages.faults:
        call.out.say(f"Outage {fault} is taken off its bill first, in a transaction of its own.")
