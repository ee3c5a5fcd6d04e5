"""What a lease had got to, given to the standby that took its place.

What a standby runs is named when its lease is opened, by its digest: nobody can know then which checkpoint will be the
last. So its tenant keeps what was sealed, and gives the standby the same with the checkpoint in it once it is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from leasehold.chain import LeaseRecord, LeaseState
from leasehold.client._set_workload import SetWorkload
from leasehold.errors import LeaseholdError
from leasehold.workload import Checkpoint, Workload, load_workload

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_HOUR = 3_600
_CELLS = 8


def note_standby(client: PoolClient, digest: bytes, workload: Workload) -> None:
    """Keep what was sealed for a standby, keys and all, where it makes checkpoints: for its owner alone."""
    if workload.checkpoint is not None and client.group is None:
        document = workload.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        client.home.standbys(client.deployment).keep(digest.hex(), {"workload": document})


def standby_workload(client: PoolClient, digest: bytes) -> Workload | None:
    """What was kept of it; `None` where that is nothing, or damaged."""
    try:
        document = client.home.standbys(client.deployment).get(digest.hex())
        return None if document is None else load_workload(document["workload"])
    except (LeaseholdError, KeyError, TypeError):
        return None


def standby_checkpoint(client: PoolClient, digest: bytes) -> Checkpoint | None:
    """What the workload that was kept says of its checkpoints."""
    workload = standby_workload(client, digest)
    return None if workload is None else workload.checkpoint


def forget_standbys(client: PoolClient, records: Iterable[LeaseRecord]) -> None:
    """Let go of what no live lease of the account needs any more. records: all leases of the account."""
    kept = client.home.standbys(client.deployment)
    names, known = kept.names(), list(records) if kept.names() else []
    live = {record.workload.hex() for record in known if record.lease.state.live}
    over = {record.workload.hex() for record in known} - live
    for name in names:
        if name in over:
            kept.drop(name)


def restorable(client: PoolClient, record: LeaseRecord, before: LeaseRecord, now: int) -> str | None:
    """The CID of what the lease `before`, whose place `record` took, had got to, where the standby is to be given that:
    it still runs what was sealed for it, and has not itself come as far.
    """
    lease, digest = record.lease, record.workload
    if not lease.state.live or standby_workload(client, digest) is None:
        return None
    ran = now - lease.start if lease.state is LeaseState.ACTIVE else 0
    return (
        None
        if ran >= billed_seconds(before)
        else client.home.checkpoints(client.deployment).get(before.lease.id)
    )


def billed_seconds(record: LeaseRecord) -> int:
    """How long a lease that is over has run, as far as it was paid for."""
    per_hour = record.lease.price * record.lease.cells
    return (record.paid + record.fee) * _CELLS * _HOUR // per_hour if per_hour else 0


async def restoration(client: PoolClient, number: int) -> SetWorkload | None:
    """What gives the standby of that number the last checkpoint of the lease before it; `None` where there is nothing
    to give. Asked for again each time: who has given it has named another workload, and nothing is given twice.
    """
    index = await client.index(again=True)
    records = await index.leases(tenant=client.account)
    before = next((record for record in records if record.backup_lease == number), None)
    there = next((record for record in records if record.lease.id == number), None)
    if before is None or there is None:
        return None
    cid = restorable(client, there, before, await client.now())
    workload = standby_workload(client, there.workload)
    if cid is None or workload is None:
        return None
    orders = client.home.closing_orders(client.deployment)
    closes = any(orders.get(lease) is not None for lease in (number, before.lease.id))
    return SetWorkload(number, workload.restored_from(cid), closes)
