"""Which checkpoint a folder begins with: the one that its workload names, or that of the lease it renews."""

from __future__ import annotations

from leasehold.chain import format_lease
from leasehold.workload import Checkpoint, Workload
from leasehold_agent._errors import StillStopping
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._renewed import renewed


async def renewed_checkpoint(host: Host, desired: Desired, workload: Workload) -> str | None:
    """The newest checkpoint of the lease that this one renews, where it goes before what the workload names.

    Raises StillStopping until that lease has made its last.
    """
    if workload.checkpoint is None:
        return None
    slot = desired.lease >> 16
    noted = {lease: folder.load() for lease, folder in host.leases.folders().items() if lease >> 16 == slot}
    former = renewed(desired, noted)
    before = None if former is None else host.leases.workload(former)
    if former is None or before is None:
        return None
    same = noted[former].workload == desired.workload.hex()
    if not goes_on(workload.checkpoint, before.checkpoint, same=same):
        return None
    if await host.chain.is_live(former) or former in host.volumes.held():
        host.leases.record(desired.lease).waiting = "not-ready"
        raise StillStopping(f"Lease {format_lease(former)}, which this one renews, has not stopped yet.")
    return host.checkpoints.noted(former).newest


def goes_on(checkpoint: Checkpoint, before: Checkpoint | None, *, same: bool) -> bool:
    """Whether what a lease had got to is what the one that renews it begins with: its key opens it, and another
    workload that names a checkpoint means that. same: both run the very same.
    """
    return before is not None and before.key == checkpoint.key and (same or checkpoint.source is None)
