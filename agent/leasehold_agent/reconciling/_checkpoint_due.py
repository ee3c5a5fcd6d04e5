"""When a checkpoint is due: pure functions of what is noted, and of what the container has been told."""

from __future__ import annotations

from typing import Final

from leasehold.workload import Checkpoint, VolumeMount, Workload
from leasehold_agent.chain import Desired
from leasehold_agent.host import MaintenanceWindow
from leasehold_agent.store import CheckpointNotes, CheckpointWhy, EarlyEnd

COPIES: Final = 3
"""How often a folder's size counts on its lease's disk: itself, and the two checkpoints that are kept of it."""
_AGAIN: Final = 10
"""Seconds after an attempt before another that a notice asks for."""
_PAUSE: Final = 4
"""A host spends no more than one second in so many on one lease's checkpoints."""
_MOST_DOUBLINGS: Final = 5


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


def is_checkpoint(mount: VolumeMount) -> bool:
    """Whether it is such a folder, and none of the volumes that a tenant names."""
    return mount.name.startswith(".")


def warned_of(notice: EarlyEnd | None, window: MaintenanceWindow | None) -> str:
    """What the lease has ahead of it, as one word to compare; empty: nothing."""
    early = "" if notice is None else f"ends {notice.ends_at}"
    work = "" if window is None else f"maintenance {window.begins_at}"
    return " ".join(filter(None, (early, work)))


def due(
    checkpoint: Checkpoint, notes: CheckpointNotes, warned: str, since: int, now: int
) -> CheckpointWhy | None:
    """Why one is to be taken at `now`, of a container that runs since `since`; None: it is not time yet.

    Attempts that fail come less and less often, but not those before an end.
    """
    if warned and warned != notes.heard:
        return "notice" if now >= notes.begun_at + _AGAIN else None
    pause = max(checkpoint.interval << min(notes.failures, _MOST_DOUBLINGS), _PAUSE * notes.took)
    return "interval" if now >= max(notes.begun_at, since) + pause else None
