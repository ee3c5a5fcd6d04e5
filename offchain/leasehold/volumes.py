"""What a tenant keeps on machines, and what he has done with a lease's container.

    from leasehold.volumes import ExportVolume, volumes_of

    exported = await pool.carry_out(ExportVolume(lease.id, "models"))
    # and on another machine: {"name": "models", "path": "/models", "source": exported.cid}

A volume is named in a workload (`docs/reference/workload.md`); `TenantLease.switch` stops and starts a container.
"""

from leasehold.client import (
    ContainerSwitched,
    DiscardVolume,
    ExportVolume,
    ImportVolume,
    SwitchContainer,
    VolumeDiscarded,
    VolumeExported,
    VolumeSeen,
    VolumesView,
    volumes_of,
)

__all__ = [
    "ContainerSwitched",
    "DiscardVolume",
    "ExportVolume",
    "ImportVolume",
    "SwitchContainer",
    "VolumeDiscarded",
    "VolumeExported",
    "VolumeSeen",
    "VolumesView",
    "volumes_of",
]
