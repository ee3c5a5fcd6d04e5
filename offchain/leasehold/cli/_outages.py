"""Outages that a lease's bill does not know of yet.

They have to be taken off before the lease ends or changes its share: what is paid then is paid, and the time before a
change of share counts no longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from leasehold.chain import FaultKind, Lease
from leasehold.cli._faults import applicable, current
from leasehold.cli._index import indexed
from leasehold.cli._invocation import Invocation
from leasehold.cli._session import Session
from leasehold.errors import NothingToApply
from leasehold.market import without


@dataclass(frozen=True)
class Outages:
    """What is taken off a lease's bill first: faults, by number. after: the lease as that leaves it."""

    faults: tuple[int, ...]
    after: Lease


async def outages_first(call: Invocation, session: Session, lease: Lease) -> Outages:
    """The faults to take off the lease's bill before anything else; says so. Nothing for who acts for another account,
    and sends one call only: he is told what to do.
    """
    index, found, after = await indexed(session, call.out), list[int](), lease
    for record in await index.faults(machine=lease.machine):
        losses = await index.losses(fault=record.fault, lease=lease.id)
        fault = await current(session, record)
        if applicable(fault, [lease], [each.lease for each in losses]):
            found.append(record.fault)
            if fault.kind is not FaultKind.FALSE_HARDWARE:
                after = without(after, fault.from_, fault.to)
    if found and session.other is not None:
        commands = ", ".join(f"`leasehold compensate {each} --everyone`" for each in found)
        call.out.warn(
            f"An outage is not off its bill yet, and would stay on it: first run {commands}, with any wallet."
        )
        return Outages((), lease)
    for each in found:
        call.out.say(f"Outage {each} is taken off its bill first, in a transaction of its own.")
    return Outages(tuple(found), after)


async def take_off(session: Session, outages: Iterable[int], lease: int) -> None:
    """Take them off the lease's bill. Somebody else may have done it meanwhile."""
    faults = await session.pool.faults()
    for each in outages:
        with contextlib.suppress(NothingToApply):
            await faults.apply_outage(each, [lease])
