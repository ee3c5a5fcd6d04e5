"""Outages that a lease's bill does not know of yet.

They have to be taken off before the lease ends or changes its share: what is paid then is paid, and the time before a
change of share counts no longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import FaultKind, Lease
from leasehold.client._faults import current
from leasehold.errors import NothingToApply
from leasehold.market import applicable, without

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class Outages:
    """What is taken off a lease's bill first: faults, by number. after: the lease as that leaves it.

    left: faults that stay on the bill, for who acts for another account sends one call only.
    """

    faults: tuple[int, ...]
    after: Lease
    left: tuple[int, ...] = ()


async def outages_of(client: PoolClient, lease: Lease) -> Outages:
    """The faults to take off the lease's bill before anything else."""
    index, faults, after = await client.index(), list[int](), lease
    for record in await index.faults(machine=lease.machine):
        losses = await index.losses(fault=record.fault, lease=lease.id)
        fault = await current(client, record)
        if applicable(fault, [lease], [loss.lease for loss in losses]):
            faults.append(record.fault)
            if fault.kind is not FaultKind.FALSE_HARDWARE:
                after = without(after, fault.from_, fault.to)
    if client.other is not None:
        return Outages((), lease, tuple(faults))
    return Outages(tuple(faults), after)


async def take_off(client: PoolClient, outages: Iterable[int], lease: int) -> None:
    """Take them off the lease's bill. Somebody else may have done it meanwhile."""
    faults = await client.pool.faults()
    for number in outages:
        with contextlib.suppress(NothingToApply):
            await faults.apply_outage(number, [lease])
