"""The folder of a lease's checkpoints, as the volume that it is: pure functions."""

from __future__ import annotations

from typing import Final

from leasehold.workload import VolumeMount, Workload
from leasehold_agent.chain import Desired

COPIES: Final = 3
"""How often a folder's size counts on its lease's disk: itself, and the two checkpoints that are kept of it."""


def folder_name(lease: int, workload: str) -> str:
    """What the folder goes by as a volume, of this lease and this workload (its digest in hex) alone: no tenant can
    give one such a name.
    """
    return f".checkpoint-{lease}-{workload[:16]}"


def checkpoint_mount(workload: Workload, desired: Desired, source: str | None = None) -> VolumeMount | None:
    """The folder as a volume of its lease's; `source` goes before what the workload says."""
    if (checkpoint := workload.checkpoint) is None:
        return None
    return VolumeMount.model_construct(
        name=folder_name(desired.lease, desired.workload.hex()),
        path=checkpoint.path,
        size=checkpoint.size,
        source=source or checkpoint.source,
        key=checkpoint.key,
    )


def called(mount: VolumeMount) -> str:
    """What its tenant knows it by, in a sentence."""
    return "checkpoint: its folder" if is_checkpoint(mount) else f"volumes: {mount.name}"


def shown(mount: VolumeMount) -> str:
    """The same, where it is said what is being done with it."""
    return "the folder of its checkpoints" if is_checkpoint(mount) else f"volume {mount.name}"


def is_checkpoint(mount: VolumeMount) -> bool:
    """Whether it is such a folder, and none of the volumes that a tenant names."""
    return mount.name.startswith(".")
